package documenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/weftrun/weft/checkpoint/document"
)

var documentRules = []rule{
	{"Documents", func(p *probe) {
		for i, value := range []string{
			`{"a": {"b": [1, 2.50, {"c": null}]}, "n": 12345678901234567890, "s": "\u0041é😀"}`, `null`, `[]`, `"text"`, `0`, `false`, `{}`,
			strings.Repeat("[", document.MaxDepth) + strings.Repeat("]", document.MaxDepth), `"` + strings.Repeat("x", 1<<20) + `"`,
			`{"line": "a\nb", "zero": "\u0000"}`,
		} {
			id := fmt.Sprint("id", i)
			set := p.set(home, id, value, "order")
			var want bytes.Buffer
			p.Done("the values are JSON", json.Compact(&want, []byte(value)))
			p.Same("a document comes back with its value, its address and its order", fmt.Sprint(set.Place, set.ID, set.Order, string(set.Value)), fmt.Sprint(home, id, "order", want.String()))
			p.Same("a document is got as it was set", show(p.get(home, id)), show(set))
			p.Same("every document has a version and a sequence", fmt.Sprint(set.Version > 0, set.Seq > 0), "true true")
		}
	}},
	{"Names", func(p *probe) {
		for _, name := range hostile {
			at := document.At(name, name)
			p.set(at, name, `1`, name)
			p.Same("any text is a name", show(p.get(at, name)), show(p.query(document.Query{Place: at})[0]))
			p.Same("any text is an order", p.get(at, name).Order, name)
			p.Same("a name selects itself alone", len(p.query(document.Query{Place: document.At(name, "")})), 1)
			p.gone("another id is another document", at, "other")
		}
	}},
	{"Places", func(p *probe) {
		for i, at := range []document.Place{document.At("c", "p"), document.At("c", "pp"), document.At("cp", "p"), document.At("c", "q"), document.At("p", "c")} {
			p.set(at, "id", fmt.Sprint(i))
			p.Same("an id belongs to its collection and its partition", string(p.get(at, "id").Value), fmt.Sprint(i))
		}
		p.delete(document.At("c", "p"), "id")
		p.gone("what was deleted is gone", document.At("c", "p"), "id")
		p.Same("what was deleted in one place is there in the others", len(p.query(document.Query{Place: document.At("c", "")})), 2)
	}},
	{"Missing", func(p *probe) {
		p.gone("what was never set is not found", home, "id")
		p.delete(home, "id")
		p.Same("a collection that is not there is empty", p.ids(document.Query{Place: home}), "")
		p.Same("a collection that is not there is empty as a whole", p.ids(document.Query{Place: document.At("nowhere", "")}), "")
		p.Done("what is not there can be cleared", p.store.Clear(p.Context(), home))
		if docs, err := p.store.Query(p.Context(), document.Query{Place: home}); err != nil || docs == nil {
			p.Errorf("rule: an empty answer is an empty list\n got: %v, %v", docs, err)
		}
	}},
	{"Versions", func(p *probe) {
		first := p.set(home, "id", `1`)
		second := p.set(home, "id", `2`)
		p.Same("a version grows with each set", second.Version > first.Version, true)
		p.delete(home, "id")
		third := p.set(home, "id", `2`)
		p.Same("a version never comes back", third.Version > second.Version, true)
		_, err := p.store.Set(p.Context(), home, document.Change{ID: "id", Value: json.RawMessage(`4`), If: &second.Version})
		p.conflict(err, home, "id", second.Version, third.Version)
		_, err = p.store.Set(p.Context(), home, document.Change{ID: "id", Value: json.RawMessage(`4`), If: new(uint64(0))})
		p.conflict(err, home, "id", 0, third.Version)
		_, err = p.store.Set(p.Context(), home, document.Change{ID: "new", Value: json.RawMessage(`4`), If: new(uint64(7))})
		p.conflict(err, home, "new", 7, 0)
		_, err = p.store.Set(p.Context(), home, document.Change{ID: "id", Value: json.RawMessage(`4`), If: new(uint64(math.MaxUint64))})
		p.conflict(err, home, "id", math.MaxUint64, third.Version)
		_, err = p.store.Batch(p.Context(), home, []document.Change{{ID: "id", If: &second.Version}})
		p.conflict(err, home, "id", second.Version, third.Version)
		p.Same("a conflict writes nothing", show(p.get(home, "id")), show(third))
		p.gone("a conflict writes nothing", home, "new")
		d, err := p.store.Set(p.Context(), home, document.Change{ID: "id", Value: json.RawMessage(`4`), If: &third.Version})
		p.Done("the version that is there is no conflict", err)
		_, err = p.store.Set(p.Context(), home, document.Change{ID: "new", Value: json.RawMessage(`4`), If: new(uint64(0))})
		p.Done("version 0 means that there is none", err)
		p.batch(home, document.Change{ID: "id", If: &d.Version}, document.Change{ID: "none", If: new(uint64(0))})
		p.gone("a deletion may have a condition", home, "id")
	}},
	{"Copies", func(p *probe) {
		value := json.RawMessage(`{"a":1}`)
		d, err := p.store.Set(p.Context(), home, document.Change{ID: "id", Value: value})
		p.Done("a document can be set", err)
		value[5] = '2'
		p.Same("the store keeps a copy of what it was given", string(p.get(home, "id").Value), `{"a":1}`)
		d.Value[5] = '3'
		p.get(home, "id").Value[5] = '4'
		p.query(document.Query{Place: home})[0].Value[5] = '5'
		p.Same("the store gives copies away", string(p.get(home, "id").Value), `{"a":1}`)
	}},
	{"Batches", func(p *probe) {
		p.set(home, "a", `1`)
		b := p.set(home, "b", `1`)
		docs := p.batch(home, document.Change{ID: "a"}, document.Change{ID: "b", Value: json.RawMessage(`2`), If: &b.Version},
			document.Change{ID: "c", Value: json.RawMessage(`3`)}, document.Change{ID: "missing"})
		p.Same("a deletion is answered by the zero Doc", fmt.Sprint(show(docs[0]), show(docs[3])), fmt.Sprint(show(document.Doc{}), show(document.Doc{})))
		p.Same("a set is answered by the document as it is", fmt.Sprint(show(docs[1]), show(docs[2])), fmt.Sprint(show(p.get(home, "b")), show(p.get(home, "c"))))
		p.gone("a batch deletes", home, "a")
		_, err := p.store.Batch(p.Context(), home, []document.Change{
			{ID: "d", Value: json.RawMessage(`1`)}, {ID: "c"}, {ID: "b", Value: json.RawMessage(`3`), If: &b.Version},
		})
		p.conflict(err, home, "b", b.Version, docs[1].Version)
		p.gone("a batch is made whole or not at all", home, "d")
		p.Same("a batch is made whole or not at all", p.ids(document.Query{Place: home}), "b c")
		_, err = p.store.Batch(p.Context(), home, []document.Change{{ID: "e", Value: json.RawMessage(`1`)}, {ID: "e"}})
		p.Fails("an id comes once in a batch", err, document.ErrRequest)
		docs, err = p.store.Batch(p.Context(), home, nil)
		p.Same("an empty batch does nothing", fmt.Sprint(len(docs), err), "0 <nil>")
		p.Same("a refused batch writes nothing", p.ids(document.Query{Place: home}), "b c")
	}},
	{"Clear", func(p *probe) {
		other := document.At(home.Collection, "thread-2")
		beside := document.At(home.Collection+"x", "thread-1")
		for _, at := range []document.Place{home, other, beside} {
			p.set(at, "a", `1`)
			p.set(at, "b", `2`)
		}
		before := p.get(home, "a")
		p.Done("a partition can be cleared", p.store.Clear(p.Context(), home))
		p.Same("what was cleared is empty", p.ids(document.Query{Place: home}), "")
		p.gone("what was cleared is gone", home, "a")
		p.Same("other partitions stay", p.ids(document.Query{Place: other}), "a b")
		p.Same("what comes after a clearing is newer", p.set(home, "a", `1`).Version > before.Version, true)
		p.Done("a collection can be cleared", p.store.Clear(p.Context(), document.At(home.Collection, "")))
		p.Same("a collection is cleared as a whole", p.ids(document.Query{Place: document.At(home.Collection, "")}), "")
		p.Same("other collections stay", p.ids(document.Query{Place: beside}), "a b")
	}},
	{"BadNames", func(p *probe) {
		for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("x", document.MaxID+1)} {
			for _, at := range []document.Place{document.At(name, "p"), document.At("c", name)} {
				_, err := p.store.Get(p.Context(), at, "id")
				p.Fails("a bad place is refused", err, document.ErrName)
				_, err = p.store.Set(p.Context(), at, document.Change{ID: "id", Value: json.RawMessage(`1`)})
				p.Fails("a bad place is refused", err, document.ErrName)
				if at.Partition != "" {
					_, err = p.store.Query(p.Context(), document.Query{Place: at})
					p.Fails("a bad place is refused", err, document.ErrName)
					p.Fails("a bad place is refused", p.store.Clear(p.Context(), at), document.ErrName)
				}
			}
			_, err := p.store.Get(p.Context(), home, name)
			p.Fails("a bad id is refused", err, document.ErrName)
			p.Fails("a bad id is refused", p.store.Delete(p.Context(), home, name), document.ErrName)
			if name != "" {
				_, err = p.store.Set(p.Context(), home, document.Change{ID: "id", Value: json.RawMessage(`1`), Order: name})
				p.Fails("a bad order is refused", err, document.ErrName)
				_, err = p.store.Query(p.Context(), document.Query{Place: home, From: name})
				p.Fails("a bad bound is refused", err, document.ErrQuery)
				_, err = p.store.Query(p.Context(), document.Query{Place: home, Until: name})
				p.Fails("a bad bound is refused", err, document.ErrQuery)
			}
		}
		p.Same("what was refused is not there", p.ids(document.Query{Place: home}), "")
	}},
	{"LongNames", func(p *probe) {
		collection, order := noise(1, document.MaxName), noise(2, document.MaxName)
		at, id := document.At(collection, noise(3, document.MaxID)), noise(4, document.MaxID)
		_, err := p.store.Set(p.Context(), at, document.Change{ID: id, Value: json.RawMessage(`1`), Order: order})
		p.Done("names may be as long as their limits, all at once", err)
		p.Same("what has long names is found by them", p.ids(document.Query{Place: at, From: order}), id)
		p.Same("what has long names is found by them", p.get(at, id).Order == order, true)
		for _, where := range []document.Place{document.At(collection+"x", "p"), document.At("c", at.Partition+"x")} {
			_, err := p.store.Get(p.Context(), where, "id")
			p.Fails("a byte more is refused", err, document.ErrName)
		}
		_, err = p.store.Get(p.Context(), at, id+"x")
		p.Fails("a byte more is refused", err, document.ErrName)
		_, err = p.store.Set(p.Context(), at, document.Change{ID: "id", Value: json.RawMessage(`1`), Order: order + "x"})
		p.Fails("a byte more is refused", err, document.ErrName)
	}},
	{"BadValues", func(p *probe) {
		deep := strings.Repeat("[", document.MaxDepth+1) + strings.Repeat("]", document.MaxDepth+1)
		for _, value := range []string{``, `{`, `{"a":1}x`, "\"\xff\"", `nul`, deep, `1e99999999999`, strings.Repeat("9", document.MaxNumber+1)} {
			_, err := p.store.Set(p.Context(), home, document.Change{ID: "id", Value: json.RawMessage(value)})
			p.Fails("a value that is not JSON, or exceeds a limit, is refused", err, document.ErrValue)
		}
		_, err := p.store.Set(p.Context(), home, document.Change{ID: "id"})
		p.Fails("a set needs a value", err, document.ErrValue)
		large := json.RawMessage(`"` + strings.Repeat("x", document.MaxValue) + `"`)
		_, err = p.store.Set(p.Context(), home, document.Change{ID: "id", Value: large})
		p.Fails("a value has a limit", err, document.ErrTooLarge)
		many := make([]document.Change, document.MaxBatch+1)
		for i := range many {
			many[i] = document.Change{ID: fmt.Sprint(i), Value: json.RawMessage(`1`)}
		}
		_, err = p.store.Batch(p.Context(), home, many)
		p.Fails("a batch has a limit", err, document.ErrTooLarge)
		p.Same("what was refused is not there", p.ids(document.Query{Place: home}), "")
	}},
	{"Contexts", func(p *probe) {
		ctx, cancel := context.WithCancel(p.Context())
		cancel()
		_, err := p.store.Set(ctx, home, document.Change{ID: "id", Value: json.RawMessage(`1`)})
		p.Fails("a context that has ended ends a set", err, context.Canceled)
		_, err = p.store.Get(ctx, home, "id")
		p.Fails("a context that has ended ends a get", err, context.Canceled)
		_, err = p.store.Query(ctx, document.Query{Place: home})
		p.Fails("a context that has ended ends a query", err, context.Canceled)
		p.Fails("a context that has ended ends a clearing", p.store.Clear(ctx, home), context.Canceled)
		p.gone("nothing was written", home, "id")
	}},
}
