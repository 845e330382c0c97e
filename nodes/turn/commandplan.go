package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/suggest"
	"github.com/weftrun/weft/state/agent"
)

// commandPlan is what the commands of a message do.
type commandPlan struct {
	turn, thread agent.Settings
	texts        []string
	ui           []string
	answers      *graph.Answers
	answered     map[string]bool   // the ids of the questions that have an answer
	skipped      map[string]string // by the id of a question: why a command for all did not answer it
	discard      bool
	continues    bool
	reset        bool
	rest         string // the rest of the message
}

// plan returns what the commands of a message do; it changes nothing.
func (g *Agent[S]) plan(ctx context.Context, thread string, l parsedMessage, open []graph.Interrupt) (commandPlan, error) {
	d := commandPlan{rest: l.rest}
	var errs []error
	for _, c := range l.calls {
		if c.Settings != nil {
			to, lasts := &d.turn, "this turn"
			if c.thread {
				to, lasts = &d.thread, "this conversation"
			}
			*to = agent.Overlay{}.Reduce(*to, c.Settings(c.option))
			text := fmt.Sprintf("%s is set for %s.", strings.TrimSuffix("/"+c.Name+":"+c.option, ":"), lasts)
			if c.Capability && c.option == "" {
				text = "All capabilities are there for " + lasts + "."
			}
			d.texts = append(d.texts, text)
		}
		if err := g.planCommand(ctx, thread, c, open, &d); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, d.turn.Validate(), d.thread.Validate())
	d.reportSkipped(questionsAmong(open))
	if d.answers != nil && d.rest != "" {
		errs = append(errs, &CommandError{Name: l.names(), Why: fmt.Sprintf("it takes no text, and %q follows", d.rest)})
	}
	if d.reset && (d.answers != nil || d.continues || d.rest != "" || !d.turn.IsZero() || !d.thread.IsZero()) {
		errs = append(errs, &CommandError{Name: l.names(), Why: "/reset must be a message of its own"})
	}
	if d.answers != nil && !d.turn.IsZero() {
		errs = append(errs, &CommandError{Name: l.names(), Why: `the turn has begun; with "!" a setting is for the thread`})
	}
	if !d.turn.IsZero() && len(open) > 0 && !d.discard && errors.Join(errs...) == nil {
		errs = append(errs, &CommandError{Name: l.names(), Why: `a turn waits for an answer; with "!" a setting is for the thread, and /new begins another turn`})
	}
	return d, errors.Join(errs...)
}

// planCommand adds one command to the plan.
func (g *Agent[S]) planCommand(ctx context.Context, thread string, c call, open []graph.Interrupt, d *commandPlan) error {
	switch c.Do {
	case "":
		return g.checkPin(c)
	case DoHelp:
		return d.show(g.commands().Help(cmp.Or(c.text, c.option)))
	case DoConfig:
		return d.show(g.config(ctx, thread))
	case DoStatus:
		return d.show(g.status(ctx, thread))
	case DoPending:
		return d.show(FormatQuestions(open), nil)
	case DoApprove, DoReject, DoEdit, DoCancel:
		return d.addAnswers(c, questionsAmong(open))
	case DoContinue:
		return g.planContinue(ctx, thread, c, d)
	case DoReset:
		d.reset = true
	case DoNew:
		if d.rest = cmp.Or(c.text, d.rest); d.rest == "" {
			return &CommandError{Name: c.word, Why: "a message must follow it"}
		}
		d.discard = true
	default:
		d.ui = append(d.ui, c.Do)
	}
	return nil
}

