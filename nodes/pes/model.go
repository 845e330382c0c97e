package pes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state/message"
)

// WithModel returns c with functions that ask a model in the place of those that are nil: [ModelPlan],
// [ModelExecute] and [ModelSynthesize].
func WithModel(c Config, m model.Model) Config {
	if c.Plan == nil {
		c.Plan = ModelPlan(m)
	}
	if c.Execute == nil {
		c.Execute = ModelExecute(m)
	}
	if c.Synthesize == nil {
		c.Synthesize = ModelSynthesize(m)
	}
	return c
}

// What a prompt holds of the conversation, in tokens, and of each result, in bytes.
const (
	historyTokens = 8000
	resultBytes   = 4000
)

// request makes a request of a role and of sections with headings, after the newest part of the conversation.
func request(role string, ms []message.Message, sections ...string) model.Request {
	var b strings.Builder
	for i := 0; i+1 < len(sections); i += 2 {
		if text := strings.TrimSpace(sections[i+1]); text != "" {
			fmt.Fprintf(&b, "# %s\n\n%s\n\n", sections[i], text)
		}
	}
	fit, err := message.Window{MaxTokens: historyTokens}.Fit(ms)
	if err != nil { // one message alone is larger: the query has it
		fit.Messages = nil
	}
	all := append([]message.Message{message.System(role)}, fit.Messages...)
	return model.Request{Messages: append(all, message.User(strings.TrimSpace(b.String())))}
}

// list writes items with their status and results, one line of JSON each.
func list(todo []Todo) string {
	var b strings.Builder
	for _, t := range todo {
		if n := len(t.Result.Text); n > resultBytes {
			t.Result.Text = strings.ToValidUTF8(t.Result.Text[:resultBytes], "") + fmt.Sprintf("… (%d bytes in all)", n)
		}
		data, err := json.Marshal(t)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&b, "%s\n", data)
	}
	return b.String()
}

// ModelPlan plans and refines with a model. What it returns is held to all rules like any other plan.
func ModelPlan(m model.Model) func(context.Context, PlanRequest) (Plan, error) {
	return func(ctx context.Context, r PlanRequest) (Plan, error) {
		return model.Decode[Plan](ctx, m, request("You plan what is to be done for the user's last message, as a list of items. Items that wait for nothing are "+
			"done side by side; depends_on names the items whose results one needs. Where there is a list already, refine it: completed items stay "+
			"as they are and need not be repeated, items may depend on them, and all others are replaced by yours; what is new has an id of its own.",
			r.Messages, "The user's last message", r.Query, "The list as it stands", list(r.Todo), "Tools that items may require", toolText(r.Tools), "Mend this", r.Problem))
	}
}

// toolText is what a prompt has of tools, a line each.
func toolText(tools []model.Tool) string {
	var b strings.Builder
	for _, t := range tools {
		fmt.Fprintf(&b, "%s: %s\n", t.Name, strings.Join(strings.Fields(t.Description), " "))
	}
	return b.String()
}

// itemText is an item as a prompt has it.
func itemText(r ExecuteRequest) []string {
	return []string{"Goal", cmp.Or(r.Goal, r.Query), "Results of earlier items", list(r.Needs), "This item", r.Item.Task, "What is expected of it", r.Item.Expected,
		"Tools it requires", strings.Join(r.Item.RequiredTools, ", ")}
}

// ModelExecute does items with one question to a model each, which has no tools. [Agent] does them with tools.
func ModelExecute(m model.Model) func(context.Context, ExecuteRequest) (string, error) {
	return func(ctx context.Context, r ExecuteRequest) (string, error) {
		said, err := model.Generate(ctx, m, request("You do one item of a plan, and nothing else. Answer with its result alone.", r.Messages, itemText(r)...))
		return said.Message.Text(), err
	}
}

// Agent does each item with an agent of package react, whose tools may need a person: permission, or an answer. c is
// its configuration; its graph is a child of the item's task.
func Agent(c react.Config) (func(context.Context, ExecuteRequest) (string, error), error) {
	c.Name = cmp.Or(c.Name, "item")
	b, err := react.New(c)
	if err != nil {
		return nil, err
	}
	g, err := b.Compile(graph.Config{})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r ExecuteRequest) (string, error) {
		asked := request("", nil, itemText(r)...)
		s, err := g.Call(ctx, react.Ask(asked.Messages[1].Text()))
		return s.Answer.Get(), err
	}, nil
}

// ModelSynthesize answers with a model, and passes on its words as they come: see [graph.EmitMessage].
func ModelSynthesize(m model.Model) func(context.Context, SynthesizeRequest) (string, error) {
	return func(ctx context.Context, r SynthesizeRequest) (string, error) {
		req := request("You answer the user from the results of the list and from nothing else. Say what could not be done, and why.",
			r.Messages, "The user's last message", r.Query, "The list", list(r.Todo), "Why not all is done", r.Problem)
		req.ID = r.ID
		f := model.Fold{Request: req}
		tok := graph.Token{ID: r.ID, Role: string(message.RoleAssistant)}
		for c, err := range m.Stream(ctx, req) {
			if err == nil {
				err = f.Add(c)
			}
			if tok.Delta = c.Text; err == nil && c.Text != "" && r.ID != "" {
				graph.Heartbeat(ctx)
				err = graph.EmitMessage(ctx, tok)
			}
			if err != nil {
				return "", err
			}
		}
		said, err := f.Response()
		if err != nil {
			return "", err
		}
		if tok.Delta, tok.Final = "", true; r.ID != "" {
			err = graph.EmitMessage(ctx, tok)
		}
		return said.Message.Text(), err
	}
}
