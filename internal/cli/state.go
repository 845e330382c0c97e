package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

func (a *app) stateVerb() *cobra.Command {
	var path string
	var at uint64
	cmd := &cobra.Command{
		Use:   "state THREAD [FILE]",
		Short: "Show the state of a thread, now or at an earlier checkpoint",
		Args:  a.arguments("THREAD", 1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				s := &session{app: a, store: store, thread: args[0]}
				return s.state(cmd.Context(), first(args[1:]), at, path)
			})
		},
	}
	cmd.Flags().StringVar(&path, "path", "", "only what is at this path, such as months.0.rain or months.#.rain")
	cmd.Flags().Uint64Var(&at, "at", 0, "the number of a checkpoint (default the newest)")
	return cmd
}

func (s *session) state(ctx context.Context, file string, at uint64, path string) error {
	p, err := s.mustInspect(ctx)
	if err != nil {
		return err
	}
	if err := s.find(ctx, "state", file, p); err != nil {
		return err
	}
	data, then, err := s.graph.State(ctx, s.thread, at)
	if errors.Is(err, graph.ErrUnknownThread) {
		return usage(s.command("history", "--thread", s.thread)+" lists its checkpoints",
			"thread %q has no checkpoint %d", s.thread, at)
	}
	if err != nil {
		return err
	}
	if path != "" {
		return s.printPath(data, path)
	}
	if s.json {
		return s.printJSON(struct {
			graph.Point
			State json.RawMessage `json:"state"`
		}{then, data})
	}
	return s.printState(then, data)
}

// printPath prints what is at a path in the state: text as it is, all else as JSON.
func (s *session) printPath(data []byte, path string) error {
	found := gjson.GetBytes(data, path)
	switch {
	case !found.Exists():
		return usage(s.command("state", "--thread", s.thread)+" shows all of it", "the state has nothing at %q", path)
	case s.json:
		return s.printJSON(json.RawMessage(found.Raw))
	}
	fmt.Fprintln(s.Stdout, found.String())
	return nil
}

func (s *session) printState(p graph.Point, data []byte) error {
	values, err := members(data)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Stdout, "thread %s, checkpoint %d: turn %d, step %d, %s\n", cell(s.thread), p.Checkpoint, p.Turn, p.Step, p.Status)
	for _, f := range p.Failures {
		what := "the step"
		switch {
		case f.Cancelled:
			fmt.Fprintf(s.Stdout, "node %q was cancelled\n", f.Node)
			continue
		case f.Node != "":
			what = fmt.Sprintf("node %q failed at attempt %d", f.Node, f.Attempt)
		}
		fmt.Fprintf(s.Stdout, "%s: %s\n", what, oneLine(f.Message))
	}
	for _, f := range p.Finished {
		fmt.Fprintf(s.Stdout, "node %q has finished and does not run again\n", f.Node)
	}
	fmt.Fprintln(s.Stdout)
	return printValues(s.Stdout, values)
}

// members returns the members of a JSON object in their order.
func members(object []byte) (all workflow.Values, err error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		all = append(all, workflow.Value{Name: fmt.Sprint(name), Value: value})
	}
	return all, nil
}
