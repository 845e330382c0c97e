package documenttest

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/weftrun/weft/checkpoint/document"
)

// people are what the rules about filters and sorts ask for, in the order of their sets.
var people = []struct{ id, value string }{
	{"ada", `{"role": "user", "age": 36, "tags": ["math", "poetry"], "home": {"city": "London", "a.b": 1}}`},
	{"bob", `{"role": "admin", "age": 36.0, "tags": [], "home": {"city": "Paris"}, "nick": null}`},
	{"cyd", `{"role": "user", "age": 9007199254740993, "home": null}`},
	{"dan", `{"role": "guest", "age": 9007199254740992, "active": true}`},
	{"eve", `{"role": 7, "age": "36", "active": false}`},
	{"fay", `[1, 2]`},
}

func (p *probe) people() {
	p.Helper()
	for _, one := range people {
		p.set(home, one.id, one.value)
	}
}

type op = document.Operator

var queryRules = []rule{
	{"Filters", func(p *probe) {
		p.people()
		for _, c := range []struct {
			path  string
			op    op
			value any
			want  string
		}{
			{"role", document.Eq, "user", "ada cyd"},
			{"role", "", "user", "ada cyd"},
			{"role", document.Eq, "User", ""},
			{"role", document.Ne, "user", "bob dan eve fay"},
			{"role", document.In, []string{"admin", "guest"}, "bob dan"},
			{"role", document.In, []any{7, "admin"}, "bob eve"},
			{"role", document.In, []string{}, ""},
			{"role", document.In, []string(nil), ""},
			{"age", document.Eq, 36, "ada bob"},
			{"age", document.Eq, "36", "eve"},
			{"age", document.Eq, json.Number("9007199254740993"), "cyd"},
			{"age", document.Gt, 36, "cyd dan"},
			{"age", document.Gte, 36, "ada bob cyd dan"},
			{"age", document.Lt, json.Number("9007199254740993"), "ada bob dan"},
			{"age", document.Lte, json.Number("9007199254740992"), "ada bob dan"},
			{"age", document.Gt, "3", "eve"},
			{"home.city", document.Eq, "Paris", "bob"},
			{"home.city", document.In, []string{"Paris", "London"}, "ada bob"},
			{"home", document.Eq, nil, "cyd"},
			{"home", document.Eq, map[string]any{"city": "Paris"}, "bob"},
			{`home.a\.b`, document.Eq, 1, "ada"},
			{"nick", document.Eq, nil, "bob"},
			{"nick", document.Ne, nil, "ada cyd dan eve fay"},
			{"active", document.Eq, true, "dan"},
			{"tags.0", document.Eq, "math", "ada"},
			{"tags.#", document.Eq, 2, "ada"},
			{"tags", document.Eq, []string{}, "bob"},
			{"1", document.Eq, 2, "fay"},
			{"role' OR '1'='1", document.Eq, "user", ""},
		} {
			p.Same(fmt.Sprintf("%s %s %v selects", c.path, c.op, c.value),
				p.ids(document.Query{Place: home, Where: document.Filter{{Path: c.path, Op: c.op, Value: c.value}}}), c.want)
		}
		p.Same("all conditions hold", p.ids(document.Query{Place: home, Where: document.Filter{{Path: "age", Op: document.Gte, Value: 36}, {Path: "role", Value: "user"}}}), "ada cyd")
	}},
	{"Sorts", func(p *probe) {
		p.people()
		for _, c := range []struct {
			sort []document.Sort
			want string
		}{
			{[]document.Sort{{Path: "age"}}, "fay ada bob dan cyd eve"},
			{[]document.Sort{{Path: "age", Desc: true}}, "eve cyd dan ada bob fay"},
			{[]document.Sort{{Path: "role"}, {Path: "age", Desc: true}}, "fay eve bob dan cyd ada"},
			{[]document.Sort{{Path: "home"}, {Path: "active"}}, "fay eve dan cyd ada bob"},
			{[]document.Sort{{Path: "nothing"}}, "ada bob cyd dan eve fay"},
			{[]document.Sort{{Path: "home.city", Desc: true}}, "bob ada cyd dan eve fay"},
		} {
			p.Same(fmt.Sprintf("sorted by %v", c.sort), p.ids(document.Query{Place: home, Sort: c.sort}), c.want)
		}
		p.Same("with Reverse, what is equal stays in the order backwards", p.ids(document.Query{Place: home, Reverse: true, Sort: []document.Sort{{Path: "home.city"}}}), "fay eve dan cyd ada bob")
		p.Same("a sort comes before skip and limit", p.ids(document.Query{Place: home, Sort: []document.Sort{{Path: "age"}}, Skip: 1, Limit: new(2)}), "ada bob")
	}},
	{"Limits", func(p *probe) {
		p.people()
		for _, c := range []struct {
			skip  int
			limit *int
			want  string
		}{
			{0, nil, "ada bob cyd dan eve fay"},
			{0, new(0), ""},
			{0, new(2), "ada bob"},
			{4, nil, "eve fay"},
			{2, new(2), "cyd dan"},
			{5, new(9), "fay"},
			{6, nil, ""},
			{99, new(1), ""},
			{0, new(math.MaxInt), "ada bob cyd dan eve fay"},
			{1, new(math.MaxInt), "bob cyd dan eve fay"},
			{math.MaxInt, new(math.MaxInt), ""},
		} {
			for _, sort := range [][]document.Sort{nil, {{Path: "nothing"}}} {
				what := fmt.Sprintf("skip %d, limit %v, sort %v", c.skip, c.limit, sort)
				if c.limit != nil {
					what = fmt.Sprintf("skip %d, limit %d, sort %v", c.skip, *c.limit, sort)
				}
				p.Same(what, p.ids(document.Query{Place: home, Skip: c.skip, Limit: c.limit, Sort: sort}), c.want)
			}
		}
		q := document.Query{Place: home, Where: document.Filter{{Path: "role", Value: "user"}}, Skip: 1, Limit: new(1)}
		p.Same("a filter comes before skip and limit", p.ids(q), "cyd")
		_, err := p.store.Query(p.Context(), document.Query{Place: home, Limit: new(-1)})
		p.Fails("a negative limit is refused", err, document.ErrInvalidLimit)
		_, err = p.store.Query(p.Context(), document.Query{Place: home, Skip: -1})
		p.Fails("a negative skip is refused", err, document.ErrQuery)
	}},
	{"BadQueries", func(p *probe) {
		p.people()
		for what, c := range map[string]document.Condition{
			"an unknown operator": {Path: "a", Op: "$where", Value: 1}, "an empty path": {Value: 1}, "In without an array": {Path: "a", Op: document.In, Value: 1},
			"an order of arrays": {Path: "a", Op: document.Gt, Value: []int{1}}, "an order of null": {Path: "a", Op: document.Lt}, "no JSON": {Path: "a", Value: math.NaN()},
		} {
			_, err := p.store.Query(p.Context(), document.Query{Place: home, Where: document.Filter{c}})
			p.Fails(what+" is refused", err, document.ErrQuery)
		}
		_, err := p.store.Query(p.Context(), document.Query{Place: home, Where: make(document.Filter, document.MaxFilter+1)})
		p.Fails("a filter has a limit", err, document.ErrQuery)
		_, err = p.store.Query(p.Context(), document.Query{Place: home, Sort: []document.Sort{{}}})
		p.Fails("a sort has a path", err, document.ErrQuery)
	}},
}
