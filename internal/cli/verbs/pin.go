package verbs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

func (a *app) pinVerb() *cobra.Command {
	var f bulkFlags
	cmd := &cobra.Command{
		Use:   "pin THREAD [FILE] | --where KEY=VALUE [FILE]",
		Short: "Let a thread, or many, go on only with one program",
		Long: `Pin pins a thread to the program that made its newest checkpoint, or to that of the FILE:
runs and edits with any other program are refused until unpin. A program is known by the
hash of its nodes, edges and fields, which history --json and check show; a change inside
a node does not change it. Reading is free.

` + bulkHelp,
		Args: f.arguments(a, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pinAs(cmd, &f, "pin", args, func(ctx context.Context, s *session, file string, p graph.CommitInfo) (string, error) {
				if file == "" {
					return p.Program, nil
				}
				err := s.find(ctx, "pin", file, p, s.thread)
				if err != nil {
					return "", err
				}
				return s.graph.Program(), nil
			})
		},
	}
	f.flags(cmd)
	return cmd
}

func (a *app) unpinVerb() *cobra.Command {
	var f bulkFlags
	cmd := &cobra.Command{
		Use:   "unpin THREAD | --where KEY=VALUE",
		Short: "Let a pinned thread, or many, go on with any program",
		Long:  "Unpin lets a thread that is pinned go on with any program.\n\n" + bulkHelp,
		Args:  f.arguments(a, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pinAs(cmd, &f, "unpin", args, func(context.Context, *session, string, graph.CommitInfo) (string, error) { return "", nil })
		},
	}
	f.flags(cmd)
	return cmd
}

// pinAs pins one thread, or all that fit, to the program that choose returns.
func (a *app) pinAs(cmd *cobra.Command, f *bulkFlags, verb string, args []string, choose func(context.Context, *session, string, graph.CommitInfo) (string, error)) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	pin := func(ctx context.Context, s *session, file string, p graph.CommitInfo) (bulkOutcome, error) {
		program, err := choose(ctx, s, file, p)
		switch {
		case err != nil:
			return bulkOutcome{}, err
		case program == p.Pin:
			return did(outcomeSkipped, "%s", pinnedTo(program)), nil
		case f.dryRun:
			return did(outcomePlanned, "it is %s", pinnedTo(p.Pin)), nil
		}
		return did(outcomeDone, "%s", pinnedTo(program)), graph.Pin(ctx, s.store, s.thread, program)
	}
	if f.on() {
		return a.onSelected(cmd.Context(), a.openToRead, verb, *f, func(ctx context.Context, s *session, p graph.CommitInfo) (bulkOutcome, error) {
			return pin(ctx, s, first(args), p)
		})
	}
	return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
		s := &session{app: a, store: store, thread: args[0]}
		p, err := s.mustInspect(cmd.Context())
		if err != nil {
			return err
		}
		o, err := pin(cmd.Context(), s, first(args[1:]), p)
		if err != nil {
			return err
		}
		if s.JSON {
			o.Thread = s.thread
			return s.PrintJSON(o)
		}
		s.Note("thread %q is %s", s.thread, o.Detail)
		return nil
	})
}

func pinnedTo(program string) string {
	if program == "" {
		return "not pinned"
	}
	return "pinned to the program " + program
}
