package documenttest

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/testreport"
)

// faulty is a correct store with some methods replaced.
type faulty struct {
	*document.Map
	get   func(s *document.Map, p document.Place, id string) (document.Doc, error)
	batch func(s *document.Map, p document.Place, changes []document.Change) ([]document.Doc, error)
	query func(s *document.Map, q document.Query) ([]document.Doc, error)
	count func(s *document.Map, q document.Query) (int, error)
	clear func(s *document.Map, p document.Place) error
}

func (t faulty) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	if t.get == nil || ctx.Err() != nil {
		return t.Map.Get(ctx, p, id)
	}
	return t.get(t.Map, p, id)
}

func (t faulty) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	if t.batch == nil || c.Value == nil || ctx.Err() != nil {
		return t.Map.Set(ctx, p, c)
	}
	docs, err := t.batch(t.Map, p, []document.Change{c})
	return append(docs, document.Doc{})[0], err
}

func (t faulty) Delete(ctx context.Context, p document.Place, id string) error {
	if t.batch == nil {
		return t.Map.Delete(ctx, p, id)
	}
	_, err := t.batch(t.Map, p, []document.Change{{ID: id}})
	return err
}

func (t faulty) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	if t.batch == nil {
		return t.Map.Batch(ctx, p, changes)
	}
	return t.batch(t.Map, p, changes)
}

func (t faulty) Query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	if t.query == nil || ctx.Err() != nil {
		return t.Map.Query(ctx, q)
	}
	return t.query(t.Map, q)
}

func (t faulty) Count(ctx context.Context, q document.Query) (int, error) {
	if t.count == nil || ctx.Err() != nil {
		return t.Map.Count(ctx, q)
	}
	return t.count(t.Map, q)
}

func (t faulty) Clear(ctx context.Context, p document.Place) error {
	if t.clear == nil || ctx.Err() != nil {
		return t.Map.Clear(ctx, p)
	}
	return t.clear(t.Map, p)
}

var bg = context.Background()

type batchFunc = func(*document.Map, document.Place, []document.Change) ([]document.Doc, error)

// asking breaks queries by what is asked.
func asking(change func(q *document.Query)) faulty {
	return faulty{query: func(s *document.Map, q document.Query) ([]document.Doc, error) {
		change(&q)
		return s.Query(bg, q)
	}}
}

// writing breaks batches by what is written.
func writing(change func(p *document.Place, changes []document.Change) []document.Change) faulty {
	return faulty{batch: func(s *document.Map, p document.Place, changes []document.Change) ([]document.Doc, error) {
		changes = change(&p, slices.Clone(changes))
		return s.Batch(bg, p, changes)
	}}
}

var oneByOne batchFunc = func(s *document.Map, p document.Place, changes []document.Change) (docs []document.Doc, err error) {
	seen := map[string]bool{}
	for _, c := range changes {
		if seen[c.ID] {
			return nil, document.ErrRequest
		}
		seen[c.ID] = true
	}
	for _, c := range changes {
		got, err := s.Batch(bg, p, []document.Change{c})
		if err != nil {
			return nil, err
		}
		docs = append(docs, got...)
		runtime.Gosched()
	}
	return docs, nil
}

