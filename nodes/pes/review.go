package pes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/graph"
)

// review shows a plan to a person, who approves, edits or rejects it. It returns the plan to
// execute. A rejection with a message asks for another plan, up to Config.MaxPlans. A rejection
// without a message ends the turn. Completed items of an edited plan stay unchanged.
func (a *agent) review(ctx context.Context, r PlanRequest, p Plan) (Plan, graph.Decision, error) {
	if !a.Review {
		return p, graph.Decision{Type: graph.DecisionApprove}, nil
	}
	edited := p
	_, d, err := graph.Approve(ctx, graph.Approval[Plan]{
		Question: graph.Question{Prompt: "Execute this plan?", Detail: p.String(), Data: p, Timeout: a.ReviewWithin},
		Action:   PlanNode, Args: p,
		Check: func(now Plan) error {
			now, problems := a.checked(r, now)
			if len(problems) > 0 {
				return errors.New(strings.Join(problems, "; "))
			}
			edited = now
			return nil
		},
	})
	if errors.Is(err, graph.ErrDeclined) || errors.Is(err, graph.ErrExpired) {
		return p, graph.Decision{Type: graph.DecisionReject}, nil
	}
	return edited, d, err
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
