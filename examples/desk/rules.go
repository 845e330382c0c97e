package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// The rules that think where no model does: extract makes the task, match chooses capabilities, plan makes a plan of
// them, and answer tells what they found; clarify asks for what is missing.

// asked is what a capability is asked to do: the parameter about of its step, or else what the step is for.
func asked(c *capabilities.Call) string {
	if about, ok := c.Step.Parameters["about"].(string); ok {
		return about
	}
	return c.Step.Objective
}

// tokens are the words of a text, in lower case.
func tokens(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
}

func hits(text []string, any ...string) bool {
	return slices.ContainsFunc(any, func(w string) bool { return slices.Contains(text, w) })
}

// extract takes the last message for the task, and notes whether it refers to earlier ones.
func extract(_ context.Context, r turn.ExtractRequest) (turn.Task, error) {
	return turn.Task{Text: r.Query, DependsOnChatHistory: hits(tokens(r.Query), "it", "those", "them", "that", "these", "again")}, nil
}

// match chooses a capability by the words of the task.
func match(_ context.Context, r turn.MatchRequest) (bool, error) {
	task := tokens(r.Task)
	timed := slices.ContainsFunc(task, func(w string) bool { _, ok := yearOf(w); return ok })
	named := slices.ContainsFunc(catalog, func(m Measurement) bool { return hits(task, append(words[m.Name], m.Name)...) })
	plots := hits(task, "plot", "chart", "draw", "graph", "picture")
	exports := hits(task, "export", "save", "csv", "download")
	switch r.Capability.Name {
	case "find_measurements":
		return named || hits(task, "measurements", "measurement", "data"), nil
	case "parse_time_range":
		return timed, nil
	case "retrieve", "analyse": // to plot rain is to plot another table than the last one
		return timed || named && (plots || exports) || hits(task, "total", "totals", "sum", "mean", "means", "average", "averages", "monthly", "yearly", "annual"), nil
	case "plot":
		return plots, nil
	case "export":
		return exports, nil
	}
	return false, nil
}

// needs is what the user is asked for where a type of context is missing.
var needs = map[string]string{
	"MEASUREMENTS": "Which measurement do you mean: rain, temperature or wind?",
	"TIME_RANGE":   fmt.Sprintf("Which time do you mean? There are data from %d to %d.", firstYear, lastYear),
	"TABLE":        "Of what? Ask for totals first, such as “monthly totals of rain for 2013”.",
}

// plan puts the chosen capabilities into an order, each with what those before it make or earlier turns found. Where
// something is missing for one, the plan is to ask for it.
func plan(ctx context.Context, r turn.PlanRequest) (agent.Plan, error) {
	p, err := turn.Chain(ctx, r)
	if err != nil {
		return p, err
	}
	for _, c := range r.Capabilities {
		if slices.ContainsFunc(p.Steps, func(s agent.Step) bool { return s.Capability == c.Name }) {
			continue
		}
		for _, typ := range c.Requires {
			if question := needs[typ]; question != "" && !made(p, r, typ) {
				return agent.Plan{Steps: []agent.Step{{Capability: agent.ToClarify, Objective: question}}}, nil
			}
		}
	}
	if len(p.Steps) == 0 {
		return agent.Plan{Steps: []agent.Step{{Capability: agent.ToClarify, Objective: "I know about Seattle's weather: ask which measurements there are."}}}, nil
	}
	for i := range p.Steps {
		p.Steps[i].Parameters = map[string]any{"about": r.Task.Text}
	}
	return p, nil
}

// made reports whether a type is known, or one of the steps makes it.
func made(p agent.Plan, r turn.PlanRequest, typ string) bool {
	return slices.Contains(r.Have.Types(), typ) || slices.ContainsFunc(p.Steps, func(s agent.Step) bool { return s.ExpectedOutput == typ })
}

// clarify asks what the plan says.
func clarify(_ context.Context, r turn.AnswerRequest) (turn.Clarification, error) {
	return turn.Clarification{Questions: []string{r.Step.Objective}}, nil
}

// answer tells what the last step found; the others only led to it.
func answer(_ context.Context, r turn.AnswerRequest) (string, error) {
	if len(r.Found) == 0 {
		return "", fmt.Errorf("nothing was found: %s", strings.Join(r.Missing, "; "))
	}
	last := r.Found[len(r.Found)-1]
	return fmt.Sprint(last.Summary), nil
}
