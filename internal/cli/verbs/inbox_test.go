package verbs_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestInbox_HasTheQuestionsOfAllThreads(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.write("two.yaml", two)
	p.write("late.yaml", strings.NewReplacer("go:ask", "go:expiring", "only:", "gate:", "state.topic }}", "'Go' }}").Replace(asking))
	p.must(4, "run", "w.yaml", "--thread", "a")
	p.must(4, "run", "two.yaml", "--thread", "b")
	p.must(4, "run", "late.yaml", "--thread", "c")
	p.must(0, "resume", "--thread", "a", "--answer", "x")
	lines := strings.Split(p.must(0, "inbox").stdout, "\n")
	if len(lines) != 5 || strings.Join(strings.Fields(lines[0]), " ") != "ID THREAD NODE QUESTION AGE EXPIRES" {
		t.Fatalf("the inbox:\n%s", strings.Join(lines, "\n"))
	}
	for i, want := range []string{"b left left? TIME -", "b right right? TIME -", "c gate Go? TIME in 2d"} {
		id, rest, _ := strings.Cut(strings.Join(strings.Fields(withoutTimes(lines[i+1])), " "), " ")
		if len(id) != 8 || rest != want {
			t.Errorf("line %d: got %q, want an id and %q", i+1, lines[i+1], want)
		}
	}
	if got := p.must(0, "inbox", "--after", "b").stdout; strings.Contains(got, "left") || !strings.Contains(got, "Go?") {
		t.Errorf("after b:\n%s", got)
	}

	var letter struct{ ID, Thread, Prompt, Next string }
	line, _, _ := strings.Cut(p.must(0, "inbox", "--json").stdout, "\n")
	if err := json.Unmarshal([]byte(line), &letter); err != nil || letter.Thread != "b" || letter.Prompt != "left?" {
		t.Fatalf("as JSON: %v %s", err, line)
	}
	resume := program + " resume --thread b "
	expect(t, "one question", withoutTimes(p.must(0, "inbox", "show", letter.ID[:5]).stdout), `thread b, workflow two, asked TIME ago

left?
(asked by the node "left"; a text)
Answer with:
  `+resume+"--answer "+letter.ID+"=TEXT"+`
Or decline it with:
  `+resume+"--decline "+letter.ID+" --reason TEXT\n")
	expect(t, "as JSON", p.must(0, "inbox", "show", letter.ID, "--json").stdout, line+"\n")
	for args, want := range map[string]string{
		"inbox show ffffffffffffffff": "no open question has an id that begins with",
		"inbox show":                  "inbox does not take the arguments",
		"inbox hide x":                "inbox does not take the arguments",
	} {
		if e := p.must(2, strings.Split(args, " ")...); !strings.Contains(e.stderr, want) || !strings.Contains(e.stderr, "\nnext: ") {
			t.Errorf("%s: %s", args, e.stderr)
		}
	}
}

func TestQuestion_DeclinedIsAnErrorOfItsNode(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("two.yaml", two)
	p.must(4, "run", "two.yaml", "--thread", "t")
	var letter struct{ ID string }
	line, _, _ := strings.Cut(p.must(0, "inbox", "--json").stdout, "\n")
	if err := json.Unmarshal([]byte(line), &letter); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--decline zzzz":                        "no question of the thread has an id",
		"--decline 01":                          "no question of the thread has an id",
		"--reason because":                      "--reason needs a declined question, and there is none",
		"--decline ffffffffffffffff --reason x": "no such open question",
	} {
		if e := p.must(2, append([]string{"resume", "--thread", "t"}, strings.Split(args, " ")...)...); !strings.Contains(e.stderr, want) {
			t.Errorf("%s: %s", args, e.stderr)
		}
	}
	e := p.must(1, "resume", "--thread", "t", "--decline", letter.ID[:6], "--reason", "not my job")
	if !strings.Contains(e.stderr, `node "left" failed in step 1`) || !strings.Contains(e.stderr, "not my job") {
		t.Errorf("the node does not get the reason: %s", e.stderr)
	}
	if got := p.must(0, "inbox").stdout; strings.Contains(got, "left") || !strings.Contains(got, "right") {
		t.Errorf("the declined question is still open:\n%s", got)
	}
}

func TestGraph_IsDrawnInEachFormat(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", chooser)
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=golang")
	for as, want := range map[string]string{"mermaid": "flowchart TD\n", "dot": "digraph", "json": `{"graph":"chooser","nodes":[`, "text": "weigh", "svg": `<g id="node:weigh"`, "html": "<!doctype html>"} {
		if got := p.must(0, "graph", "w.yaml", "--format", as).stdout; !strings.Contains(got, want) {
			t.Errorf("as %s:\n%s", as, got)
		}
	}
	expect(t, "--json is --format json", p.must(0, "graph", "w.yaml", "--json").stdout, p.must(0, "graph", "w.yaml", "--format", "json").stdout)
	type drawing struct {
		Nodes []struct {
			Name string
			Ran  int
			Due  bool
		}
	}
	var run, before drawing
	decode(t, p.must(0, "graph", "--thread", "t", "--json"), &run)
	decode(t, p.must(0, "graph", "w.yaml", "--thread", "t", "--at", "2", "--format", "json"), &before)
	for _, n := range run.Nodes {
		if want := map[string]int{"weigh": 1, "long": 1}[n.Name]; n.Ran != want {
			t.Errorf("%s ran %d times, want %d", n.Name, n.Ran, want)
		}
	}
	for _, n := range before.Nodes {
		if n.Due != (n.Name == "long") {
			t.Errorf("at checkpoint 2, %s is due: %v", n.Name, n.Due)
		}
	}
	for args, want := range map[string]string{
		"graph":                            "graph needs a FILE or a THREAD",
		"graph w.yaml --format png":        `cannot be drawn as "png"`,
		"graph w.yaml --format dot --json": `"--json and --format dot`,
		"graph w.yaml --depth -1":          "must not be negative",
		"graph w.yaml --at 2":              "--at is a checkpoint of a thread",
		"graph --thread t --at 9":          "has no checkpoint 9",
		"graph --thread no":                `there is no thread "no"`,
	} {
		if e := p.must(2, strings.Split(args, " ")...); !strings.Contains(e.stderr, want) {
			t.Errorf("%s: %s", args, e.stderr)
		}
	}
}

func TestDoctor_OfAFileAndOfMemory(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	e := p.must(0, "doctor", "--store", "sqlite:new.db")
	expect(t, "a file that is not there", e.stdout, "good     file: new.db\n         it is not there yet; the first run makes it\n")
	if got := p.must(0, "doctor", "--store", "memory:", "--json").stdout; !strings.HasPrefix(got, `{"severity":"note","subject":"memory","value":"0 threads"`) {
		t.Errorf("memory: %s", got)
	}
	p.write("w.yaml", asking)
	p.must(4, "run", "w.yaml", "--store", "sqlite:s.db")
	e = p.run("doctor", "--store", "sqlite:s.db")
	bad := strings.Contains(e.stdout, "danger   ") || strings.Contains(e.stdout, "warning  ") // where the test runs in memory
	if (e.code == 1) != bad || e.code > 1 || !strings.Contains(e.stdout, "good     quick_check: ok\n") {
		t.Errorf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
	}
	e = p.must(0, "doctor", "--store", "crash:0:after:s.db")
	if !strings.HasPrefix(e.stdout, "note     store: ") || !strings.Contains(e.stdout, "all that is known is that it opens") {
		t.Errorf("a store that cannot be examined: %s", e.stdout)
	}
}
