// Capability is the smallest agent with its own capability, which is in capability.go. It needs no
// model. Ask it how warm it is in Oslo, or type /help.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

func main() {
	if err := chat(context.Background(), &checkpoint.Memory{}, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// forecasts returns the agent: a registry of capabilities, their context types, and a graph.
func forecasts(store checkpoint.Store) (*turn.Agent[agent.State], error) {
	reg, err := capabilities.NewRegistry(forecast)
	if err != nil {
		return nil, err
	}
	types, err := agent.NewTypes(agent.TypeOf[Forecast]())
	if err != nil {
		return nil, err
	}
	m := agent.StateManager{Types: types}
	g, err := turn.Graph("forecasts", turn.Config{Manager: m, Capabilities: reg}, graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	return turn.NewAgent(g, m), nil
}

// chat answers each line until the input ends or a line is /exit.
func chat(ctx context.Context, store checkpoint.Store, in io.Reader, out io.Writer) error {
	d, err := forecasts(store)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		reply, err := d.Say(ctx, "me", lines.Text())
		if err != nil {
			reply.Text = err.Error()
		}
		fmt.Fprintf(out, "> %s\n%s\n\n", lines.Text(), reply.Text)
		if slices.Contains(reply.UI, "exit") {
			break
		}
	}
	return lines.Err()
}
