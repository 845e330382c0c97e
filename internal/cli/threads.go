package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

func (a *app) threadsVerb() *cobra.Command {
	var q checkpoint.ThreadQuery
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List the threads of the store",
		Args:  a.arguments("", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if q.Limit < 0 {
				return usage("give a number from 0 on", "a limit of %d is less than nothing", q.Limit)
			}
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				return a.threads(cmd.Context(), store, q)
			})
		},
	}
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "at most so many (0 means all)")
	cmd.Flags().StringVar(&q.After, "after", "", "only threads that come after this one by name")
	return cmd
}

func (a *app) threads(ctx context.Context, store checkpoint.Store, q checkpoint.ThreadQuery) error {
	t := a.table("THREAD", "STATUS", "WORKFLOW", "TURN", "STEP", "TIME")
	for p, err := range graph.Threads(ctx, store, q) {
		if err != nil {
			return err
		}
		if err := t.add(p, p.Thread, p.Status, p.Graph, p.Turn, p.Step, p.Time); err != nil {
			return err
		}
	}
	return t.flush()
}
