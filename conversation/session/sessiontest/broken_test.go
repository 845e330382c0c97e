package sessiontest

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/session"
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

// broken are stores with one fault each, and rules that must notice it, by row or by name.
var broken = map[string]struct {
	store twisted.Store
	rules string
}{
	"forgets messages": {twisted.Writing(func(p *document.Place, cs []document.Change) []document.Change { return without(cs, "m") }),
		"HC01 HC02 HC03 HC04 HC06 HC11 HC12 HC14 HC15 HC16 HC17 HC18 HC19 HC20 HC21 HC24 HC25 HC26 HC28"},
	"forgets what has to be done": {twisted.Writing(func(p *document.Place, cs []document.Change) []document.Change { return without(cs, "o") }), "HC18 HC19 HC20 HC28"},
	"forgets heads":               {twisted.Writing(func(p *document.Place, cs []document.Change) []document.Change { return without(cs, "h") }), "HC05 HC07 HC08 HC09 HC10 HC13 HC23 HC29"},
	"ignores the lower bound":     {twisted.Asking(func(q *document.Query) { q.From = "" }), "HC17 HC18"},
	"ignores the upper bound":     {twisted.Asking(func(q *document.Query) { q.Until = "" }), "HC28"},
	"answers newest first":        {twisted.Asking(func(q *document.Query) { q.Reverse = !q.Reverse }), "HC02 HC18 HC22"},
	"has no conditions":           {twisted.Writing(unconditional), "HC27"},
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
func merging() twisted.Store {
	change := func(p *document.Place) {
		if p.Collection == session.Collection {
			p.Partition = "all"
		}
	}
	t := twisted.Writing(func(p *document.Place, cs []document.Change) []document.Change { change(p); return cs })
	t.OnQuery = twisted.Asking(func(q *document.Query) { change(&q.Place) }).OnQuery
	t.OnGet = change
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
						Rules[i].Test(tb, func(testing.TB) document.Store { return b.store.Fresh() })
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
