package turn

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

func ref(typ, key string) state.ContextRef { return state.ContextRef{Type: typ, Key: key} }

// Respond ends the turn with an answer, or with an apology if no answer could be made.
func (t *Turn) Respond(ctx context.Context, s *agent.State) error {
	return t.finish(ctx, s, agent.ToRespond, t.cfg.Answer)
}

// Clarify ends the turn with questions to the user.
func (t *Turn) Clarify(ctx context.Context, s *agent.State) error {
	return t.finish(ctx, s, agent.ToClarify, func(ctx context.Context, r AnswerRequest) (string, error) {
		c, err := t.cfg.Clarify(ctx, r)
		return questions(c), err
	})
}

// finish ends the turn with one message of the assistant, even if say fails.
func (t *Turn) finish(ctx context.Context, s *agent.State, node string, say func(context.Context, AnswerRequest) (string, error)) error {
	if err := t.emitStatus(ctx, s, node, "Writing the answer…", nil); err != nil {
		return err
	}
	step, i := t.last(s)
	r := t.answerRequest(ctx, s, step)
	r.ID = graph.TaskID(ctx)
	inner, cancel := t.inTime(ctx, s)
	defer cancel()
	var text string
	err := t.tries(inner, node, func(ctx context.Context) (err error) {
		text, err = say(ctx, r)
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	result := agent.StepResult{Success: err == nil}
	if text = strings.ToValidUTF8(strings.TrimSpace(text), "�"); err != nil || text == "" {
		f := t.failure(inner, s, node, fmt.Errorf("turn: no answer could be made: %w", orEmpty(err)))
		result = agent.StepResult{Failure: &f}
		text = apology(r, f)
		s.Control.Fail(f)
	}
	if i >= 0 {
		if err := t.m.Steps(s).Record(i, result); err != nil {
			return err
		}
		if result.Success {
			s.Planning.CurrentStepIndex.Set(i + 1)
		}
	}
	return t.say(ctx, s, text)
}

// say ends the turn with a message of the assistant.
func (t *Turn) say(ctx context.Context, s *agent.State, text string) error {
	id := graph.TaskID(ctx)
	if id == "" {
		return t.m.Respond(s, text)
	}
	said := message.Assistant(text)
	said.ID, said.Created = id, t.m.Clock().Round(0)
	if err := s.Messages.Add(said); err != nil {
		return err
	}
	return t.cfg.Services.end(ctx, s)
}

func orEmpty(err error) error {
	if err == nil {
		return fmt.Errorf("it was empty")
	}
	return err
}

// last returns the step that ends the turn and its index, or -1 without a plan.
func (t *Turn) last(s *agent.State) (agent.Step, int) {
	due := t.m.Steps(s).Due()
	if len(due) == 0 {
		return agent.Step{}, -1
	}
	step, err := s.Planning.Step(due[0])
	if err != nil {
		return agent.Step{}, -1
	}
	return step, due[0]
}

func (t *Turn) answerRequest(ctx context.Context, s *agent.State, step agent.Step) AnswerRequest {
	task, _ := s.Task.Current.Lookup()
	r := AnswerRequest{
		Mode: Specific, Task: task, Messages: t.history(ctx, s), Step: step, Done: t.m.Steps(s).Summary(), Time: t.m.Clock(),
		Figures: s.UI.CapturedFigures.Slice(), Commands: s.UI.LaunchableCommands.Slice(),
	}
	refs := step.Inputs
	if len(refs) == 0 {
		r.Mode, refs = General, t.found(s)
	}
	if len(refs) == 0 {
		r.Mode = Conversational
	}
	known := t.m.LoadContexts(s)
	for _, ref := range refs {
		got, err := known.Summaries(agent.InputList{ref})
		if err != nil {
			r.Missing = append(r.Missing, err.Error())
			continue
		}
		r.Found = append(r.Found, got...)
	}
	return r
}

// found returns the contexts that the steps of this turn made.
func (t *Turn) found(s *agent.State) (refs agent.InputList) {
	p, _ := s.Planning.Plan()
	for i, step := range p.Steps {
		if !t.m.Steps(s).Result(i).Success || step.ContextKey == "" {
			continue
		}
		for _, typ := range s.Context.Types() {
			if e, ok := s.Context.Lookup(typ, step.ContextKey); ok && e.Meta.Capability == step.Capability {
				refs = append(refs, ref(typ, step.ContextKey))
			}
		}
	}
	return refs
}
