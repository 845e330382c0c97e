package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

func (a *app) historyVerb() *cobra.Command {
	var thread string
	var q checkpoint.Query
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the checkpoints of a thread, newest first",
		Args:  a.arguments("", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.needThread(cmd); err != nil {
				return err
			}
			if q.Limit < 0 {
				return usage("give a number from 0 on", "a limit of %d is less than nothing", q.Limit)
			}
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				s := &session{app: a, store: store, thread: thread}
				return s.history(cmd.Context(), q)
			})
		},
	}
	cmd.Flags().StringVar(&thread, "thread", "", "the thread's name")
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "at most so many (0 means all)")
	cmd.Flags().Uint64Var(&q.Before, "before", 0, "only checkpoints with a smaller number")
	return cmd
}

func (s *session) history(ctx context.Context, q checkpoint.Query) error {
	t := s.table("CHECKPOINT", "TURN", "STEP", "SOURCE", "RAN", "NEXT", "STATUS", "TIME")
	for p, err := range graph.History(ctx, s.store, s.thread, q) {
		if errors.Is(err, graph.ErrUnknownThread) {
			return s.unknownThread()
		}
		if err != nil {
			return err
		}
		if err := t.add(p, p.Checkpoint, p.Turn, p.Step, p.Source, names(p.Nodes()), names(p.Next), p.Status, p.Time); err != nil {
			return err
		}
	}
	return t.flush()
}

// names lists nodes: a node of many tasks once, with their number.
func names(nodes []string) string {
	var words []string
	count := map[string]int{}
	for _, n := range nodes {
		if count[n]++; count[n] == 1 {
			words = append(words, n)
		}
	}
	for i, n := range words {
		if count[n] > 1 {
			words[i] = times(n, count[n])
		}
	}
	return strings.Join(words, ",")
}
