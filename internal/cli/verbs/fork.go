package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// forkFlags are the flags of fork.
type forkFlags struct {
	moment
	whenBusy
	bulk bulkFlags
}

func (a *app) forkVerb() *cobra.Command {
	var f forkFlags
	cmd := &cobra.Command{
		Use:   "fork THREAD [FILE] | --where KEY=VALUE [FILE]",
		Short: "Let a thread, or many, go on from an earlier checkpoint",
		Long: `Fork begins a new branch of a thread at an earlier checkpoint and prints the number of
its first one. From then on the thread goes on from there; the old branch stays in
the history. Questions of that time are asked again. At the newest checkpoint that is so
if a question was declined or has expired. The thread knows its workflow; name the FILE if
it was moved.

With --namespace the checkpoint is one of a subgraph. The thread goes back to the step that
runs it, and the subgraph goes on from there.

` + bulkHelp + `
A thread whose present branch began at that checkpoint is skipped, unless --again is given.`,
		Args: f.bulk.arguments(a, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.bulk.check(cmd, "namespace"); err != nil {
				return err
			}
			if f.at == 0 {
				words := []string{"history"}
				if !f.bulk.on() {
					words = append(words, "--thread", args[0])
				}
				return reports.Usage(a.Command(words...)+" lists its checkpoints", "fork needs --at CHECKPOINT, from 1 on")
			}
			if f.bulk.on() {
				return a.forkMany(cmd.Context(), first(args), f)
			}
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error {
				return s.fork(cmd.Context(), first(args[1:]), f)
			})
		},
	}
	f.moment.flags(cmd, "the number of the checkpoint to go on from")
	f.whenBusy.flags(cmd)
	f.bulk.flags(cmd)
	f.bulk.againFlag(cmd, "also threads whose present branch began there")
	return cmd
}

// forkMany forks the threads that fit.
func (a *app) forkMany(ctx context.Context, file string, f forkFlags) error {
	lease, err := f.hold()
	if err != nil {
		return err
	}
	return a.onSelected(ctx, a.openToRead, "fork", f.bulk, func(ctx context.Context, s *session, p graph.CommitInfo) (bulkOutcome, error) {
		if begun, err := s.beganAt(ctx, p); err != nil || begun == f.at && !f.bulk.again {
			return did(outcomeSkipped, "its branch %d began at checkpoint %d", p.Branch, f.at), err
		}
		if _, err := s.commitAt(ctx, f.at); err != nil {
			return bulkOutcome{}, f.unknown(ctx, s, err)
		}
		if f.bulk.dryRun {
			return did(outcomePlanned, "it is %s at checkpoint %d", p.Status, p.Checkpoint), nil
		}
		if err := s.find(ctx, "fork", file, p, s.thread); err != nil {
			return bulkOutcome{}, err
		}
		res, err := s.graph.Patch(ctx, json.RawMessage("{}"), graph.RunOptions{Thread: s.thread, At: f.at, If: &p.Checkpoint, Lease: lease, Metadata: s.metadata()})
		return did(outcomeDone, "it is %s at checkpoint %d", res.Status, res.Checkpoint), err
	})
}

// beganAt returns the checkpoint at which the present branch of the thread began; 0 if it is the
// first.
func (s *session) beganAt(ctx context.Context, p graph.CommitInfo) (uint64, error) {
	if p.Branch == 0 {
		return 0, nil
	}
	began, err := s.commitAt(ctx, p.Branch)
	if errors.Is(err, graph.ErrUnknownThread) {
		return 0, nil // it is pruned
	}
	return cmp.Or(began.Parent, p.Branch-1), err
}

// commitAt returns a checkpoint of the thread.
func (s *session) commitAt(ctx context.Context, at uint64) (graph.CommitInfo, error) {
	for p, err := range graph.History(ctx, s.store, checkpoint.Key{Thread: s.thread}, checkpoint.Query{Before: at + 1, Limit: 1}) {
		if err != nil || p.Checkpoint == at {
			return p, err
		}
	}
	return graph.CommitInfo{}, fmt.Errorf("%w: no checkpoint %d", graph.ErrUnknownThread, at)
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
