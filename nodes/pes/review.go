package pes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/graph"
)

// Action is what a person does about a plan.
type Action string

// The actions.
const (
	Approve Action = "approve"
	Edit    Action = "edit"
	Reject  Action = "reject"
)

// Decision is a person's answer to a plan. A rejection with feedback asks for another plan, up to
// Config.MaxPlans. A rejection without feedback ends the turn.
type Decision struct {
	Action Action `json:"action" jsonschema:"approve, edit or reject"`
	// Plan is the edited plan of an edit. Completed items stay unchanged.
	Plan *Plan `json:"plan,omitempty"`
	// Feedback of a rejection is passed to the planner.
	Feedback string `json:"feedback,omitempty"`
}

// review shows a plan to a person, until the answer is valid. It returns the approved plan, or the
// rejection.
func (a *agent) review(ctx context.Context, r PlanRequest, p Plan) (_ Plan, no *Decision, err error) {
	if !a.Review {
		return p, nil, nil
	}
	wrong := ""
	for {
		q := graph.Question{Prompt: "Execute this plan?", Detail: strings.TrimSpace(wrong + "\n\n" + p.String()), Data: p, Timeout: a.ReviewWithin}
		d, err := graph.Ask[Decision](ctx, q)
		switch {
		case errors.Is(err, graph.ErrDeclined), errors.Is(err, graph.ErrExpired):
			return p, &Decision{Action: Reject}, nil
		case err != nil:
			return p, nil, err
		case d.Action == Approve && d.Plan == nil:
			return p, nil, nil
		case d.Action == Reject:
			return p, &d, nil
		case d.Action == Edit && d.Plan != nil:
			edited, problems := a.checked(r, *d.Plan)
			if len(problems) == 0 {
				return edited, nil, nil
			}
			wrong = "The edited plan is not valid: " + strings.Join(problems, "; ")
		default:
			wrong = fmt.Sprintf("The decision must be approve, edit with a plan, or reject (got %q).", d.Action)
		}
	}
}

// String formats the plan for a person.
func (p Plan) String() string {
	var b strings.Builder
	for n, i := range p.Items {
		fmt.Fprintf(&b, "%d. %s: %s", n+1, i.ID, i.Task)
		if len(i.DependsOn) > 0 {
			fmt.Fprintf(&b, " (after %s)", strings.Join(i.DependsOn, ", "))
		}
		if len(i.RequiredTools) > 0 {
			fmt.Fprintf(&b, " (with %s)", strings.Join(i.RequiredTools, ", "))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
