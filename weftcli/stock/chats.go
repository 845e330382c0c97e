package stock

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/weftcli"
)

// chats returns the agent of this command: a model without tools. A program with other agents names
// them in weftcli.Config.Chats.
func chats() map[string]weftcli.Chat { return map[string]weftcli.Chat{"model": openModel} }

func openModel(_ context.Context, store checkpoint.Store) (turn.Untyped, error) {
	if os.Getenv("OPENAI_API_KEY") == "" && os.Getenv("OPENAI_BASE_URL") == "" {
		return nil, errors.New("set OPENAI_API_KEY, or OPENAI_BASE_URL for another server, and OPENAI_MODEL for another model than gpt-4.1-mini; " +
			"a program with an agent of its own names it in weftcli.Config.Chats, as examples/assistant does")
	}
	m, err := openai.New(openai.Config{Model: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4.1-mini")})
	if err != nil {
		return nil, err
	}
	g, err := turn.Graph("model", turn.Config{Answer: turn.ModelTalk(m)}, graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	return turn.NewAgent(g, agent.StateManager{}).Untyped(), nil
}
