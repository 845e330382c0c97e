package workflow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
)

// mistakesIn parses a file that is not valid, and returns what is wrong with it.
func mistakesIn(t *testing.T, src string) string {
	t.Helper()
	_, err := workflow.Parse("in.yaml", []byte(src), options())
	if err == nil {
		t.Fatalf("the file is valid:\n%s", src)
	}
	return err.Error()
}

func TestParse_NewlineThatYAMLMadeInAnExpression(t *testing.T) {
	const said = `YAML already turned \n in double quotes into a newline`
	const head = "version: 1\nstate: {all: list<string>, text: string}\nnodes:\n  a:\n"
	for name, line := range map[string]string{
		"a value":     `    set: {text: "${{ join(state.all, '\n') }}"}`,
		"a condition": `    if: "join(state.all, '\n') == ''"` + "\n    set: {text: x}",
	} {
		got := mistakesIn(t, head+line+"\n    next: END\n")
		if !strings.Contains(got, said) || !strings.Contains(got, `write \\n there`) {
			t.Errorf("%s: got\n%s\nwant it to say that %s, and the cure", name, got, said)
		}
	}
	// The cures work.
	for _, line := range []string{`    set: {text: "${{ join(state.all, '\\n') }}"}`, `    set: {text: '${{ join(state.all, "\n") }}'}`} {
		if _, err := workflow.Parse("in.yaml", []byte(head+line+"\n    next: END\n"), options()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	// A string that is not closed for another reason has no such hint.
	if got := mistakesIn(t, head+`    set: {text: "${{ 'abc }}"}`+"\n    next: END\n"); strings.Contains(got, "YAML already") {
		t.Errorf("got\n%s\nwant no word of a newline", got)
	}
}

func TestParse_NextWithoutElse(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"in next": {"version: 1\nstate: {n: int}\nnodes:\n  a: {set: {n: 1}, next: [{if: state.n > 3, to: b}]}\n  b: {set: {}, next: END}\n",
			"in.yaml:4:32: error[WF320]: the run fails if no condition of the next of a holds: it has no else"},
		"in edges": {"version: 1\nstate: {n: int}\nedges:\n  - {from: START, to: a}\n  - {from: a, to: b, if: state.n > 3}\n  - {from: b, to: END}\nnodes: {a: {set: {n: 1}}, b: {set: {}}}\n",
			"in.yaml:5:26: error[WF320]: the run fails if no condition of the next of a holds: it has no else"},
	} {
		o := options()
		w, err := workflow.Parse("in.yaml", []byte(c.src), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := strings.Replace(c.want, "error[", "warning[", 1)
		if all := w.Warnings(); len(all) != 1 || !strings.HasPrefix(all[0].String(), want) {
			t.Errorf("%s: the warnings are %v, want one: %s", name, all, want)
		}
		o.Strict = true
		if _, err := workflow.Parse("in.yaml", []byte(c.src), o); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s, strictly: got %v, want %s", name, err, c.want)
		}
	}
	const whole = "version: 1\nstate: {n: int}\nnodes:\n  a: {set: {n: 1}, next: [{if: state.n > 3, to: b}, {if: true, to: END}]}\n  b: {set: {}, next: [{if: state.n > 3, to: END}, {else: END}]}\n"
	if w, err := workflow.Parse("in.yaml", []byte(whole), options()); err != nil || len(w.Warnings()) > 0 {
		t.Errorf("with an else: %v, %v", w.Warnings(), err)
	}
}

func TestParse_WarnsOfARejectionThatChangesNothing(t *testing.T) {
	const want = "error[WF519]: a goes on in the same way after a rejection: neither its next nor its output reads result"
	for line, warned := range map[string]bool{
		"{approval: {title: Pay}, next: b}":                                                         true,
		"{approval: {title: Pay, allow: [approve, reject]}, next: b}":                               true,
		"{approval: {title: Pay}, next: [{if: state.yes, to: b}, {else: END}]}":                     true,
		"{for_each: {in: '[1, 2]', as: n}, approval: {title: 'Pay ${{ n }}'}, next: b}":             true,
		"{approval: {title: Pay}, next: [{if: result.approved, to: b}, {else: END}]}":               false,
		"{approval: {title: Pay}, next: [{if: result.type == 'approve', to: b}, {else: END}]}":      false,
		"{approval: {title: Pay}, output: {yes: '${{ result.approved }}'}, next: b}":                false,
		"{approval: {title: Pay, allow: [approve, edit]}, next: b}":                                 false,
		"{approval: {title: Pay, allow: '${{ state.yes ? [\"approve\"] : [\"edit\"] }}'}, next: b}": false,
		"{ask: {title: Pay, answer: bool}, output: {yes: '${{ result }}'}, next: b}":                false,
	} {
		src := "version: 1\nstate: {yes: bool}\nnodes:\n  a: " + line + "\n  b: {wait: {for: 1s}, next: END}\n"
		o := options()
		if _, err := workflow.Parse("in.yaml", []byte(src), o); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		o.Strict = true
		if _, err := workflow.Parse("in.yaml", []byte(src), o); warned != (err != nil) || warned && !strings.Contains(err.Error(), want) {
			t.Errorf("%s, strictly: got %v, warned %v wanted", line, err, warned)
		}
	}
	const ends = "version: 1\nnodes: {a: {approval: {title: Pay}, next: END}}\n"
	if w, err := workflow.Parse("in.yaml", []byte(ends), options()); err != nil || len(w.Warnings()) > 0 {
		t.Errorf("before the end: %v, %v", w.Warnings(), err)
	}
}

func TestParse_WordsOfOtherLanguages(t *testing.T) {
	const head = "version: 1\nstate: {ok: bool, n: int, all: list<int>}\nnodes:\n  a:\n"
	for line, want := range map[string]string{
		"    if: state.ok == True\n    set: {n: 1}":           `unknown name True; did you mean "true"?`,
		"    set: {ok: \"${{ FALSE }}\"}":                     `unknown name FALSE; did you mean "false"?`,
		"    if: state.n == None\n    set: {n: 1}":            `unknown name None; did you mean "nil"?`,
		"    set: {n: 1}\n    retry: 3":                       "retry must be a mapping, not 3; did you mean {max: 3}?",
		"    set: {n: 1}\n    cache: 5m":                      `cache must be a mapping, not "5m"; did you mean {ttl: 5m}?`,
		"    for_each: state.all\n    set: {all: [1]}":        `for_each must be a mapping, not "state.all"; did you mean {in: state.all}?`,
		"    for_each: \"${{ state.all }}\"\n    set: {n: 1}": `did you mean {in: "${{ state.all }}"}?`,
		"    wait: 5m": `wait must be a mapping, not "5m"; did you mean {for: 5m}?`,
	} {
		if got := mistakesIn(t, head+line+"\n    next: END\n"); !strings.Contains(got, want) {
			t.Errorf("%s\ngot\n%s\nwant %s", line, got, want)
		}
	}
}

func TestSchema_TypeOfAnotherLanguage(t *testing.T) {
	r := resolved(t)
	const tail = "nodes: {a: {set: {}, next: END}}\n"
	for _, section := range []string{
		"state: {n: {type: integer}}", "state: {n: boolean}", "state: {n: list<integer>}", "state: {n: array<string>}", "config: {n: {type: str, default: x}}",
		"types: {T: {n: float}}", "types: {T: {n: {type: integer}}}",
	} {
		if err, ok := validates(r, "version: 1\n"+section+"\n"+tail); err == nil || !ok {
			t.Errorf("the schema takes %s", section)
		}
	}
	for _, section := range []string{
		"state: {n: int, integer: bool, o: 'object{text: string, array: list<int>}'}",
		"types: {integer: {a: int}}\nstate: {n: {type: integer}}", // a type of the file
		"state: {n: {type: string, default: integer}}",
	} {
		src := "version: 1\n" + section + "\n" + tail
		if _, err := workflow.Parse("in.yaml", []byte(src), options()); err != nil {
			t.Fatalf("%s: %v", section, err)
		}
		if err, ok := validates(r, src); err != nil || !ok {
			t.Errorf("the schema refuses %s: %v", section, err)
		}
	}
}

// TestSchema_ReducerThatDoesNotFit holds the schema against the loader for every reducer and type.
func TestSchema_ReducerThatDoesNotFit(t *testing.T) {
	r := resolved(t)
	refused := 0
	for _, reducer := range []string{"replace", "latest", "append", "add", "max", "min", "merge", "union", "prepend", "deep_merge", "once", "messages", "context"} {
		for _, typ := range []string{"int", "number", "string", "bool", "any", "list<int>", "list< bool >", "map<int>", "'object{a?: int}'", "T", "messages", "context", "go:Decision"} {
			src := "version: 1\ntypes: {T: {a: int}}\nstate: {n: {type: " + typ + ", reducer: " + reducer + "}}\nnodes: {a: {set: {}, next: END}}\n"
			_, err := workflow.Parse("in.yaml", []byte(src), options())
			bySchema, ok := validates(r, src)
			switch {
			case !ok:
				t.Fatalf("%s cannot be read", src)
			case err == nil && bySchema != nil:
				t.Errorf("%s with %s: the schema refuses what Load takes: %v", typ, reducer, bySchema)
			case bySchema != nil:
				refused++
			case err != nil && typ != "T" && typ != "go:Decision" && reducer != "union" && reducer != "deep_merge":
				t.Errorf("%s with %s: the schema takes what Load refuses: %v", typ, reducer, err)
			}
		}
	}
	if refused < 50 {
		t.Errorf("the schema refuses %d pairs, want most that do not fit", refused)
	}
}

// A fix names the word alone, wherever it is in what is marked.
func TestProblem_HasTheFix(t *testing.T) {
	const text = `version: 1
state: {items: list<strng>, n: intt}
nodes:
  é: {set: {n: "${{ state.itms.size() + lenth(state.items) }}"}, nxt: b}
  b: {set: {m: 1}, next: "ee"}
`
	_, err := workflow.Parse("in.yaml", []byte(text), options())
	var invalid *workflow.Error
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	fixed := map[string]string{}
	for _, p := range invalid.Problems {
		if p.Fix.Text == "" {
			continue
		}
		line := []rune(strings.Split(text, "\n")[p.Line-1])
		fixed[string(line[p.Fix.Col-1:p.Fix.Col-1+p.Fix.Width])] = p.Fix.Text
	}
	want := map[string]string{"strng": "string", "intt": "int", "nxt": "next"}
	for word, fix := range want {
		if fixed[word] != fix {
			t.Errorf("%q is fixed as %q, want %q; all are %q in\n%v", word, fixed[word], fix, fixed, err)
		}
	}
}
