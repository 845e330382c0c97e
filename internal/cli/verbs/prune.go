package verbs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// pruneFlags are the flags of prune.
type pruneFlags struct {
	last int
	age  string
	whenBusy
	bulk bulkFlags
}

func (a *app) pruneVerb() *cobra.Command {
	var f pruneFlags
	cmd := &cobra.Command{
		Use:   "prune THREAD | --where KEY=VALUE",
		Short: "Drop old checkpoints of a thread, or of many",
		Long: `Prune drops the checkpoints of a thread, with the values that only they need, but those
that one of the flags keeps. The newest stays always, and the thread goes on as before.

` + bulkHelp,
		Args: f.bulk.arguments(a, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			keep, err := f.keep(cmd)
			if err == nil {
				err = f.bulk.check(cmd)
			}
			if err != nil {
				return err
			}
			if f.bulk.on() {
				return a.pruneMany(cmd.Context(), keep, f)
			}
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error {
				return s.prune(cmd.Context(), keep, f.whenBusy)
			})
		},
	}
	cmd.Flags().IntVar(&f.last, "keep-last", 0, "keep the newest so many")
	cmd.Flags().StringVar(&f.age, "keep-for", "", "keep those that are not older, such as 7d, 12h or 30m")
	f.whenBusy.flags(cmd)
	f.bulk.flags(cmd)
	return cmd
}

// pruneMany prunes the threads that fit.
func (a *app) pruneMany(ctx context.Context, keep checkpoint.Keep, f pruneFlags) error {
	o, err := f.hold()
	if err != nil {
		return err
	}
	return a.onSelected(ctx, a.openToRead, "prune", f.bulk, func(ctx context.Context, s *session, _ graph.CommitInfo) (bulkOutcome, error) {
		if f.bulk.dryRun {
			n, err := s.count(ctx)
			return did(outcomePlanned, "it has %s", counted(n, "checkpoint")), err
		}
		before, after, err := s.drop(ctx, keep, o)
		if before == after {
			return did(outcomeSkipped, "nothing to drop of %s", counted(before, "checkpoint")), err
		}
		return did(outcomeDone, "dropped %d of %s", before-after, counted(before, "checkpoint")), err
	})
}

func (f pruneFlags) keep(cmd *cobra.Command) (keep checkpoint.Keep, err error) {
	last, age := cmd.Flags().Changed("keep-last"), cmd.Flags().Changed("keep-for")
	switch {
	case !last && !age:
		return keep, reports.Usage("say what stays with --keep-last N or --keep-for TIME", "prune does not know what to keep")
	case last && f.last < 1:
		return keep, reports.Usage("give a number from 1 on; the newest checkpoint stays always", "a thread cannot keep its last %d checkpoints", f.last)
	}
	keep.Last = f.last
	if age {
		keep.For, err = parseAge(f.age)
	}
	return keep, err
}

// parseAge reads a duration such as 7d or 1h30m.
func parseAge(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		d = time.Duration(n * float64(24*time.Hour))
	}
	if err != nil || d <= 0 {
		return 0, reports.Usage("write a number and a unit: 7d, 12h or 30m", "%q is no time to keep checkpoints for", text)
	}
	return d, nil
}

func (s *session) prune(ctx context.Context, keep checkpoint.Keep, w whenBusy) error {
	o, err := w.hold()
	if err != nil {
		return err
	}
	if _, err := s.mustInspectExactly(ctx); err != nil {
		return err
	}
	before, after, err := s.drop(ctx, keep, o)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(struct {
			Thread  string `json:"thread"`
			Dropped int    `json:"dropped"`
			Left    int    `json:"left"`
		}{s.thread, before - after, after})
	}
	_, err = fmt.Fprintf(s.Stdout, "thread %s: dropped %d of %d checkpoints\n", reports.Cell(s.thread), before-after, before)
	return err
}

// drop drops checkpoints of the thread, and returns how many there were before and after.
func (s *session) drop(ctx context.Context, keep checkpoint.Keep, o checkpoint.HoldOptions) (before, after int, err error) {
	err = s.holding(ctx, o, func(ctx context.Context, fence string) (err error) {
		keep.Fence = fence
		if before, err = s.count(ctx); err != nil {
			return err
		}
		if err := checkpoint.Prune(ctx, s.store, s.thread, keep); err != nil {
			return err
		}
		after, err = s.count(ctx)
		return err
	})
	return before, after, err
}

// count returns the number of checkpoints of the thread, without those of its subgraphs.
func (s *session) count(ctx context.Context) (n int, err error) {
	for _, err := range s.store.History(ctx, checkpoint.Key{Thread: s.thread}, checkpoint.Query{}) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
