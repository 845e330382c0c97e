package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// Map is a Store in the memory of this process: for tests, for examples, and for items that
// need not outlive it. The zero Map is ready for use. It must not be copied after first use.
type Map struct {
	// Now is the clock; nil means time.Now. Set it before the first use.
	Now func() time.Time

	mu      sync.RWMutex
	rows    []*mapRow // in order of namespace and key
	version uint64    // the newest
	ending  time.Time // no item expires before; zero if no item expires
}

var _ Store = (*Map)(nil)

// mapRow is a row. It is never changed, only replaced, so a reader may retain it.
type mapRow struct {
	at Position
	Stored
}

// Put implements Store.
func (m *Map) Put(ctx context.Context, namespace []string, key string, value json.RawMessage, o Options) (Item, error) {
	return Over(mapTable{m}).Put(ctx, namespace, key, value, o)
}

// Get implements Store.
func (m *Map) Get(ctx context.Context, namespace []string, key string) (Item, error) {
	return Over(mapTable{m}).Get(ctx, namespace, key)
}

// Delete implements Store.
func (m *Map) Delete(ctx context.Context, namespace []string, key string) error {
	return Over(mapTable{m}).Delete(ctx, namespace, key)
}

// Batch implements Store.
func (m *Map) Batch(ctx context.Context, namespace []string, ops []Op) ([]Item, error) {
	return Over(mapTable{m}).Batch(ctx, namespace, ops)
}

// Search implements Store.
func (m *Map) Search(ctx context.Context, q Query) (Page, error) {
	return Over(mapTable{m}).Search(ctx, q)
}

// Namespaces implements Store.
func (m *Map) Namespaces(ctx context.Context, q NamespaceQuery) ([][]string, error) {
	return Over(mapTable{m}).Namespaces(ctx, q)
}

func (m *Map) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

// find returns the index of a row, or the index at which to insert it. The caller holds the lock.
func (m *Map) find(at Position) (int, bool) {
	return slices.BinarySearchFunc(m.rows, at, func(r *mapRow, at Position) int { return comparePositions(r.at, at) })
}

func comparePositions(a, b Position) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Key, b.Key)
}

// mapTable is a Map as a Table.
type mapTable struct{ *Map }

func (m mapTable) Write(ctx context.Context, w Write) ([]Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now)
	current := make([]Stored, len(w.Changes))
	for i, c := range w.Changes {
		if at, found := m.find(Position{Encode(w.Namespace), c.Key}); found {
			current[i] = m.rows[at].Stored
		}
	}
	rows, done, err := w.Plan(now, current)
	if err != nil || done {
		return copies(rows), err
	}
	for i, c := range w.Changes {
		m.replace(Position{Encode(w.Namespace), c.Key}, &rows[i], c.Touch, w.ID, current[i].ID)
	}
	return copies(rows), nil
}

// replace puts a row in its place; the zero Item removes it. The caller holds the lock.
func (m *Map) replace(at Position, row *Item, touch bool, id, oldID string) {
	i, found := m.find(at)
	if row.Version == 0 && row.Value == nil {
		if found {
			m.rows = slices.Delete(m.rows, i, i+1)
		}
		return
	}
	if touch {
		id = oldID
	} else {
		m.version++
		row.Version = m.version
	}
	if !row.Expires.IsZero() && (m.ending.IsZero() || row.Expires.Before(m.ending)) {
		m.ending = row.Expires
	}
	r := &mapRow{at, Stored{*row, id}}
	if found {
		m.rows[i] = r
		return
	}
	m.rows = slices.Insert(m.rows, i, r)
}

// sweep removes expired rows. The caller holds the lock.
func (m *Map) sweep(now time.Time) {
	if m.ending.IsZero() || m.ending.After(now) {
		return
	}
	m.ending = time.Time{}
	m.rows = slices.DeleteFunc(m.rows, func(r *mapRow) bool {
		alive := r.Alive(now)
		if alive && !r.Expires.IsZero() && (m.ending.IsZero() || r.Expires.Before(m.ending)) {
			m.ending = r.Expires
		}
		return !alive
	})
}

func (m mapTable) Read(ctx context.Context, namespace []string, key string) (Item, bool, error) {
	if err := ctx.Err(); err != nil {
		return Item{}, false, err
	}
	now := m.now()
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, found := m.find(Position{Encode(namespace), key})
	if !found || !m.rows[i].Alive(now) {
		return Item{}, false, nil
	}
	return clone(m.rows[i].Item), true, nil
}

func (m mapTable) Scan(ctx context.Context, s Scan) (rows []Item, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	now := m.now()
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, found := m.find(later(s.After, Position{Namespace: s.From}))
	if found && m.rows[i].at == s.After {
		i++
	}
	for size := 0; i < len(m.rows) && s.Has(m.rows[i].at.Namespace); i++ {
		if !m.rows[i].Alive(now) {
			continue
		}
		if len(rows) == s.Limit || size > MaxPage {
			return rows, true, nil
		}
		rows = append(rows, clone(m.rows[i].Item))
		size += len(m.rows[i].Value)
	}
	return rows, false, nil
}

func later(a, b Position) Position {
	if comparePositions(a, b) > 0 {
		return a
	}
	return b
}

func (m mapTable) Namespaces(ctx context.Context, r Range, after string, limit int) (list []string, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	now := m.now()
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i, _ := m.find(later(Position{Namespace: after}, Position{Namespace: r.From})); i < len(m.rows) && r.Has(m.rows[i].at.Namespace); i++ {
		ns := m.rows[i].at.Namespace
		if ns == after || !m.rows[i].Alive(now) || len(list) > 0 && list[len(list)-1] == ns {
			continue
		}
		if len(list) == limit {
			return list, true, nil
		}
		list = append(list, ns)
	}
	return list, false, nil
}

func copies(rows []Item) []Item {
	list := make([]Item, len(rows))
	for i := range rows {
		list[i] = clone(rows[i])
	}
	return list
}

func clone(i Item) Item {
	i.Namespace, i.Value = slices.Clone(i.Namespace), bytes.Clone(i.Value)
	return i
}
