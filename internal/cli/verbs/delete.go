package verbs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/internal/cli/reports"
)

func (a *app) deleteVerb() *cobra.Command {
	var yes bool
	var w whenBusy
	cmd := &cobra.Command{
		Use:   "delete THREAD",
		Short: "Remove a thread with its whole history",
		Args:  a.arguments("THREAD", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error {
				return s.remove(cmd.Context(), yes, w)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove it; without this nothing is removed")
	w.flags(cmd)
	return cmd
}

func (s *session) remove(ctx context.Context, yes bool, w whenBusy) error {
	o, err := w.hold()
	if err != nil {
		return err
	}
	p, err := s.mustInspectExactly(ctx)
	if err != nil {
		return err
	}
	if !yes {
		return reports.Usage("remove it with "+s.Command("delete", s.thread, "--yes")+"; keep a copy with "+s.Command("export", s.thread),
			"thread %q, which is %s, would be gone with its whole history", s.thread, p.Status)
	}
	err = s.holding(ctx, o, func(ctx context.Context, _ string) error { return s.store.Delete(ctx, s.thread) })
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(map[string]any{"thread": s.thread, "deleted": true})
	}
	_, err = fmt.Fprintf(s.Stdout, "thread %s is gone\n", reports.Cell(s.thread))
	return err
}
