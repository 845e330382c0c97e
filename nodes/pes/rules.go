package pes

import (
	"context"
	"fmt"
	"strings"
)

// withRules sets the functions that are nil to rules.
func withRules(c Config) Config {
	if c.Plan == nil {
		c.Plan = OneByOne
	}
	if c.Synthesize == nil {
		c.Synthesize = listing
	}
	return c
}

// OneByOne plans without a model. Each message of the user becomes an item. Items that are not
// completed stay, and failed ones are tried again.
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

// freeID returns the first of item-1, item-2 and so on that is not in use.
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

// listing returns the results of the turn's items, one on each line.
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
