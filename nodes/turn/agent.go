package turn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// Agent reads the messages of users, and runs the turns of a graph for them: see [Agent.Say].
type Agent[S any] struct {
	Graph *graph.Graph[S]
	// At returns the agent's state in an S.
	At      func(*S) *agent.State
	Manager agent.StateManager
	// Commands are the slash commands; nil is [BuiltinCommands].
	Commands *Commands
	// PassUnknown treats a message that begins with an unknown command as text. Otherwise it is an
	// error.
	PassUnknown bool
	// Decide reads an answer that the rules find unclear, for example with a model. It returns
	// clear false for an answer that it finds unclear too. nil finds all of them unclear. After an
	// error the question is asked again.
	Decide func(ctx context.Context, q graph.Interrupt, text string) (d graph.Decision, clear bool, err error)
	// Services are those of [Config]; Reset uses their sessions. nil is nothing.
	Services *Services
	// Run has the options of all runs. Its Thread is not used.
	Run graph.RunOptions
	// Runs is the Graph on an engine that has the runs of the turns carried out elsewhere, such as
	// a client of module temporal; nil runs them in this process. Edits are made in this process.
	Runs graph.Untyped
}

// NewAgent returns the agent of a graph whose state is [agent.State].
func NewAgent(g *graph.Graph[agent.State], m agent.StateManager) *Agent[agent.State] {
	return &Agent[agent.State]{Graph: g, At: func(s *agent.State) *agent.State { return s }, Manager: m}
}

// Kind is what a message leads to.
type Kind string

// The kinds.
const (
	Begin    Kind = "begin"    // start a new turn
	Resume   Kind = "resume"   // answer questions of the last turn
	Continue Kind = "continue" // continue the last turn, which was cut off or failed
	NoRun    Kind = "none"     // run nothing
)

// Request is a message that [Agent.Read] has parsed, for [Agent.Apply]. Nothing has changed yet.
type Request[S any] struct {
	Kind   Kind
	Thread string
	Input  S // for Begin: the message and the settings of the turn
	// Discard drops the open questions and the rest of their turn.
	Discard bool
	Answers graph.Answers // for Resume
	// Reset removes what the thread has: see [Agent.Reset].
	Reset bool
	// Settings change the settings of the thread.
	Settings agent.Settings
	// Text is shown to the user before anything runs: help, results of commands, open questions.
	Text string
	// UI has the commands for the user interface, such as exit and clear.
	UI []string
}

// Reply is the result of a message.
type Reply[S any] struct {
	Kind Kind
	// Status is the status of the run; "" if nothing ran.
	Status graph.Status
	// Failure is the failure of a capability or the model that ended the turn, and that Text
	// explains. It is nil for a turn that did not fail, or that a person rejected.
	Failure *agent.Failure
	// Text is for the user: the text of the request, then the answer or the open questions.
	Text string
	// Questions are the open questions, also when an error refuses an answer.
	Questions []graph.Interrupt
	// State is the state after the run; the zero S if nothing ran.
	State S
	UI    []string // as in [Request]
}

// Say reads a message and applies it. It returns a *CommandError for a message that is not
// understood, and the error of a run that failed.
//
// A message begins a new turn also if the last one was cut off by a crash. The rest of that turn is
// dropped, such as the result of a payment that was made. A process that starts calls
// [Agent.Continue] before Say.
func (g *Agent[S]) Say(ctx context.Context, thread, text string) (Reply[S], error) {
	a, err := g.Read(ctx, thread, text)
	if err != nil {
		return Reply[S]{}, err
	}
	return g.Apply(ctx, a)
}

