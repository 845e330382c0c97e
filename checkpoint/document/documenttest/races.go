package documenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint/document"
)

var raceRules = []rule{
	{"Races", func(p *probe) {
		p.set(home, "n", `0`)
		const writers, each = 4, 10
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range each {
					if err := increment(p); err != nil {
						p.Errorf("rule: who lost can try again\n got: %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
		p.Same("with a condition no update is lost", string(p.get(home, "n").Value), fmt.Sprint(writers*each))
	}},
	{"Adders", func(p *probe) {
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 10 {
					_, err := p.store.Batch(p.Context(), home, []document.Change{
						{ID: fmt.Sprint(w, "-", i, "a"), Value: json.RawMessage(`1`)}, {ID: fmt.Sprint(w, "-", i, "b"), Value: json.RawMessage(`1`)},
					})
					if err != nil {
						p.Errorf("rule: many may write at once\n got: %v", err)
					}
				}
			})
		}
		wg.Wait()
		docs := p.query(document.Query{Place: home})
		p.Same("nothing is lost", len(docs), 80)
		seen := map[uint64]bool{}
		for i := 0; i+1 < len(docs); i += 2 {
			p.Same("a batch stays together", strings.TrimSuffix(docs[i].ID, "a"), strings.TrimSuffix(docs[i+1].ID, "b"))
			p.Same("no two documents have one sequence", seen[docs[i].Seq] || seen[docs[i+1].Seq], false)
			seen[docs[i].Seq], seen[docs[i+1].Seq] = true, true
		}
	}},
	{"ClearBesideSet", func(p *probe) {
		for round := range 100 {
			d := p.set(home, "id", `0`)
			whole := document.At(home.Collection, []string{home.Partition, ""}[round%2])
			var wg sync.WaitGroup
			var setErr, clearErr error
			calls := []func(){
				func() {
					_, setErr = p.store.Set(p.Context(), home, document.Change{ID: "id", Value: json.RawMessage(`1`), If: &d.Version})
				},
				func() { clearErr = p.store.Clear(p.Context(), whole) },
			}
			wg.Go(calls[round/2%2])
			wg.Go(calls[1-round/2%2])
			wg.Wait()
			if setErr != nil && !errors.Is(setErr, document.ErrConflict) {
				p.Done("a document is set beside a Clear", setErr)
			}
			p.Done("a partition is cleared beside a set", clearErr)
			p.Same("a set with a condition stores nothing that a Clear does not remove, or is refused", idsOf(p.query(document.Query{Place: home})), "")
		}
	}},
	{"Model", func(p *probe) {
		for seed := range uint64(4) {
			t := model{probe: p, rnd: rand.New(rand.NewPCG(seed, 7)), at: document.At("models", fmt.Sprint("t", seed))}
			for range 60 {
				t.step()
			}
		}
	}},
}

func increment(p *probe) error {
	for {
		d, err := p.store.Get(p.Context(), home, "n")
		if err != nil {
			return err
		}
		var n int
		if err := json.Unmarshal(d.Value, &n); err != nil {
			return err
		}
		_, err = p.store.Set(p.Context(), home, document.Change{ID: "n", Value: fmt.Append(nil, n+1), If: &d.Version})
		if !errors.Is(err, document.ErrConflict) {
			return err
		}
	}
}

// model makes random changes to a store and to a plain list, and compares their results.
type model struct {
	*probe
	rnd  *rand.Rand
	at   document.Place
	list []document.Doc // in the order of their sequence
}

func (t *model) step() {
	t.Helper()
	id, order := fmt.Sprint("id", t.rnd.IntN(12)), []string{"", "a", "b", "ab"}[t.rnd.IntN(4)]
	i := slices.IndexFunc(t.list, func(d document.Doc) bool { return d.ID == id })
	switch t.rnd.IntN(4) {
	case 0:
		t.delete(t.at, id)
		if i >= 0 {
			t.list = slices.Delete(t.list, i, i+1)
		}
	case 1, 2:
		d := t.set(t.at, id, fmt.Sprintf(`{"n":%d,"s":"%c"}`, t.rnd.IntN(3), 'a'+rune(t.rnd.IntN(3))), order)
		if i >= 0 {
			t.list[i] = d
		} else {
			t.list = append(t.list, d)
		}
	default:
		q := t.anyQuery()
		t.Same(fmt.Sprintf("%.200v has one answer", q), idsOf(t.query(q)), idsOf(t.answer(q)))
	}
}

func (t *model) anyQuery() document.Query {
	bounds := []string{"", "a", "aa", "b"}
	q := document.Query{Place: t.at, Reverse: t.rnd.IntN(2) == 0, Skip: t.rnd.IntN(3), From: bounds[t.rnd.IntN(4)], Until: bounds[t.rnd.IntN(4)]}
	if t.rnd.IntN(2) == 0 {
		q.Limit = new(t.rnd.IntN(6))
	}
	if t.rnd.IntN(2) == 0 {
		q.Where = document.Filter{{Path: "n", Op: document.Lte, Value: t.rnd.IntN(3)}}
	}
	if t.rnd.IntN(2) == 0 {
		q.Sort = []document.Sort{{Path: "s", Desc: t.rnd.IntN(2) == 0}, {Path: "n"}}
	}
	return q
}

// answer returns the result of a query on the plain list.
func (t *model) answer(q document.Query) (list []document.Doc) {
	type fields struct {
		N int
		S string
	}
	read := func(d document.Doc) (f fields) {
		if err := json.Unmarshal(d.Value, &f); err != nil {
			t.Fatalf("rule: a value is JSON\n got: %s: %v", d.Value, err)
		}
		return f
	}
	for _, d := range t.list {
		if d.Order >= q.From && (q.Until == "" || d.Order < q.Until) && (q.Where == nil || read(d).N <= q.Where[0].Value.(int)) {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b document.Doc) int { return strings.Compare(a.Order, b.Order) })
	if q.Reverse {
		slices.Reverse(list)
	}
	if q.Sort != nil {
		slices.SortStableFunc(list, func(a, b document.Doc) int {
			x, y := read(a), read(b)
			if c := strings.Compare(x.S, y.S); c != 0 {
				if q.Sort[0].Desc {
					return -c
				}
				return c
			}
			return x.N - y.N
		})
	}
	list = list[min(q.Skip, len(list)):]
	if q.Limit != nil {
		list = list[:min(*q.Limit, len(list))]
	}
	return list
}
