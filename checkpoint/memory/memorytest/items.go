package memorytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
)

var itemRules = []rule{
	{"PutThenGet", putThenGet},
	{"ValuesComeBack", valuesComeBack},
	{"GetMissing", getMissing},
	{"PutAgain", putAgain},
	{"Delete", deletion},
	{"VersionsNeverComeBack", versionsNeverComeBack},
	{"Isolation", isolation},
	{"BadValues", badValues},
	{"BigValues", bigValues},
}

func putThenGet(p *probe) {
	item := p.put(home, "color", `{"name": "red"}`)
	p.Same("Put returns the item as it now is", show(p.get(home, "color")), show(item))
	p.Same("an item knows its address", fmt.Sprintf("%q %q", item.Namespace, item.Key), fmt.Sprintf("%q %q", home, "color"))
	p.Same("a new item was created when it was updated", item.Created, item.Updated)
	p.Same("an item without a TTL never ends", item.Expires, time.Time{})
	p.Same("an item has a version", item.Version > 0, true)
	p.Same("times are in UTC, of whole microseconds", item.Updated, item.Updated.UTC().Truncate(time.Microsecond))
}

func valuesComeBack(p *probe) {
	for i, v := range []string{
		`null`, `true`, `false`, `0`, `-0`, `9007199254740993`, `18446744073709551616`, `1.10`, `1e300`, `-1E-300`, `""`, `"x"`, `"\u0000"`,
		`"\ud800"`, `"é日😀"`, `"<&>"`, `[]`, `{}`, `[1,[2,[3]]]`, `{"b":1,"a":2}`, `{"a":{"b":{"c":null}}}`, `{"":1}`, `{"a":1,"a":2}`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("9", 1000), `"` + strings.Repeat("word ", 5000) + `"`,
	} {
		key := fmt.Sprint("value", i)
		p.put(home, key, v)
		p.Same("a value comes back byte for byte", string(p.get(home, key).Value), v)
	}
	p.put(home, "space", " { \"a\" :\n[ 1 , \"b c\" ] }\t")
	p.Same("a value loses its insignificant white space", string(p.get(home, "space").Value), `{"a":[1,"b c"]}`)
}

func getMissing(p *probe) {
	p.gone("nothing is found in an empty store", home, "color")
	p.put(home, "color", `1`)
	p.gone("another key is not found", home, "colo")
	p.gone("another namespace has another key", []string{"users"}, "color")
	p.gone("another namespace has another key", []string{"users", "ada", "x"}, "color")
}

func putAgain(p *probe) {
	first := p.put(home, "k", `1`)
	second := p.put(home, "k", `2`)
	p.Same("the last put counts", string(p.get(home, "k").Value), `2`)
	p.Same("versions grow", second.Version > first.Version, true)
	p.Same("the time of creation stays", second.Created, first.Created)
	p.Same("time does not go back", second.Updated.Before(first.Updated), false)
	p.Same("there is one item", p.keys(memory.Query{}), "k")
}

func deletion(p *probe) {
	p.delete(home, "k") // is not there: no error
	p.put(home, "k", `"some words"`)
	p.put(home, "l", `1`)
	p.delete(home, "k")
	p.gone("what was deleted is not found", home, "k")
	p.Same("what was deleted is in no search", p.keys(memory.Query{}), "l")
	p.Same("what was deleted is in no search for words", p.keys(memory.Query{Text: "words"}), "")
	p.delete(home, "k")
	p.Same("the others stay", string(p.get(home, "l").Value), `1`)
}

func versionsNeverComeBack(p *probe) {
	seen := map[uint64]bool{}
	last := uint64(0)
	for range 5 {
		item := p.put(home, "k", `1`)
		if seen[item.Version] || item.Version <= last {
			p.Errorf("rule: a version is greater than all before, also after a deletion\n got: %d after %d", item.Version, last)
		}
		seen[item.Version], last = true, item.Version
		p.delete(home, "k")
	}
	p.put(home, "k", `2`)
	_, err := p.store.Put(p.Context(), home, "k", json.RawMessage(`3`), memory.Options{If: new(last)})
	p.Fails("a version of an item that was deleted is not that of the new one", err, memory.ErrConflict)
}

func isolation(p *probe) {
	list := [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}, {"ab"}, {"a.b"}, {"a/b"}, {"b"}, {"b", "a"}, {"A"}}
	for i, ns := range list {
		p.put(ns, "k", fmt.Sprint(i))
	}
	p.delete([]string{"a", "b"}, "k")
	for i, ns := range list {
		if i == 1 {
			p.gone("one item was deleted", ns, "k")
			continue
		}
		p.Same(fmt.Sprintf("%q is a namespace of its own", ns), string(p.get(ns, "k").Value), fmt.Sprint(i))
	}
}

