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

// WithModel returns c with the functions that are nil set to [ModelPlan], [ModelExecute] and
// [ModelSynthesize].
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

// Limits of a prompt: tokens of the conversation, and bytes of each result.
const (
	historyTokens = 8000
	resultBytes   = 4000
)

// request returns a request with a role, the newest part of the conversation, and sections with
// headings.
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

// list formats items with their status and results, one line of JSON each.
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

// ModelPlan returns a Config.Plan that uses a model.
func ModelPlan(m model.Model) func(context.Context, PlanRequest) (Plan, error) {
	return func(ctx context.Context, r PlanRequest) (Plan, error) {
		return model.Decode[Plan](ctx, m, request("You plan what is to be done for the user's last message, as a list of items. Items that wait for nothing are "+
			"done side by side; depends_on names the items whose results one needs. Where there is a list already, refine it: completed items stay "+
			"as they are and need not be repeated, items may depend on them, and all others are replaced by yours; what is new has an id of its own.",
			r.Messages, "The user's last message", r.Query, "The list so far", list(r.Todo), "Tools that items may require", toolText(r.Tools), "Mend this", r.Problem))
	}
}

// toolText formats tools for a prompt, one on each line.
func toolText(tools []model.Tool) string {
	var b strings.Builder
	for _, t := range tools {
		fmt.Fprintf(&b, "%s: %s\n", t.Name, strings.Join(strings.Fields(t.Description), " "))
	}
	return b.String()
}

// itemText returns the sections of a prompt about an item.
func itemText(r ExecuteRequest) []string {
	return []string{"Goal", cmp.Or(r.Goal, r.Query), "Results of earlier items", list(r.Needs), "This item", r.Item.Task, "What is expected of it", r.Item.Expected,
		"Tools it requires", strings.Join(r.Item.RequiredTools, ", ")}
}

// ModelExecute returns a Config.Execute that calls a model once for each item, without tools.
// [AgentExecute] has tools.
func ModelExecute(m model.Model) func(context.Context, ExecuteRequest) (string, error) {
	return func(ctx context.Context, r ExecuteRequest) (string, error) {
		said, err := model.Generate(ctx, m, request("You do one item of a plan, and nothing else. Answer with its result alone.", r.Messages, itemText(r)...))
		return said.Message.Text(), err
	}
}

// AgentExecute returns a Config.Execute that runs an agent of package react for each item. Its
// tools may need a person. c is the agent's configuration; its graph is a child of the item's task.
func AgentExecute(c react.Config) (func(context.Context, ExecuteRequest) (string, error), error) {
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
		s, err := g.Call(ctx, react.Input(asked.Messages[1].Text()))
		return s.Answer.Get(), err
	}, nil
}

// ModelSynthesize returns a Config.Synthesize that uses a model and streams the answer: see
// [graph.EmitMessage].
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
			tok.Delta = c.Text
			if err == nil && c.Text != "" && r.ID != "" {
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
		tok.Delta, tok.Final = "", true
		if r.ID != "" {
			err = graph.EmitMessage(ctx, tok)
		}
		return said.Message.Text(), err
	}
}
