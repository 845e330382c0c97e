package workflow_test

import (
	"errors"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
)

// within runs fn and counts what it allocates, in bytes: what would take long or fill the
// memory does much of that, whatever the machine.
func within(t *testing.T, most uint64, fn func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > most {
		t.Errorf("it allocated %d KiB, the budget is %d KiB", used>>10, most>>10)
	}
}

// TestHostileFilesAreRefusedFast holds what is too large to be written in a script.
func TestHostileFilesAreRefusedFast(t *testing.T) {
	var many strings.Builder
	many.WriteString("version: 1\nnodes:\n")
	for i := range 501 {
		many.WriteString("  n" + strings.Repeat("x", i) + ": {set: {}, next: END}\n")
	}
	const head = "version: 1\nx: "
	for name, c := range map[string]struct{ src, want string }{
		"2 MiB":               {strings.Repeat("# much\n", 300_000), "1:1: error[WF601]: the file has 2100000 bytes; at most 1048576 are read"},
		"100k brackets":       {strings.Repeat("[", 100_000), "1:1: error[WF001]: YAML: exceeded max depth of 10000"},
		"100k brackets below": {head + strings.Repeat("[", 100_000), "YAML: exceeded max depth of 10000"},
		"deep flow":           {head + strings.Repeat("[", 70) + strings.Repeat("]", 70), "2:67: error[WF602]: nested deeper than 64 levels"},
		"deep braces":         {head + strings.Repeat("{a: ", 70) + strings.Repeat("}", 70), "nested deeper than 64 levels"},
		"deep dashes":         {head + "\n" + strings.Repeat("- ", 70) + "a", "nested deeper than 64 levels"},
		"zero byte":           {"version: 1\nname: a\x00b\n", "2:1: error[WF005]: the file holds a zero byte; it must be UTF-8 text"},
		"UTF-16":              {"\xff\xfev\x00e\x00", "1:1: error[WF005]: the file holds a zero byte"},
		"Latin-1":             {"name: caf\xe9\n", "1:1: error[WF005]: the file is not UTF-8 text"},
		"501 nodes":           {many.String(), "3:3: error[WF603]: there are 501 nodes; at most 500 are read"},
		"501 tests":           {"version: 1\nnodes: {a: {set: {}, next: END}}\ntests:\n" + strings.Repeat("  - {name: x}\n", 501), "4:3: error[WF603]: there are 501 tests; at most 500 are read"},
		"many lines":          {strings.Repeat("\n", 60_000), "1:1: error[WF601]: the file has more than 50000 lines and list items"},
		"many items":          {head + "[" + strings.Repeat("a,", 60_000) + "]", "1:1: error[WF601]: the file has more than 50000 lines and list items"},
		"aliases of aliases":  {bomb(30), "more than 20000 values, with aliases written out"},
		"long expression":     {"version: 1\nnodes: {a: {if: \"" + strings.Repeat("1+", 300_000) + "1\", set: {}, next: END}}", "error[WF605]: expression is too long"},
		"deep expression":     {"version: 1\nnodes: {a: {if: \"" + strings.Repeat("(", 4000) + "\", set: {}, next: END}}", "2:"},
		"deep type":           {"version: 1\nstate: {x: \"" + strings.Repeat("list<", 10_000) + "\"}\nnodes: {a: {set: {}, next: END}}", "nested deeper than 32 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			within(t, 256<<20, func() { _, err = workflow.Parse("in.yaml", []byte(c.src), workflow.Options{Kinds: kinds()}) })
			var e *workflow.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.300v\nwant %s", err, c.want)
			}
		})
	}
}

// bomb returns a file of n anchors, each of which doubles the one before.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString("version: 1\nx:\n  - &a0 [a, a]\n")
	for i := 1; i < n; i++ {
		name, before := strings.Repeat("b", i), strings.Repeat("b", i-1)
		if i == 1 {
			before = "a0"
		}
		b.WriteString("  - &" + name + " [*" + before + ", *" + before + "]\n")
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	f.Add("version: 1\nnodes: {a: {set: {}, next: END}}")
	f.Add("version: 1\nstate: {x: {type: int, reducer: add}}\nnodes:\n  a: {for_each: {in: '[1]'}, set: {x: \"${{ item }}\"}, next: [{if: state.x > 1, to: END}, {else: a}]}")
	f.Add("version: 1\ntypes: {T: {a: list<T>}}\nstate: {t: T}\nnodes: {a: {wait: {for: 1s}, join: [a], next: a}}")
	f.Add("a: &a [*a]")
	f.Add("a: &a {<<: *a}\n---\nb: !!set {c}")
	f.Add("version: 1\nnodes: {a: {workflow: ./in.yaml, input: {a: 1}, next: [END]}}")
	f.Add("version: 1\nnodes:\n  a:\n    set:\n      x: >-\n        a\n         ${{ state.y }}\n")
	f.Add("a:\r- b\r\n- c\u2028")
	f.Fuzz(func(t *testing.T, src string) {
		var err error
		within(t, 128<<20, func() {
			_, err = workflow.Parse("testdata/invalid/in.yaml", []byte(src), workflow.Options{Kinds: kinds()})
		})
		var e *workflow.Error
		if !errors.As(err, &e) {
			if err != nil {
				t.Errorf("got %v, want a *workflow.Error", err)
			}
			return
		}
		lines := len(regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]").FindAllString(src, -1)) + 2
		for _, p := range e.Problems {
			if p.Line < 1 || p.Col < 1 || p.Line > lines && p.File == "testdata/invalid/in.yaml" {
				t.Errorf("%v is no place in a file of %d lines", p, lines-1)
			}
		}
	})
}
