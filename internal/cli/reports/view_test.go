package reports

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// TestLiveView_ShowsTheTextOfAModel draws after each event of a run.
func TestLiveView_ShowsTheTextOfAModel(t *testing.T) {
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
	l := &live{term: &terminal.Terminal{Writer: &out, Size: func() (int, int) { return cols, 24 }}, now: func() time.Time { return time.Time{} }}
	var drawn []string
	for ev, err := range g.Start(t.Context(), struct{}{}, graph.RunOptions{Hold: true}).Join(graph.Reader{Modes: l.Modes()}) {
		if err != nil {
			t.Fatal(err)
		}
		l.Event(ev)
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

// TestLiveView_ShowsTheProgressOfItems runs four items. One is tried twice, one fails and is
// handled.
func TestLiveView_ShowsTheProgressOfItems(t *testing.T) {
	b := graph.New[struct{}]("items")
	b.Node("list", graph.Func(func(context.Context, *struct{}) error { return nil }))
	b.Node("score", graph.Worker(func(ctx context.Context, _ *struct{}, n int) error {
		if n == 2 && graph.Attempt(ctx) == 1 || n == 3 {
			return errors.New("busy")
		}
		return nil
	}).With(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: graph.NoWait}, Parallel: 1}))
	b.OnError("score", graph.Handler(func(context.Context, *struct{}, *graph.NodeError) (graph.Command, error) { return graph.Command{}, nil }))
	b.Edge(graph.Start, "list")
	b.Branch("list", func(context.Context, *struct{}) (graph.Command, error) {
		return graph.Command{}.Send("score", 1).Send("score", 2).Send("score", 3).Send("score", 4), nil
	}, "score")
	b.Edge("score", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	l := &live{term: &terminal.Terminal{Writer: &out, Size: func() (int, int) { return 80, 24 }}, now: func() time.Time { return time.Time{} }}
	var drawn []string
	for ev, err := range g.Start(t.Context(), struct{}{}, graph.RunOptions{Hold: true}).Join(graph.Reader{Modes: l.Modes()}) {
		if err != nil {
			t.Fatal(err)
		}
		l.Event(ev)
		out.Reset()
		l.draw("")
		if at := strings.Index(out.String(), " of 4"); at > 0 {
			text, _, _ := strings.Cut(out.String()[at-1:], "  ")
			if len(drawn) == 0 || drawn[len(drawn)-1] != text {
				drawn = append(drawn, text)
			}
		}
	}
	if len(l.items) > 0 {
		t.Errorf("left: %+v", l.items)
	}
	all := strings.Join(drawn, "\n") + "\n"
	if !strings.HasPrefix(all, "0 of 4\n") || !strings.Contains(all, "\n3 of 4") || !strings.Contains(all, "1 failed") || !strings.Contains(all, "1 retrying\n") {
		t.Errorf("drawn %q", drawn)
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 999 * time.Millisecond: "999ms", 1290 * time.Millisecond: "1.2s", 59999 * time.Millisecond: "59.9s",
		123 * time.Second: "2m03s", 62 * time.Minute: "1h02m",
	} {
		if got := Duration(d); got != want {
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
		if got := TaskTitle(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("title(%q) = %q, want %q", c[:3], got, c[3])
		}
	}
}

func TestLiveView_NarrowerTerminalIsWipedWhole(t *testing.T) {
	cols := 40
	var out bytes.Buffer
	l := &live{term: &terminal.Terminal{Writer: &out, Size: func() (int, int) { return cols, 24 }}, now: func() time.Time { return time.Time{} }}
	l.Event(graph.Event{Mode: graph.Tasks, Task: "1", Node: strings.Repeat("n", 30), Phase: graph.Started})
	cols = 10
	out.Reset()
	l.Event(graph.Event{Mode: graph.Tasks, Task: "1", Node: strings.Repeat("n", 30), Phase: graph.Finished})
	if !strings.HasPrefix(out.String(), "\r\x1b[4A\x1b[J") { // 39 columns are four lines of 10
		t.Errorf("it wipes %q", out.String())
	}
}

func TestLiveView_ManyTasksFitTheScreen(t *testing.T) {
	var out bytes.Buffer
	l := &live{term: &terminal.Terminal{Writer: &out, Size: func() (int, int) { return 80, 10 }}, now: func() time.Time { return time.Time{} }}
	for i := range 100 {
		out.Reset()
		l.Event(graph.Event{Mode: graph.Tasks, Task: string(rune('a' + i)), Node: "n", Phase: graph.Started})
	}
	if n := strings.Count(out.String(), "\n"); n != 9 || !strings.Contains(out.String(), "… and 92 more") {
		t.Errorf("%d lines are drawn on 10 rows:\n%s", n, out.String())
	}
}

// A step inside a task ends without a line. A failed step has one with its task.
func TestLiveView_StepInsideATaskHasALineOnlyIfItFails(t *testing.T) {
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
		l := &live{term: &terminal.Terminal{Writer: &screen, Size: func() (int, int) { return 80, 24 }}, now: p.now}
		for _, ev := range []graph.Event{
			{Mode: graph.Tasks, Node: "weigh", Task: "1", Phase: graph.Started}, ended(graph.Started), ended(phase),
			{Mode: graph.Tasks, Node: "weigh", Task: "1", Phase: graph.Finished}, {Mode: graph.Updates, Node: "weigh", Task: "1"},
		} {
			p.Event(ev)
			l.Event(ev)
		}
		p.Close()
		if out.String() != want {
			t.Errorf("%s: got\n%swant\n%s", phase, &out, want)
		}
		if strings.Count(screen.String(), "✓") != 1 || strings.Contains(screen.String(), "? ") {
			t.Errorf("%s: the screen shows %q", phase, &screen)
		}
	}
}
