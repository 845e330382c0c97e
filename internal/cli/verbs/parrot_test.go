package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// directions are the characters that embed, override or isolate a direction of text.
const directions = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// openShy is an agent that cannot be opened.
func openShy(context.Context, checkpoint.Store) (turn.Untyped, error) {
	return nil, errors.New("it has no feathers")
}

// openParrot is an agent that repeats its input. "work PATH" writes to the pipe at PATH and waits
// for the file PATH.done. "stuck PATH" does so too, but reports the end of its context and
// continues. "risky" asks first. "disguised" asks first, with marks of direction in the question.
// "fail" fails the run, "break" fails the task, and "mute" has a model that always fails.
func openParrot(_ context.Context, store checkpoint.Store) (turn.Untyped, error) {
	reg, err := capabilities.NewRegistry(
		capabilities.Func(capabilities.Info{Name: "work", Description: "waits"}, parrotWork),
		capabilities.Func(capabilities.Info{Name: "stuck", Description: "does not stop"}, parrotStuck),
		capabilities.Func(capabilities.Info{Name: "risky", Description: "asks"}, parrotRisk("take a risk")),
		capabilities.Func(capabilities.Info{Name: "disguised", Description: "asks"}, parrotRisk("pay "+directions)),
		capabilities.Func(capabilities.Info{Name: "fail", Description: "fails"}, func(context.Context, *capabilities.Call) error {
			return agent.Failed(agent.Fatal, errors.New("the perch broke"))
		}),
		capabilities.Func(capabilities.Info{Name: "break", Description: "breaks"}, func(context.Context, *capabilities.Call) error {
			return agent.Failed(agent.Critical, errors.New("the cage is shut"))
		}),
	)
	if err != nil {
		return nil, err
	}
	m := agent.StateManager{}
	g, err := turn.Graph("parrot", turn.Config{Manager: m, Capabilities: reg, Match: parrotMatch, Answer: parrotAnswer}, graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	own := turn.Command{Name: "dance", Help: "dances", Do: "dance"}
	commands, err := turn.NewCommands(append(turn.BuiltinCommands(), own)...)
	d := turn.NewAgent(g, m)
	d.Commands = commands
	return d.Untyped(), err
}

func parrotMatch(_ context.Context, r turn.MatchRequest) (bool, error) {
	first, _, _ := strings.Cut(r.Task, " ")
	return first == r.Capability.Name, nil
}

func parrotWork(ctx context.Context, c *capabilities.Call) error {
	task, _ := c.State.Task.Current.Lookup()
	_, path, _ := strings.Cut(task, " ")
	if _, err := os.Stat(path + ".done"); err == nil {
		return nil
	}
	if err := os.WriteFile(path, []byte("began\n"), 0o600); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func parrotStuck(ctx context.Context, c *capabilities.Call) error {
	if err := parrotWork(ctx, c); ctx.Err() == nil {
		return err
	}
	task, _ := c.State.Task.Current.Lookup()
	_, path, _ := strings.Cut(task, " ")
	if err := os.WriteFile(path, []byte("clings\n"), 0o600); err != nil {
		return err
	}
	select {}
}

// parrotRisk returns a capability that asks whether to do something.
func parrotRisk(objective string) func(context.Context, *capabilities.Call) error {
	return func(_ context.Context, c *capabilities.Call) error {
		d, err := c.Approve(agent.ApprovalRequest{Type: "risk", Objective: objective, Data: []byte(`{"n":1}`)})
		if err != nil {
			return err
		}
		return agent.Remember(c.State, "risk", string(d.Args))
	}
}

// parrotAnswer streams its words one by one.
func parrotAnswer(ctx context.Context, r turn.AnswerRequest) (string, error) {
	if r.Task == "mute" {
		return "", agent.Failed(agent.Critical, errors.New("the model is dead"))
	}
	text := fmt.Sprintf("heard: %s (%d steps)", r.Task, len(r.Done))
	for _, word := range strings.SplitAfter(text, " ") {
		if err := graph.EmitMessage(ctx, graph.Token{ID: r.ID, Role: "assistant", Delta: word}); err != nil {
			return "", err
		}
	}
	return text, graph.EmitMessage(ctx, graph.Token{ID: r.ID, Role: "assistant", Final: true, Text: text})
}
