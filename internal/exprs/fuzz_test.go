package exprs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/internal/exprs"
)

// FuzzValue checks any scalar. Compilation and evaluation neither panic nor hang. Mistakes have a
// place within the text. Results are plain and deterministic. The variables do not change.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		"${{ state.topic }}", "a ${{ state.rounds + 1 }} b", "${{ state.sources | map({{url: .url}}) }}", "$${{", "${{ '}}' }}",
		"${{ `}}``` }}", "${{ 1 /* */ // \n }}", "${{ groupBy(1..9, # % 2) | keys() | sort('desc') | join('-') }}", "${{ 1 < 2 < 3 }}",
		"${{ format('%5.1f|%-4s', 1.5, state.topic[1:]) }}", "${{ let a = [1]; a == [1.0] }}", "${{ if true { 1 } else { 2 } }}",
		"${{ state.names | sortBy(#, 'desc') | toPairs() }}", "${{ result?.x ?? fromJSON('[1]') }}", "${{ b'x' }} ${{ $env }}",
		"${{ \u00e9\u200b }} ${{ 'é' + stat.é }}", "${{ [1,2,3][-1:] ?? {a: 1}?.a }}", "${{ 'a' matches '(a{9}){9}' ? 9223372036854775807 + 1 : 0x_F }}",
		"${{ reduce(1..3, #acc + #index, 0) not in [1] }}", "${{ #\r\n}}${{ .x }}", "${{ map(1..2, {let q = #; q ** 99}) | flatten() | sum() }}",
		"${{ get(fromJSON('{\"a\":1e400}'), 'a') }}", "${{ ((x) }}{{ }} }}${{", "${{ first(state.names)[1:0] | replace('', 'é') | repeat(-1) }}", "${{ bitshl(1, -1) % 0 }}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := exprs.CompileValue(text, weather)
		if err != nil {
			checkMistakes(t, text, err)
			return
		}
		in := vars()
		first, err := v.Eval(in)
		fromReads, same := v.Eval(only(in, v.Reads()))
		if diff := cmp.Diff(first, fromReads); diff != "" || fmt.Sprint(err) != fmt.Sprint(same) {
			t.Fatalf("evaluation with only %v differs: got %v, want %v\n%s", v.Reads(), same, err, diff)
		}
		if err != nil {
			var e *exprs.Error
			if !errors.As(err, &e) || e.Offset > len(text) {
				t.Fatalf("run-time error without a place: %v", err)
			}
			return
		}
		if _, err := json.Marshal(first); err != nil {
			t.Fatalf("result is not plain: %v", err)
		}
		again, err := v.Eval(in)
		if diff := cmp.Diff(first, again); err != nil || diff != "" {
			t.Fatalf("the second run differs: %v\n%s", err, diff)
		}
		if diff := cmp.Diff(vars(), in); diff != "" {
			t.Fatalf("the variables have changed:\n%s", diff)
		}
	})
}

// only returns the variables and members in reads.
func only(vars map[string]any, reads exprs.Reads) map[string]any {
	part := map[string]any{}
	for name, members := range reads {
		whole, ok := vars[name]
		object, isObject := whole.(map[string]any)
		switch {
		case !ok:
		case members == nil || !isObject:
			part[name] = whole
		default:
			some := map[string]any{}
			for _, member := range members {
				if v, ok := object[member]; ok {
					some[member] = v
				}
			}
			part[name] = some
		}
	}
	return part
}

func checkMistakes(t *testing.T, text string, err error) {
	var es exprs.Errors
	if !errors.As(err, &es) || len(es) == 0 {
		t.Fatalf("error is not Errors: %v", err)
	}
	for _, e := range es {
		if e.Offset < 0 || e.Offset > len(text) || e.Line < 1 || e.Col < 1 || e.Width < 1 || e.Msg == "" {
			t.Fatalf("mistake without a place: %+v", e)
		}
		if utf8.ValidString(text) && e.Offset < len(text) && !utf8.RuneStart(text[e.Offset]) {
			t.Fatalf("mistake inside a character: %+v", e)
		}
	}
}

// FuzzFormat checks any format and arguments: no panic, and no text of a failed verb.
func FuzzFormat(f *testing.F) {
	f.Add("%5.1f|%d", 1.5, "x")
	f.Add("%%%-10s%v", 3.0, "é")
	f.Add("%é%", math.Copysign(0, -1), "\u200b")
	f.Add("%+-# 0200.200x%q", 9.3e18, "\xff")
	f.Add("%1.2.3d%-5-s%.f", 1e308, "")
	f.Fuzz(func(t *testing.T, text string, number float64, word string) {
		v, err := exprs.CompileExpr("format(f, n, w)", exprs.Env{"f": exprs.String, "n": exprs.Number, "w": exprs.String})
		if err != nil {
			t.Fatal(err)
		}
		out, err := v.Eval(map[string]any{"f": text, "n": number, "w": word})
		if err == nil && len(out.(string)) > exprs.MaxText {
			t.Fatalf("text of %d bytes", len(out.(string)))
		}
	})
}
