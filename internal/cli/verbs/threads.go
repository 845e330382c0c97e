package verbs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

func (a *app) threadsVerb() *cobra.Command {
	var q checkpoint.ThreadQuery
	var flags []string
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List the threads of the store",
		Long: `Threads lists the threads of the store by name, each as it is at its newest checkpoint.
A thread that only has a record or a conversation is not in the list: show, config and
messages find it by its name.

` + whereHelp,
		Args: a.arguments("", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if q.Limit < 0 {
				return reports.Usage("give a number from 0 on", "the limit must not be negative (got %d)", q.Limit)
			}
			where, err := threadTerms.parse(flags)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				return a.threads(cmd.Context(), store, q, where)
			})
		},
	}
	cmd.AddCommand(onThreads(a.threadsShowVerb()), onThreads(a.threadsConfigVerb()), onThreads(a.threadsMessagesVerb()))
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "at most so many (0 means all)")
	cmd.Flags().StringVar(&q.After, "after", "", "only threads that come after this one by name")
	cmd.Flags().StringArrayVar(&flags, "where", nil, "KEY=VALUE, only threads that fit; repeatable")
	return cmd
}

func (a *app) threads(ctx context.Context, store checkpoint.Store, q checkpoint.ThreadQuery, where []condition) error {
	t := a.Table("THREAD", "STATUS", "WORKFLOW", "TURN", "STEP", "TIME")
	limit, n, whole := q.Limit, 0, false
	if q.Where, whole = labelsOf(where); !whole {
		q.Limit = 0
	}
	for p, err := range graph.Threads(ctx, store, q) {
		if err != nil {
			return err
		}
		if !fits(p, where) {
			continue
		}
		if n++; limit > 0 && n > limit {
			break
		}
		if err := t.Add(p, p.Thread, p.Status, p.Graph, p.Turn, p.Step, p.Time); err != nil {
			return err
		}
	}
	return t.Flush()
}
