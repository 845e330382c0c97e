package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// ToWork is the name of the node that runs Config.Work.
const ToWork = "work"

// Work does the work of a turn in one node. It returns the messages that the turn adds to the
// conversation; the last one is the answer of the assistant. It may ask people, as any node: see
// [graph.Ask]. Its failures are handled as those of the other nodes: see [agent.Severity].
//
// The Work of package react calls tools in a loop, and that of package pes executes a list of
// items.
type Work func(ctx context.Context, r WorkRequest) ([]message.Message, error)

// WorkRequest is the input of Work.
type WorkRequest struct {
	// State is the state of the agent. What Work stores in its contexts and its session is stored
	// if Work succeeds.
	State *agent.State
	// Messages is the conversation, as Config.Services limit it. The last one is of the user.
	Messages []message.Message
	// Model is the name of the model in the configuration of the thread, or "".
	Model string
	// Enabled reports whether the configuration of the thread allows a tool.
	Enabled func(tool string) bool
}

var errNoAnswer = errors.New("turn: the last message of Work must be of the assistant, without calls")

// runWork is the node of Config.Work. After a failure the router decides.
func (t *Turn) runWork(ctx context.Context, s *agent.State) (graph.Command, error) {
	err := t.guard(ctx, s, ToWork, func(ctx context.Context, s *agent.State) error {
		model, _, err := agent.OwnSetting[string](t.settings(s), "model")
		if err != nil {
			return err
		}
		ms, err := t.cfg.Work(ctx, WorkRequest{s, t.history(ctx, s), model, func(tool string) bool { return t.enabled(s, tool) }})
		if err != nil {
			return err
		}
		if len(ms) == 0 || ms[len(ms)-1].Role != message.RoleAssistant || len(ms[len(ms)-1].Calls) > 0 {
			return errNoAnswer
		}
		return s.Messages.Add(t.stamp(ctx, ms)...)
	})
	if err != nil {
		return graph.Command{}, err
	}
	if _, ok := failed(s); ok {
		return graph.Goto(ToRouter), nil
	}
	return graph.Goto(graph.End), t.cfg.Services.end(ctx, s)
}

// stamp returns messages with ids and times. The ids are the same after every crash.
func (t *Turn) stamp(ctx context.Context, ms []message.Message) []message.Message {
	ms = slices.Clone(ms)
	for i := range ms {
		if id := graph.TaskID(ctx); ms[i].ID == "" && id != "" {
			ms[i].ID = fmt.Sprintf("%s-%d", id, i)
		}
		if ms[i].Created.IsZero() {
			ms[i].Created = t.m.Clock().Round(0)
		}
	}
	return ms
}
