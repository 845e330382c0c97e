package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
)

func (a *app) exportVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "export THREAD",
		Short: "Write a thread, with its whole history, to stdout",
		Long: `Export writes a thread to stdout, for import into any store: a JSON object a line,
each with a checksum. The file holds values in the clear. From one store to another:

  export THREAD --store FROM | import - --store TO`,
		Args: a.arguments("THREAD", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error { return s.export(cmd.Context()) })
		},
	}
}

// onThread runs fn on a thread, which need not be there.
func (a *app) onThread(ctx context.Context, open func(context.Context) (checkpoint.Store, error), thread string, fn func(*session) error) error {
	if err := checkpoint.CheckThread(thread); err != nil {
		return err
	}
	return withStore(ctx, open, func(store checkpoint.Store) error {
		return fn(&session{app: a, store: store, thread: thread})
	})
}

func (s *session) export(ctx context.Context) error {
	if err := s.lengthen(ctx); err != nil {
		return err
	}
	err := checkpoint.Export(ctx, s.store, s.thread, s.Stdout)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return s.unknownThread()
	}
	return err
}
