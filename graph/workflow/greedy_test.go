package workflow_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
)

// fileOf returns a file of n nodes in a row, each with the body that a function gives.
func fileOf(n int, sections string, body func(i int) string) string {
	var b strings.Builder
	b.WriteString("version: 1\n" + sections + "nodes:\n")
	for i := range n {
		next := fmt.Sprint("n", i+1)
		if i == n-1 {
			next = "END"
		}
		fmt.Fprintf(&b, "  n%d: {%s, next: %s}\n", i, body(i), next)
	}
	return b.String()
}

// setOf returns a file of one node that sets a field to a list of n texts.
func setOf(n int, text string) string {
	return "version: 1\nstate: {x: any}\nnodes: {a: {set: {x: [" + strings.Repeat(text+", ", n) + "]}, next: END}}\n"
}

// repeated returns n entries of a mapping in one line.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+", ", i)
	}
	return b.String()
}

// TestParse_RejectsGreedyFilesInBudget has files that repeat a small amount of work in many
// places.
func TestParse_RejectsGreedyFilesInBudget(t *testing.T) {
	const any1 = "state: {x: any}\n"
	types := "types:\n  T0: {a: int}\n"
	for i := 1; i < 60; i++ {
		types += fmt.Sprintf("  T%d: {a: T%d, b: T%d}\n", i, i-1, i-1)
	}
	long := strings.Repeat("1+", 450) + "1"
	const all, many = "error[WF606]: the expressions of the file are too long (more than 20000 parts in all)", "error[WF607]: there are more problems; the first 200 are shown"
	for name, c := range map[string]struct{ src, want string }{
		"long expressions":            {fileOf(450, any1, func(int) string { return `set: {x: "${{ ` + long + ` }}"}` }), all},
		"long conditions":             {fileOf(450, any1, func(int) string { return `if: "` + long + ` > 1", set: {x: 1}` }), all},
		"short expressions":           {setOf(9_000, `"${{ state.x }}"`), all},
		"expressions in one text":     {setOf(1, `"`+strings.Repeat("${{1}}", 150_000)+`"`), all},
		"one expression, by an alias": {head + "&e \"${{ " + strings.Repeat("1+", 50) + "1 }}\"\n" + strings.TrimPrefix(setOf(5_000, "*e"), "version: 1\n"), all},
		"mistaken expressions":        {setOf(9_000, `"${{ foo }}"`), many},
		"mistakes in one text":        {setOf(1, `"`+strings.Repeat("${{}}", 180_000)+`"`), many},
		"mistakes in one long block":  {"version: 1\nstate: {x: any}\nnodes: {a: {set: {x: &x \"" + strings.Repeat("é ", 100_000) + strings.Repeat("${{ foo }}", 40_000) + "\"}, next: END}}", many},
		"misspelt conditions":         {fileOf(500, any1, func(int) string { return `if: stat.x, set: {x: "${{ stat.x }}"}` }), many},
		"unknown keys":                {"version: 1\nnodes: {a: {set: {}, next: END, " + repeated(9_000, "nxt%d: 1") + "}}", many},
		"unknown targets":             {fileOf(400, any1, func(int) string { return "tags: [a], set: {}, join: [" + repeated(30, "m%d") + "]" }), many},
		"unknown fields":              {"version: 1\n" + tail + "output: [" + repeated(15_000, "f%d") + "]", many},
		"tags":                        {head + "[" + strings.Repeat("!a b, ", 15_000) + "]\n" + tail, many},
		"odd scalars":                 {setOf(15_000, "017"), many},
		"types that double":           {"version: 1\n" + types + "state: {x: T59}\n" + tail, "error[WF602]: the types have more than 20000 members, with the types they name written out"},
		"types":                       {"version: 1\ntypes: {" + repeated(4_000, "T%d: {a: int}") + "}\n" + tail, "error[WF603]: there are 4000 types; the maximum is 500"},
		"a long type":                 {"version: 1\nstate: {x: \"" + strings.Repeat("A<", 400_000) + "\"}\n" + tail, "error[WF401]: the type is too long (800000 bytes of at most 8192)"},
		"variables":                   {"version: 1\nenv: {" + repeated(9_000, "V%d: string") + "}\nx: " + strings.Repeat("env ", 50_000) + "\n" + tail, "error[WF603]: there are 9000 variables in env; the maximum is 500"},
		"settings":                    {"version: 1\nconfig: {" + repeated(9_000, "c%d: string") + "}\n" + tail, "error[WF603]: there are 9000 settings in config; the maximum is 500"},
		"secrets":                     {"version: 1\nsecrets: {" + repeated(9_000, "s%d: \"${env:S}\"") + "}\n" + tail, "error[WF603]: there are 9000 secrets; the maximum is 500"},
		"shared limits":               {"version: 1\nlimits: {shared: {" + repeated(4_000, "l%d: {rate: 1/s}") + "}}\n" + tail, "error[WF603]: there are 4000 shared limits; the maximum is 500"},
		"a large text, by an alias":   {head + "&b \"" + strings.Repeat("b", 500_000) + "\"\n" + strings.TrimPrefix(fileOf(400, "", func(int) string { return "timeout: *b, set: {}" }), "version: 1\n"), "error[WF602]: more than 2097152 bytes of values, with aliases written out"},
		"secrets in one text":         {"version: 1\n" + fileOf(1, "secrets: {s: \"${env:S}\"}\nstate: {x: any}\n", func(int) string { return `set: {x: "` + strings.Repeat("${secret:s}", 60_000) + `"}` })[11:], "error[WF603]: there are more than 500 secrets in one text"},
		"every node leads to all":     {"version: 1\nnodes:\n" + dense(110) + "  m110: {set: {}, next: [{if: true, to: m1}, {else: END}]}\n", "error[WF319]: these nodes lead to each other without a condition"},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, c.src, c.want) })
	}
}

