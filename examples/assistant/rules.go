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

// These rules are in place of a model. extract finds the task, match chooses capabilities, plan
// orders them, answer reports their results, and clarify asks for missing information.

// asked returns the request to a capability: the parameter about of its step, or else the
// objective.
func asked(c *capabilities.Call) string {
	if about, ok := c.Step.Parameters["about"].(string); ok {
		return about
	}
	return c.Step.Objective
}

// tokens returns the words of a text in lower case.
func tokens(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
}

func hits(text []string, any ...string) bool {
	return slices.ContainsFunc(any, func(w string) bool { return slices.Contains(text, w) })
}

// extract takes the last message as the task, and notes whether it refers to earlier ones.
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

// needs has the question to the user for each missing type of context.
var needs = map[string]string{
	"MEASUREMENTS": "Which measurement do you mean: rain, temperature or wind?",
	"TIME_RANGE":   fmt.Sprintf("Which time do you mean? There are data from %d to %d.", firstYear, lastYear),
	"TABLE":        "Of what? Ask for totals first, such as “monthly totals of rain for 2013”.",
}

// plan orders the chosen capabilities. Their inputs come from earlier steps or earlier turns. If an
// input is missing, the plan is to ask for it.
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

// made reports whether a type is known or one of the steps makes it.
func made(p agent.Plan, r turn.PlanRequest, typ string) bool {
	return slices.Contains(r.Have.Types(), typ) || slices.ContainsFunc(p.Steps, func(s agent.Step) bool { return s.ExpectedOutput == typ })
}

// clarify asks the question in the plan.
func clarify(_ context.Context, r turn.AnswerRequest) (turn.Clarification, error) {
	return turn.Clarification{Questions: []string{r.Step.Objective}}, nil
}

// answer returns the result of the last step. The steps before it only prepare it.
func answer(_ context.Context, r turn.AnswerRequest) (string, error) {
	if len(r.Found) == 0 {
		return "", fmt.Errorf("nothing was found: %s", strings.Join(r.Missing, "; "))
	}
	last := r.Found[len(r.Found)-1]
	return fmt.Sprint(last.Summary), nil
}
