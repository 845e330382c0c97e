package verbs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// forkFlags are the flags of fork.
type forkFlags struct {
	moment
	whenBusy
}

func (a *app) forkVerb() *cobra.Command {
	var f forkFlags
	cmd := &cobra.Command{
		Use:   "fork THREAD [FILE]",
		Short: "Let a thread go on from an earlier checkpoint",
		Long: `Fork begins a new branch of a thread at an earlier checkpoint and prints the number of
its first one. From then on the thread goes on from there; the old branch stays in
the history. Questions of that time are asked again. The thread knows its workflow;
name the FILE if it was moved.

With --namespace the checkpoint is one of a subgraph. The thread goes back to the step that
runs it, and the subgraph goes on from there.`,
		Args: a.arguments("THREAD", 1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.at == 0 {
				return reports.Usage(a.Command("history", "--thread", args[0])+" lists its checkpoints", "fork needs --at CHECKPOINT, from 1 on")
			}
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error {
				return s.fork(cmd.Context(), first(args[1:]), f)
			})
		},
	}
	f.moment.flags(cmd, "the number of the checkpoint to go on from")
	f.whenBusy.flags(cmd)
	return cmd
}

func (s *session) fork(ctx context.Context, file string, f forkFlags) error {
	lease, err := f.hold()
	if err != nil {
		return err
	}
	p, err := s.mustInspect(ctx)
	if err != nil {
		return err
	}
	o := graph.RunOptions{Thread: s.thread, At: f.at, Lease: lease}
	if err := s.find(ctx, "fork", file, p, s.thread); err != nil {
		return err
	}
	o.Metadata = s.metadata()
	fork := func() (graph.Result[json.RawMessage], error) { return s.graph.Patch(ctx, json.RawMessage("{}"), o) }
	if f.namespace != "" {
		var stop graph.Drain // before the first step
		stop.Request("fork")
		o.Namespace, o.Drain = f.namespace, &stop
		fork = func() (graph.Result[json.RawMessage], error) { return s.graph.Resume(ctx, graph.Answers{}, o) }
	}
	res, err := fork()
	if err != nil {
		return f.unknown(ctx, s, err)
	}
	next := s.Command("resume", "--thread", s.thread)
	if s.JSON {
		return s.PrintJSON(struct {
			Thread     string       `json:"thread"`
			Checkpoint uint64       `json:"checkpoint"`
			Parent     uint64       `json:"parent"`
			Status     graph.Status `json:"status"`
			Next       []string     `json:"next"`
			Namespace  string       `json:"namespace,omitempty"` // of Parent
		}{s.thread, res.Checkpoint, f.at, res.Status, []string{next}, f.namespace})
	}
	if _, err := fmt.Fprintln(s.Stdout, res.Checkpoint); err != nil {
		return err
	}
	if f.namespace != "" {
		s.Note("the subgraph %q goes on from its checkpoint %d", f.namespace, f.at)
		s.Note("thread %q is %s: %s", s.thread, res.Status, next)
		return nil
	}
	s.Note("thread %q goes on from checkpoint %d; it is %s: %s", s.thread, f.at, res.Status, next)
	return nil
}