// dense returns n nodes that each lead to all of them, and to one more.
func dense(n int) string {
	all := strings.TrimSuffix(repeated(n+1, "m%d"), ", ")
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  m%d: {set: {}, next: [%s]}\n", i, all)
	}
	return b.String()
}

// TestParse_LoadsGreedyFilesInBudget holds graphs of which the checks could look at
// every path.
func TestParse_LoadsGreedyFilesInBudget(t *testing.T) {
	var joins, ways strings.Builder
	for i := range 120 {
		fmt.Fprintf(&joins, "  a%d: {set: {}, next: [b%d, c%d]}\n  b%d: {set: {}, next: j%d}\n  c%d: {set: {}, next: j%d}\n", i, i, i, i, i, i, i)
		ways.Reset()
		for k := range 8 {
			fmt.Fprintf(&ways, "{if: true, to: a%d}, ", (i*7+k*13)%120)
		}
		fmt.Fprintf(&joins, "  j%d: {join: [b%d, c%d], set: {}, next: [%s{else: END}]}\n", i, i, i, ways.String())
	}
	for name, src := range map[string]string{
		"joins in loops":   "version: 1\nstart: a0\nnodes:\n" + joins.String(),
		"a hundred fields": fileOf(300, "state: {"+repeated(100, "f%d: any")+"}\n", func(i int) string { return fmt.Sprintf(`set: {f%d: "${{ state.f%d }}"}`, i%100, (i+1)%100) }),
		"braces that mean": setOf(9_000, `"{{ state.x }}"`),
		"a real large file": fileOf(400, "state: {x: any, n: {type: int, reducer: add}}\n", func(i int) string {
			return `if: state.n < 1000, set: {x: "Step ${{ state.n }} of ${{ len(state.x) }}", n: 1}`
		}),
	} {
		t.Run(name, func(t *testing.T) {
			within(t, most, func() {
				w, err := workflow.Parse("in.yaml", []byte(src), workflow.Options{Kinds: kinds(), Sections: sections()})
				if err != nil {
					t.Fatalf("%.500v", err)
				}
				if n := len(w.Warnings()); n != 0 && n != 201 || strings.Contains(name, "braces") != (n == 201) {
					t.Errorf("there are %d warnings", n)
				}
			})
		})
	}
}

// TestParse_ReportsTheFirst200Mistakes checks that up to 200 mistakes are reported, and then that
// there are more.
func TestParse_ReportsTheFirst200Mistakes(t *testing.T) {
	for n, want := range map[int]int{1: 1, 100: 100, 200: 200, 201: 201, 300: 201} {
		_, err := workflow.Parse("in.yaml", []byte(setOf(n, `"${{ foo }}"`)), workflow.Options{})
		var e *workflow.Error
		if !errors.As(err, &e) || len(e.Problems) != want {
			t.Fatalf("%d mistakes: got %.200v", n, err)
		}
		last := e.Problems[want-1]
		if more := last.Code == "WF607"; more != (n > 200) || last.Line != 3 || last.Warning || slices.IndexFunc(e.Problems, func(p workflow.Problem) bool { return p.Code == "WF607" }) >= 0 != more {
			t.Errorf("%d mistakes: the last is %v", n, last)
		}
	}
}
