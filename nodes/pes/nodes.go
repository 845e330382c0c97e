package pes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// plan makes a valid plan that a person approves if Config.Review is set.
func (a *agent) plan(ctx context.Context, s *State) (graph.Command, error) {
	s.Running.Clear() // items that ran when their turn was discarded are pending again
	if err := stampMessages(ctx, s); err != nil {
		return graph.Command{}, err
	}
	query, _ := s.asked()
	r := PlanRequest{Query: query, Messages: s.Messages.Slice(), Todo: s.Todo(), Tools: a.tools(ctx), Problem: s.Problem.Get()}
	var problems []string
	failure := s.Problem.Get()
	for s.Plans.Get() < a.MaxPlans {
		s.Plans.Add(1)
		p, err := graph.Call(ctx, "plan", func(ctx context.Context) (Plan, error) { return a.Plan(ctx, r) })
		if err != nil {
			return graph.Command{}, err
		}
		p, problems = a.checked(r, p)
		if len(problems) > 0 {
			r.Problem = "The plan is not valid: " + strings.Join(problems, "; ")
			continue
		}
		p, d, err := a.review(ctx, r, p)
		switch {
		case err != nil:
			return graph.Command{}, err
		case d.Approved():
			return graph.Goto(SelectNode), a.adopt(ctx, s, p)
		case d.Message == "" || s.Plans.Get() >= a.MaxPlans:
			return a.stop(s, strings.TrimSpace("the plan was not approved: "+d.Message)), nil
		}
		r.Problem = "A person rejected the plan: " + d.Message
	}
	none := &PlanError{Plans: s.Plans.Get(), Problems: problems}
	if failure != "" { // answer with the results so far
		return a.stop(s, failure+"; "+none.Error()), nil
	}
	return graph.Command{}, graph.Permanent(none)
}

// tools returns the tools that are enabled.
func (a *agent) tools(ctx context.Context) []model.Tool {
	if a.Tools == nil {
		return nil
	}
	return a.Tools.Specs(ctx)
}

// checked returns the refined plan, and all its problems. Tools of completed items are not checked.
func (a *agent) checked(r PlanRequest, p Plan) (Plan, []string) {
	done := 0
	for _, t := range r.Todo {
		if t.Status == Completed {
			done++
		}
	}
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	p = refined(r.Todo, p)
	problems := p.Check(done + a.MaxItems)
	if len(p.Items) <= done+a.MaxItems {
		problems = append(problems, checkTools(p.Items[done:], names)...)
	}
	return p, problems
}

// adopt stores p as the plan of the thread, and deletes the results of items that are not
// completed.
func (a *agent) adopt(ctx context.Context, s *State, p Plan) error {
	c := Diff(s.Plan.Get(), p)
	for id, r := range s.Results.All() {
		if r.Status != Completed {
			s.Results.Delete(id)
		}
	}
	s.Plan.Set(p)
	s.Problem.Set("")
	if c.None() {
		return nil
	}
	return graph.Emit(ctx, c)
}

// next starts all items that are ready, or goes to the next node if none is.
func (a *agent) next(s *State) (graph.Command, error) {
	s.Running.Clear()
	var bad []string
	for _, t := range s.Todo() {
		if t.Status == Failed {
			bad = append(bad, fmt.Sprintf("%q failed: %s", t.ID, t.Result.Error))
		}
	}
	why := strings.Join(bad, "; ")
	switch {
	case len(bad) > 0 && a.OnFailure == Replan && s.Plans.Get() < a.MaxPlans:
		s.Problem.Set(why)
		return graph.Goto(PlanNode).WithReason("%s", why), nil
	case len(bad) > 0 && a.OnFailure != Continue:
		return a.stop(s, why), nil
	case len(bad) > 0:
		s.Problem.Set(why)
		cancelDependents(s)
	}
	return send(s)
}

// send starts a task for each item that is ready. If none is ready and some are pending, the plan
// is stuck.
func send(s *State) (c graph.Command, err error) {
	var ids []string
	done := map[string]bool{}
	todo := s.Todo()
	for _, t := range todo {
		done[t.ID] = t.Status == Completed
	}
	for _, t := range todo {
		if t.Status == Pending && !slices.ContainsFunc(t.DependsOn, func(on string) bool { return !done[on] }) {
			c, ids = c.Send(ExecuteNode, t.ID), append(ids, t.ID)
		}
	}
	if waits := waiting(todo); len(ids) == 0 && len(waits) > 0 {
		return c, graph.Permanent(&PlanError{Plans: s.Plans.Get(), Problems: waits, Stuck: true})
	}
	if len(ids) == 0 {
		return graph.Goto(SynthesizeNode), nil
	}
	s.Running.Set(ids)
	return c, nil
}

