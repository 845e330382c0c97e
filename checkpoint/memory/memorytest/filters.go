package memorytest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint/memory"
)

var filterRules = []rule{
	{"FilterTable", filterTable},
	{"FilterNumbers", filterNumbers},
	{"FilterMissingAndNull", filterMissingAndNull},
	{"FilterDeep", filterDeep},
	{"FilterPaths", filterPaths},
	{"FilterIsAnd", filterIsAnd},
	{"FilterAsJSON", filterAsJSON},
	{"FilterOfOddText", filterOfOddText},
	{"HostileFilters", hostileFilters},
	{"BadFilters", badFilters},
	{"FilterBelowPrefix", filterBelowPrefix},
}

// raw is JSON that is not encoded again.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func where(path string, op memory.Operator, value string) memory.Filter {
	return memory.Filter{{Path: path, Op: op, Value: raw(value)}}
}

// found demands which keys a filter finds.
func (p *probe) found(f memory.Filter, want string) {
	p.Helper()
	p.Same(fmt.Sprintf("a filter finds the matching items: %.200v", f), p.keys(memory.Query{Where: f}), want)
}

func filterTable(p *probe) {
	for key, v := range map[string]string{
		"arr": `[1]`, "f": `false`, "missing": ``, "n1": `1`, "n2": `2`, "neg": `-3`, "null": `null`, "obj": `{"x":1}`, "s1": `"1"`, "sa": `"a"`, "sb": `"b"`, "t": `true`,
	} {
		if v == "" {
			p.put(home, key, `{"other":1}`)
			continue
		}
		p.put(home, key, `{"v":`+v+`}`)
	}
	for _, tt := range []struct {
		op    memory.Operator
		value string
		want  string
	}{
		{memory.Eq, `1`, "n1"}, {memory.Eq, `"1"`, "s1"}, {memory.Eq, `true`, "t"}, {memory.Eq, `false`, "f"}, {memory.Eq, `null`, "null"},
		{memory.Eq, `[1]`, "arr"}, {memory.Eq, `{"x":1}`, "obj"}, {memory.Eq, `{}`, ""}, {memory.Eq, `[]`, ""}, {memory.Eq, `"A"`, ""},
		{memory.Ne, `1`, "arr f missing n2 neg null obj s1 sa sb t"}, {memory.Ne, `null`, "arr f missing n1 n2 neg obj s1 sa sb t"},
		{memory.Ne, `{"x":1}`, "arr f missing n1 n2 neg null s1 sa sb t"},
		{memory.Gt, `1`, "n2"}, {memory.Gte, `1`, "n1 n2"}, {memory.Lt, `1`, "neg"}, {memory.Lte, `1`, "n1 neg"}, {memory.Gt, `0.5`, "n1 n2"},
		{memory.Gt, `"a"`, "sb"}, {memory.Gte, `"a"`, "sa sb"}, {memory.Lt, `"a"`, "s1"}, {memory.Lte, `"a"`, "s1 sa"}, {memory.Gt, `""`, "s1 sa sb"},
	} {
		p.found(where("v", tt.op, tt.value), tt.want)
	}
}

func filterNumbers(p *probe) {
	numbers := []string{
		`-1e300`, `-10`, `-2`, `-1.5`, `-1`, `-1e-300`, `0`, `1e-300`, `0.1`, `0.10000000000000001`, `0.5`, `1`, `1.0000000000000000000001`, `2`, `10`,
		`9007199254740992`, `9007199254740993`, `18446744073709551615`, `18446744073709551616`, `1e300`, `1.00001e300`,
	}
	var keys []string
	for i, n := range numbers {
		keys = append(keys, fmt.Sprintf("k%02d", i))
		p.put(home, keys[i], `{"n":`+n+`}`)
	}
	for i, n := range numbers {
		p.found(where("n", memory.Eq, n), keys[i])
		p.found(where("n", memory.Lt, n), strings.Join(keys[:i], " "))
		p.found(where("n", memory.Gte, n), strings.Join(keys[i:], " "))
	}
	for n, key := range map[string]string{`1.0`: "k11", `1e0`: "k11", `10E-1`: "k11", `-0`: "k06", `0.00e5`: "k06", `100e-1`: "k14", `0.2e1`: "k13", `9007199254740993.000`: "k16"} {
		p.found(where("n", memory.Eq, n), key)
	}
}

