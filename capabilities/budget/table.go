package budget

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/weftrun/weft/checkpoint/document"
)

// table is the documents of a name, with those that were seen last. Updates of one process follow
// one another, so that they do not conflict.
type table struct {
	docs  document.Store
	place document.Place
	turn  chan struct{} // of the update that runs

	mu      sync.Mutex
	seen    map[string]document.Doc // the zero Doc does not exist
	revoked map[string][]string     // reservations that each update removes, with their documents
}

// mostSeen bounds the documents in memory.
const mostSeen = 4096

// mostRevoked bounds the revoked reservations in memory.
const mostRevoked = 1024

// mostWrites bounds how often an update is repeated.
const mostWrites = 1000

func newTable(docs document.Store, name string) *table {
	return &table{docs: docs, place: document.At("weft.budgets", cmp.Or(name, "default")), turn: make(chan struct{}, 1), seen: map[string]document.Doc{}, revoked: map[string][]string{}}
}

// batch is an update of documents.
type batch struct {
	accounts map[string]*account
	days     map[string]*day
	read     map[string]document.Doc
	revoked  []string
	err      error
}

// account returns an account, to be changed.
func (b *batch) account(id string) *account {
	if a := b.accounts[id]; a != nil {
		return a
	}
	a := new(account)
	b.decode(id, a)
	a.Open.remove(b.revoked)
	b.accounts[id] = a
	return a
}

// day returns the document of a record, to be changed.
func (b *batch) day(id string) *day {
	if d := b.days[id]; d != nil {
		return d
	}
	d := new(day)
	b.decode(id, d)
	d.Open.remove(b.revoked)
	b.days[id] = d
	return d
}

func (b *batch) decode(id string, into any) {
	if value := b.read[id].Value; value != nil {
		if err := json.Unmarshal(value, into); err != nil && b.err == nil {
			b.err = fmt.Errorf("budget: the document %q: %w", id, err)
		}
	}
}

// changes returns the documents that differ from those that were read.
func (b *batch) changes() (all []document.Change, err error) {
	add := func(id, order string, v any) {
		value, bad := json.Marshal(v)
		if bad != nil {
			err = bad
		}
		old := b.read[id]
		if string(value) != string(old.Value) {
			all = append(all, document.Change{ID: id, Value: value, Order: order, If: &old.Version})
		}
	}
	for id, a := range b.accounts {
		if a.Limit != "" { // else it was pruned meanwhile
			add(id, accountOrder, a)
		}
	}
	for id, d := range b.days {
		if d.Day != "" {
			add(id, dayOrder+d.Day, d)
		}
	}
	return all, err
}

// update changes documents at once. It uses those that were seen last, and reads the others. If the
// store has newer ones, it begins again. An error of change is that of documents just read.
func (t *table) update(ctx context.Context, ids []string, change func(*batch) error) error {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for range mostWrites {
		read, fresh, err := t.read(ctx, ids)
		if err != nil {
			return err
		}
		b := &batch{accounts: map[string]*account{}, days: map[string]*day{}, read: read, revoked: t.revokedIn(ids)}
		err = change(b)
		switch {
		case b.err != nil:
			return b.err
		case err != nil && fresh:
			return err
		case err != nil:
			t.forget(ids)
			continue
		}
		changes, err := b.changes()
		if err != nil || len(changes) == 0 {
			return err
		}
		written, err := t.docs.Batch(ctx, t.place, changes)
		if err == nil {
			t.note(written)
			t.removed(b.revoked, changes)
			return nil
		}
		t.forget(ids)
		if !errors.Is(err, document.ErrConflict) {
			return fmt.Errorf("budget: %w", err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("%w: %d writes were refused", ErrContended, mostWrites)
}

// read returns documents. fresh reports whether all of them come from the store.
func (t *table) read(ctx context.Context, ids []string) (all map[string]document.Doc, fresh bool, err error) {
	all = map[string]document.Doc{}
	var missing []string
	t.mu.Lock()
	for _, id := range ids {
		if d, found := t.seen[id]; found {
			all[id] = d
		} else {
			missing = append(missing, id)
		}
	}
	t.mu.Unlock()
	docs, errs := make([]document.Doc, len(missing)), make([]error, len(missing))
	var wait sync.WaitGroup
	for i, id := range missing {
		get := func() {
			docs[i], errs[i] = t.docs.Get(ctx, t.place, id)
			if errors.Is(errs[i], document.ErrNotFound) {
				errs[i] = nil
			}
			docs[i].ID = id
		}
		if i == len(missing)-1 {
			get()
		} else {
			wait.Go(get)
		}
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, false, fmt.Errorf("budget: %w", err)
	}
	t.note(docs)
	for _, d := range docs {
		all[d.ID] = d
	}
	return all, len(missing) == len(ids), nil
}

// note adds documents to those that were seen.
func (t *table) note(docs []document.Doc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range docs {
		for id := range t.seen { // any one
			if len(t.seen) < mostSeen {
				break
			}
			delete(t.seen, id)
		}
		t.seen[d.ID] = d
	}
}

// forget lets the next read come from the store.
func (t *table) forget(ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		delete(t.seen, id)
	}
}

// revoke lets updates remove a reservation from its documents, until each of them was written. A
// write of the reservation that comes later is refused, because the documents have newer versions.
func (t *table) revoke(reservation string, ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for r := range t.revoked { // any one
		if len(t.revoked) < mostRevoked {
			break
		}
		delete(t.revoked, r)
	}
	t.revoked[reservation] = ids
}

// revokedIn returns the revoked reservations of documents.
func (t *table) revokedIn(ids []string) (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for r, in := range t.revoked {
		if slices.ContainsFunc(in, func(id string) bool { return slices.Contains(ids, id) }) {
			all = append(all, r)
		}
	}
	return all
}

// removed forgets revoked reservations of documents that were written without them.
func (t *table) removed(reservations []string, written []document.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range reservations {
		left := slices.DeleteFunc(slices.Clone(t.revoked[r]), func(id string) bool {
			return slices.ContainsFunc(written, func(c document.Change) bool { return c.ID == id })
		})
		if t.revoked[r] = left; len(left) == 0 {
			delete(t.revoked, r)
		}
	}
}

// The orders of the documents.
const (
	accountOrder = "a"
	dayOrder     = "d"
)

func accountID(limit, key string) string { return "account " + digest(limit, key) }

func dayID(r Record) string {
	parts := []string{r.Day, r.Thread, r.Model}
	for _, name := range slices.Sorted(maps.Keys(r.Metadata)) {
		parts = append(parts, name, r.Metadata[name])
	}
	return "day " + digest(parts...)
}

// digest returns a short name of texts of any length.
func digest(parts ...string) string {
	data, _ := json.Marshal(parts) // of texts, which cannot fail
	return fmt.Sprintf("%x", sha256.Sum256(data))
}