// planContinue adds /continue, for a turn that failed or was cut off.
func (g *Agent[S]) planContinue(ctx context.Context, thread string, c call, d *commandPlan) error {
	_, p, err := g.Graph.Thread(thread).State(ctx, 0)
	switch {
	case err != nil && !errors.Is(err, graph.ErrUnknownThread) && !errors.Is(err, graph.ErrNoStore):
		return err
	case len(questionsAmong(p.Interrupts)) > 0:
		return &CommandError{Name: c.word, Why: "the turn waits for an answer"}
	case err != nil || p.Status == graph.Done:
		return &CommandError{Name: c.word, Why: "no turn was cut off"}
	case d.rest != "":
		return &CommandError{Name: c.word, Why: fmt.Sprintf("it takes no text, and %q follows", d.rest)}
	case !d.turn.IsZero():
		return &CommandError{Name: c.word, Why: `the turn has begun; with "!" a setting is for the thread`}
	}
	d.continues = true
	return nil
}

func (d *commandPlan) show(text string, err error) error {
	d.texts = append(d.texts, text)
	return err
}

// config returns the settings that a turn on the thread would have.
func (g *Agent[S]) config(ctx context.Context, thread string) (string, error) {
	s, _, err := g.Graph.Thread(thread).State(ctx, 0)
	if err != nil && !errors.Is(err, graph.ErrUnknownThread) && !errors.Is(err, graph.ErrNoStore) {
		return "", err
	}
	var fresh agent.State
	if set := g.At(&s).SessionControl.Get(); !set.IsZero() {
		fresh.SessionControl.Update(set)
	}
	data, err := json.MarshalIndent(g.Manager.Settings(&fresh), "", "  ")
	return string(data) + "\n\n/help config describes each of them.", err
}

// checkPin returns an error for a name that is no capability of the graph.
func (g *Agent[S]) checkPin(c call) error {
	names := g.capabilities()
	if !c.Capability || c.option == "" || len(names) == 0 || slices.Contains(names, c.option) {
		return nil
	}
	e := &CommandError{Name: c.word, Why: fmt.Sprintf("there is no capability %q; there are %s", c.option, strings.Join(names, ", "))}
	if near := suggest.Nearest(c.option, names); near != "" {
		e.Suggest = strings.TrimSuffix(c.word, c.option) + near
	}
	return e
}

// Complete is [Commands.Complete] of the agent's commands. It also completes the names of
// capabilities.
func (g *Agent[S]) Complete(prefix string) []string {
	all := g.commands().Complete(prefix)
	name, option, has := strings.Cut(strings.TrimPrefix(prefix, "/"), ":")
	cmd := g.commands().byName[strings.TrimSuffix(strings.ToLower(name), "!")]
	if !has || cmd == nil || !cmd.Capability || !strings.HasPrefix(prefix, "/") {
		return all
	}
	for _, c := range g.capabilities() {
		if strings.HasPrefix(c, option) {
			all = append(all, "/"+name+":"+c)
		}
	}
	return all
}

// capabilities returns the names of the nodes to which the router sends steps. It returns none for
// a graph whose nodes were connected by hand.
func (g *Agent[S]) capabilities() (names []string) {
	drawn, byID := g.Graph.Draw(0), map[string]string{}
	for _, n := range drawn.Nodes {
		byID[n.ID] = n.Name
	}
	for _, e := range drawn.Edges {
		if to := byID[e.To]; byID[e.From] == ToRouter && to != graph.End && !slices.Contains(NodeNames(), to) {
			names = append(names, to)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// status returns the status of a thread, as text.
func (g *Agent[S]) status(ctx context.Context, thread string) (string, error) {
	s, p, err := g.Graph.Thread(thread).State(ctx, 0)
	switch {
	case errors.Is(err, graph.ErrUnknownThread), errors.Is(err, graph.ErrNoStore):
		return "There are no messages yet.", nil
	case err != nil:
		return "", err
	}
	st := g.At(&s)
	return fmt.Sprintf("Turn %d is %s; %s, %s, %s.", p.Turn, p.Status, counted(st.Messages.Len(), "message"),
		counted(st.Context.Len(), "context"), counted(len(p.Interrupts), "open question")), nil
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
