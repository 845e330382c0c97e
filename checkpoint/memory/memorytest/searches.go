package memorytest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint/memory"
)

var searchRules = []rule{
	{"Order", order},
	{"Limit", limit},
	{"BadQueries", badQueries},
	{"Paging", paging},
	{"PagingInEveryOrder", pagingInEveryOrder},
	{"PagingWhileWriting", pagingWhileWriting},
	{"PagingOfFewMatches", pagingOfFewMatches},
	{"CursorsAreOfTheirQuery", cursorsAreOfTheirQuery},
	{"BadCursors", badCursors},
	{"LikeMap", likeMap},
}

var orders = []memory.Order{memory.ByKey, memory.ByUpdated, memory.ByCreated, memory.ByRank}

func order(p *probe) {
	for _, key := range []string{"b", "c", "a"} {
		p.put([]string{"x"}, key, `1`)
	}
	p.put([]string{"x", "y"}, "0", `1`)
	p.put([]string{"x\x01"}, "1", `1`)
	p.put([]string{"w"}, "z", `1`)
	p.put([]string{"x"}, "b", `2`)
	p.Same("by key means by namespace, label by label, then by key", p.keys(memory.Query{}), "z a b c 0 1")
	p.Same("a query is sorted by key", p.keys(memory.Query{Order: memory.ByKey}), "z a b c 0 1")
	p.Same("the item put last is first", p.keys(memory.Query{Order: memory.ByUpdated}), "b z 1 0 a c")
	p.Same("the item created last is first", p.keys(memory.Query{Order: memory.ByCreated}), "z 1 0 a c b")
}

func limit(p *probe) {
	for i := range 120 {
		p.put(home, fmt.Sprintf("%03d", i), `1`)
	}
	for _, tt := range []struct{ limit, want int }{{0, 100}, {1, 1}, {119, 119}, {120, 120}, {121, 120}, {memory.MaxLimit, 120}} {
		for _, o := range orders {
			page := p.page(memory.Query{Limit: tt.limit, Order: o})
			p.Same(fmt.Sprintf("a page has at most its limit, %d, by %s", tt.limit, o), len(page.Items), tt.want)
			if tt.want < 120 {
				p.Same("a page that is not the last has a next one", page.Next != "", true)
			}
		}
	}
}

func badQueries(p *probe) {
	for _, q := range []memory.Query{{Limit: -1}, {Limit: memory.MaxLimit + 1}, {Order: "KEY"}, {Order: "updated; DROP TABLE memories"}, {Order: "$"}} {
		_, err := p.store.Search(p.Context(), q)
		p.Fails(fmt.Sprintf("the query is invalid: %+v", q), err, memory.ErrQuery)
	}
	for _, q := range []memory.NamespaceQuery{{Limit: -1}, {Limit: memory.MaxLimit + 1}, {Depth: -1}} {
		_, err := p.store.Namespaces(p.Context(), q)
		p.Fails(fmt.Sprintf("the query is invalid: %+v", q), err, memory.ErrQuery)
	}
}

// fill puts n items in batches, over some namespaces.
func (p *probe) fill(n int) (keys []string) {
	p.Helper()
	bySpace := map[string][]memory.Op{}
	for i := range n {
		ns := fmt.Sprint("space", i%3)
		bySpace[ns] = append(bySpace[ns], op(fmt.Sprintf("%05d", i), fmt.Sprintf(`{"n":%d,"t":"even %d"}`, i, i%2)))
		keys = append(keys, fmt.Sprintf("%s/%05d", ns, i))
	}
	for ns, ops := range bySpace {
		for part := range slices.Chunk(ops, memory.MaxBatch) {
			_, err := p.store.Batch(p.Context(), []string{"all", ns}, part)
			p.Done("many items are put in batches", err)
		}
	}
	slices.Sort(keys)
	return keys
}

func paths(list []memory.Found) (keys []string) {
	for _, f := range list {
		keys = append(keys, f.Namespace[1]+"/"+f.Key)
	}
	return keys
}

func paging(p *probe) {
	n := 1001
	if os.Getenv(Long) != "" {
		n = 10_001
	}
	want := p.fill(n)
	for _, limit := range []int{7, 100, 1000} {
		p.Same("all pages together are the whole list, in order", slices.Equal(paths(p.search(memory.Query{Limit: limit})), want), true)
	}
}

func pagingInEveryOrder(p *probe) {
	want := p.fill(200)
	for _, o := range orders {
		q := memory.Query{Order: o, Limit: 1000}
		whole := paths(p.search(q))
		for _, q.Limit = range []int{1, 9, 200} {
			p.Same(fmt.Sprintf("pages together are the whole, by %s", o), paths(p.search(q)), whole)
		}
		slices.Sort(whole)
		p.Same(fmt.Sprintf("every item comes once, by %s", o), whole, want)
	}
	q := memory.Query{Text: "even 0", Limit: 7}
	p.Same("pages of a text are the whole", len(p.search(q)), 100)
}

func pagingWhileWriting(p *probe) {
	want := p.fill(300)
	for _, o := range []memory.Order{memory.ByKey, memory.ByCreated} {
		seen := map[string]int{}
		q, pages := memory.Query{Order: o, Limit: 20}, 0
		for {
			page := p.page(q)
			for _, key := range paths(page.Items) {
				seen[key]++
			}
			if q.Cursor = page.Next; q.Cursor == "" || pages > 100 {
				break
			}
			pages++
			p.put([]string{"all", "other"}, fmt.Sprintf("%s%d", o, pages), `1`) // before all, and created last
			p.put([]string{"all", "space0"}, "00150", fmt.Sprint(pages))        // again
			p.put([]string{"all", "space1"}, "brief", `1`)
			p.delete([]string{"all", "space1"}, "brief")
		}
		for _, key := range want {
			if seen[key] != 1 {
				p.Errorf("rule: items that exist throughout appear once while others write, by %s\n got: %s %d times", o, key, seen[key])
			}
		}
	}
	page := p.page(memory.Query{Limit: 10})
	last := page.Items[9]
	p.delete(last.Namespace, last.Key)
	p.Same("a cursor is valid after its item is deleted", len(p.page(memory.Query{Limit: 10, Cursor: page.Next}).Items), 10)
}

