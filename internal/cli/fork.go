package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
)

// forkFlags are the flags of fork.
type forkFlags struct {
	at uint64
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
name the FILE if it was moved.`,
		Args: a.arguments("THREAD", 1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.at == 0 {
				return usage(a.command("history", "--thread", args[0])+" lists its checkpoints", "fork needs --at CHECKPOINT, from 1 on")
			}
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error {
				return s.fork(cmd.Context(), first(args[1:]), f)
			})
		},
	}
	cmd.Flags().Uint64Var(&f.at, "at", 0, "the number of the checkpoint to go on from")
	f.flags(cmd)
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
	o := graph.Run{Thread: s.thread, At: f.at, Lease: lease}
	if err := s.find(ctx, "fork", file, p, s.thread); err != nil {
		return err
	}
	o.Metadata = s.metadata()
	res, err := s.graph.Patch(ctx, json.RawMessage("{}"), o)
	if err != nil {
		return s.unknownCheckpoint(err, f.at)
	}
	next := s.command("resume", "--thread", s.thread)
	if s.json {
		return s.printJSON(struct {
			Thread     string       `json:"thread"`
			Checkpoint uint64       `json:"checkpoint"`
			Parent     uint64       `json:"parent"`
			Status     graph.Status `json:"status"`
			Next       []string     `json:"next"`
		}{s.thread, res.Checkpoint, f.at, res.Status, []string{next}})
	}
	if _, err := fmt.Fprintln(s.Stdout, res.Checkpoint); err != nil {
		return err
	}
	s.note("thread %q goes on from checkpoint %d; it is %s: %s", s.thread, f.at, res.Status, next)
	return nil
}
