package verbs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/cli/reports"
)

// whenBusy selects what a verb that writes does while another process works on the thread.
type whenBusy struct{ wait, takeOver bool }

func (w *whenBusy) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, "if another process works on the thread, wait until it is free")
	cmd.Flags().BoolVar(&w.takeOver, "take-over", false, "if another process works on the thread, take it away: that one writes nothing more")
}

// hold returns the options for acquiring the lease of the thread.
func (w whenBusy) hold() (checkpoint.HoldOptions, error) {
	o := checkpoint.HoldOptions{Owner: "weft"}
	switch {
	case w.wait && w.takeOver:
		return o, reports.Usage("give one of them", "--wait and --take-over are two ways of getting the thread")
	case w.wait:
		o.Policy = checkpoint.Wait
	case w.takeOver:
		o.Policy = checkpoint.TakeOver
	}
	return o, nil
}

// holding runs fn while this process holds the lease of the thread. fn writes with the fence it
// gets.
func (s *session) holding(ctx context.Context, o checkpoint.HoldOptions, fn func(ctx context.Context, fence string) error) error {
	held, err := checkpoint.Hold(ctx, s.store, s.thread, o)
	if err != nil {
		return err
	}
	err = fn(held.Context(), held.Fence())
	if lost := context.Cause(held.Context()); err != nil && errors.Is(lost, checkpoint.ErrLeaseLost) {
		err = lost
	}
	return errors.Join(err, held.Release(context.WithoutCancel(ctx)))
}
