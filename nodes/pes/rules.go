package pes

import (
	"context"
	"fmt"
	"strings"
)

// withRules fills in the rules that stand in for functions.
func withRules(c Config) Config {
	if c.Plan == nil {
		c.Plan = OneByOne
	}
	if c.Synthesize == nil {
		c.Synthesize = listing
	}
	return c
}

// OneByOne plans without a model: what is open stays, what failed is tried anew, and each message of the user is an
// item, once.
func OneByOne(_ context.Context, r PlanRequest) (p Plan, err error) {
	for _, t := range r.Todo {
		p.Goal = r.Query
		if t.Status != Completed {
			p.Items = append(p.Items, t.Item)
		}
	}
	if len(p.Items) > 0 && r.Problem != "" {
		return p, nil
	}
	p.Goal = r.Query
	p.Items = append(p.Items, Item{ID: freeID(r.Todo), Task: r.Query})
	return p, nil
}

// freeID returns the first of item-1, item-2 and so on that is not taken.
func freeID(todo []Todo) string {
	taken := map[string]bool{}
	for _, t := range todo {
		taken[t.ID] = true
	}
	for n := 1; ; n++ {
		if id := fmt.Sprint("item-", n); !taken[id] {
			return id
		}
	}
}

// listing says what the items of the turn came to, a line each.
func listing(_ context.Context, r SynthesizeRequest) (string, error) {
	var lines []string
	if r.Problem != "" {
		lines = append(lines, "Not all could be done: "+r.Problem)
	}
	for _, t := range r.Todo {
		switch {
		case t.Result.Turn != r.Turn:
		case t.Status == Completed:
			lines = append(lines, fmt.Sprintf("%s: %s", t.Task, t.Result.Text))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s: %s", t.Task, t.Status, t.Result.Error))
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "There was nothing left to do.")
	}
	return strings.Join(lines, "\n"), nil
}
