package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Name is the name of the graph.
const Name = "report"

// State is what a run of the graph carries.
type State struct {
	Question state.Value[string]  `json:"question"`
	Options  state.Value[Options] `json:"options"`
	Facts    state.List[Fact]     `json:"facts"`
	Rounds   state.Sum[int]       `json:"rounds"`
	Draft    state.Value[string]  `json:"draft"`
	Notes    state.List[string]   `json:"notes"`
	Sent     state.Value[Letter]  `json:"sent"`
}

// Options are the settings of one report.
type Options struct {
	Style   string   `json:"style,omitempty" jsonschema:"such as short or detailed"`
	Sources []string `json:"sources,omitempty" jsonschema:"where to search; all if there are none"`
	Rounds  int      `json:"rounds,omitempty" jsonschema:"how often to search, at least"`
}

// Fact is what a search has found.
type Fact struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

// Letter is what is sent in the end.
type Letter struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

// input is the schema of the input, from which the studio makes a form.
const input = `{"type": "object", "required": ["question"], "properties": {
	"question": {"type": "string", "description": "what the report is about"},
	"options": {"type": "object", "properties": {
		"style": {"enum": ["short", "detailed"]},
		"sources": {"type": "array", "items": {"type": "string"}, "description": "where to search; archive, library and press if there are none"},
		"rounds": {"type": "integer", "minimum": 1, "maximum": 9, "description": "how often to search; 2 if it is not set"}
	}}
}}`

// errBusy is the failure of the first attempts at one source.
var errBusy = errors.New("the source is busy: 503")

// Graph returns the graph over a store. Each node takes at least the time pace.
func Graph(store checkpoint.Store, pace time.Duration) (graph.Untyped, error) {
	d := demo{pace}
	b := graph.New[State](Name)
	b.Node("plan", graph.Router(d.plan, "search"))
	b.Node("search", graph.Worker(d.search).With(graph.Policy{
		Timeout: time.Minute, Retry: graph.Retry{Attempts: 3, Initial: d.pace + time.Millisecond},
	}))
	b.Node("weigh", graph.Router(d.weigh, "plan", "write"))
	b.Node("write", graph.Func(d.write))
	b.Node("review", graph.Router(d.review, "send", "write"))
	b.Node("send", graph.Func(d.send))
	b.Label("weigh", "plan", "rounds are left")
	b.Label("weigh", "write", "all rounds are done")
	b.Label("review", "send", "approved")
	b.Label("review", "write", "rejected")
	b.Edge(graph.Start, "plan")
	b.Edge("search", "weigh")
	b.Edge("write", "review")
	b.Edge("send", graph.End)
	g, err := b.Compile(graph.Config{Store: store, Trace: true, Schemas: graph.Schemas{Input: json.RawMessage(input)}})
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	return g.Untyped(), nil
}

type demo struct{ pace time.Duration }

// wait takes as long as real work would.
func (d demo) wait(ctx context.Context) error {
	timer := time.NewTimer(d.pace)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// plan sends a search to each source.
func (d demo) plan(ctx context.Context, s *State) (cmd graph.Command, err error) {
	sources := s.Options.Get().Sources
	if len(sources) == 0 {
		sources = []string{"archive", "library", "press"}
	}
	s.Rounds.Add(1)
	for _, source := range sources {
		cmd = cmd.Send("search", source)
	}
	return cmd.WithReason("%d sources are to be asked", len(sources)), d.wait(ctx)
}

// search asks one source. The library fails twice in each round.
func (d demo) search(ctx context.Context, s *State, source string) error {
	if err := d.wait(ctx); err != nil {
		return err
	}
	if source == "library" && graph.Attempt(ctx) < 3 {
		return errBusy
	}
	s.Facts.Append(Fact{source, fmt.Sprintf("round %d: what the %s has about %q", s.Rounds.Get(), source, s.Question.Get())})
	return nil
}

// weigh decides whether the facts are enough.
func (d demo) weigh(ctx context.Context, s *State) (graph.Command, error) {
	if want := cmp.Or(s.Options.Get().Rounds, 2); s.Rounds.Get() < want {
		return graph.Goto("plan").WithReason("%d of %d rounds are done", s.Rounds.Get(), want), d.wait(ctx)
	}
	return graph.Goto("write").WithReason("%d facts are enough", s.Facts.Len()), d.wait(ctx)
}

func (d demo) write(ctx context.Context, s *State) error {
	var b strings.Builder
	fmt.Fprintf(&b, "About %q we found:\n", s.Question.Get())
	for _, f := range s.Facts.All() {
		fmt.Fprintf(&b, "- %s (%s)\n", f.Text, f.Source)
	}
	for _, n := range s.Notes.All() {
		fmt.Fprintf(&b, "Changed as asked: %s\n", n)
	}
	s.Draft.Set(b.String())
	return d.wait(ctx)
}

// review asks a person before the letter is sent.
func (d demo) review(ctx context.Context, s *State) (graph.Command, error) {
	letter, decision, err := graph.Approve(ctx, graph.Approval[Letter]{
		Question: graph.Question{Prompt: "Send this report?", Detail: s.Draft.Get()},
		Action:   "send", Args: Letter{"team@example.org", s.Draft.Get()},
	})
	switch {
	case err != nil:
		return graph.Command{}, err
	case !decision.Approved():
		s.Notes.Append(decision.Message)
		return graph.Goto("write").WithReason("rejected: %s", decision.Message), nil
	}
	s.Sent.Set(letter)
	return graph.Goto("send").WithReason("approved"), nil
}

func (d demo) send(ctx context.Context, _ *State) error { return d.wait(ctx) }
