package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

// Capabilities returns a registry with the capabilities of r, whose calls a [Recorder] of their
// context records or replays. Without a Recorder they are those of r.
//
// The request is the step with the contexts that are its inputs, and the decisions of people. What
// a capability writes to contexts, to the session, and as figures and commands is recorded, and
// each question of [capabilities.Approve]. Its status updates are not. A capability that changes
// anything else in the state cannot be recorded.
func Capabilities(r *capabilities.Registry) (*capabilities.Registry, error) {
	if r == nil {
		return nil, nil
	}
	var all []capabilities.Change
	for _, name := range r.Names() {
		c, _ := r.Get(name)
		own := capability{c}
		if classifies, ok := c.(capabilities.Classifier); ok {
			all = append(all, capabilities.Override(classifier{own, classifies}))
			continue
		}
		all = append(all, capabilities.Override(own))
	}
	return r.Extend(all...)
}

type capability struct{ capabilities.Capability }

// stepRequest is a call of a capability as it is recorded.
type stepRequest struct {
	Step      agent.Step                `json:"step"`
	Contexts  contexts                  `json:"contexts,omitempty"`
	Decisions map[string]graph.Decision `json:"decisions,omitempty"`
}

// contexts are fields by type and key; null is a deletion.
type contexts map[string]map[string]json.RawMessage

func (c contexts) put(ref state.ContextRef, fields json.RawMessage) {
	if c[ref.Type] == nil {
		c[ref.Type] = map[string]json.RawMessage{}
	}
	c[ref.Type][ref.Key] = fields
}

// written is what a capability has written, or the question or rejection that it ended with.
type written struct {
	Contexts contexts                   `json:"contexts,omitempty"`
	Session  map[string]json.RawMessage `json:"session,omitempty"`
	Figures  []agent.Figure             `json:"figures,omitempty"`
	Commands []agent.Command            `json:"commands,omitempty"`
	Approval *needed                    `json:"approval,omitempty"`
	Rejected *rejected                  `json:"rejected,omitempty"`
}

type needed struct {
	ID      string                `json:"id"`
	Request agent.ApprovalRequest `json:"request"`
}

type rejected struct {
	Request  agent.ApprovalRequest  `json:"request"`
	Feedback string                 `json:"feedback,omitempty"`
	Then     capabilities.Rejection `json:"then,omitempty"`
	Ended    bool                   `json:"ended,omitempty"`
}

// Run implements [capabilities.Capability].
func (c capability) Run(ctx context.Context, call *capabilities.Call) error {
	return c.run(ctx, call, func(err error, _ *capabilities.Call) (agent.Severity, string) { return agent.SeverityOf(err), "" })
}

func (c capability) run(ctx context.Context, call *capabilities.Call, classify func(error, *capabilities.Call) (agent.Severity, string)) error {
	if of(ctx) == nil {
		return c.Capability.Run(ctx, call)
	}
	r := stepRequest{Step: call.Step, Contexts: contexts{}, Decisions: map[string]graph.Decision{}}
	r.Step.Capability = ""
	for id, d := range call.Decisions {
		r.Decisions[id] = graph.Decision{Type: d.Type, Args: d.Args, Message: d.Message}
	}
	for _, ref := range call.Step.Inputs {
		if e, ok := call.State.Context.Lookup(ref.Type, ref.Key); ok {
			r.Contexts.put(ref, json.RawMessage(e.Fields))
		}
	}
	w, err := outside(ctx, kindCapability, c.Info().Name, r, func(ctx context.Context) (w written, err error) {
		own, view := *call, *call.State // what is applied is what is recorded
		own.State = &view
		err = c.Capability.Run(ctx, &own)
		var ask *capabilities.ApprovalNeeded
		var no *capabilities.Rejected
		switch {
		case errors.As(err, &ask):
			w.Approval = &needed{ask.ID, ask.Request}
			return w, nil
		case errors.As(err, &no):
			w.Rejected = &rejected{no.Request, no.Feedback, no.Then, no.Ended}
			return w, nil
		case err != nil && !errors.Is(err, graph.ErrInterrupted):
			severity, user := classify(err, &own)
			return w, &classified{err, severity, user}
		case err != nil:
			return w, err
		}
		return writtenBy(call.State, &view)
	})
	switch {
	case err != nil:
		return err
	case w.Approval != nil:
		return &capabilities.ApprovalNeeded{ID: w.Approval.ID, Request: w.Approval.Request}
	case w.Rejected != nil:
		return &capabilities.Rejected{Request: w.Rejected.Request, Feedback: w.Rejected.Feedback, Then: w.Rejected.Then, Ended: w.Rejected.Ended}
	}
	return w.apply(call)
}