// brokenStores are ways to break a store, and the rule that must complain.
var brokenStores = []struct {
	what, caughtBy string
	store          faulty
}{
	{"writes a batch one by one", "Batches", faulty{batch: oneByOne}},
	{"ignores conditions", "Versions", writing(func(_ *document.Place, c []document.Change) []document.Change {
		for i := range c {
			c[i].If = nil
		}
		return c
	})},
	{"loses updates", "Races", writing(func(_ *document.Place, c []document.Change) []document.Change {
		for i := range c {
			c[i].If = nil
		}
		runtime.Gosched()
		return c
	})},
	{"ignores where a query begins", "After", asking(func(q *document.Query) { q.After = nil })},
	{"begins at a document and not behind it", "After", asking(func(q *document.Query) {
		if q.After != nil && !q.Reverse && q.After.Seq > 0 {
			at := *q.After
			at.Seq--
			q.After = &at
		}
	})},
	{"ignores the order", "Order", writing(func(_ *document.Place, c []document.Change) []document.Change {
		for i := range c {
			c[i].Order = ""
		}
		return c
	})},
	{"turns a batch around", "BatchOrder", faulty{batch: func(s *document.Map, p document.Place, c []document.Change) ([]document.Doc, error) {
		c = slices.Clone(c)
		slices.Reverse(c)
		docs, err := s.Batch(bg, p, c)
		slices.Reverse(docs)
		return docs, err
	}}},
	{"gives a document a new sequence with each set", "Order", faulty{batch: func(s *document.Map, p document.Place, c []document.Change) ([]document.Doc, error) {
		for _, one := range c {
			_ = s.Delete(bg, p, one.ID)
		}
		return s.Batch(bg, p, c)
	}}},
	{"mixes partitions", "Places", writing(func(p *document.Place, c []document.Change) []document.Change {
		p.Partition = "p"
		return c
	})},
	{"mixes collections", "Places", writing(func(p *document.Place, c []document.Change) []document.Change {
		p.Collection = "c"
		return c
	})},
	{"trims names", "Names", faulty{get: func(s *document.Map, p document.Place, id string) (document.Doc, error) {
		return s.Get(bg, p, strings.TrimSpace(id))
	}}},
	{"finds what is not there", "Missing", faulty{get: func(s *document.Map, p document.Place, id string) (document.Doc, error) {
		d, _ := s.Get(bg, p, id)
		return d, nil
	}}},
	{"fails to delete a missing document", "Missing", faulty{batch: func(s *document.Map, p document.Place, c []document.Change) ([]document.Doc, error) {
		if _, err := s.Get(bg, p, c[0].ID); c[0].Value == nil && err != nil {
			return nil, err
		}
		return s.Batch(bg, p, c)
	}}},
	{"ignores the limit", "Limits", asking(func(q *document.Query) { q.Limit = nil })},
	{"takes a limit of 0 for none", "Limits", asking(func(q *document.Query) {
		if q.Limit != nil && *q.Limit == 0 {
			q.Limit = nil
		}
	})},
	{"takes a negative limit for none", "Limits", asking(func(q *document.Query) {
		if q.Limit != nil && *q.Limit < 0 {
			q.Limit = nil
		}
	})},
	{"ignores skip", "Limits", asking(func(q *document.Query) { q.Skip = 0 })},
	{"ignores the sort", "Sorts", asking(func(q *document.Query) { q.Sort = nil })},
	{"sorts by the first key alone", "Sorts", asking(func(q *document.Query) { q.Sort = q.Sort[:min(1, len(q.Sort))] })},
	{"always sorts upwards", "Sorts", asking(func(q *document.Query) {
		q.Sort = slices.Clone(q.Sort)
		for i := range q.Sort {
			q.Sort[i].Desc = false
		}
	})},
	{"ignores Reverse", "Order", asking(func(q *document.Query) { q.Reverse = false })},
	{"ignores the filter", "Filters", asking(func(q *document.Query) { q.Where = nil })},
	{"looks at the first condition alone", "Filters", asking(func(q *document.Query) { q.Where = q.Where[:min(1, len(q.Where))] })},
	{"looks at top level alone", "Filters", asking(func(q *document.Query) {
		q.Where = slices.Clone(q.Where)
		for i := range q.Where {
			q.Where[i].Path = strings.ReplaceAll(q.Where[i].Path, ".", `\.`)
		}
	})},
	{"compares numbers as floats", "Filters", asking(func(q *document.Query) {
		q.Where = slices.Clone(q.Where)
		for i := range q.Where {
			if n, ok := q.Where[i].Value.(json.Number); ok {
				q.Where[i].Value, _ = n.Float64()
			}
		}
	})},
	{"ignores From", "Ranges", asking(func(q *document.Query) { q.From = "" })},
	{"ignores Until", "Ranges", asking(func(q *document.Query) { q.Until = "" })},
	{"lets Until be in the range", "Ranges", asking(func(q *document.Query) {
		if q.Until != "" {
			q.Until += "\x01"
		}
	})},
	{"sorts before it skips, and filters after", "Limits", faulty{query: func(s *document.Map, q document.Query) ([]document.Doc, error) {
		if len(q.Where) == 0 || q.Limit == nil {
			return s.Query(bg, q)
		}
		first := q
		first.Where = nil
		page, _ := s.Query(bg, first)
		all, err := s.Query(bg, document.Query{Place: q.Place, Where: q.Where})
		return slices.DeleteFunc(page, func(d document.Doc) bool { return !strings.Contains(idsOf(all), d.ID) }), err
	}}},
	{"knows one page alone", "Pages", asking(func(q *document.Query) {
		if q.Limit == nil {
			q.Limit = new(500)
		}
	})},
	{"knows one partition alone", "Collections", asking(func(q *document.Query) {
		if q.Partition == "" {
			q.Partition = "p00"
		}
	})},
	{"counts a page alone", "Counts", faulty{count: func(s *document.Map, q document.Query) (int, error) {
		docs, err := s.Query(bg, q)
		return len(docs), err
	}}},
	{"counts without the range", "Counts", faulty{count: func(s *document.Map, q document.Query) (int, error) {
		q.From, q.Until = "", ""
		return s.Count(bg, q)
	}}},
	{"clears nothing", "Clear", faulty{clear: func(*document.Map, document.Place) error { return nil }}},
	{"clears the collection with each partition", "Clear", faulty{clear: func(s *document.Map, p document.Place) error {
		return s.Clear(bg, document.At(p.Collection, ""))
	}}},
	{"sets what a Clear has removed", "ClearBesideSet", faulty{batch: func(s *document.Map, p document.Place, c []document.Change) ([]document.Doc, error) {
		if c[0].If == nil {
			return s.Batch(bg, p, c)
		}
		if d, _ := s.Get(bg, p, c[0].ID); d.Version != *c[0].If {
			return nil, document.ErrConflict
		}
		for range 100 {
			runtime.Gosched()
		}
		return s.Batch(bg, p, []document.Change{{ID: c[0].ID, Value: c[0].Value}})
	}}},
	{"refuses no name", "BadNames", writing(func(p *document.Place, c []document.Change) []document.Change {
		*p = document.At(strings.ToValidUTF8(p.Collection, "?")+"x", strings.ToValidUTF8(p.Partition, "?")+"x")
		return c
	})},
	{"takes no JSON for null", "BadValues", writing(func(_ *document.Place, c []document.Change) []document.Change {
		for i := range c {
			if c[i].Value != nil && !json.Valid(c[i].Value) {
				c[i].Value = json.RawMessage(`null`)
			}
		}
		return c
	})},
	{"cuts large batches", "BadValues", writing(func(_ *document.Place, c []document.Change) []document.Change { return c[:min(len(c), 1000)] })},
	{"is off by a Reverse now and then", "Model", asking(func(q *document.Query) { q.Reverse = q.Reverse && q.Skip != 2 })},
	{"tears batches", "Adders", faulty{batch: oneByOne}},
}

