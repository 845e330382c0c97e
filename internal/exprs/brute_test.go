package exprs_test

import (
	"testing"

	"github.com/weftrun/weft/internal/exprs"
)

// TestCompileExpr_DoesNotPanic compiles and evaluates every text of three pieces of the language.
func TestCompileExpr_DoesNotPanic(t *testing.T) {
	pieces := []string{"a", "1", ".", "?", "(", ")", "[", "]", "{", "}", ",", "-", "#", "'", "|", "é\u200b", "nil", "len", "map", "\n"}
	try := func(text string) {
		defer func() {
			if r := recover(); r != nil {
				t.Fatalf("%q: %v", text, r)
			}
		}()
		v, err := exprs.CompileExpr(text, exprs.Env{"a": exprs.Any})
		if err != nil {
			checkMistakes(t, text, err)
			return
		}
		for _, a := range []any{nil, "x", int64(1), []any{nil}, map[string]any{"a": nil}} {
			_, _ = v.Eval(map[string]any{"a": a}) // an error or a value
		}
	}
	var grow func(text string, left int)
	grow = func(text string, left int) {
		try(text)
		if left > 0 {
			for _, p := range pieces {
				grow(text+p, left-1)
			}
		}
	}
	grow("", 3)
	for _, text := range []string{"${{", "}}", "$${{", "${{}}", "${{ // }}", "${{ /* }}", "${{ ' }}", "${{ ` }}", "${{ {a: {b: 1}} }}", "é${{é}}\r\n${{\u0085}}"} {
		for _, then := range pieces {
			if _, err := exprs.CompileValue(text+then+text, nil); err != nil {
				checkMistakes(t, text+then+text, err)
			}
		}
	}
}
