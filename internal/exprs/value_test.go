package exprs_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/internal/exprs"
)

// weather is an environment like the one of a small report workflow.
var weather = exprs.Env{
	"state": exprs.Object(map[string]exprs.Type{
		"topic":   exprs.String,
		"score":   exprs.Number,
		"rounds":  exprs.Int,
		"done":    exprs.Bool,
		"any":     exprs.Any,
		"names":   exprs.List(exprs.String),
		"labels":  exprs.Map(exprs.Int),
		"sources": exprs.List(exprs.Object(map[string]exprs.Type{"url": exprs.String, "title": exprs.String, "size": exprs.Int})),
	}),
	"result": exprs.Any,
}

func vars() map[string]any {
	return map[string]any{
		"state": map[string]any{
			"topic": "zürich", "score": 0.5, "rounds": int64(2), "done": true, "any": map[string]any{"k": []any{1, 2.5}},
			"names":  []any{"b", "a", "c"},
			"labels": map[string]any{"y": int64(2), "x": int64(1)},
			"sources": []any{
				map[string]any{"url": "u1", "title": "T1", "size": int64(7)},
				map[string]any{"url": "u2", "title": "T2", "size": int64(5)},
			},
		},
		"result": nil,
	}
}

func TestCompileValue_KeepsTypeOrMakesText(t *testing.T) {
	for _, tt := range []struct {
		text string
		want any
	}{
		{"", ""},
		{"plain", "plain"},
		{"${{ state.rounds }}", int64(2)},
		{"${{state.rounds + 1}}", int64(3)},
		{"${{ state.score }}", 0.5},
		{"${{ 4 / 2 }}", 2.0},
		{"${{ result }}", nil},
		{"${{ state.done }}", true},
		{"${{ state.names }}", []any{"b", "a", "c"}},
		{" ${{ state.rounds }}", " 2"},
		{"${{ state.rounds }}\n", "2\n"},
		{"a ${{ state.topic }}, b ${{ state.score }}", "a zürich, b 0.5"},
		{"${{ 3.0 }}/${{ 1e21 }}/${{ 1000000.0 }}/${{ 0.1 }}", "3/1e+21/1000000/0.1"},
		{"[${{ result }}]", "[]"},
		{"${{ state.names }} ${{ state.labels }}", `["b","a","c"] {"x":1,"y":2}`},
		{"${{ '<a>' }}${{ ['<a>'] }}", `<a>["<a>"]`},
		{"$${{ state.topic }}", "${{ state.topic }}"},
		{"$${{ ${{ 1 }} $${{", "${{ 1 ${{"},
		{"$ {{ x }} }} ${ {", "$ {{ x }} }} ${ {"},

		// The end of an expression is found by parsing.
		{"${{ state.sources | map({{url: .url, name: .title}}) }}", []any{
			map[string]any{"url": "u1", "name": "T1"}, map[string]any{"url": "u2", "name": "T2"},
		}},
		{`${{ "}}" + '}}' }}.`, "}}}}."},
		{"${{ `}}``}}` }}.", "}}`}}."},
		{`${{ "\"}}" }}.`, `"}}.`},
		{"${{ {a: {b: 1}}}}", map[string]any{"a": map[string]any{"b": int64(1)}}},
		{"${{ 1 /* }} */ }}.", "1."},
		{"${{ 1 // }}\n }}.", "1."},
		{`${{ "//" }}.`, "//."},
	} {
		v, err := exprs.CompileValue(tt.text, weather)
		if err != nil {
			t.Errorf("CompileValue(%q): %v", tt.text, err)
			continue
		}
		got, err := v.Eval(vars())
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestExpressions(t *testing.T) {
	for _, tt := range []struct {
		text string
		want any
	}{
		// Equality compares by value, for any integer type in the state.
		{`state.rounds == 2`, true},
		{`state.rounds == 2.0`, true},
		{`state.rounds != 3`, true},
		{`9007199254740993 == 9007199254740992.0`, false},
		{`9007199254740992.0 == 9007199254740993`, false},
		{`9007199254740993 > 9007199254740992.0`, true},
		{`9007199254740992.0 < 9007199254740993`, true},
		{`-9007199254740993 < -9007199254740992.0`, true},
		{`9223372036854775807 < 9223372036854775808.0`, true},
		{`2 < 2.5 and 2.5 < 3 and -2 > -2.5 and -2.5 > -3`, true},
		{`max(9007199254740992.0, 9007199254740993)`, int64(9007199254740993)},
		{`state.topic == "zürich"`, true},
		{`result == "x"`, false},
		{`result == nil`, true},
		{`state.any.k == [1, 2.5]`, true},
		{`state.labels == {x: 1, y: 2}`, true},
		{`state.labels == {x: 1, z: 2}`, false},
		{`"a" in state.names`, true},
		{`"z" not in state.names`, true},
		{`"x" in state.labels`, true},
		{`2 in [state.rounds]`, true},
		{`1 < state.rounds < 3`, true},
		{`1 < len(state.names) < 3 or 1 < int(state.score) + 3 < 9`, true},
		{`state.labels.nope ?? 7`, int64(7)},
		{`state.labels["x"]`, int64(1)},

		// The order is deterministic.
		{`keys({b: 1, a: 2, c: 3})`, []any{"a", "b", "c"}},
		{`values({b: 1, a: 2, c: 3})`, []any{int64(2), int64(1), int64(3)}},
		{`toPairs({b: 1, a: 2}) | map(#[0] + string(#[1]))`, []any{"a2", "b1"}},
		{`keys(groupBy(1..4, # % 2))`, []any{int64(0), int64(1)}},
		{`groupBy(state.sources, .size > 6)`, map[string]any{
			"true":  []any{map[string]any{"url": "u1", "title": "T1", "size": int64(7)}},
			"false": []any{map[string]any{"url": "u2", "title": "T2", "size": int64(5)}},
		}},
		{`sortBy(1..20, # % 3, "desc") | take(5)`, []any{int64(2), int64(5), int64(8), int64(11), int64(14)}},
		{`state.sources | sortBy(.size) | map(.url)`, []any{"u2", "u1"}},
		{`sort(state.names, "desc")`, []any{"c", "b", "a"}},
		{`sort(values(state.labels))`, []any{int64(1), int64(2)}},
		{`uniq([1, 1.0, "1", [2], [2]])`, []any{int64(1), "1", []any{int64(2)}}},

		// Text counts characters.
		{`len(state.topic)`, int64(6)},
		{`state.topic[:2] + state.topic[-1:]`, "züh"},
		{`state.topic[1:3]`, "ür"},
		{`state.names[1:]`, []any{"a", "c"}},
		{`state.any.k[:1]`, []any{int64(1)}},
		{`upper(state.topic)`, "ZÜRICH"},
		{`state.topic + "!"`, "zürich!"},
		{`state.names | join(", ")`, "b, a, c"},
		{`values(state.labels) | join("+")`, "1+2"},
		{`join([])`, ""},
		{`repeat("-", 3)`, "---"},
		{`replace("aXbX", "X", "--")`, "a--b--"},
		{`replace("aXbX", "X", "", 1)`, "abX"},
		{`split("a,b", ",")`, []any{"a", "b"}},
		{`state.topic matches "^z.r"`, true},
		{`state.topic matches ("^" + "x")`, false},
		{`result matches "x"`, false},
		{`string(state.any)`, `{"k":[1,2.5]}`},
		{`string(nil)`, ""},

		{`json(state.any)`, `{"k":[1,2.5]}`},
		{`toJSON([1])`, "[\n  1\n]"},
		{`fromJSON('{"i": 9007199254740993, "f": 1.5}')`, map[string]any{"i": int64(9007199254740993), "f": 1.5}},
		{`format("%-6s|%6.1f|%03d|%5.1f%%|%v|%q", state.topic, state.score, state.rounds, 12.34, [1], "x")`,
			`zürich|   0.5|002| 12.3%|[1]|"x"`},
		{`format("%d", 3.0)`, "3"},
		{`mean(map(state.sources, .size))`, 6.0},
		{`sum(state.sources, .size)`, int64(12)},
		{`sum(map(state.sources, .size))`, int64(12)},
		{`count(state.sources, .size > 6)`, int64(1)},
		{`max(state.sources | map(.size))`, int64(7)},
		{`reduce(1..4, #acc * #, 1)`, int64(24)},
		{`let n = state.rounds; n * n`, int64(4)},
		{`fromPairs([["a", 1]])`, map[string]any{"a": int64(1)}},
		{`round(2.5)`, 3.0},
		{`flatten([[1], [2, [3]]])`, []any{int64(1), int64(2), int64(3)}},
		{`state.sources | filter(.size > 5) | map(.url) | first()`, "u1"},
		{`find(state.sources, .size > 100)?.url ?? "none"`, "none"},
		{`7 % 4`, int64(3)},
		{`2 ** 3`, 8.0},
	} {
		v, err := exprs.CompileExpr(tt.text, weather)
		if err != nil {
			t.Errorf("CompileExpr(%q): %v", tt.text, err)
			continue
		}
		for range 3 {
			got, err := v.Eval(vars())
			if err != nil {
				t.Errorf("%q: %v", tt.text, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tt.text, diff)
			}
		}
	}
}

func TestCompileCondition_RequiresBool(t *testing.T) {
	c, err := exprs.CompileCondition("state.score < 0.9 && !result", weather)
	if err != nil {
		t.Fatal(err)
	}
	in := vars()
	in["result"] = false
	if ok, err := c.Eval(in); !ok || err != nil {
		t.Errorf("got %v, %v, want true", ok, err)
	}
	if _, err := exprs.CompileCondition("state.rounds", weather); err == nil || !strings.Contains(err.Error(), "of type int") {
		t.Errorf("a condition of type int compiled: %v", err)
	}
	c, err = exprs.CompileCondition("result", weather)
	if err != nil {
		t.Fatalf("an expression of type any must compile: %v", err)
	}
	in["result"] = "yes"
	if _, err := c.Eval(in); err == nil || !strings.Contains(err.Error(), "this is string") {
		t.Errorf("got %v, want an error: text is not true or false", err)
	}
}

func TestValueKind_IsStatic(t *testing.T) {
	for text, want := range map[string]exprs.Kind{
		"${{ state.rounds }}":    exprs.IntKind,
		"${{ state.score * 2 }}": exprs.NumberKind,
		"${{ state.names }}":     exprs.ListKind,
		"${{ state.labels }}":    exprs.MapKind,
		"${{ state }}":           exprs.MapKind,
		"${{ {a: 1} }}":          exprs.MapKind,
		"${{ state.topic }}":     exprs.StringKind,
		"x${{ state.rounds }}":   exprs.StringKind,
		"${{ 1 == 2 }}":          exprs.BoolKind,
		"${{ result.x }}":        exprs.AnyKind,
		"${{ nil }}":             exprs.NilKind,
	} {
		v, err := exprs.CompileValue(text, weather)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if v.Kind() != want {
			t.Errorf("Kind of %q is %q, want %q", text, v.Kind(), want)
		}
		if v.IsLiteral() {
			t.Errorf("IsLiteral of %q is true", text)
		}
	}
	if v, err := exprs.CompileValue("$${{ x }}", weather); err != nil || !v.IsLiteral() {
		t.Errorf("an escaped ${{ is not a literal: %v", err)
	}
}

func TestEval_ResultSharesNoMemory(t *testing.T) {
	v, err := exprs.CompileValue("${{ state.names }}", weather)
	if err != nil {
		t.Fatal(err)
	}
	in := vars()
	got, err := v.Eval(in)
	if err != nil {
		t.Fatal(err)
	}
	got.([]any)[0] = "changed"
	if diff := cmp.Diff(vars(), in); diff != "" {
		t.Errorf("a write to the result reached the variables (-want +got):\n%s", diff)
	}
}

func TestEval_IsSafeForConcurrentUse(t *testing.T) {
	v, err := exprs.CompileValue("${{ state.sources | sortBy(.size) | map(.url) | join() }}", weather)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if got, err := v.Eval(vars()); got != "u2u1" || err != nil {
					t.Errorf("got %v, %v, want u2u1", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestCheckName(t *testing.T) {
	for _, bad := range []string{"", "a-b", "1a", "map", "count", "json", "in", "true", "\x00meter"} {
		if exprs.CheckName(bad) == nil {
			t.Errorf("CheckName(%q) accepts a name that expressions cannot use", bad)
		}
	}
	for _, good := range []string{"state", "src", "item_2", "now"} {
		if err := exprs.CheckName(good); err != nil {
			t.Errorf("CheckName(%q): %v", good, err)
		}
	}
}

func Example() {
	env := exprs.Env{"state": exprs.Object(map[string]exprs.Type{"days": exprs.List(exprs.Number)})}
	v, err := exprs.CompileValue(`${{ len(state.days) }} days, ${{ format("%.1f", mean(state.days)) }} °C`, env)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Eval(map[string]any{"state": map[string]any{"days": []any{11.5, 12.0, 14.5}}}))

	_, err = exprs.CompileCondition(`len(state.dais) > 3`, env)
	var mistakes exprs.Errors
	fmt.Println(errors.As(err, &mistakes), err)
	// Output:
	// 3 days, 12.7 °C <nil>
	// true 1:11: unknown field dais; did you mean "days"?
}

func TestFunctions_CountCharactersAndKeepKeys(t *testing.T) {
	for text, want := range map[string]string{
		`indexOf("éa", "a")`:                                   "1",
		`lastIndexOf("éaéa", "a")`:                             "3",
		`indexOf("éa", "x")`:                                   "-1",
		`"zürich"[indexOf("zürich", "r"):]`:                    "rich",
		`indexOf(state.topic, "ich") + lastIndexOf("aa", "a")`: "4",
		`groupBy([1, 2, 1.0], #)`:                              `{"1":[1,1],"2":[2]}`,
		`groupBy([0.5, state.score, 1], #)`:                    `{"0.5":[0.5,0.5],"1":[1]}`,
		`groupBy(["1", 1], #)`:                                 `two keys of a map read as "1"`,
		`fromPairs([[1, 1], ["1", 2]])`:                        `two keys of a map read as "1"`,
	} {
		v, err := exprs.CompileValue("${{ "+text+" }} ", weather)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := v.Eval(vars())
		if got != want+" " && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s = %v, %v; want %s", text, got, err, want)
		}
	}
}

// cycle is a pointer to itself.
type cycle *cycle

func TestEval_ConvertsOtherGoTypes(t *testing.T) {
	type word string
	n, self := 7, new(cycle)
	*self = self
	env := exprs.Env{"v": exprs.Any}
	for _, tt := range []struct {
		text string
		v    any
		want string
	}{
		{"v + 1", 1, "2"},
		{"v + 1", uint8(1), "2"},
		{"v + 1", &n, "8"},
		{"v + '!'", word("a"), "a!"},
		{"v[0] + v[-1]", []int{1, 2}, "3"},
		{"v.a + v['b']", map[word]float32{"a": 1, "b": 0.5}, "1.5"},
		{"v[2]", map[int]string{2: "two"}, "two"},
		{"keys(v)", map[int]string{2: "two", 1: "one"}, "[1,2]"},
		{"v == nil", (*int)(nil), "true"},
		{"map(v, #.n)", []map[string]int{{"n": 1}}, "[1]"},
		{"v", struct{}{}, "an expression cannot use a value of type struct {}"},
		{"v", *self, "an expression cannot use a value of type exprs_test.cycle"},
		{"v.f", map[string]any{"f": func() {}}, "an expression cannot use a value of type func()"},
	} {
		v, err := exprs.CompileValue("${{ "+tt.text+" }} ", env)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.Eval(map[string]any{"v": tt.v})
		if got != tt.want+" " && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s of %T: got %v, %v; want %s", tt.text, tt.v, got, err, tt.want)
		}
	}
}
