package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// withRules returns c with rules, which use no model, in place of functions that are nil. A nil
// Match or Explain stays nil, and is not called.
func withRules(c Config) Config {
	if c.Extract == nil {
		c.Extract = lastMessage
	}
	if c.Plan == nil {
		c.Plan = Chain
	}
	if c.Answer == nil {
		c.Answer = listing
	}
	if c.Clarify == nil {
		c.Clarify = askBack
	}
	return c
}

// lastMessage returns the user's last message as the task. The task depends on the conversation if
// the user has sent earlier messages.
func lastMessage(_ context.Context, r ExtractRequest) (Task, error) {
	sent := 0
	for _, m := range r.Messages {
		if m.Role == message.RoleUser {
			sent++
		}
	}
	return Task{Text: r.Query, DependsOnChatHistory: sent > 1}, nil
}

// wholeConversation returns the whole conversation and all retrieved text as the task. It is used
// when the settings bypass extraction.
func wholeConversation(_ context.Context, r ExtractRequest) (Task, error) {
	var b strings.Builder
	for _, got := range r.Retrieved {
		fmt.Fprintf(&b, "%s:\n%s\n\n", got.Source, got.Text)
	}
	b.WriteString(agent.FormatMessages(r.Messages))
	return Task{Text: b.String(), DependsOnChatHistory: true, DependsOnUserMemory: true}, nil
}

// Chain plans without a model: one step for each active capability. A turn adds the step that
// answers. Each step gets its inputs from earlier steps, or else from the contexts that exist. A
// capability whose requirements cannot be met is left out.
func Chain(_ context.Context, r PlanRequest) (p agent.Plan, err error) {
	made := map[string]agent.InputList{}
	for _, have := range r.Have {
		made[have.Type] = agent.InputList{have} // of several contexts of a type, the last by key
	}
	left := slices.Clone(r.Capabilities)
	for {
		at := slices.IndexFunc(left, func(i capabilities.Info) bool { return met(i, made, left) })
		if at < 0 { // capabilities that provide each other's inputs, which exist already
			at = slices.IndexFunc(left, func(i capabilities.Info) bool { return met(i, made, nil) })
		}
		if at < 0 {
			break
		}
		i := left[at]
		left = slices.Delete(left, at, at+1)
		step := agent.Step{Capability: i.Name, ContextKey: i.Name, Objective: i.Description}
		for _, typ := range i.Requires {
			step.Inputs = append(step.Inputs, made[typ]...)
		}
		for _, typ := range i.Provides {
			step.ExpectedOutput = cmp.Or(step.ExpectedOutput, typ)
			made[typ] = agent.InputList{ref(typ, i.Name)}
		}
		p.Steps = append(p.Steps, step)
	}
	return p, nil
}

// met reports whether a capability can be next: made has its inputs, and no other capability in
// left provides one of them. With a soft constraint, one input is enough.
func met(i capabilities.Info, made map[string]agent.InputList, left []capabilities.Info) bool {
	found := 0
	for _, typ := range i.Requires {
		if slices.ContainsFunc(left, func(o capabilities.Info) bool { return o.Name != i.Name && slices.Contains(o.Provides, typ) }) {
			return false
		}
		if len(made[typ]) > 0 {
			found++
		}
	}
	return found == len(i.Requires) || i.Constraint == agent.Soft && found > 0
}

// listing returns what was found and what is missing, one paragraph each.
func listing(_ context.Context, r AnswerRequest) (string, error) {
	if len(r.Found) == 0 && len(r.Missing) == 0 {
		return "I found nothing about this: " + r.Task, nil
	}
	var lines []string
	for _, f := range r.Found {
		text, ok := f.Summary.(string)
		if !ok {
			data, err := json.Marshal(f.Summary)
			if err != nil {
				return "", err
			}
			text = string(data)
		}
		lines = append(lines, fmt.Sprintf("%s: %s", f.Ref, text))
	}
	for _, m := range r.Missing {
		lines = append(lines, "Missing: "+m)
	}
	return strings.Join(lines, "\n\n"), nil
}

// askBack returns a question about the meaning of the task.
func askBack(_ context.Context, r AnswerRequest) (Clarification, error) {
	return Clarification{Questions: []string{fmt.Sprintf("What exactly do you mean by %q?", cmp.Or(r.Task, "this"))}, Reason: r.Step.Objective}, nil
}

// questions formats the first four questions for the user; it returns "" if there are none.
func questions(c Clarification) string {
	var asked []string
	for _, q := range c.Questions {
		if q = strings.TrimSpace(q); q != "" && len(asked) < 4 {
			asked = append(asked, fmt.Sprintf("%d. %s", len(asked)+1, q))
		}
	}
	if len(asked) == 0 {
		return ""
	}
	return strings.TrimSpace(c.Reason + "\n\n" + strings.Join(asked, "\n"))
}

// apology returns the answer for the user when Config.Answer failed, with what was found.
func apology(r AnswerRequest, f agent.Failure) string {
	text := "I am sorry, I could not put an answer together: " + f.UserMessage
	if found, err := listing(context.Background(), r); err == nil && len(r.Found) > 0 {
		text += "\n\nThis is what was found:\n\n" + found
	}
	return text
}

// planText formats a plan for a person.
func planText(p agent.Plan) string {
	var b strings.Builder
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "%d. %s: %s", i+1, s.Capability, cmp.Or(s.Objective, "no objective"))
		if len(s.DependsOn) > 0 {
			fmt.Fprintf(&b, " (after %s)", strings.Join(s.DependsOn, ", "))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}
