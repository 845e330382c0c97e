package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/wake"
)

// declare stores the schedules of the workflows that were read, in place of those that they had
// before.
func (v edition) declare(ctx context.Context, timers *wake.Timers) error {
	for name, schedules := range v.schedules {
		if err := timers.Declare(ctx, name+"/", schedules, time.Now()); err != nil {
			return fmt.Errorf("store the schedules of %s: %w", name, err)
		}
	}
	return nil
}

// starts returns a function that begins the runs of schedules as verbs do: what goes on with them
// finds their files.
func (v edition) starts(graphs []graph.Untyped) func(context.Context, wake.Start) error {
	start := wake.Starts(graphs...)
	return func(ctx context.Context, s wake.Start) error {
		s.Metadata = v.meta[s.Graph]
		return start(ctx, s)
	}
}

func (a *app) schedulesVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "schedules [remove NAME...]",
		Short: "List the schedules of the store, or remove some",
		Long: `Schedules lists when runs begin, with the next time of each, or "ended". Workflow files have schedules,
which wake, worker, serve and dev store when they start; programs in Go store others. Remove
removes schedules; a program that has one stores it again when it starts.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "remove" && len(args) > 1 {
				return nil
			}
			return reports.Usage("write "+a.Command("schedules")+" or "+a.Command("schedules", "remove", "NAME"), "schedules does not take the arguments %q", strings.Join(args, " "))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDocuments(cmd.Context(), func(_ checkpoint.Store, docs document.Store) error {
				if len(args) > 0 {
					return a.unschedule(cmd.Context(), wake.Over(docs), args[1:])
				}
				return a.listSchedules(cmd.Context(), wake.Over(docs))
			})
		},
	}
}

// shownSchedule is a schedule as it is listed.
type shownSchedule struct {
	wake.Schedule
	Next time.Time `json:"next,omitzero"` // zero for one that has ended
}

func (a *app) listSchedules(ctx context.Context, timers *wake.Timers) error {
	all, err := timers.Schedules(ctx)
	if err != nil {
		return err
	}
	t := a.Table("NAME", "GRAPH", "NEXT", "CRON", "ZONE")
	for _, s := range all {
		cron, zone, next := "-", "-", "ended"
		if !s.At.IsZero() {
			next = s.At.UTC().Format(time.RFC3339)
		}
		if s.Schedule.Cron != "" {
			cron, zone = s.Schedule.Cron, cmp.Or(s.Schedule.Zone, "UTC")
		}
		if err := t.Add(shownSchedule{*s.Schedule, s.At}, s.Schedule.Name, s.Schedule.Graph, next, cron, zone); err != nil {
			return err
		}
	}
	return t.Flush()
}

// unschedule removes schedules. It removes none if one of the names is that of no schedule.
func (a *app) unschedule(ctx context.Context, timers *wake.Timers, names []string) error {
	all, err := timers.Schedules(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(t wake.Timer) bool { return t.Schedule.Name == name }) {
			return reports.Usage(a.Command("schedules")+" lists them", "there is no schedule %q", name)
		}
	}
	for _, name := range names {
		if err := timers.Unschedule(ctx, name); err != nil {
			return err
		}
		a.Note("removed %s", name)
	}
	return nil
}
