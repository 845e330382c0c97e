package workflow_test

import (
	"context"
	"errors"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// program has a model that repeats the last word of its input, and asks for the tool "word"
// first where there is one; a tool; and an agent with two capabilities.
var program = nodes.Program{
	Models: map[string]model.Model{"echo": model.ScriptFunc(repeat)},
	Tools:  words(),
	Agents: map[string]turn.Config{"support": support()},
}

func repeat(_ context.Context, r model.Request) model.Answer {
	last := r.Messages[len(r.Messages)-1]
	switch {
	case len(last.Results) > 0:
		return model.Say("the tool returned " + last.Results[0].Text())
	case len(r.Tools) > 0:
		return model.Ask(message.Call{ID: "c1", Name: "word", Arguments: []byte(`{"of": "tools"}`)})
	case r.Output != nil:
		return model.Say(`{"said": "` + last.Text() + `"}`)
	}
	return model.Say("echo: " + last.Text())
}

func words() *tool.Set {
	set, err := tool.NewSet(tool.Func(tool.Info{Name: "word"}, func(_ context.Context, in struct {
		Of string `json:"of"`
	}) (string, error) {
		if in.Of == "" {
			return "", errors.New("of is empty")
		}
		return "a word of " + in.Of, nil
	}))
	if err != nil {
		panic(err)
	}
	return set
}

type found struct {
	What string `json:"what"`
}

func (found) ContextType() string { return "FOUND" }

func (f found) Summary(string) any { return f.What }

type shown struct {
	What string `json:"what"`
}

func (shown) ContextType() string { return "SHOWN" }

func (s shown) Summary(string) any { return s.What }

func support() turn.Config {
	reg, err := capabilities.NewRegistry(
		capabilities.Tool(capabilities.Info{Name: "find", Description: "finds something"}, func(context.Context, struct{}) (found, error) {
			return found{"rain"}, nil
		}),
		capabilities.Func(capabilities.Info{Name: "show", Description: "shows it", Requires: []string{"FOUND"}, Provides: []string{"SHOWN"}},
			func(_ context.Context, c *capabilities.Call) error {
				f, err := agent.Input[found](c.Contexts(), c.Step)
				if err != nil {
					return err
				}
				return c.Store(shown{"a picture of " + f.What})
			}),
	)
	types, err2 := agent.NewTypes(agent.TypeOf[found](), agent.TypeOf[shown]())
	if err := errors.Join(err, err2); err != nil {
		panic(err)
	}
	return turn.Config{Manager: agent.StateManager{Types: types}, Capabilities: reg}
}
