package verbs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/cli/reports"
)

// whenBusy says what a verb that writes does while somebody else works on the thread.
type whenBusy struct{ wait, takeOver bool }

func (w *whenBusy) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, "if another process works on the thread, wait until it is free")
	cmd.Flags().BoolVar(&w.takeOver, "take-over", false, "if another process works on the thread, take it away: that one writes nothing more")
}

// hold returns the settings with which the thread is held.
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

// holding runs fn while this process holds the thread; fn gets the fence to write with.
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
