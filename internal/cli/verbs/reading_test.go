package verbs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Reading a thread needs neither its file nor the kinds of nodes that the file names.
func TestReading_ThreadOfAnotherProgram(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(p place){
		"the file is gone":     func(p place) { _ = os.Remove(p.path("w.yaml")) },
		"a kind is not known":  func(p place) { p.write("w.yaml", strings.Replace(asking, "go:ask", "go:gone", 1)) },
		"it is no workflow":    func(p place) { p.write("w.yaml", "nothing") },
		"a field is not known": func(p place) { p.write("w.yaml", strings.Replace(asking, "count: int", "count: list<bool>", 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("w.yaml", asking)
			p.must(4, "run", "w.yaml", "--thread", "t", "--input", "count=3")
			p.must(0, "resume", "--thread", "t", "--answer", "hello")
			p.must(4, "run", "w.yaml", "--thread", "open", "--input", "topic=tea")
			spoil(p)
			for _, c := range []struct{ args, want string }{
				{"threads", "t     "}, {"history t", "only"}, {"inbox", "tea?"}, {"inbox show open", "asked by the node"},
				{"state t", "result: hello\n"}, {"state t --at 1", "count: 3\n"}, {"state t --path result", "hello\n"},
				{"state t --json", `"state":{`}, {"diff t 1 2", "result: nothing → \"hello\"\n    by only in step 1"}, {"diff t 1 2 --json", `"after":"hello"`},
			} {
				if e := p.must(0, strings.Fields(c.args)...); !strings.Contains(e.stdout, c.want) {
					t.Errorf("%s: got\n%s%s\nwant %q in it", c.args, e.stdout, e.stderr, c.want)
				}
			}
			if name == "a field is not known" {
				return // the thread may go on
			}
			for _, args := range []string{"state t", "diff t 1 2"} {
				if e := p.must(0, strings.Fields(args)...); !strings.Contains(e.stderr, "values are shown as they are stored, without defaults, since ") {
					t.Errorf("%s does not say what it shows: %q", args, e.stderr)
				}
			}
			if e := p.must(0, "inbox", "show", "open"); !strings.Contains(e.stderr, `this program cannot go on with thread "open", since `) {
				t.Errorf("inbox show does not say which program answers: %q", e.stderr)
			}
		})
	}
}

func TestState_PathOfUnsetAndUnknownFields(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.must(4, "run", "w.yaml", "--thread", "t", "--input", "count=3")
	e := p.must(0, "state", "t", "--path", "result")
	expect(t, "a field without a value", e.stdout, "null\n")
	if !strings.Contains(e.stderr, `the field "result" has no value at checkpoint 1`) {
		t.Errorf("a field without a value: %q", e.stderr)
	}
	expect(t, "as JSON", p.must(0, "state", "t", "--path", "result", "--json").stdout, "null\n")
	for path, want := range map[string]string{
		"resul":   `the state has no field "resul"; did you mean "result"?` + "\nnext: the fields are ",
		"zzz":     `the state has no field "zzz"` + "\n",
		"count.x": `the field "count" has nothing at "count.x"`,
	} {
		if e := p.must(2, "state", "t", "--path", path); !strings.Contains(e.stderr, want) {
			t.Errorf("--path %s: got %q, want %q in it", path, e.stderr, want)
		}
	}
}

// deciding asks for yes or no in t, and for a decision in d.
func deciding(t *testing.T) place {
	t.Helper()
	p := newPlace(t)
	const head = "version: 1\nstate: {r: any}\ninput: []\nnodes:\n  ask:\n    %s: {title: Pay it"
	p.write("yes.yaml", fmt.Sprintf(head, "ask")+", answer: bool}\n    next: END\n")
	p.write("edit.yaml", fmt.Sprintf(head, "approval")+", allow: [approve, edit, reject], action: {name: pay, args: {n: 1}}}\n    output: {r: \"${{ result }}\"}\n    next: END\n")
	p.must(4, "run", "yes.yaml", "--thread", "t")
	p.must(4, "run", "edit.yaml", "--thread", "d")
	return p
}

func TestInbox_RejectWithMessageOnYesOrNo(t *testing.T) {
	t.Parallel()
	p := deciding(t)
	e := p.must(2, "inbox", "reject", "--thread", "t", "--message", "too dear")
	for _, want := range []string{`the question "Pay it" takes true or false, and no message`, "inbox reject ", "--decline", "--reason 'too dear'"} {
		if !strings.Contains(e.stderr, want) {
			t.Errorf("got %q, want %q in it", e.stderr, want)
		}
	}
	e = p.must(2, "inbox", "edit", "--thread", "t", "--args", "1")
	if !strings.Contains(e.stderr, "cannot be answered with edit: it takes true or false") || strings.Contains(e.stderr, "=true") {
		t.Errorf("edit of a yes or no: %q", e.stderr)
	}
	p.must(0, "inbox", "reject", "--thread", "t")
}

func TestInbox_ArgsThatAreNotJSON(t *testing.T) {
	t.Parallel()
	p := deciding(t)
	e := p.must(2, "inbox", "edit", "--thread", "d", "--args", "not json")
	if !strings.Contains(e.stderr, `--args "not json" is not JSON: invalid character`) || !strings.Contains(e.stderr, `--args '"text"'`) {
		t.Errorf("got %q", e.stderr)
	}
	if e := p.must(2, "inbox", "edit", "--thread", "d"); !strings.Contains(e.stderr, "edit needs --args\n") {
		t.Errorf("without --args: %q", e.stderr)
	}
	p.must(0, "inbox", "edit", "--thread", "d", "--args", `{"n": 2}`)
}

// The thread of a store in memory ends with the process, so no command goes on with it.
func TestRun_MemoryStoreHasNoCommandThatAnswers(t *testing.T) {
	t.Parallel()
	p := deciding(t)
	p.write("pause.yaml", "version: 1\ninterrupt: {before: [a]}\nnodes: {a: {set: {}, next: END}}\n")
	for _, file := range []string{"yes.yaml", "edit.yaml", "pause.yaml"} {
		e := p.must(4, "run", file, "--store", "memory:")
		for _, word := range []string{"resume", "inbox", "Answer with", "Go on with"} {
			if strings.Contains(e.stdout+e.stderr, word) {
				t.Errorf("%s: %q is in\n%s%s", file, word, e.stdout, e.stderr)
			}
		}
		if !strings.Contains(e.stderr, "keep threads with --store sqlite:PATH") {
			t.Errorf("%s does not say what to do: %q", file, e.stderr)
		}
		if e := p.must(4, "run", file, "--store", "memory:", "--json"); strings.Contains(e.stdout, `"next"`) {
			t.Errorf("%s as JSON: %s", file, e.stdout)
		}
	}
}

func TestTest_RunThatMatchesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", "version: 1\nnodes: {a: {set: {}, next: END}}\ntests: [{name: one}, {name: two}]\n")
	if e := p.must(2, "test", "w.yaml", "--run", "three"); !strings.Contains(e.stderr, `--run "three" matches the name of no test`) {
		t.Errorf("got %q", e.stderr)
	}
	p.must(0, "test", "w.yaml", "--run", "two")
}

