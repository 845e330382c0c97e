package workflow_test

import (
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
)

const unused = `version: 1
config: {used: {type: int, default: 1}, size: {type: int, default: 1}, idle: {type: int, default: 2}}
env: {HOME: string, SHELL: string}
secrets: {a: "${env:A}", b: "${env:B}"}
limits: {shared: {x: {concurrency: 1}, y: {concurrency: 1}}}
state: {in: int, out: string, between: int, lost: int, stored: int}
input: [in]
output: [out]
nodes:
  one: {set: {between: "${{ state.in + config.used }}", stored: 1}, next: two}
  two:
    http: {url: "https://example.org", headers: {k: "${secret:a}", h: "${{ env.HOME }}"}}
    limit: x
    output: {out: "${{ state.between }} ${{ result.text }}"}
    next: three
  three: {workflow: ./sub/configured.yaml, next: END}
`

func TestWarnings_UnusedNames(t *testing.T) {
	const want = `in.yaml:2:72: error[WF417]: config.idle is never read
in.yaml:3:21: error[WF417]: env.SHELL is never read
in.yaml:4:26: error[WF417]: the secret b is never used
in.yaml:5:40: error[WF417]: no node has the limit y
in.yaml:6:45: error[WF417]: the field lost is never used`
	o := options()
	w, err := workflow.Parse("testdata/invalid/in.yaml", []byte(unused), o)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range w.Warnings() {
		lines = append(lines, strings.TrimPrefix(p.String(), "testdata/invalid/"))
	}
	if got := strings.Join(lines, "\n"); got != strings.ReplaceAll(want, "error[", "warning[") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	o.Strict = true
	if _, err := workflow.Parse("testdata/invalid/in.yaml", []byte(unused), o); err == nil ||
		strings.ReplaceAll(err.Error(), "testdata/invalid/", "") != want {
		t.Errorf("strictly: got\n%v", err)
	}
}

// A misspelt name is one mistake, and not also a warning that the right one is not used.
func TestWarnings_NoneInInvalidFiles(t *testing.T) {
	src := strings.Replace(unused, "state.in + config.used", "state.in + config.usd", 1)
	_, err := workflow.Parse("testdata/invalid/in.yaml", []byte(src), options())
	if err == nil || strings.Contains(err.Error(), "warning") || !strings.Contains(err.Error(), "error[WF203]") {
		t.Errorf("got %v", err)
	}
}

// What is read as a whole, or with a question mark, is read.
func TestWarnings_WholeSectionReadsAllMembers(t *testing.T) {
	for _, expr := range []string{"toJSON(config)", "config?.a", "config . a", "len(config)", `config["a"]`, "config"} {
		_, err := workflow.Parse("in.yaml", []byte("version: 1\nconfig: {a: {type: int, default: 1}}\nstate: {x: any}\nnodes: {n: {set: {x: '${{ "+expr+" }}'}, next: END}}\n"),
			workflow.Options{Strict: true})
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

func TestWarnings_BracesWithoutExpression(t *testing.T) {
	const src = `version: 1
state: {n: int, text: string}
nodes:
  a:
    set: {text: "{{ state.n }} and ${{ state.n }}, $${{ state.n }}, ${{ map([1], {{n: state.n}}) | len() }}"}
    next: b
  b:
    approval:
      title: "${HOME} {n} {{ n }}"
      show: |
        It is
        ${state.n} %
    next: END
`
	const want = `in.yaml:5:18: error[WF208]: this is plain text, not an expression (write an expression between ${{ and }})
in.yaml:12:9: error[WF208]: this is plain text, not an expression (write an expression between ${{ and }})`
	o := options()
	w, err := workflow.Parse("in.yaml", []byte(src), o)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range w.Warnings() {
		lines = append(lines, p.String())
	}
	if got := strings.Join(lines, "\n"); got != strings.ReplaceAll(want, "error[", "warning[") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	o.Strict = true
	if _, err := workflow.Parse("in.yaml", []byte(src), o); err == nil || err.Error() != want {
		t.Errorf("strictly: got\n%v", err)
	}
}

func TestWarnings_ExpressionsWhereValuesAreConstant(t *testing.T) {
	const src = `version: 1
types: {T: {name: {type: string, default: "${{ 1 }}"}}}
state:
  a: {type: string, default: "${{ env.HOME }}", description: "as ${{ x }}"}
  b: {type: string, default: "$${{ 1 }}"}
config: {c: {type: string, default: "x ${{ 1 }}"}}
input: [a]
schedules: {s: {cron: "0 8 * * *", input: {a: "${{ run.time }}"}}}
nodes:
  n: {set: {a: "${env:HOME} ${{ config.c }}"}, next: ask}
  ask: {ask: {title: "${{ state.a }}", form: {x: {type: string, default: "${{ state.b }}"}}}, next: END}
`
	w, err := workflow.Parse("in.yaml", []byte(src), options())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range w.Warnings() {
		if p.Code == "WF208" {
			lines = append(lines, p.String())
		}
	}
	const plain = ": warning[WF208]: this is plain text, not an expression (a value is constant here; let a node compute it)\n"
	want := "in.yaml:2:44" + plain + "in.yaml:4:31" + plain + "in.yaml:6:40" + plain + "in.yaml:8:48" + plain +
		"in.yaml:10:17: warning[WF208]: this is plain text, not an expression (declare the variable under env, and write ${{ env.NAME }})\n" +
		"in.yaml:11:75" + plain
	if got := strings.Join(lines, "\n") + "\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
