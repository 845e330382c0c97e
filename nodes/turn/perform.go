package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

// deed is what the commands of a message come to.
type deed struct {
	turn, thread agent.Settings
	texts        []string
	ui           []string
	answers      *graph.Answers
	discard      bool
	goOn         bool
	rest         string // of the message
}

// perform works out what the commands of a message come to; it changes nothing.
func (g *Gateway[S]) perform(ctx context.Context, thread string, l line, open []graph.Interrupt) (deed, error) {
	d := deed{rest: l.rest}
	var errs []error
	for _, c := range l.calls {
		if c.Settings != nil {
			to, lasts := &d.turn, "this turn"
			if c.thread {
				to, lasts = &d.thread, "this conversation"
			}
			*to = agent.Overlay{}.Reduce(*to, c.Settings(c.option))
			d.texts = append(d.texts, fmt.Sprintf("%s is set for %s.", strings.TrimSuffix("/"+c.Name+":"+c.option, ":"), lasts))
		}
		if err := g.carry(ctx, thread, c, open, &d); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, d.turn.Validate(), d.thread.Validate())
	if d.answers != nil && d.rest != "" {
		errs = append(errs, &CommandError{Name: l.names(), Why: fmt.Sprintf("it takes no text, and %q follows", d.rest)})
	}
	if d.answers != nil && d.turn != (agent.Settings{}) {
		errs = append(errs, &CommandError{Name: l.names(), Why: `the turn has begun; with "!" a setting is for the thread`})
	}
	if d.turn != (agent.Settings{}) && len(open) > 0 && !d.discard && errors.Join(errs...) == nil {
		errs = append(errs, &CommandError{Name: l.names(), Why: `a turn waits for an answer; with "!" a setting is for the thread, and /new begins another turn`})
	}
	return d, errors.Join(errs...)
}

// carry does what one command says.
func (g *Gateway[S]) carry(ctx context.Context, thread string, c call, open []graph.Interrupt, d *deed) error {
	switch c.Do {
	case "":
		return nil
	case DoHelp:
		return d.show(g.commands().Help(c.option))
	case DoConfig:
		return d.show(g.config(ctx, thread))
	case DoStatus:
		return d.show(g.status(ctx, thread))
	case DoPending:
		return d.show(Asking(open), nil)
	case DoApprove, DoReject, DoEdit, DoCancel:
		return d.decide(c, open)
	case DoContinue:
		return g.continues(ctx, thread, c, d)
	case DoNew:
		if d.rest == "" {
			return &CommandError{Name: c.word, Why: "the message is missing behind it"}
		}
		d.discard = true
	default:
		d.ui = append(d.ui, c.Do)
	}
	return nil
}

// continues goes on with a turn that was cut off or failed, and with no other.
func (g *Gateway[S]) continues(ctx context.Context, thread string, c call, d *deed) error {
	_, p, err := g.Graph.State(ctx, thread, 0)
	switch {
	case err != nil && !errors.Is(err, graph.ErrUnknownThread) && !errors.Is(err, graph.ErrNoStore):
		return err
	case p.Status == graph.Interrupted:
		return &CommandError{Name: c.word, Why: "the turn waits for an answer"}
	case err != nil || p.Status == graph.Done:
		return &CommandError{Name: c.word, Why: "no turn was cut off"}
	case d.rest != "":
		return &CommandError{Name: c.word, Why: fmt.Sprintf("it takes no text, and %q follows", d.rest)}
	case d.turn != (agent.Settings{}):
		return &CommandError{Name: c.word, Why: `the turn has begun; with "!" a setting is for the thread`}
	}
	d.goOn = true
	return nil
}

func (d *deed) show(text string, err error) error {
	d.texts = append(d.texts, text)
	return err
}