func filterMissingAndNull(p *probe) {
	p.put(home, "empty", `{}`)
	p.put(home, "null", `{"a":null}`)
	p.put(home, "scalar", `"a"`)
	p.put(home, "whole", `null`)
	p.put(home, "x", `{"a":{"b":null}}`)
	p.found(where("a", memory.Eq, `null`), "null")
	p.found(where("a.b", memory.Eq, `null`), "x")
	p.found(where("a.b.c", memory.Eq, `null`), "")
	p.found(where("a.b.c", memory.Ne, `1`), "empty null scalar whole x")
	p.found(where("a", memory.Lt, `1`), "")
	p.found(where("a", memory.Ne, `null`), "empty scalar whole x")
}

func filterDeep(p *probe) {
	p.put(home, "a", `{"v":{"x":[1,{"y":null}],"z":"s"}}`)
	p.put(home, "b", `{"v":{"x":[1,{"y":null}],"z":"s","more":1}}`)
	p.put(home, "c", `{"v":[1,2]}`)
	p.put(home, "d", `{"v":[2,1]}`)
	p.put(home, "e", `{"v":[1,2,2]}`)
	p.found(where("v", memory.Eq, `{"z":"s","x":[1.0,{"y":null}]}`), "a")
	p.found(where("v", memory.Eq, `[1,2]`), "c")
	p.found(where("v", memory.Eq, `[]`), "")
	p.found(where("v", memory.Ne, `[1,2]`), "a b d e")
	p.found(where("v.x", memory.Eq, `[1,{"y":null}]`), "a b")
	p.found(where("v.0", memory.Eq, `1`), "")
}

func filterPaths(p *probe) {
	p.put(home, "deep", `{"a":{"b":{"c":1}}}`)
	p.put(home, "dot", `{"a.b":1}`)
	p.put(home, "odd", `{"a\\":{"$eq":{" ":{"é":1}}}}`)
	p.put(home, "array", `[{"a":1}]`)
	p.found(where("a.b.c", memory.Eq, `1`), "deep")
	p.found(where("a.b", memory.Eq, `1`), "")
	p.found(where(`a\.b`, memory.Eq, `1`), "dot")
	p.found(where(`a\\.$eq. .é`, memory.Eq, `1`), "odd")
	p.found(where("a", memory.Eq, `1`), "")
}

func filterIsAnd(p *probe) {
	for i := range 10 {
		p.put(home, fmt.Sprint(i), fmt.Sprintf(`{"n":%d,"even":%v,"in":{"n":%d}}`, i, i%2 == 0, i))
	}
	p.found(memory.Filter{{Path: "n", Op: memory.Gte, Value: 3}, {Path: "n", Op: memory.Lt, Value: 7}, {Path: "even", Op: memory.Eq, Value: true}}, "4 6")
	p.found(memory.Filter{{Path: "n", Op: memory.Eq, Value: 3}, {Path: "n", Op: memory.Eq, Value: 4}}, "")
	p.found(memory.Filter{{Path: "in.n", Op: memory.Eq, Value: 3}, {Path: "in", Op: memory.Eq, Value: map[string]int{"n": 3}}}, "3")
	p.found(memory.Filter{{Path: "in", Op: memory.Eq, Value: map[string]int{"n": 3}}, {Path: "in.n", Op: memory.Eq, Value: 4}}, "")
	p.found(nil, "0 1 2 3 4 5 6 7 8 9")
}

func filterAsJSON(p *probe) {
	p.put(home, "a", `{"color":"red","age":20,"in":{"x":1}}`)
	p.put(home, "b", `{"color":"red","age":70}`)
	for text, want := range map[string]string{
		`{"color":"red"}`: "a b", `{"age":{"$gte":18,"$lt":65}}`: "a", `{"color":{"$eq":"red"},"age":{"$ne":20}}`: "b", `{}`: "a b", `{"in.x":1}`: "a", `{"in":{"x":1}}`: "a",
	} {
		f, err := memory.ParseFilter([]byte(text))
		p.Done("a filter can be read: "+text, err)
		p.found(f, want)
	}
}

func filterOfOddText(p *probe) {
	odd := []string{`"\u0000"`, `"a\u0000b"`, `"\\u0000"`, `"\ud800"`, `"<&>"`, `"\u2028"`, `""`, `" "`, `"'"`, `"\"}"`, `"é"`, `"e\u0301"`}
	for i, v := range odd {
		p.put(home, fmt.Sprintf("k%02d", i), `{"v":`+v+`,"w":1}`)
	}
	for i, v := range odd {
		p.found(memory.Filter{{Path: "v", Op: memory.Eq, Value: raw(v)}, {Path: "w", Op: memory.Eq, Value: 1}}, fmt.Sprintf("k%02d", i))
	}
}

