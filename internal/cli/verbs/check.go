package verbs

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

func (a *app) checkVerb() *cobra.Command {
	var against string
	var f bulkFlags
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Find the threads with which a changed workflow cannot go on",
		Long: `Check finds out, before a roll-out, with which threads of a store a changed FILE or graph can
go on, and what each of the others needs that it lacks: nodes, joins and fields that are
gone, values of another type, results of an open step, the same in subgraphs, and a pin.
Nothing runs and nothing is written. What nodes do with the state is not checked: replay
and test --recorded run it.

--where KEY=VALUE selects some of the threads of the graph, such as status!=done, as for
threads. The exit code is 1 if the FILE cannot go on with one of them.`,
		Args: a.arguments("FILE", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if against != "" {
				a.Store = against
				if path, missing := a.missingFile(); missing {
					return reports.Usage("check the path", "there is no file %s", path)
				}
			}
			f.where = append([]string{}, f.where...)
			if err := f.check(cmd); err != nil {
				return err
			}
			return a.checkThreads(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&against, "against", "", "the store with the threads (default that of --store)")
	cmd.Flags().StringArrayVar(&f.where, "where", nil, "KEY=VALUE, only threads that fit; repeatable")
	cmd.Flags().IntVar(&f.parallel, "parallel", 1, "so many threads at once")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "at most so many threads (0 means all)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "the longest time for each")
	return cmd
}

// checkThreads checks the threads of a graph.
func (a *app) checkThreads(ctx context.Context, file string, f bulkFlags) error {
	open, err := a.unobserved(file)
	if err != nil {
		return err
	}
	d, err := open(ctx, new(checkpoint.Memory))
	if err != nil {
		return err
	}
	f.where = append(f.where, "graph="+d.Name())
	var own declared // over the store
	return a.onSelected(ctx, func(ctx context.Context) (checkpoint.Store, error) {
		store, err := a.openToRead(ctx)
		if err == nil {
			own, err = open(ctx, store)
		}
		return store, err
	}, "check", f, func(ctx context.Context, s *session, p graph.CommitInfo) (bulkOutcome, error) {
		c, err := own.Check(ctx, p.Thread)
		if err != nil {
			return bulkOutcome{}, err
		}
		o := did(outcomeFits, "it is %s", c.Status)
		if len(c.Unchecked) > 0 {
			o.Detail += "; not checked: " + strings.Join(c.Unchecked, ", ")
		}
		if len(c.Lacks) > 0 {
			o = bulkOutcome{Outcome: outcomeLacks, Code: reports.ExitFailed, Lacks: make([]string, len(c.Lacks))}
			for i, lack := range c.Lacks {
				o.Lacks[i] = reports.OneLine(s.Public(strings.ReplaceAll(lack, "checkpoint: ", "")))
			}
			o.Detail = strings.Join(o.Lacks, "; ")
		}
		return o, nil
	})
}