func TestValidate_Folder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for name, text := range map[string]string{
		"flows/a.yaml":        "version: 1\nnodes: {a: {set: {}, next: END}}\n",
		"flows/deep/b.yml":    "version: 1\nnodes: {a: {set: {}, next: nowhere}}\n",
		"flows/compose.yaml":  "services: {}\n",
		"flows/.hidden/c.yml": "version: 1\nnodes: {a: {set: {}}}\n",
		"empty/notes.txt":     "nodes:\n",
	} {
		if err := os.MkdirAll(p.path(name[:strings.LastIndexByte(name, '/')]), 0o700); err != nil {
			t.Fatal(err)
		}
		p.write(name, text)
	}
	e := p.must(3, "validate", "flows")
	if !strings.Contains(e.stdout, "flows/a.yaml: ok\n") || !strings.Contains(e.stdout, "flows/deep/b.yml:2:") || strings.Contains(e.stdout, "hidden") ||
		!strings.Contains(e.stderr, "below flows 1 YAML file has no nodes") {
		t.Errorf("got\n%s%s", e.stdout, e.stderr)
	}
	if e := p.must(2, "validate", "empty"); !strings.Contains(e.stderr, "there is no workflow below empty") {
		t.Errorf("a folder without workflows: %q", e.stderr)
	}
	p.write("flows/deep/b.yml", "version: 1\nnodes: {a: {set: {}, next: END}}\ntests: [{name: one}]\n")
	p.must(0, "validate", ".", "--strict")
	if e := p.must(0, "test", "flows"); !strings.Contains(e.stdout, "ok    flows/deep/b.yml: one\n") {
		t.Errorf("test of a folder: %s%s", e.stdout, e.stderr)
	}
}
