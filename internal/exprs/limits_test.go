package exprs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/exprs"
)

// doubling returns an expression that doubles the size of a value with each let.
func doubling(start, step string, times int, use string) string {
	var b strings.Builder
	b.WriteString("let v0 = " + start + "; ")
	name := func(i int) string { return "v" + string(rune('a'+i/26)) + string(rune('a'+i%26)) }
	last := "v0"
	for i := range times {
		b.WriteString("let " + name(i) + " = " + strings.ReplaceAll(step, "V", last) + "; ")
		last = name(i)
	}
	return b.String() + strings.ReplaceAll(use, "V", last)
}

// TestEval_StopsAtBounds evaluates expressions that would not terminate, or would exhaust memory,
// in the engine alone.
func TestEval_StopsAtBounds(t *testing.T) {
	for name, text := range map[string]string{
		"nested loops":          `let r = 1..1000; count(r, count(r, count(r, true) > 0) > 0)`,
		"nested range loops":    `count(1..900, count(1..900, count(1..900, true) > 0) > 0)`,
		"loop over in":          `let r = 1..400000; count(r, -1 in r)`,
		"loop over sum":         `let r = 1..400000; count(r, sum(r) == 0)`,
		"loop over mean":        `let r = 1..400000; count(r, mean(r) == 0)`,
		"loop over contains":    `let s = repeat("a", 1000000); count(1..400000, s contains "ab")`,
		"loop over compare":     `let s = repeat("a", 1000000); let t = repeat("a", 1000000) + ""; count(1..400000, s < t)`,
		"loop over equal":       `let s = repeat("a", 1000000); let t = s + ""; count(1..400000, s == t)`,
		"loop over len":         `let s = repeat("a", 1000000); count(1..400000, len(s) == 0)`,
		"loop over slices":      `let s = repeat("a", 1000000); count(1..400000, s[1:] == "")`,
		"loop over keys":        `let s = repeat("a", 1000000); count(1..400000, state.labels[s] == 1)`,
		"loop over get":         `let s = repeat("a", 1000000); count(1..400000, get(state.labels, s) == 1)`,
		"loop over map keys":    `let s = repeat("a", 1000000); count(1..400000, {{(s): 1} == {}})`,
		"group by long keys":    `let s = repeat("a", 1000000); groupBy(1..400000, s)`,
		"growing base64":        doubling(`repeat("a", 1000000)`, "toBase64(V)", 100, "V"),
		"sort many times":       `let r = 1..40000; count(r, len(sort(r)) == 0)`,
		"huge repeat":           `repeat(repeat("a", 1000000), 1000000)`,
		"huge replace":          `replace(repeat("a", 1000000), "a", repeat("b", 1000000))`,
		"huge join":             `let s = repeat("a", 100000); join(map(1..100000, s))`,
		"huge range":            `1..1000000000`,
		"doubled text":          doubling(`"xx"`, "V + V", 100, "V"),
		"doubled text in any":   doubling(`result ?? "xx"`, "V + V", 100, "V"),
		"doubled list":          doubling(`[1]`, "concat(V, V)", 90, "V"),
		"doubled tree":          doubling(`[1]`, "[V, V]", 100, "V"),
		"doubled tree, JSON":    doubling(`[1]`, "[V, V]", 100, "json(V)"),
		"doubled tree, flat":    doubling(`[1]`, "[V, V]", 100, "flatten(V)"),
		"doubled tree, mean":    doubling(`[1]`, "[V, V]", 100, "mean(V)"),
		"doubled tree, string":  doubling(`[1]`, "[V, V]", 100, "string(V)"),
		"doubled tree, format":  doubling(`[1]`, "[V, V]", 100, "format('%v', V)"),
		"doubled tree, uniq":    doubling(`[1]`, "[V, V]", 100, "uniq(V)"),
		"doubled tree, join":    doubling(`[1]`, "[V, V]", 100, "join(V)"),
		"equal doubled trees":   doubling(`[[1]]`, "[V, V]", 90, "V == reduce(1..90, [#acc, #acc], [[1]])"),
		"deep tree":             `reduce(1..400000, [#acc], 1)`,
		"deep tree, JSON":       `json(reduce(1..400000, [#acc], 1))`,
		"deep tree, flat":       `flatten(reduce(1..400000, [#acc], 1))`,
		"slow pattern":          `repeat("x", 1000000) matches "(x?){300}(x?){300}y"`,
		"pattern made at run":   `count(1..400000, "x" matches ("(x{100}){9}" + string(#)))`,
		"growing reduce":        `reduce(1..900000, #acc + "xxxxxxxxxxxxxxxxxx", "")`,
		"sortBy within sortBy":  strings.Repeat("sortBy(", 60) + "1..100000" + strings.Repeat(", #)", 60),
		"flatten without shape": `flatten(map(1..900, 1..900))`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := exprs.CompileExpr(text, weather)
			if err != nil {
				t.Fatalf("%v", err)
			}
			_, err = v.Eval(vars())
			if err == nil {
				t.Fatal("got no error, want one for too much work")
			}
			if len(err.Error()) > 200 {
				t.Errorf("message of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestCompileExpr_StopsAtBounds(t *testing.T) {
	for name, text := range map[string]string{
		"long source":     strings.Repeat(" ", exprs.MaxSource) + "1",
		"many parts":      strings.Repeat("1+", exprs.MaxNodes) + "1",
		"shared operands": strings.Repeat("(1 < ", 120) + "1" + strings.Repeat(" < 1) == true", 120),
		"parentheses":     strings.Repeat("(", 8000),
		"brackets":        strings.Repeat("[", 8000),
		"not":             strings.Repeat("!", 8000),
		"ternaries":       strings.Repeat("true?", 1600),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exprs.CompileExpr(text, weather); err == nil {
				t.Error("got no error")
			}
		})
	}
}

// TestEval_ComparesEachOperandOnce nests comparisons whose middle operands would double the work at
// each level if they were evaluated twice.
func TestEval_ComparesEachOperandOnce(t *testing.T) {
	v, err := exprs.CompileExpr(strings.Repeat("0 < len([", 90)+"1"+strings.Repeat("]) < 9", 90), weather)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Eval(vars()); got != true || err != nil {
		t.Errorf("got %v, %v, want true", got, err)
	}
}

// TestEval_AllowsReportOfFourYears checks that the bounds allow real workflows: four years of days,
// grouped and formatted.
func TestEval_AllowsReportOfFourYears(t *testing.T) {
	var days []any
	for i := range 1461 {
		days = append(days, map[string]any{"day": "2012-01-01", "month": int64(i / 31 % 12), "max": float64(i % 30), "kind": []any{"sun", "rain"}[i%2]})
	}
	env := exprs.Env{"days": exprs.List(exprs.Object(map[string]exprs.Type{
		"day": exprs.String, "month": exprs.Int, "max": exprs.Number, "kind": exprs.String,
	}))}
	for _, text := range []string{
		`${{ days }}`,
		`${{ let g = groupBy(days, .month); keys(g) | map(format("| %2d | %6.1f |", #, mean(map(g[#], .max)))) | join("\n") }}`,
		`${{ days | map(format("%s %5.1f %s", .day, .max, .kind)) | join("\n") }}`,
		`${{ reduce(days, #acc + .day + " " + .kind + "\n", "") }}`,
		`${{ let top = max(map(days, .max)); days | filter(.max == top) | take(3) | map(.day) }}`,
	} {
		v, err := exprs.CompileValue(text, env)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Eval(map[string]any{"days": days}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestIntegers_OverflowIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		"9223372036854775806 + 1":               "9223372036854775807",
		"9223372036854775807 + 1":               "",
		"-9223372036854775807 - 1":              "-9223372036854775808",
		"-9223372036854775807 - 2":              "",
		"state.rounds - 9223372036854775807":    "-9223372036854775805",
		"(result ?? 5) + 9223372036854775807":   "",
		"3037000499 * 3037000499":               "9223372030926249001",
		"3037000500 * 3037000500":               "",
		"(-9223372036854775807 - 1) * 1":        "-9223372036854775808",
		"(-9223372036854775807 - 1) * -1":       "",
		"reduce(1..30, #acc * #)":               "",
		"int(1e18)":                             "1000000000000000000",
		"int(1e19)":                             "",
		"int(-1e19)":                            "",
		"int('12') + int(3.9)":                  "15",
		"1.5 + 2 - 0.5 * 2":                     "2.5",
		"state.topic + 'x'":                     "zürichx",
		"filter(1..5, # * 2 - 1 > 4)[0] + 1":    "4",
		"state.names[state.rounds - 1 - 0 * 7]": "a",
	} {
		v, err := exprs.CompileValue("${{ "+text+" }}", weather)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := v.Eval(vars())
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "no integer of 64 bits")):
			t.Errorf("%s = %v, %v; want an error", text, got, err)
		case want != "" && fmt.Sprint(got) != want:
			t.Errorf("%s = %v, %v; want %s", text, got, err, want)
		}
	}
}
