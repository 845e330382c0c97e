package sessiontest

import (
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/session"
	"github.com/weftrun/weft/internal/complaints"
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

// twisted is a sound store with some methods of its own.
type twisted struct {
	*document.Map
	batch func(ctx context.Context, s *document.Map, p document.Place, changes []document.Change) ([]document.Doc, error)
	query func(ctx context.Context, s *document.Map, q document.Query) ([]document.Doc, error)
	get   func(p *document.Place)
}

func (t twisted) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	if t.get != nil {
		t.get(&p)
	}
	return t.Map.Get(ctx, p, id)
}

func (t twisted) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	docs, err := t.Batch(ctx, p, []document.Change{c})
	return append(docs, document.Doc{})[0], err
}

func (t twisted) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	if t.batch == nil {
		return t.Map.Batch(ctx, p, changes)
	}
	return t.batch(ctx, t.Map, p, changes)
}

func (t twisted) Query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	if t.query == nil {
		return t.Map.Query(ctx, q)
	}
	return t.query(ctx, t.Map, q)
}

// asking breaks queries by what is asked.
func asking(change func(q *document.Query)) twisted {
	return twisted{query: func(ctx context.Context, s *document.Map, q document.Query) ([]document.Doc, error) {
		change(&q)
		return s.Query(ctx, q)
	}}
}

// writing breaks batches by what is written.
func writing(change func(p *document.Place, changes []document.Change) []document.Change) twisted {
	return twisted{batch: func(ctx context.Context, s *document.Map, p document.Place, changes []document.Change) ([]document.Doc, error) {
		return s.Batch(ctx, p, change(&p, slices.Clone(changes)))
	}}
}

// broken are stores with one fault each, and rules that must notice it, by row or by name.
var broken = map[string]struct {
	store twisted
	rules string
}{
	"forgets messages": {writing(func(p *document.Place, cs []document.Change) []document.Change { return without(cs, "m") }),
		"HC01 HC02 HC03 HC04 HC06 HC11 HC12 HC14 HC15 HC16 HC17 HC18 HC19 HC20 HC21 HC24 HC25 HC26 HC28"},
	"forgets what has to be done": {writing(func(p *document.Place, cs []document.Change) []document.Change { return without(cs, "o") }), "HC18 HC19 HC20 HC28"},
	"forgets heads":               {writing(func(p *document.Place, cs []document.Change) []document.Change { return without(cs, "h") }), "HC05 HC07 HC08 HC09 HC10 HC13 HC23 HC29"},
	"ignores the lower bound":     {asking(func(q *document.Query) { q.From = "" }), "HC17 HC18"},
	"ignores the upper bound":     {asking(func(q *document.Query) { q.Until = "" }), "HC28"},
	"answers newest first":        {asking(func(q *document.Query) { q.Reverse = !q.Reverse }), "HC02 HC18 HC22"},
	"has no conditions":           {writing(unconditional), "HC27"},
	"merges sessions":             {merging(), "HC01"},
}

// without drops the changes whose id begins so.
func without(cs []document.Change, prefix string) []document.Change {
	return slices.DeleteFunc(cs, func(c document.Change) bool { return strings.HasPrefix(c.ID, prefix) && c.Value != nil })
}

func unconditional(_ *document.Place, cs []document.Change) []document.Change {
	for i := range cs {
		cs[i].If = nil
	}
	return cs
}

// merging puts all sessions into one.
func merging() twisted {
	change := func(p *document.Place) {
		if p.Collection == session.Collection {
			p.Partition = "all"
		}
	}
	t := writing(func(p *document.Place, cs []document.Change) []document.Change { change(p); return cs })
	t.query = asking(func(q *document.Query) { change(&q.Place) }).query
	t.get = change
	return t
}

func TestBrokenStoresAreCaught(t *testing.T) {
	caught := map[string]bool{}
	for name, b := range broken {
		t.Run(name, func(t *testing.T) {
			for row := range strings.FieldsSeq(b.rules) {
				i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Row == row })
				caught[row] = true
				silent := true
				for range 100 { // a race may end well now and then
					if !silent {
						break
					}
					silent = complaints.Of(t, func(tb testing.TB) {
						Rules[i].Test(tb, func(testing.TB) document.Store { s := b.store; s.Map = new(document.Map); return s })
					}) == ""
				}
				if silent {
					t.Errorf("rule: a store that %s is caught by %q\n got: silence", name, Rules[i])
				}
			}
		})
	}
	for _, r := range Rules {
		if r.Row != "" && !caught[r.Row] {
			t.Errorf("rule: each row can fail\n got: no broken store for %q", r)
		}
	}
}