func badValues(p *probe) {
	for _, v := range []string{
		``, ` `, `{`, `x`, `nul`, `'a'`, `{"a":}`, `[1,]`, `1 2`, `NaN`, `01`, "\"\xff\"", `"a`, "\"\n\"", `1e1001`, `1e-99999999999999999999`, `[1e99999]`,
		strings.Repeat("9", 1001), strings.Repeat("[", 101) + strings.Repeat("]", 101), strings.Repeat(`{"a":`, 101) + "1" + strings.Repeat("}", 101),
	} {
		_, err := p.store.Put(p.Context(), home, "k", json.RawMessage(v), memory.Options{})
		p.Fails(fmt.Sprintf("%.40q is no value", v), err, memory.ErrValue)
	}
	_, err := p.store.Put(p.Context(), home, "k", nil, memory.Options{})
	p.Fails("nothing is no value", err, memory.ErrValue)
	p.gone("a bad value is not stored", home, "k")
}

func bigValues(p *probe) {
	v := `"` + strings.Repeat("x", memory.MaxValue-2) + `"`
	p.put(home, "big", v)
	p.Same("a value may have MaxValue bytes", len(p.get(home, "big").Value), memory.MaxValue)
	_, err := p.store.Put(p.Context(), home, "bigger", json.RawMessage(v+" "), memory.Options{})
	p.Done("white space does not count", err)
	_, err = p.store.Put(p.Context(), home, "more", json.RawMessage(`"x`+v[1:]), memory.Options{})
	p.Fails("a value has no more than MaxValue bytes", err, memory.ErrTooLarge)
	p.gone("what is too large is not stored", home, "more")
	for i := range 9 {
		p.put(home, fmt.Sprint("n", i), v)
	}
	p.Same("a search of big values finds them all", len(p.search(memory.Query{Limit: 1000})), 11)
	p.Same("in every order", len(p.search(memory.Query{Limit: 1000, Order: memory.ByCreated})), 11)
}

var casRules = []rule{
	{"IfAbsent", ifAbsent},
	{"IfVersion", ifVersion},
	{"ConflictNamesThePlace", conflictNamesThePlace},
	{"DeleteIf", deleteIf},
	{"OneWinner", oneWinner},
	{"NoLostUpdates", noLostUpdates},
}

func ifAbsent(p *probe) {
	item := p.put(home, "k", `1`, memory.Options{If: new(uint64(0))})
	_, err := p.store.Put(p.Context(), home, "k", json.RawMessage(`2`), memory.Options{If: new(uint64(0))})
	p.Fails("If 0 demands that there is none", err, memory.ErrConflict)
	p.Same("a refused put changes nothing", show(p.get(home, "k")), show(item))
	p.delete(home, "k")
	p.put(home, "k", `3`, memory.Options{If: new(uint64(0))})
}

func ifVersion(p *probe) {
	first := p.put(home, "k", `1`)
	second := p.put(home, "k", `2`, memory.Options{If: &first.Version})
	for _, v := range []uint64{first.Version, second.Version + 1, 1<<63 + 1, ^uint64(0)} {
		_, err := p.store.Put(p.Context(), home, "k", json.RawMessage(`3`), memory.Options{If: &v})
		p.Fails(fmt.Sprintf("If %d demands that version of %d", v, second.Version), err, memory.ErrConflict)
	}
	_, err := p.store.Put(p.Context(), home, "missing", json.RawMessage(`3`), memory.Options{If: &first.Version})
	p.Fails("If demands that there is an item", err, memory.ErrConflict)
	p.Same("a refused put changes nothing", show(p.get(home, "k")), show(second))
	p.gone("a refused put makes nothing", home, "missing")
}

func conflictNamesThePlace(p *probe) {
	item := p.put(home, "k", `1`)
	_, err := p.store.Put(p.Context(), home, "k", json.RawMessage(`2`), memory.Options{If: new(item.Version + 7)})
	p.conflict(err, home, "k", item.Version+7, item.Version)
	_, err = p.store.Put(p.Context(), home, "l", json.RawMessage(`2`), memory.Options{If: &item.Version})
	p.conflict(err, home, "l", item.Version, 0)
}

func deleteIf(p *probe) {
	first := p.put(home, "k", `1`)
	second := p.put(home, "k", `2`)
	_, err := p.store.Batch(p.Context(), home, []memory.Op{{Key: "k", Options: memory.Options{If: &first.Version}}})
	p.conflict(err, home, "k", first.Version, second.Version)
	p.get(home, "k")
	_, err = p.store.Batch(p.Context(), home, []memory.Op{{Key: "k", Options: memory.Options{If: &second.Version}}})
	p.Done("an item of the right version is deleted", err)
	p.gone("an item of the right version is deleted", home, "k")
}

func oneWinner(p *probe) {
	for round := range 10 {
		key := fmt.Sprint("k", round)
		var wins atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				_, err := p.store.Put(p.Context(), home, key, json.RawMessage(fmt.Sprint(i)), memory.Options{If: new(uint64(0))})
				if err == nil {
					wins.Add(1)
				} else {
					p.Fails("a loser gets an error", err, memory.ErrConflict)
				}
			})
		}
		wg.Wait()
		p.Same("one of many wins", wins.Load(), 1)
	}
}