// Read returns the request of a message on a thread, and changes nothing.
//
// Slash commands are at the beginning of a message. They end at the first word that is no command,
// or at "--". The rest answers the open questions, or begins a new turn if no question is open. An
// unclear answer changes nothing, and the text of the Request asks again. A message of commands
// alone runs nothing, unless the commands are decisions.
func (g *Agent[S]) Read(ctx context.Context, thread, text string) (Request[S], error) {
	a := Request[S]{Kind: NoRun, Thread: thread}
	open, threadSettings, err := g.open(ctx, thread)
	if err != nil {
		return a, err
	}
	line, err := g.commands().parse(text, g.PassUnknown)
	if err != nil {
		return a, err
	}
	did, err := g.plan(ctx, thread, line, open)
	if err != nil {
		return a, err
	}
	a.Settings, a.UI, a.Text = did.thread, did.ui, strings.Join(did.texts, "\n\n")
	switch rest := did.rest; {
	case did.reset:
		a.Reset, a.Text = true, strings.TrimSpace(a.Text+"\n\nThe conversation is empty.")
	case did.continues:
		a.Kind = Continue
	case did.answers != nil:
		a.Kind, a.Answers = Resume, *did.answers
	case did.discard || len(open) == 0 && rest != "":
		a.Kind, a.Discard = Begin, did.discard
		return a, g.begin(&a, rest, threadSettings, did.turn)
	case !did.turn.IsZero():
		return a, &CommandError{Name: line.names(), Why: `it applies to one message, and there is none; write it before the message, or with "!" for the thread`}
	case rest != "":
		return g.answer(ctx, a, open, rest)
	}
	return a, nil
}

// open returns the open questions of a thread and its settings. A thread that does not exist has
// none.
func (g *Agent[S]) open(ctx context.Context, thread string) ([]graph.Interrupt, agent.Settings, error) {
	s, p, err := g.Graph.Thread(thread).State(ctx, 0)
	switch {
	case errors.Is(err, graph.ErrUnknownThread), errors.Is(err, graph.ErrNoStore):
		return nil, agent.Settings{}, nil
	case err != nil:
		return nil, agent.Settings{}, err
	}
	return p.Interrupts, g.At(&s).SessionControl.Get(), nil
}

// begin sets the input of a turn. All its settings are stored with it.
func (g *Agent[S]) begin(a *Request[S], text string, thread, turn agent.Settings) error {
	fresh := withClock(g.Manager).CreateFresh(text, nil)
	s := g.At(&a.Input)
	s.Messages = fresh.Messages
	s.AgentControl.Update(g.Manager.TurnSettings(agent.Overlay{}.Reduce(thread, a.Settings), turn))
	if !a.Settings.IsZero() {
		s.SessionControl.Update(a.Settings)
	}
	return s.Messages.Err()
}