func pagingOfFewMatches(p *probe) {
	p.fill(600)
	for _, n := range []int{0, 299, 598, 599} {
		q := memory.Query{Where: where("n", memory.Eq, fmt.Sprint(n)), Limit: 1}
		p.Same("one match among many is found", p.keys(q), fmt.Sprintf("%05d", n))
	}
	p.Same("the last matches are found", len(p.search(memory.Query{Where: where("n", memory.Gte, `590`), Limit: 3})), 10)
}

func cursorsAreOfTheirQuery(p *probe) {
	p.fill(30)
	q := memory.Query{Limit: 5, Text: "even", Where: where("n", memory.Gt, `2`), Prefix: []string{"all"}}
	q.Cursor = p.page(q).Next
	p.Same("a cursor works with another limit", len(p.page(with(q, func(q *memory.Query) { q.Limit = 7 })).Items), 7)
	for name, change := range map[string]func(*memory.Query){
		"text": func(q *memory.Query) { q.Text = "odd" }, "order": func(q *memory.Query) { q.Order = memory.ByKey }, "prefix": func(q *memory.Query) { q.Prefix = nil },
		"filter": func(q *memory.Query) { q.Where = where("n", memory.Gt, `3`) }, "operator": func(q *memory.Query) { q.Where = where("n", memory.Gte, `2`) },
	} {
		_, err := p.store.Search(p.Context(), with(q, change))
		p.Fails("a cursor of a query with another "+name+" is an error", err, memory.ErrCursor)
	}
}

func with(q memory.Query, change func(*memory.Query)) memory.Query {
	change(&q)
	return q
}

func badCursors(p *probe) {
	p.fill(30)
	encode := base64.RawURLEncoding.EncodeToString
	real := p.page(memory.Query{Limit: 5}).Next
	for _, c := range append(slices.Clone(hostile), real[1:], real+"A", strings.ToUpper(real), encode([]byte(`{}`)), encode([]byte(`null`)), encode([]byte(`{"n":1}`)),
		encode([]byte(`{"n":"a","k":"b","q":""}`)), encode([]byte(`[`)), encode([]byte("' OR 1=1"))) {
		_, err := p.store.Search(p.Context(), memory.Query{Limit: 5, Cursor: c})
		p.Fails(fmt.Sprintf("%.40q is no cursor, and never the first page", c), err, memory.ErrCursor)
		p.Fails("a bad cursor is a bad query", err, memory.ErrQuery)
	}
}

// likeMap makes the same random changes and queries on the store and on a memory.Map. Both must
// return the same results.
func likeMap(p *probe) {
	rnd := rand.New(rand.NewPCG(1, 2))
	reference := &memory.Map{}
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	value := func() string {
		leaf := func() string {
			return pick(`1`, `1.0`, `-2`, `"1"`, `"red fox"`, `"Fox"`, `null`, `true`, `[]`, `[1]`, `{}`, `{"x":1}`, `"\u0000"`, `1e20`, `100000000000000000000`)
		}
		return pick(leaf(), `{"a":`+leaf()+`}`, `{"a":`+leaf()+`,"b":`+leaf()+`}`, `{"a":{"x":`+leaf()+`,"b":`+leaf()+`}}`)
	}
	space := func() []string { return strings.Split(pick("u", "u/a", "u/b", "u/a/c", "v"), "/") }
	for range 150 {
		ns, ops := space(), []memory.Op{}
		for key := range map[string]bool{pick("k1", "k2", "k3", "k4"): true, pick("k1", "k2", "k5"): true} {
			o := memory.Op{Key: key}
			if rnd.IntN(4) > 0 {
				o.Value = json.RawMessage(value())
			}
			ops = append(ops, o)
		}
		_, err := p.store.Batch(p.Context(), ns, ops)
		p.Done("a batch is made", err)
		_, err = reference.Batch(p.Context(), ns, ops)
		p.Done("a batch is made", err)
	}
	ops := []memory.Operator{memory.Eq, memory.Eq, memory.Ne, memory.Gt, memory.Gte, memory.Lt, memory.Lte}
	for range 200 {
		q := memory.Query{Order: memory.ByKey, Limit: 1 + rnd.IntN(10)}
		if rnd.IntN(2) == 0 {
			q.Prefix = space()
		}
		if rnd.IntN(3) == 0 {
			q.Text = pick("fox", "RED", "red fox", "1")
		}
		for range rnd.IntN(3) {
			c := memory.Condition{Path: pick("a", "b", "a.x", "a.b"), Op: ops[rnd.IntN(len(ops))], Value: raw(value())}
			if c.Op != memory.Eq && c.Op != memory.Ne {
				c.Value = raw(pick(`1`, `"1"`, `"a"`, `-2.5`, `1E20`))
			}
			q.Where = append(q.Where, c)
		}
		want := (&probe{p.Probe, reference}).search(q)
		p.Same(fmt.Sprintf("every store returns the same results: %+v", q), contents(p.search(q)), contents(want))
	}
}

func contents(list []memory.Found) (text []string) {
	for _, f := range list {
		text = append(text, fmt.Sprintf("%q %q %s %v", f.Namespace, f.Key, f.Value, f.Score))
	}
	return text
}
