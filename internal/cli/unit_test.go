package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

func TestDecide(t *testing.T) {
	at := func(s graph.Status) graph.CommitInfo { return graph.CommitInfo{Status: s} }
	for _, c := range []struct {
		name                 string
		p                    graph.CommitInfo
		found, same, newTurn bool
		queue                bool
		want                 action
	}{
		{"new", graph.CommitInfo{}, false, false, false, false, begin},
		{"new, --new-turn", graph.CommitInfo{}, false, false, true, false, begin},
		{"waits", at(graph.Interrupted), true, true, false, false, ask},
		{"waits, other input", at(graph.Interrupted), true, false, false, false, refuseOpen},
		{"waits, --new-turn", at(graph.Interrupted), true, true, true, false, begin},
		{"waits, other input, --queue", at(graph.Interrupted), true, false, false, true, begin},
		{"waits, same input, --queue", at(graph.Interrupted), true, true, false, true, ask},
		{"cut off, other input, --queue", at(graph.Pending), true, false, false, true, refuseWork},
		{"cut off", at(graph.Pending), true, true, false, false, goOn},
		{"cut off, other input", at(graph.Pending), true, false, false, false, refuseWork},
		{"cut off, --new-turn", at(graph.Pending), true, true, true, false, begin},
		{"done", at(graph.Done), true, true, false, false, show},
		{"done, other input", at(graph.Done), true, false, false, false, begin},
		{"done, --new-turn", at(graph.Done), true, true, true, false, begin},
	} {
		if got := decide(c.p, c.found, c.same, c.newTurn, c.queue); got != c.want {
			t.Errorf("%s: action %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAnAnswerIsReadAsItsQuestionTakesIt(t *testing.T) {
	text, yes := json.RawMessage(`{"type":"string"}`), json.RawMessage(`{"type":"boolean"}`)
	ask := func(id string, schema json.RawMessage) graph.Interrupt {
		return graph.Interrupt{ID: id, Kind: "question", Schema: schema}
	}
	permit := json.RawMessage(`{"type":"object","properties":{"type":{"enum":["approve","reject"]},"message":{"type":"string"}},"required":["type"]}`)
	only := func(schema json.RawMessage) []graph.Interrupt {
		return []graph.Interrupt{{ID: "aaaa111122223333", Kind: "question", Schema: schema}}
	}
	single := []graph.Interrupt{ask("aaaa111122223333", text)}
	both := []graph.Interrupt{ask("aaaa111122223333", text), ask("aaab111122223333", yes)}
	for _, c := range []struct {
		open     []graph.Interrupt
		had      []string
		flag     string
		id, want string
	}{
		{single, nil, "true", "", `"true"`},
		{single, nil, `"true"`, "", `"true"`},
		{single, nil, "yes", "", `"yes"`},
		{only(yes), nil, "yes", "", "true"},
		{only(yes), nil, "No", "", "false"},
		{only(yes), nil, "y", "", "true"},
		{only(yes), nil, "true", "", "true"},
		{only(yes), nil, "edit", "", `"edit"`},
		{only(permit), nil, "yes", "", `{"type":"approve"}`},
		{only(permit), nil, "reject", "", `{"type":"reject"}`},
		{only(permit), nil, "false", "", `{"type":"reject"}`},
		{only(permit), nil, `{"type":"approve"}`, "", `{"type":"approve"}`},
		{only(json.RawMessage(`{"type":"object"}`)), nil, "yes", "", `"yes"`},
		{only(json.RawMessage(`{"enum":["yes","no"]}`)), nil, "yes", "", `"yes"`},
		{only(nil), nil, "yes", "", `"yes"`},
		{both, nil, "aaab1=no", "aaab111122223333", "false"},
		{single, nil, "x=y", "", `"x=y"`},
		{single, nil, "bbbb=y", "", `"bbbb=y"`},
		{single, nil, "aaa=y", "", `"aaa=y"`},
		{single, nil, "aaaa=y=z", "aaaa111122223333", `"y=z"`},
		{single, []string{"bbbb111122223333"}, "bbbb=y", "bbbb111122223333", `"y"`},
		{single, nil, "bbbb111122223333=y", "bbbb111122223333", `"y"`},
		{both, nil, "aaab1=true", "aaab111122223333", "true"},
		{both, nil, "aaab1=maybe", "aaab111122223333", `"maybe"`},
		{both, nil, "aaaa=5", "aaaa111122223333", `"5"`},
		{nil, nil, "5", "", "5"},
		{[]graph.Interrupt{ask("aaaa111122223333", nil)}, nil, `{"a":1}`, "", `{"a":1}`},
	} {
		r := answerer{open: c.open, had: c.had}
		id, value, err := r.split(c.flag)
		if got := string(r.value(id, value)); err != nil || id != c.id || got != c.want {
			t.Errorf("%s: id %q, value %s, error %v; want id %q, value %s", c.flag, id, got, err, c.id, c.want)
		}
	}
	twins := answerer{open: []graph.Interrupt{ask("aaaa111122223333", text), ask("aaaa222222223333", text)}}
	if _, _, err := twins.split("aaaa=x"); err == nil {
		t.Error("an id that begins two questions was taken")
	}
}

func TestTheDefaultStoreFollowsTheSystem(t *testing.T) {
	home := func() (string, error) { return "/home/ada", nil }
	none := func() (string, error) { return "", errors.New("none") }
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, c := range []struct {
		system string
		env    func(string) string
		home   func() (string, error)
		want   string
	}{
		{"linux", env(), home, "/home/ada/.local/state/weft/weft.db"},
		{"linux", env("XDG_STATE_HOME", "/s"), none, "/s/weft/weft.db"},
		{"linux", env("XDG_STATE_HOME", "relative"), home, "/home/ada/.local/state/weft/weft.db"},
		{"darwin", env(), home, "/home/ada/Library/Application Support/weft/weft.db"},
		{"windows", env("LocalAppData", "/l"), home, "/l/weft/weft.db"},
		{"linux", env(), none, ""},
	} {
		got, err := defaultFile(c.system, c.env, c.home)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v, want %q", c.system, got, err, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abc", 0, ""}, {"", 0, ""}, {"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"a\x1b[2Jb\n", 9, "a [2Jb "}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"},
	} {
		if got := cut(c.s, c.n); got != c.want || width(got) > c.n {
			t.Errorf("cut(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "bcd"}, {"abc", 0, ""}, {"abc", -1, ""}, {"", 3, ""}, {"日本語", 4, "本語"}, {"日本語", 5, "本語"}, {"a\nb\x1b", 9, "a b "},
	} {
		if got := tail(c.s, c.n); got != c.want || width(got) > max(c.n, 0) {
			t.Errorf("tail(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

// TestARunningTaskShowsWhatAModelSaysInIt draws after each event of a run.
func TestARunningTaskShowsWhatAModelSaysInIt(t *testing.T) {
	say := func(ctx context.Context, tokens ...graph.Token) error {
		for _, one := range tokens {
			if err := graph.EmitMessage(ctx, one); err != nil {
				return err
			}
		}
		return nil
	}
	b := graph.New[struct{}]("talks")
	b.Node("answer", graph.Func(func(ctx context.Context, _ *struct{}) error {
		return say(ctx, graph.Token{ID: "1", Delta: "It is "}, graph.Token{ID: "1", Delta: "four\no'clock."}, graph.Token{ID: "1", Final: true, Text: "It is four\no'clock."},
			graph.Token{ID: "2", Final: true, Text: "Good night."})
	}))
	b.Edge(graph.Start, "answer")
	b.Edge("answer", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cols := 80
	l := &live{term: &terminal{Writer: &out, size: func() (int, int) { return cols, 24 }}, now: func() time.Time { return time.Time{} }}
	var drawn []string
	for ev, err := range g.Start(t.Context(), struct{}{}, graph.RunOptions{Hold: true}).Join(graph.Reader{Modes: l.modes()}) {
		if err != nil {
			t.Fatal(err)
		}
		l.event(ev)
		out.Reset()
		l.draw("")
		if _, said, ok := strings.Cut(out.String(), "answer  0ms"); ok && (len(drawn) == 0 || drawn[len(drawn)-1] != said) {
			drawn = append(drawn, said)
		}
	}
	if want := []string{"\n", "  It is\n", "  It is four o'clock.\n", "  Good night.\n"}; !slices.Equal(drawn, want) {
		t.Errorf("drawn %q, want %q", drawn, want)
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 999 * time.Millisecond: "999ms", 1290 * time.Millisecond: "1.2s", 59999 * time.Millisecond: "59.9s",
		123 * time.Second: "2m03s", 62 * time.Minute: "1h02m",
	} {
		if got := brief(d); got != want {
			t.Errorf("brief(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestTitles(t *testing.T) {
	for _, c := range [][4]string{
		{"", "plan", "", "plan"},
		{"", "fetch.each", `a`, "fetch a"},
		{"", "fetch.each", `{"u":1}`, `fetch {"u":1}`},
		{"sub:0123|deep.run:4567#2", "plan", "", "sub/deep/plan"},
		{"", "go", `5`, "go 5"},
		{"", "tools", `lookup {"id":"A-17"}`, `tools lookup {"id":"A-17"}`},
		{"", "tools", `lookup {"text":"all that was ever said about…`, `tools lookup {"text":"all that was ever said …`},
		{"", "each", `{"id":"1","name":"Ada"}`, `each {"id":"1","name":"Ada"}`},
	} {
		if got := title(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("title(%q) = %q, want %q", c[:3], got, c[3])
		}
	}
}

func TestATerminalThatBecomesNarrowIsWipedWhole(t *testing.T) {
	cols := 40
	var out bytes.Buffer
	l := &live{term: &terminal{Writer: &out, size: func() (int, int) { return cols, 24 }}, now: func() time.Time { return time.Time{} }}
	l.event(graph.Event{Mode: graph.Tasks, Task: "1", Node: strings.Repeat("n", 30), Phase: graph.Started})
	cols = 10
	out.Reset()
	l.event(graph.Event{Mode: graph.Tasks, Task: "1", Node: strings.Repeat("n", 30), Phase: graph.Finished})
	if !strings.HasPrefix(out.String(), "\r\x1b[4A\x1b[J") { // 39 columns are four lines of 10
		t.Errorf("it wipes %q", out.String())
	}
}

func TestManyTasksDoNotOutgrowTheScreen(t *testing.T) {
	var out bytes.Buffer
	l := &live{term: &terminal{Writer: &out, size: func() (int, int) { return 80, 10 }}, now: func() time.Time { return time.Time{} }}
	for i := range 100 {
		out.Reset()
		l.event(graph.Event{Mode: graph.Tasks, Task: string(rune('a' + i)), Node: "n", Phase: graph.Started})
	}
	if n := strings.Count(out.String(), "\n"); n != 9 || !strings.Contains(out.String(), "… and 92 more") {
		t.Errorf("%d lines are drawn on 10 rows:\n%s", n, out.String())
	}
}

func TestMainEndsWithoutAGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t)
	var stdout, stderr bytes.Buffer
	c := Config{Stdout: &stdout, Stderr: &stderr, Args: []string{"threads", "--store", "memory:"}}
	if code := Main(context.Background(), c); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	l := newLive(&terminal{Writer: &stdout, size: func() (int, int) { return 80, 24 }})
	l.close()
}

func TestTheInvocationOfGoRunIsKnown(t *testing.T) {
	if !fromGoRun("/tmp/go-build123/b001/exe/weft") || fromGoRun("/usr/local/bin/weft") {
		t.Error("a program of go run is told by the folder it is in")
	}
	if got := quote("it's"); got != `'it'\''s'` {
		t.Errorf("quote = %s", got)
	}
}

// TestEveryErrorEndsWithWhatToDoNext goes through the errors of other packages that are known here, and
// one of each exit code that is not.
func TestEveryErrorEndsWithWhatToDoNext(t *testing.T) {
	errs := []error{errors.New("any"), usage("", "no hint"), &failure{exitInvalid, errors.New("bad"), ""}, &workflow.Error{}}
	for _, r := range rules {
		errs = append(errs, fmt.Errorf("around it: %w", r.is))
	}
	for _, err := range errs[:3] {
		errs = append(errs, fmt.Errorf("around it: %w", err))
	}
	for _, asJSON := range []bool{false, true} {
		for _, err := range errs {
			if w := (*workflow.Error)(nil); errors.As(err, &w) {
				err = &workflow.Error{Problems: []workflow.Problem{{File: "w.yaml", Line: 1, Col: 1, Msg: "bad"}}}
			}
			var out bytes.Buffer
			a := newApp(Config{Args: []string{"threads", "--store", "sqlite:x.db"}, Stdout: &out, Stderr: &out})
			a.store, a.json, a.started = "sqlite:x.db", asJSON, true
			code := a.report(a.explain(t.Context(), err))
			want := "\nnext: "
			if asJSON {
				want = `"next":"`
			}
			if _, next, ok := strings.Cut(out.String(), want); !ok || len(next) < 10 || code == exitDone {
				t.Errorf("rule: an error ends with what to do next\n%v: exit code %d, %q", err, code, out.String())
			}
		}
	}
}

// A step inside a task, such as what keeps a result, ends without a line; one that fails is told with its task.
func TestAStepInsideATaskHasALineOnlyIfItFails(t *testing.T) {
	ended := func(at graph.Phase) graph.Event {
		return graph.Event{Mode: graph.Tasks, Node: "weigh", Task: "2", ParentTask: "1", Label: "run", Phase: at, Attempt: 1, Err: errors.New("no scale")}
	}
	for phase, want := range map[graph.Phase]string{
		graph.Finished: "weigh: finished in 0ms\n",
		graph.Asking:   "weigh: finished in 0ms\n",
		graph.Retrying: "weigh: run: attempt 1 failed: no scale; trying again\nweigh: finished in 0ms\n",
		graph.Failing:  "weigh: run: failed after 0ms\nweigh: finished in 0ms\n",
	} {
		var out, screen bytes.Buffer
		p := newPlain(&out)
		p.now = func() time.Time { return time.Time{} }
		l := &live{term: &terminal{Writer: &screen, size: func() (int, int) { return 80, 24 }}, now: p.now}
		for _, ev := range []graph.Event{
			{Mode: graph.Tasks, Node: "weigh", Task: "1", Phase: graph.Started}, ended(graph.Started), ended(phase),
			{Mode: graph.Tasks, Node: "weigh", Task: "1", Phase: graph.Finished}, {Mode: graph.Updates, Node: "weigh", Task: "1"},
		} {
			p.event(ev)
			l.event(ev)
		}
		p.close()
		if out.String() != want {
			t.Errorf("%s: got\n%swant\n%s", phase, &out, want)
		}
		if strings.Count(screen.String(), "✓") != 1 || strings.Contains(screen.String(), "? ") {
			t.Errorf("%s: the screen shows %q", phase, &screen)
		}
	}
}

func TestGetting_ReleaseAndClone(t *testing.T) {
	const self = "github.com/weftrun/weft"
	dep := func(version string, replace *debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "desk"}, Deps: []*debug.Module{{Path: self, Version: version, Replace: replace}}}
	}
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{dep("v1.2.3", nil), "go get " + self + "@v1.2.3"},
		{&debug.BuildInfo{Main: debug.Module{Path: self, Version: "v0.4.0"}}, "go get " + self + "@v0.4.0"},
		{dep("v1.2.3", &debug.Module{Path: "../weft"}), "go mod edit -replace " + self + "=CLONE"},
		{dep("v0.0.0-20261122000000-abcdefabcdef", nil), "go mod edit -replace " + self + "=CLONE"},
		{&debug.BuildInfo{Main: debug.Module{Path: self, Version: "(devel)"}}, "go mod edit -replace " + self + "=CLONE"},
		{nil, "go mod edit -replace " + self + "=CLONE"},
	} {
		if got, _, _ := strings.Cut(getting(c.info), " #"); strings.TrimSpace(got) != c.want {
			t.Errorf("%+v: got %q, want %q", c.info, got, c.want)
		}
	}
}

func TestComplete_EditAndTab(t *testing.T) {
	c := &dialogue{open: []graph.Interrupt{{Data: json.RawMessage(`{"data":{"file":"rain.csv"}}`)}}}
	for _, line := range []string{"/edit", "/edit "} {
		if got, _ := c.complete(line); got != `/edit {"file":"rain.csv"}` {
			t.Errorf("%q and Tab: got %q, want what is to be approved", line, got)
		}
	}
}
