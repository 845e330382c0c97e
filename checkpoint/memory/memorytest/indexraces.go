package memorytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/weftrun/weft/checkpoint/memory"
)

// lateVectors puts a value while the vector of an earlier one is made.
func lateVectors(p *indexProbe) {
	ns := []string{"a"}
	slow := *p.index
	held := &letters{held: make(chan struct{}), began: make(chan struct{}, 1)}
	slow.Embed = held.embed
	var wg sync.WaitGroup
	var err error
	wg.Go(func() { _, err = slow.Put(p.Context(), ns, "k", json.RawMessage(`"abc"`), memory.Options{}) })
	<-held.began
	p.put(ns, "k", `"xyz"`)
	p.put(ns, "other", `"abcx"`)
	close(held.held)
	wg.Wait()
	p.Done("the slow put is made", err)
	p.Same("a late vector replaces no newer one", p.keys(memory.Query{Near: "xyz"}), "k other")
	n, err := p.index.Reindex(p.Context(), nil)
	p.Same("and nothing lacks a vector", fmt.Sprint(n, err), "0 <nil>")
}

// deletesAndThen is a store in which something happens after the next deletion.
type deletesAndThen struct {
	memory.Store
	then func()
}

func (d *deletesAndThen) Batch(ctx context.Context, ns []string, ops []memory.Op) ([]memory.Item, error) {
	items, err := d.Store.Batch(ctx, ns, ops)
	if then := d.then; then != nil && ops[0].Value == nil {
		d.then = nil
		then()
	}
	return items, err
}

// deletionBesidePut puts an item just after another caller has deleted the one before.
func deletionBesidePut(p *indexProbe) {
	ns := []string{"a"}
	for _, first := range []string{"abc", ""} { // with a vector, and without an item
		if first != "" {
			p.texts(ns, "k", first)
		}
		late := *p.index
		late.Store = &deletesAndThen{p.index.Store, func() { p.texts(ns, "k", "xyz") }}
		p.Done("an item is deleted", late.Delete(p.Context(), ns, "k"))
		p.Same("a deletion leaves the vectors of an item that was put after it", p.keys(memory.Query{Near: "xyz"}), "k")
		n, err := p.index.Reindex(p.Context(), nil)
		p.Same("and nothing lacks a vector", fmt.Sprint(n, err), "0 <nil>")
		p.delete(ns, "k")
		p.Same("a deletion removes the vectors", p.keys(memory.Query{Near: "xyz"}), "")
	}
}

func manyWriters(p *indexProbe) {
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() {
			for n := range 10 {
				_, err := p.store.Put(p.Context(), home, fmt.Sprint(n%3), json.RawMessage(fmt.Sprintf(`"tea %d %d"`, i, n)), memory.Options{})
				if n%4 == 3 && err == nil {
					err = p.store.Delete(p.Context(), home, fmt.Sprint(n%3))
				}
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	wg.Wait()
	p.Done("many writers may write at once", errors.Join(errs...))
	_, err := p.index.Reindex(p.Context(), nil)
	p.Done("Reindex follows", err)
	p.Same("each item that is left is found", len(p.search(memory.Query{Near: "tea"})), len(p.search(memory.Query{})))
}