// decide makes answers to the questions that a command means.
func (d *deed) decide(c call, open []graph.Interrupt) error {
	if c.Do == DoCancel {
		c.option = "all"
	}
	meant, err := d.meant(c, open)
	if err != nil {
		return err
	}
	if d.answers == nil {
		d.answers = new(graph.Answers)
	}
	for _, q := range meant {
		v, err := d.value(c, q)
		switch {
		case err != nil:
			return err
		case c.Do == DoCancel:
			*d.answers = d.answers.Decline(q.ID, strings.TrimSpace("cancelled "+d.rest))
		default:
			*d.answers = d.answers.Answer(q.ID, v)
		}
	}
	if c.Text {
		d.rest = ""
	}
	return nil
}

// meant returns the open questions that a command is about.
func (d *deed) meant(c call, open []graph.Interrupt) ([]graph.Interrupt, error) {
	fail := func(format string, args ...any) ([]graph.Interrupt, error) {
		return nil, &CommandError{Name: c.word, Why: fmt.Sprintf(format, args...)}
	}
	open = slices.DeleteFunc(slices.Clone(open), func(q graph.Interrupt) bool { return q.Kind != "question" })
	n, err := strconv.Atoi(c.option)
	switch at := slices.IndexFunc(open, func(q graph.Interrupt) bool { return q.ID == c.option }); {
	case len(open) == 0:
		return fail("no question is open")
	case c.option == "all", c.option == "" && len(open) == 1:
		return open, nil
	case c.option == "":
		return fail("%d questions are open; name one by its number, such as /%s:1, or all", len(open), c.Name)
	case at >= 0:
		return open[at : at+1], nil
	case err != nil || n < 1 || n > len(open):
		return fail("there is no question %q; %d are open", c.option, len(open))
	}
	return open[n-1 : n], nil
}

// value returns the answer that a command gives to a question.
func (d *deed) value(c call, q graph.Interrupt) (any, error) {
	if c.Do == DoCancel {
		return nil, nil
	}
	if !decides(q) && c.Do != DoEdit {
		if v, clear := read(q, map[string]string{DoApprove: "yes", DoReject: "no"}[c.Do]); clear {
			return v, nil
		}
	}
	if !decides(q) {
		return nil, &CommandError{Name: c.word, Why: fmt.Sprintf("%q wants another answer than a decision", q.Prompt)}
	}
	switch c.Do {
	case DoApprove:
		return Decision{Verdict: Approve}, nil
	case DoReject:
		return Decision{Verdict: Reject, Feedback: d.rest}, nil
	}
	edited := json.RawMessage(d.rest)
	var v any
	if err := json.Unmarshal(edited, &v); err != nil || v == nil {
		return nil, &CommandError{Name: c.word, Why: fmt.Sprintf("JSON must stand behind it: %v", err)}
	}
	return Decision{Verdict: Edit, Edited: edited}, nil
}

// config shows the settings that a turn on the thread would have.
func (g *Gateway[S]) config(ctx context.Context, thread string) (string, error) {
	s, _, err := g.Graph.State(ctx, thread, 0)
	if err != nil && !errors.Is(err, graph.ErrUnknownThread) && !errors.Is(err, graph.ErrNoStore) {
		return "", err
	}
	var fresh agent.State
	if set := g.At(&s).SessionControl.Get(); set != (agent.Settings{}) {
		fresh.SessionControl.Update(set)
	}
	data, err := json.MarshalIndent(g.Manager.Settings(&fresh), "", "  ")
	return string(data), err
}

// status shows where the thread stands.
func (g *Gateway[S]) status(ctx context.Context, thread string) (string, error) {
	s, p, err := g.Graph.State(ctx, thread, 0)
	switch {
	case errors.Is(err, graph.ErrUnknownThread), errors.Is(err, graph.ErrNoStore):
		return "Nothing was said yet.", nil
	case err != nil:
		return "", err
	}
	st := g.At(&s)
	return fmt.Sprintf("Turn %d is %s; %d messages, %d contexts, %d open questions.", p.Turn, p.Status, st.Messages.Len(), st.Context.Len(), len(p.Interrupts)), nil
}