// answer parses text as the answer to one of the open questions.
func (g *Agent[S]) answer(ctx context.Context, a Request[S], open []graph.Interrupt, text string) (Request[S], error) {
	wrong := unclearAnswer
	if q, text, ok := addressed(questionsAmong(open), text); ok {
		var v any
		if v, wrong = parseAnswer(q, text); wrong != "" && g.Decide != nil && takesDecision(q) {
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
	a.Text = strings.TrimSpace(a.Text + "\n\n" + wrong + "\n\n" + FormatQuestions(open))
	return a, nil
}

// Apply runs a request.
func (g *Agent[S]) Apply(ctx context.Context, a Request[S]) (Reply[S], error) {
	return g.apply(ctx, a, nil)
}

// Continue continues a turn that failed, or that was cut off by a crash or the end of its context.
// Tasks that had finished do not run again. If nothing is left to run it returns the reply again,
// or the open questions. A thread that does not exist is a graph.ErrUnknownThread.
func (g *Agent[S]) Continue(ctx context.Context, thread string) (Reply[S], error) {
	return g.Apply(ctx, Request[S]{Kind: Continue, Thread: thread})
}

// apply is Apply with a watcher, which may be nil.
func (g *Agent[S]) apply(ctx context.Context, a Request[S], watch func(graph.Event)) (Reply[S], error) {
	run := g.Run
	run.Thread = a.Thread
	if a.Kind != Begin && !a.Settings.IsZero() {
		if err := g.saveSettings(ctx, a.Settings, run); err != nil {
			return Reply[S]{Kind: a.Kind}, err
		}
	}
	if a.Reset {
		if err := g.Reset(ctx, a.Thread); err != nil {
			return Reply[S]{Kind: a.Kind}, err
		}
	}
	if a.Kind != Begin && a.Kind != Resume && a.Kind != Continue {
		return Reply[S]{Kind: a.Kind, Text: a.Text, UI: a.UI}, nil
	}
	if a.Discard {
		run.OnOpenQuestions = graph.Discard
	}
	res, err := g.run(ctx, a, run, watch)
	r := Reply[S]{Kind: a.Kind, Status: res.Status, Questions: res.Interrupts, State: res.State, UI: a.UI}
	r.Text = strings.TrimSpace(a.Text + "\n\n" + g.replyText(res))
	if f, ok := failed(g.At(&res.State)); ok && res.Status == graph.Done && !f.Rejected {
		r.Failure = &f
	}
	if a.Kind == Resume && refusesAnswer(err) {
		if open, _, lost := g.open(ctx, a.Thread); lost == nil && len(open) > 0 {
			r.Status, r.Questions, r.Text = graph.Interrupted, open, FormatQuestions(open)
		}
	}
	return r, err
}

// refusesAnswer reports whether an error refuses answers, so that nothing has changed.
func refusesAnswer(err error) bool {
	for _, why := range []error{graph.ErrAnswer, graph.ErrUnknownQuestion, graph.ErrExpired, graph.ErrAmbiguous} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

// run runs the graph, and passes its events to watch.
func (g *Agent[S]) run(ctx context.Context, a Request[S], run graph.RunOptions, watch func(graph.Event)) (graph.Result[S], error) {
	run.Hold = true // until Events is called, so that no event is missed
	if g.Runs != nil {
		return g.runElsewhere(ctx, a, run, watch)
	}
	var live *graph.Handle[S]
	if a.Kind == Begin {
		live = g.Graph.Start(ctx, a.Input, run)
	} else {
		live = g.Graph.StartResume(ctx, a.Answers, run)
	}
	watched(live, watch)
	return live.Wait()
}

// watched passes the events of a run to watch, if it is not nil.
func watched[S any](live *graph.Handle[S], watch func(graph.Event)) {
	if watch == nil {
		return
	}
	for ev, err := range live.Events(graph.Updates | graph.Tasks | graph.Custom | graph.Messages) {
		if err != nil {
			return // Wait returns it
		}
		watch(ev)
	}
}

// runElsewhere is run on the engine of g.Runs.
func (g *Agent[S]) runElsewhere(ctx context.Context, a Request[S], run graph.RunOptions, watch func(graph.Event)) (out graph.Result[S], err error) {
	var live *graph.Handle[json.RawMessage]
	if a.Kind == Begin {
		input, err := g.Graph.EncodeState(a.Input)
		if err != nil {
			return out, err
		}
		live = g.Runs.Start(ctx, input, run)
	} else {
		live = g.Runs.StartResume(ctx, a.Answers, run)
	}
	watched(live, watch)
	res, err := live.Wait()
	out = graph.Result[S]{Status: res.Status, Run: res.Run, Interrupts: res.Interrupts, Drained: res.Drained, Starved: res.Starved,
		Steps: res.Steps, Checkpoint: res.Checkpoint}
	if res.State == nil {
		return out, err
	}
	state, bad := g.Graph.DecodeInput(res.State)
	out.State = state
	return out, errors.Join(err, bad)
}

// saveSettings writes settings to a thread, which need not exist. Open questions stay open.
func (g *Agent[S]) saveSettings(ctx context.Context, set agent.Settings, run graph.RunOptions) error {
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

// replyText returns the text of a run for the user.
func (g *Agent[S]) replyText(res graph.Result[S]) string {
	if res.Status == graph.Interrupted {
		return FormatQuestions(res.Interrupts)
	}
	s := g.At(&res.State)
	last, ok := s.Messages.Last()
	if !ok || last.Role != message.RoleAssistant {
		return ""
	}
	return last.Text()
}