// classifier is a capability that classifies its failures.
type classifier struct {
	capability
	of capabilities.Classifier
}

// Run implements [capabilities.Capability].
func (c classifier) Run(ctx context.Context, call *capabilities.Call) error {
	return c.run(ctx, call, c.of.ClassifyError)
}

// ClassifyError implements [capabilities.Classifier].
func (c classifier) ClassifyError(err error, call *capabilities.Call) (agent.Severity, string) {
	var made *classified
	var old *Failure
	switch {
	case errors.As(err, &made):
		return made.severity, made.user
	case errors.As(err, &old):
		return agent.SeverityOf(err), old.user
	}
	return c.of.ClassifyError(err, call)
}

// classified is a failure of a capability that was called.
type classified struct {
	err      error
	severity agent.Severity
	user     string // the message for the user; "" is the text
}

func (e *classified) Error() string { return e.err.Error() }
func (e *classified) Unwrap() error { return e.err }

// writtenBy returns the changes from one state to another.
func writtenBy(before, after *agent.State) (w written, err error) {
	w.Contexts, w.Session = contexts{}, map[string]json.RawMessage{}
	put, deleted := after.Context.Changed(before.Context)
	for _, ref := range put {
		e, _ := after.Context.Lookup(ref.Type, ref.Key)
		w.Contexts.put(ref, json.RawMessage(e.Fields))
	}
	for _, ref := range deleted {
		w.Contexts.put(ref, json.RawMessage("null"))
	}
	for name, v := range after.Session.All() {
		if old, ok := before.Session.Lookup(name); !ok || string(old) != string(v) {
			w.Session[name] = v
		}
	}
	figures, commands := before.UI.CapturedFigures.Len(), before.UI.LaunchableCommands.Len()
	was, err := rest(before, w, figures, commands)
	if err != nil {
		return w, err
	}
	is, err := rest(after, w, figures, commands)
	if err != nil {
		return w, err
	}
	if path, _, _ := differ(is, was, ""); path != "" {
		return w, Unrecordable(fmt.Errorf("it writes %s of the state, which a recording does not have", path))
	}
	w.Figures = after.UI.CapturedFigures.Slice()[figures:]
	w.Commands = after.UI.LaunchableCommands.Slice()[commands:]
	return w, nil
}

// rest returns a state without what is recorded, and without status updates. Figures and commands
// are recorded after the first ones.
func rest(s *agent.State, w written, figures, commands int) (*value, error) {
	own := *s
	own.Context, own.UI, own.StatusUpdates, own.ProgressEvents = state.ContextData{}, agent.UI{}, state.List[agent.StatusUpdate]{}, state.List[agent.ProgressEvent]{}
	for name := range w.Session {
		own.Session.Delete(name)
	}
	own.UI.AgentContext = s.UI.AgentContext
	shown, offered := s.UI.CapturedFigures.Slice(), s.UI.LaunchableCommands.Slice()
	own.UI.CapturedFigures.Append(shown[:min(figures, len(shown))]...)
	own.UI.LaunchableCommands.Append(offered[:min(commands, len(offered))]...)
	return valueOf(own)
}

// apply writes what is recorded.
func (w written) apply(call *capabilities.Call) error {
	m, s := call.Manager, call.State
	meta := state.ContextMeta{Objective: call.Step.Objective, Capability: call.Step.Capability, Run: m.Run}
	if m.Clock != nil {
		meta.Time = m.Clock().Round(0).In(time.UTC)
	}
	for _, typ := range slices.Sorted(maps.Keys(w.Contexts)) {
		for _, key := range slices.Sorted(maps.Keys(w.Contexts[typ])) {
			fields := string(w.Contexts[typ][key])
			if fields == "null" {
				s.Context.Delete(typ, key)
				continue
			}
			if err := s.Context.Put(typ, key, state.ContextEntry{Fields: fields, Meta: meta}); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Session)) {
		s.Session.Put(name, w.Session[name])
	}
	s.UI.CapturedFigures.Append(w.Figures...)
	s.UI.LaunchableCommands.Append(w.Commands...)
	return nil
}
