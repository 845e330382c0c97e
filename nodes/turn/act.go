package turn

import (
	"context"
	"errors"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// Gateway stands before a graph: see [Gateway.Say].
type Gateway[S any] struct {
	Graph *graph.Graph[S]
	// At finds the agent's state in a state.
	At      func(*S) *agent.State
	Manager agent.Manager
	// Commands are the slash commands; nil is [BuiltinCommands].
	Commands *Commands
	// PassUnknown takes a message that begins with an unknown command for text; otherwise it is an error.
	PassUnknown bool
	// Decide reads an answer that the rules find unclear, perhaps with a model; clear is false where
	// it finds so too. nil finds none clear. Its failure is no decision: the question is asked again.
	Decide func(ctx context.Context, q graph.Interrupt, text string) (d Decision, clear bool, err error)
	// Run holds for all calls; its Thread is not used.
	Run graph.RunOptions
}

// Desk is the Gateway of a graph whose state is agent.State.
func Desk(g *graph.Graph[agent.State], m agent.Manager) *Gateway[agent.State] {
	return &Gateway[agent.State]{Graph: g, At: func(s *agent.State) *agent.State { return s }, Manager: m}
}

// Kind says what is done about a message.
type Kind string

// The kinds.
const (
	Begin  Kind = "begin"  // a new turn
	Resume Kind = "resume" // answers to the questions of the last one
	GoOn   Kind = "go_on"  // what is left of the last one, which was cut off or failed
	Rest   Kind = "rest"   // nothing runs
)

// Act is what a gateway does about a message, as a value: nothing has happened yet.
type Act[S any] struct {
	Kind   Kind
	Thread string
	Input  S // of Begin: its message, and the settings of the turn
	// Discard drops the open questions with the rest of their turn.
	Discard bool
	Answers graph.Answers // of Resume
	// Settings are for the thread.
	Settings agent.Settings
	// Text is what the user is told beforehand: help, what commands did, which questions are open.
	Text string
	// UI names commands for the user interface: exit, clear.
	UI []string
}

// Reply is what became of a message.
type Reply[S any] struct {
	Kind Kind
	// Status is that of the run; "" where nothing ran.
	Status graph.Status
	// Failure is why the turn failed, where it did and Text explains it to the user: a capability or the
	// model failed. nil is a turn that did not fail, also because a person said no.
	Failure *agent.Failure
	// Text is for the user: what the act says, then the answer or the open questions.
	Text string
	// Questions are open, also beside an error that refuses an answer.
	Questions []graph.Interrupt
	State     S
	UI        []string
}

// Say reads a message and does what it asks for. It returns an error for a message that it does not understand, a
// *CommandError, and for a run that failed.
func (g *Gateway[S]) Say(ctx context.Context, thread, text string) (Reply[S], error) {
	a, err := g.Read(ctx, thread, text)
	if err != nil {
		return Reply[S]{}, err
	}
	return g.Do(ctx, a)
}

// Read says what is to be done about a message on a thread.
//
// Slash commands stand at its beginning and end at the first word that is none, or at "--". What is left is
// the answer to the open questions, if there are any, and the message of a new turn otherwise. An answer
// that is not clear leaves all as it is, and the text of the Act asks again. A message of commands alone runs
// nothing, unless they are decisions.
func (g *Gateway[S]) Read(ctx context.Context, thread, text string) (Act[S], error) {
	a := Act[S]{Kind: Rest, Thread: thread}
	open, kept, err := g.open(ctx, thread)
	if err != nil {
		return a, err
	}
	line, err := g.commands().parse(text, g.PassUnknown)
	if err != nil {
		return a, err
	}
	did, err := g.perform(ctx, thread, line, open)
	if err != nil {
		return a, err
	}
	a.Settings, a.UI, a.Text = did.thread, did.ui, strings.Join(did.texts, "\n\n")
	switch rest := did.rest; {
	case did.goOn:
		a.Kind = GoOn
	case did.answers != nil:
		a.Kind, a.Answers = Resume, *did.answers
	case did.discard || len(open) == 0 && rest != "":
		a.Kind, a.Discard = Begin, did.discard
		return a, g.begin(&a, rest, kept, did.turn)
	case !did.turn.IsZero():
		return a, &CommandError{Name: line.names(), Why: `it holds for one message, and there is none to begin with; write it before the message, or with "!" for the thread`}
	case rest != "":
		return g.answer(ctx, a, open, rest)
	}
	return a, nil
}

// open returns the questions of a thread and its settings; one that does not exist has none.
func (g *Gateway[S]) open(ctx context.Context, thread string) ([]graph.Interrupt, agent.Settings, error) {
	s, p, err := g.Graph.State(ctx, checkpoint.Key{Thread: thread}, 0)
	switch {
	case errors.Is(err, graph.ErrUnknownThread), errors.Is(err, graph.ErrNoStore):
		return nil, agent.Settings{}, nil
	case err != nil:
		return nil, agent.Settings{}, err
	}
	return p.Interrupts, g.At(&s).SessionControl.Get(), nil
}

// begin makes the input of a turn. All its settings are stored with it.
func (g *Gateway[S]) begin(a *Act[S], text string, thread, turn agent.Settings) error {
	fresh := withClock(g.Manager).CreateFresh(text, nil)
	s := g.At(&a.Input)
	s.Messages = fresh.Messages
	s.AgentControl.Update(g.Manager.TurnSettings(agent.Overlay{}.Reduce(thread, a.Settings), turn))
	if !a.Settings.IsZero() {
		s.SessionControl.Update(a.Settings)
	}
	return s.Messages.Err()
}

// answer reads text as the answer to one of the open questions.
func (g *Gateway[S]) answer(ctx context.Context, a Act[S], open []graph.Interrupt, text string) (Act[S], error) {
	wrong := unclear
	if q, text, ok := addressed(asked(open), text); ok {
		var v any
		if v, wrong = read(q, text); wrong != "" && g.Decide != nil && decides(q) {
			d, sure, err := g.Decide(ctx, q, text)
			if err == nil && sure {
				v, wrong = d, ""
			}
			if ctx.Err() != nil {
				return a, ctx.Err()
			}
		}
		if wrong == "" {
			a.Kind, a.Answers = Resume, graph.Answer(q.ID, v)
			return a, nil
		}
	}
	a.Text = strings.TrimSpace(a.Text + "\n\n" + wrong + "\n\n" + Asking(open))
	return a, nil
}

// Do does what an Act says.
func (g *Gateway[S]) Do(ctx context.Context, a Act[S]) (Reply[S], error) { return g.do(ctx, a, nil) }

// GoOn goes on with a turn that was cut off, by a crash or because its context ended, or whose run failed. What had
// finished does not run again. Where nothing is left to do it returns the reply again, and where questions are
// open, those. A thread that does not exist is a graph.ErrUnknownThread.
func (g *Gateway[S]) GoOn(ctx context.Context, thread string) (Reply[S], error) {
	return g.Do(ctx, Act[S]{Kind: GoOn, Thread: thread})
}

// do is Do with somebody watching, or nil.
func (g *Gateway[S]) do(ctx context.Context, a Act[S], watch func(graph.Event)) (Reply[S], error) {
	run := g.Run
	run.Thread = a.Thread
	if a.Kind != Begin && !a.Settings.IsZero() {
		if err := g.keep(ctx, a.Settings, run); err != nil {
			return Reply[S]{Kind: a.Kind}, err
		}
	}
	if a.Kind != Begin && a.Kind != Resume && a.Kind != GoOn {
		return Reply[S]{Kind: a.Kind, Text: a.Text, UI: a.UI}, nil
	}
	if a.Discard {
		run.OnOpenQuestions = graph.Discard
	}
	res, err := g.run(ctx, a, run, watch)
	r := Reply[S]{Kind: a.Kind, Status: res.Status, Questions: res.Interrupts, State: res.State, UI: a.UI}
	r.Text = strings.TrimSpace(a.Text + "\n\n" + g.said(res))
	if f, ok := failed(g.At(&res.State)); ok && res.Status == graph.Done && !f.Rejected {
		r.Failure = &f
	}
	if a.Kind == Resume && notTaken(err) {
		if open, _, lost := g.open(ctx, a.Thread); lost == nil && len(open) > 0 {
			r.Status, r.Questions, r.Text = graph.Interrupted, open, Asking(open)
		}
	}
	return r, err
}

// notTaken reports whether an error refuses answers, so that nothing has changed.
func notTaken(err error) bool {
	for _, why := range []error{graph.ErrAnswer, graph.ErrUnknownQuestion, graph.ErrExpired, graph.ErrAmbiguous} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

// run runs the graph, and shows its events to whom watches.
func (g *Gateway[S]) run(ctx context.Context, a Act[S], run graph.RunOptions, watch func(graph.Event)) (graph.Result[S], error) {
	run.Hold = true // lest the first events are missed
	var live *graph.Handle[S]
	if a.Kind == Begin {
		live = g.Graph.Start(ctx, a.Input, run)
	} else {
		live = g.Graph.StartResume(ctx, a.Answers, run)
	}
	if watch != nil {
		for ev, err := range live.Events(graph.Updates | graph.Tasks | graph.Custom | graph.Messages) {
			if err != nil {
				break // Wait returns it
			}
			watch(ev)
		}
	}
	return live.Wait()
}

// keep writes settings to a thread, which need not exist yet. Open questions stay.
func (g *Gateway[S]) keep(ctx context.Context, set agent.Settings, run graph.RunOptions) error {
	write := func(s *S) (graph.Command, error) {
		g.At(s).SessionControl.Update(set)
		return graph.Command{}, nil
	}
	_, err := g.Graph.Edit(ctx, [][]graph.Edit[S]{{{Do: write}}}, run)
	if errors.Is(err, graph.ErrUnknownThread) {
		_, err = g.Graph.Edit(ctx, [][]graph.Edit[S]{{{As: graph.Start, Do: write}}, {{As: graph.End}}}, run)
	}
	return err
}

// said returns what a run has for the user.
func (g *Gateway[S]) said(res graph.Result[S]) string {
	if res.Status == graph.Interrupted {
		return Asking(res.Interrupts)
	}
	s := g.At(&res.State)
	last, ok := s.Messages.Last()
	if !ok || last.Role != message.RoleAssistant {
		return ""
	}
	return last.Text()
}
