package conversationtest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/complaints"
	"github.com/weftrun/weft/internal/twisted"
)

func TestMain(m *testing.M) {
	flag.Parse()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s"} { // what fails here fails on purpose
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func TestMap(t *testing.T) {
	Run(t, func(testing.TB) document.Store { return new(document.Map) })
}

// oneByOne writes a batch in pieces, so that others come in between and a failure leaves a part.
func oneByOne(ctx context.Context, s *document.Map, p document.Place, changes []document.Change) (docs []document.Doc, err error) {
	for _, c := range changes {
		got, err := s.Batch(ctx, p, []document.Change{c})
		if err != nil {
			return nil, err
		}
		docs = append(docs, got...)
		runtime.Gosched()
	}
	return docs, nil
}

// broken are stores with one fault each, and a rule that must notice it.
var broken = map[string]struct {
	store twisted.Store
	rule  string
}{
	"forgets what was written": {twisted.Writing(func(*document.Place, []document.Change) []document.Change { return nil }), "CR03"},
	"answers newest first":     {twisted.Asking(func(q *document.Query) { q.Reverse = !q.Reverse }), "CR10"},
	"has no order but arrival": {twisted.Writing(func(_ *document.Place, cs []document.Change) []document.Change {
		for i := range cs {
			cs[i].Order = ""
		}
		return cs
	}), "CR10"},
	"sorts one instant by id":     {twisted.Writing(sortByID), "CR11"},
	"ignores the upper bound":     {twisted.Asking(func(q *document.Query) { q.Until = "" }), "CR12"},
	"ignores the lower bound":     {twisted.Asking(func(q *document.Query) { q.From = "" }), "CR13"},
	"has no bounds at all":        {twisted.Asking(func(q *document.Query) { q.From, q.Until = "", "" }), "CR14"},
	"ignores conditions":          {twisted.Asking(func(q *document.Query) { q.Where = nil }), "CR15"},
	"ignores cursors":             {twisted.Asking(func(q *document.Query) { q.After = nil }), ""},
	"ignores limits":              {twisted.Asking(func(q *document.Query) { q.Limit = nil }), "CR16"},
	"has a limit of its own":      {twisted.Asking(func(q *document.Query) { q.Limit = new(1000) }), "CR20"},
	"never answers more than two": {twisted.Asking(func(q *document.Query) { q.Limit = new(2) }), "CR17"},
	"takes no limit of 0":         {twisted.Asking(noZero), "CR18"},
	"skips nothing":               {twisted.Asking(func(q *document.Query) { q.Skip = 0 }), "CR19"},
	"does not keep threads apart": {merging(), "CR09"},
	"keeps a part of a batch":     {twisted.Store{OnBatch: oneByOne}, "CR08"},
	"spoils text":                 {twisted.Writing(spoil), "CR21"},
	"makes threads up":            {twisted.Store{OnQuery: invent}, "CR23"},
	"moves what is written over":  {twisted.Store{OnBatch: anew}, "CR06"},
	"hands out one memory":        {sharing(), "CR25"},
	"loses the last of a batch":   {twisted.Writing(func(_ *document.Place, cs []document.Change) []document.Change { return cs[:max(1, len(cs)-1)] }), "CM14"},
}

func sortByID(_ *document.Place, cs []document.Change) []document.Change {
	for i := range cs {
		cs[i].Order += "!" + cs[i].ID
	}
	return cs
}

func noZero(q *document.Query) {
	if q.Limit != nil && *q.Limit == 0 {
		q.Limit = nil
	}
}

// merging puts all threads into one.
func merging() twisted.Store {
	t := twisted.Writing(func(p *document.Place, cs []document.Change) []document.Change { p.Partition = "all"; return cs })
	t.OnQuery = twisted.Asking(func(q *document.Query) { q.Partition = "all" }).OnQuery
	return t
}

func spoil(_ *document.Place, cs []document.Change) []document.Change {
	for i := range cs {
		cs[i].Value = bytes.ReplaceAll(cs[i].Value, []byte("e"), []byte("E"))
		cs[i].Value = bytes.ReplaceAll(cs[i].Value, []byte("rolE"), []byte("role"))
	}
	return cs
}

// invent answers with a message where there is none.
func invent(ctx context.Context, s *document.Map, q document.Query) ([]document.Doc, error) {
	docs, err := s.Query(ctx, q)
	if len(docs) == 0 && err == nil {
		docs = []document.Doc{{ID: "x", Value: []byte(`{"id":"x","role":"user","content":"made up"}`)}}
	}
	return docs, err
}

// anew lets what is written over enter again, behind all others.
func anew(ctx context.Context, s *document.Map, p document.Place, cs []document.Change) ([]document.Doc, error) {
	for _, c := range cs {
		if err := s.Delete(ctx, p, c.ID); err != nil {
			return nil, err
		}
	}
	return s.Batch(ctx, p, cs)
}

// sharing remembers the last answer to a query, and gives out the same bytes again, whatever was done to them.
func sharing() twisted.Store {
	var mu sync.Mutex
	seen := map[string][]document.Doc{}
	return twisted.Store{OnQuery: func(ctx context.Context, s *document.Map, q document.Query) ([]document.Doc, error) {
		mu.Lock()
		defer mu.Unlock()
		key := fmt.Sprintf("%+v", q)
		if docs, ok := seen[key]; ok {
			for i := range docs {
				docs[i].Value = bytes.ReplaceAll(docs[i].Value, []byte("text of a"), []byte("spoilt"))
			}
			return docs, nil
		}
		docs, err := s.Query(ctx, q)
		seen[key] = docs
		return docs, err
	}}
}

func TestBrokenStoresAreCaught(t *testing.T) {
	caught := map[string]bool{}
	for name, b := range broken {
		t.Run(name, func(t *testing.T) {
			named := false
			for _, r := range Rules {
				if long := r.Row == "CR08" || strings.Contains(r.Name, "as a list in memory"); long && b.rule != "CR08" && b.rule != "CR10" {
					continue // they take a second each
				}
				if caught[r.String()] && (named || r.Row != b.rule) {
					continue // nothing is to be learnt
				}
				said := complaints.Of(t, func(tb testing.TB) {
					r.Test(tb, func(testing.TB) document.Store { return b.store.Fresh() })
				})
				caught[r.String()] = caught[r.String()] || said != ""
				named = named || r.Row == b.rule && said != ""
			}
			if !named {
				t.Errorf("rule: a store that %s is caught by %s\n got: silence", name, b.rule)
			}
		})
	}
	for _, r := range Rules {
		if free := slices.Contains([]string{"CR01", "CR02", "CR04", "CR22"}, r.Row); !caught[r.String()] && !free { // they are about refusals
			t.Errorf("rule: each rule can fail\n got: no broken store is caught by %q", r)
		}
	}
}