func hostileFilters(p *probe) {
	p.put(home, "secret", `{"owner":"root","v":1}`)
	p.put(home, "other", `{"owner":"ada","v":2}`)
	for _, text := range hostile {
		if path := strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), ".", `\.`); path != "v" {
			p.found(where(path, memory.Eq, `1`), "")
			p.found(memory.Filter{{Path: path, Op: memory.Gte, Value: "a"}}, "")
			p.found(memory.Filter{{Path: "owner", Op: memory.Eq, Value: "ada"}, {Path: path, Op: memory.Ne, Value: "x"}}, "other")
		}
		p.found(memory.Filter{{Path: "owner", Op: memory.Eq, Value: text}}, "")
		p.found(memory.Filter{{Path: "owner", Op: memory.Eq, Value: map[string]string{text: text}}}, "")
	}
	for _, path := range []string{`owner" ? (true) || "`, `owner') OR ('1'='1`, `owner' = 'root' --`, `$`, `$**`, `owner"`, `"owner"`, `#>>'{owner}'`} {
		p.found(memory.Filter{{Path: path, Op: memory.Eq, Value: "root"}}, "")
	}
}

func badFilters(p *probe) {
	p.put(home, "k", `{"v":1}`)
	for _, f := range []memory.Filter{
		{{Path: "v", Op: "$regex", Value: ".*"}}, {{Path: "v", Op: "", Value: 1}}, {{Path: "v", Op: "=", Value: 1}}, {{Path: "v", Op: "$EQ", Value: 1}},
		{{Path: "v", Op: "$eq OR 1=1", Value: 1}}, {{Path: "", Op: memory.Eq, Value: 1}}, {{Path: ".", Op: memory.Eq, Value: 1}}, {{Path: "v.", Op: memory.Eq, Value: 1}},
		{{Path: ".v", Op: memory.Eq, Value: 1}}, {{Path: "v..w", Op: memory.Eq, Value: 1}}, {{Path: `v\`, Op: memory.Eq, Value: 1}}, {{Path: `\v`, Op: memory.Eq, Value: 1}},
		{{Path: "\xff", Op: memory.Eq, Value: 1}}, {{Path: "v\x00", Op: memory.Eq, Value: 1}}, {{Path: strings.Repeat("v", 2000), Op: memory.Eq, Value: 1}},
		{{Path: strings.Repeat("v.", 40) + "v", Op: memory.Eq, Value: 1}}, {{Path: "v", Op: memory.Gt, Value: true}}, {{Path: "v", Op: memory.Lt, Value: nil}},
		{{Path: "v", Op: memory.Gte, Value: []int{1}}}, {{Path: "v", Op: memory.Lte, Value: map[string]int{}}}, {{Path: "v", Op: memory.Eq, Value: func() {}}},
		{{Path: "v", Op: memory.Eq, Value: raw(`1e5000`)}}, slices.Repeat(where("v", memory.Eq, `1`), memory.MaxFilter+1),
	} {
		_, err := p.store.Search(p.Context(), memory.Query{Where: f})
		p.Fails(fmt.Sprintf("this is no filter: %.80v", f), err, memory.ErrQuery)
	}
	for _, text := range []string{`[]`, `1`, `null`, `{`, `{"v":{"$eq":1,"x":2}}`, `{"v":{"$where":"x"}}`, `{"$or":[{"v":1}]}{}`, `{"":1}`, "{\"\xff\":1}"} {
		_, err := memory.ParseFilter([]byte(text))
		p.Fails("this is no filter: "+text, err, memory.ErrQuery)
	}
}

func filterBelowPrefix(p *probe) {
	p.put([]string{"a"}, "1", `{"v":1}`)
	p.put([]string{"a", "b"}, "2", `{"v":1}`)
	p.put([]string{"ab"}, "3", `{"v":1}`)
	p.Same("a filter stays below the prefix", p.keys(memory.Query{Prefix: []string{"a"}, Where: where("v", memory.Eq, `1`)}), "1 2")
	p.Same("a search stays below the prefix", p.keys(memory.Query{Prefix: []string{"a", "b"}}), "2")
	p.Same("a prefix is of whole labels", p.keys(memory.Query{Prefix: []string{"ab"}}), "3")
	p.Same("an unknown prefix has nothing", p.keys(memory.Query{Prefix: []string{"a", "c"}}), "")
}