func TestSuite_CatchesBrokenStores(t *testing.T) {
	for _, b := range brokenStores {
		t.Run(strings.ReplaceAll(b.what, " ", "-"), func(t *testing.T) {
			var all string
			for range 20 { // a race may end well now and then
				b.store.Map = &document.Map{}
				if all = complaintsOf(t, b.caughtBy, b.store); all != "" {
					break
				}
			}
			if !strings.Contains(all, "rule: ") {
				t.Errorf("rule: a store that %s is caught by %s\n got: %q", b.what, b.caughtBy, all)
			}
		})
	}
}

// TestSuite_CatchesAStoreThatSharesItsMemory has a store of its own: a Map that gives away what it
// keeps.
func TestSuite_CatchesAStoreThatSharesItsMemory(t *testing.T) {
	var mu sync.Mutex
	given := map[string]document.Doc{}
	shared := faulty{Map: &document.Map{}, get: func(s *document.Map, p document.Place, id string) (document.Doc, error) {
		mu.Lock()
		defer mu.Unlock()
		d, err := s.Get(bg, p, id)
		if old, ok := given[id]; ok {
			return old, err
		}
		given[id] = d
		return d, err
	}}
	if complaintsOf(t, "Copies", shared) == "" {
		t.Error("rule: a store that shares its memory is caught by Copies\n got: silence")
	}
}

// TestSuite_EveryRuleCanFail runs every rule on a store of which nothing is right.
func TestSuite_EveryRuleCanFail(t *testing.T) {
	useless := faulty{
		Map: &document.Map{},
		get: func(*document.Map, document.Place, string) (document.Doc, error) {
			return document.Doc{ID: "?", Value: json.RawMessage(`{"??":1}`)}, nil
		},
		batch: func(_ *document.Map, _ document.Place, c []document.Change) ([]document.Doc, error) {
			docs := make([]document.Doc, len(c))
			for i := range docs {
				docs[i] = document.Doc{ID: "?", Value: json.RawMessage(`{"??":1}`)}
			}
			return docs, nil
		},
		query: func(*document.Map, document.Query) ([]document.Doc, error) {
			return []document.Doc{{ID: "?", Value: json.RawMessage(`{"??":1}`)}}, nil
		},
		clear: func(*document.Map, document.Place) error { return nil },
	}
	for _, r := range allRules() {
		if complaintsOf(t, r.name, useless) == "" {
			t.Errorf("rule: every rule can fail\n got: %s is content with a store that does nothing", r.name)
		}
	}
}

// complaintsOf runs one rule apart from the test that asks.
func complaintsOf(t *testing.T, name string, s document.Store) string {
	t.Helper()
	rules := allRules()
	i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
	if i < 0 {
		t.Fatalf("there is no rule %s", name)
	}
	return testreport.Of(t, func(tb testing.TB) { rules[i].check(&probe{Probe: testreport.Probe{TB: tb}, store: s}) })
}
