package verbs

import (
	"bytes"
	"context"
	"encoding/json"
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

  export THREAD --store FROM | import - --store TO

With --json each line is an object with its checksum and the line, to be read by other
programs: import does not take that form.`,
		Args: a.arguments("THREAD", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error { return s.export(cmd.Context()) })
		},
	}
}

// onThread runs fn on a thread, which need not exist.
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
	out := s.Stdout
	if s.JSON {
		out = &jsonLines{app: s.app}
	}
	err := checkpoint.Export(ctx, s.store, s.thread, out)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return s.unknownThread()
	}
	return err
}

// jsonLines writes each line as a JSON object.
type jsonLines struct {
	*app
	begun []byte // the incomplete last line
}

func (j *jsonLines) Write(p []byte) (int, error) {
	j.begun = append(j.begun, p...)
	for {
		line, rest, whole := bytes.Cut(j.begun, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		sum, object, _ := bytes.Cut(line, []byte(" "))
		if err := j.PrintJSON(map[string]any{"checksum": string(sum), "line": json.RawMessage(object)}); err != nil {
			return 0, err
		}
		j.begun = rest
	}
}