// waiting returns what each pending item waits for.
func waiting(todo []Todo) (why []string) {
	status := map[string]Status{}
	for _, t := range todo {
		status[t.ID] = t.Status
	}
	for _, t := range todo {
		for _, on := range t.DependsOn {
			if t.Status == Pending && status[on] != Completed {
				why = append(why, fmt.Sprintf("%q waits for %q, which %s", t.ID, on, statusText(status[on])))
			}
		}
	}
	return why
}

// statusText describes the status of an item that others wait for.
func statusText(s Status) string {
	if s == "" {
		return "does not exist"
	}
	return "is " + string(s)
}

// cancel stores why an item will not run.
func cancel(s *State, id, why string) {
	_, turn := s.asked()
	s.Results.Put(id, Result{Status: Cancelled, Error: why, Turn: turn})
}

// stop cancels all pending items and goes to the answer.
func (a *agent) stop(s *State, why string) graph.Command {
	for _, t := range s.Todo() {
		if t.Status == Pending {
			cancel(s, t.ID, why)
		}
	}
	s.Problem.Set(why)
	return graph.Goto(SynthesizeNode).WithReason("%s", why)
}

// cancelDependents cancels the items that depend on one that cannot be completed, directly or not.
func cancelDependents(s *State) {
	for again := true; again; {
		again = false
		todo := s.Todo()
		lost := map[string]bool{}
		for _, t := range todo {
			lost[t.ID] = t.Status == Failed || t.Status == Cancelled
		}
		for _, t := range todo {
			at := slices.IndexFunc(t.DependsOn, func(on string) bool { return lost[on] })
			if t.Status == Pending && at >= 0 {
				cancel(s, t.ID, fmt.Sprintf("it depends on %q, which was not completed", t.DependsOn[at]))
				again = true
			}
		}
	}
}

// execute executes one item.
func (a *agent) execute(ctx context.Context, s *State, id string) error {
	p := s.Plan.Get()
	i, ok := p.item(id)
	if !ok {
		return graph.Permanent(fmt.Errorf("pes: the item %q no longer exists", id))
	}
	query, turn := s.asked()
	r := ExecuteRequest{Item: i, Goal: p.Goal, Query: query, Messages: s.Messages.Slice(), ID: graph.TaskID(ctx)}
	for _, t := range s.Todo() {
		if slices.Contains(i.DependsOn, t.ID) {
			r.Needs = append(r.Needs, t)
		}
	}
	text, err := a.Execute(ctx, r)
	if err != nil {
		return err
	}
	s.Results.Put(id, Result{Status: Completed, Text: strings.ToValidUTF8(text, "\uFFFD"), Turn: turn})
	return nil
}

// failed stores the failure of an item.
func failed(s *State, f *graph.NodeError) error {
	id, ok := f.Payload.(string)
	if !ok {
		return fmt.Errorf("pes: the payload of a failed item must be its ID (got %v)", f.Payload)
	}
	_, turn := s.asked()
	s.Results.Put(id, Result{Status: Failed, Error: strings.ToValidUTF8(f.Err.Error(), "\uFFFD"), Turn: turn})
	return nil
}

// created returns the time of a message that the task writes: the same in every attempt, and in a
// replay.
func created(ctx context.Context) (time.Time, error) {
	return graph.Once(ctx, "created", func(ctx context.Context) (time.Time, error) { return graph.Now(ctx), nil })
}

// stampMessages sets the time of the user's messages that have none to the beginning of the turn.
func stampMessages(ctx context.Context, s *State) error {
	for _, m := range s.Messages.Slice() {
		if m.Role != message.RoleUser || !m.Created.IsZero() {
			continue
		}
		now, err := created(ctx)
		if err != nil {
			return err
		}
		m.Created = now
		if err := s.Messages.Add(m); err != nil {
			return err
		}
	}
	return nil
}

// errEmpty is returned when Synthesize returns no text.
var errEmpty = errors.New("pes: the answer is empty")

// synthesize answers the user.
func (a *agent) synthesize(ctx context.Context, s *State) error {
	query, turn := s.asked()
	r := SynthesizeRequest{ID: graph.TaskID(ctx), Query: query, Messages: s.Messages.Slice(), Todo: s.Todo(), Turn: turn, Problem: s.Problem.Get()}
	text, err := a.Synthesize(ctx, r)
	if text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD"); err == nil && text == "" {
		err = errEmpty
	}
	if err != nil {
		return err
	}
	s.Answer.Set(text)
	said := message.Assistant(text)
	said.ID = r.ID
	if said.Created, err = created(ctx); err != nil {
		return err
	}
	return s.Messages.Add(said)
}
