package document

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
)

// Map is a Store in the memory of this process: for tests, for examples, and for documents that
// need not outlive it. The zero Map is ready for use. It must not be copied after first use.
type Map struct {
	mu      sync.RWMutex
	places  map[Place]*mapPlace
	version uint64 // the newest; also a Seq
}

var _ Store = (*Map)(nil)

// mapPlace is a partition. A *Stored is never changed, only replaced.
type mapPlace struct {
	byID  map[string]*Stored
	order []*Stored // by Order and Seq
}

// Get implements Store.
func (m *Map) Get(ctx context.Context, p Place, id string) (Doc, error) {
	return Over(mapTable{m}).Get(ctx, p, id)
}

// Set implements Store.
func (m *Map) Set(ctx context.Context, p Place, c Change) (Doc, error) {
	return Over(mapTable{m}).Set(ctx, p, c)
}

// Delete implements Store.
func (m *Map) Delete(ctx context.Context, p Place, id string) error {
	return Over(mapTable{m}).Delete(ctx, p, id)
}

// Batch implements Store.
func (m *Map) Batch(ctx context.Context, p Place, changes []Change) ([]Doc, error) {
	return Over(mapTable{m}).Batch(ctx, p, changes)
}

// Query implements Store.
func (m *Map) Query(ctx context.Context, q Query) ([]Doc, error) {
	return Over(mapTable{m}).Query(ctx, q)
}

// Count implements Store.
func (m *Map) Count(ctx context.Context, q Query) (int, error) {
	return Over(mapTable{m}).Count(ctx, q)
}

// Clear implements Store.
func (m *Map) Clear(ctx context.Context, p Place) error { return Over(mapTable{m}).Clear(ctx, p) }

// mapTable is a Map as a Table.
type mapTable struct{ *Map }

func (m mapTable) Write(ctx context.Context, w Write) ([]Doc, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.places[w.Place]
	current := make([]Stored, len(w.Changes))
	for i, c := range w.Changes {
		if st, found := p.find(c.ID); found {
			current[i] = *st
		}
	}
	docs, _, err := w.Plan(current) // a write to a Map is never repeated
	if err != nil {
		return nil, err
	}
	for i, c := range w.Changes {
		if c.Value != nil && p == nil {
			p = m.make(w.Place)
		}
		p.remove(c.ID)
		if c.Value == nil {
			continue
		}
		m.version++
		docs[i].Version = m.version
		if docs[i].Seq == 0 {
			docs[i].Seq = m.version
		}
		p.insert(&Stored{docs[i], w.Name})
	}
	if p != nil && len(p.order) == 0 {
		delete(m.places, w.Place)
	}
	return copies(docs), nil
}

func (m *Map) make(at Place) *mapPlace {
	if m.places == nil {
		m.places = map[Place]*mapPlace{}
	}
	p := &mapPlace{byID: map[string]*Stored{}}
	m.places[at] = p
	return p
}

func (p *mapPlace) find(id string) (st *Stored, found bool) {
	if p == nil {
		return nil, false
	}
	st, found = p.byID[id]
	return st, found
}

// at returns the index of a document, or the index at which to insert it.
func (p *mapPlace) at(pos Position) (int, bool) {
	return slices.BinarySearchFunc(p.order, pos, func(st *Stored, pos Position) int { return st.Position().Compare(pos) })
}

func (p *mapPlace) insert(st *Stored) {
	i, _ := p.at(st.Position())
	p.order, p.byID[st.ID] = slices.Insert(p.order, i, st), st
}

func (p *mapPlace) remove(id string) {
	if st, found := p.find(id); found {
		i, _ := p.at(st.Position())
		p.order = slices.Delete(p.order, i, i+1)
		delete(p.byID, id)
	}
}

func (m mapTable) Read(ctx context.Context, p Place, id string) (Doc, bool, error) {
	if err := ctx.Err(); err != nil {
		return Doc{}, false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	st, found := m.places[p].find(id)
	if !found {
		return Doc{}, false, nil
	}
	return clone(st.Doc), true, nil
}

func (m mapTable) Scan(ctx context.Context, s Scan) (docs []Doc, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	size := 0
	for _, p := range m.partitions(s) {
		for st := range p.from(s) {
			if len(docs) == s.Limit || size > MaxPage {
				return docs, true, nil
			}
			docs, size = append(docs, clone(st.Doc)), size+len(st.Value)
		}
	}
	return docs, false, nil
}

func (m mapTable) Count(ctx context.Context, s Scan) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, p := range m.partitions(s) {
		first, last := p.bounds(s)
		n += max(0, last-first)
	}
	return n, nil
}

// partitions returns the partitions of a scan, in its order. The caller holds the lock.
func (m *Map) partitions(s Scan) (list []*mapPlace) {
	if s.Partition != "" {
		if p := m.places[s.Place]; p != nil {
			list = append(list, p)
		}
		return list
	}
	var names []string
	for at := range maps.Keys(m.places) {
		if at.Collection == s.Collection {
			names = append(names, at.Partition)
		}
	}
	slices.Sort(names)
	if s.Reverse {
		slices.Reverse(names)
	}
	for _, name := range names {
		list = append(list, m.places[Place{s.Collection, name}])
	}
	return list
}

// from yields the documents of a partition that a scan has not read yet.
func (p *mapPlace) from(s Scan) func(yield func(*Stored) bool) {
	first, last := p.bounds(s) // of what is in the range
	if s.Reverse {
		return func(yield func(*Stored) bool) {
			for i := last - 1; i >= first && yield(p.order[i]); i-- {
			}
		}
	}
	return func(yield func(*Stored) bool) {
		for i := first; i < last && yield(p.order[i]); i++ {
		}
	}
}

func (p *mapPlace) bounds(s Scan) (first, last int) {
	partition := p.order[0].Partition
	first, _ = p.at(Position{Partition: partition, Order: s.From})
	last = len(p.order)
	if s.Until != "" {
		last, _ = p.at(Position{Partition: partition, Order: s.Until})
	}
	if s.After == nil {
		return first, last
	}
	after, there := p.at(*s.After)
	if s.Reverse {
		return first, min(last, after)
	}
	if there {
		after++
	}
	return max(first, after), last
}

func (m mapTable) Clear(ctx context.Context, p Place) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.places, func(at Place, _ *mapPlace) bool {
		return at == p || p.Partition == "" && at.Collection == p.Collection
	})
	return nil
}

func copies(docs []Doc) []Doc {
	list := make([]Doc, len(docs))
	for i := range docs {
		list[i] = clone(docs[i])
	}
	return list
}

func clone(d Doc) Doc {
	d.Value = bytes.Clone(d.Value)
	return d
}
