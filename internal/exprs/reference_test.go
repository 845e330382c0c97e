package exprs_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/exprs"
)

// TestValues_AreThoseOfReference evaluates the expressions of testdata/reference.txt.
func TestValues_AreThoseOfReference(t *testing.T) {
	text, err := os.ReadFile("testdata/reference.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")[2:]
	for i := 0; i+1 < len(lines); i += 2 {
		source, want := lines[i], strings.TrimPrefix(lines[i+1], "\t")
		v, err := exprs.CompileExpr(source, weather)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		value, err := v.Eval(vars())
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := json.Marshal(value); string(got) != want || err != nil {
			t.Errorf("%s = %s, %v; want %s", source, got, err, want)
		}
	}
	if len(lines) < 1000 {
		t.Errorf("%d lines, want the whole file", len(lines))
	}
}