func noLostUpdates(p *probe) {
	p.put(home, "n", `0`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for done := 0; done < 10; {
				item, err := p.store.Get(p.Context(), home, "n")
				var n int
				if err != nil || json.Unmarshal(item.Value, &n) != nil {
					p.Errorf("rule: a counter can be read\n got: %q, %v", item.Value, err)
					return
				}
				_, err = p.store.Put(p.Context(), home, "n", json.RawMessage(fmt.Sprint(n+1)), memory.Options{If: &item.Version})
				if err == nil {
					done++
				} else if p.Fails("a loser gets an error", err, memory.ErrConflict); p.Failed() {
					return
				}
			}
		})
	}
	wg.Wait()
	p.Same("no update is lost", string(p.get(home, "n").Value), "80")
}

var batchRules = []rule{
	{"Batch", batch},
	{"BatchIsAtomic", batchIsAtomic},
	{"BatchIsSeenWhole", batchIsSeenWhole},
	{"BadBatches", badBatches},
}

func op(key, value string) memory.Op {
	return memory.Op{Key: key, Value: json.RawMessage(value)}
}

func batch(p *probe) {
	p.put(home, "old", `1`)
	items, err := p.store.Batch(p.Context(), home, []memory.Op{op("z", `1`), {Key: "old"}, op("a", `2`), {Key: "never"}})
	p.Done("a batch puts and deletes", err)
	p.Same("a batch returns an item for each change", len(items), 4)
	p.Same("in the order of the changes", show(items[0])+show(items[2]), show(p.get(home, "z"))+show(p.get(home, "a")))
	p.Same("and the zero Item for what was deleted", show(items[1])+show(items[3]), show(memory.Item{})+show(memory.Item{}))
	p.Same("the rest is what was put", p.keys(memory.Query{}), "a z")
	items, err = p.store.Batch(p.Context(), home, nil)
	p.Done("an empty batch is no error", err)
	p.Same("an empty batch returns nothing", len(items), 0)
	var many []memory.Op
	for i := range memory.MaxBatch {
		many = append(many, op(fmt.Sprint(i), fmt.Sprint(i)))
	}
	_, err = p.store.Batch(p.Context(), []string{"many"}, many)
	p.Done("a batch has up to MaxBatch changes", err)
	p.Same("all of them are made", len(p.search(memory.Query{Prefix: []string{"many"}, Limit: 1000})), memory.MaxBatch)
}

func batchIsAtomic(p *probe) {
	item := p.put(home, "k", `1`)
	wrong := memory.Op{Key: "l", Value: json.RawMessage(`2`), Options: memory.Options{If: new(uint64(99))}}
	for _, ops := range [][]memory.Op{{op("k", `2`), wrong, op("m", `2`)}, {{Key: "k"}, wrong}, {wrong, op("k", `2`)}} {
		_, err := p.store.Batch(p.Context(), home, ops)
		p.conflict(err, home, "l", 99, 0)
		p.Same("a batch is made whole or not at all", show(p.get(home, "k")), show(item))
		p.Same("a batch is made whole or not at all", p.keys(memory.Query{}), "k")
	}
	_, err := p.store.Batch(p.Context(), home, []memory.Op{op("k", `2`), op("l", `{`)})
	p.Fails("a bad value refuses the batch", err, memory.ErrValue)
	p.Same("a batch is made whole or not at all", show(p.get(home, "k")), show(item))
}

func batchIsSeenWhole(p *probe) {
	write := func(n int) error {
		_, err := p.store.Batch(p.Context(), home, []memory.Op{op("a", fmt.Sprint(n)), op("b", fmt.Sprint(n))})
		return err
	}
	p.Done("a batch is written", write(0))
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range 50 {
			if err := write(n); err != nil {
				p.Errorf("rule: a batch is written\n got: %v", err)
			}
		}
	})
	for range 50 {
		page, err := p.store.Search(p.Context(), memory.Query{Prefix: home})
		if err != nil || len(page.Items) != 2 {
			p.Errorf("rule: a page can be read during writes\n got: %d items, %v", len(page.Items), err)
			break
		}
		p.Same("a page shows a batch whole or not at all", string(page.Items[0].Value), string(page.Items[1].Value))
	}
	wg.Wait()
}

func badBatches(p *probe) {
	_, err := p.store.Batch(p.Context(), home, []memory.Op{op("k", `1`), op("l", `1`), {Key: "k"}})
	p.Fails("a key comes once in a batch", err, memory.ErrRequest)
	_, err = p.store.Batch(p.Context(), home, slices.Repeat([]memory.Op{op("k", `1`)}, memory.MaxBatch+1))
	p.Fails("a batch has at most MaxBatch changes", err, memory.ErrTooLarge)
	var big []memory.Op
	for i := range 17 {
		big = append(big, op(fmt.Sprint(i), `"`+strings.Repeat("x", memory.MaxValue-2)+`"`))
	}
	_, err = p.store.Batch(p.Context(), home, big)
	p.Fails("a batch has at most MaxBatchSize bytes", err, memory.ErrTooLarge)
	_, err = p.store.Batch(p.Context(), nil, []memory.Op{op("k", `1`)})
	p.Fails("a batch has a namespace", err, memory.ErrNamespace)
	p.Same("a refused batch changes nothing", p.keys(memory.Query{}), "")
}
