package verbs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/wake"
)

func (a *app) importVerb() *cobra.Command {
	var thread string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Store a thread that export wrote",
		Long: `Import reads a FILE that export wrote, or stdin if it is -, and stores it as a new
thread. If the file is damaged, or the thread is there already, nothing is stored. What the
thread waits for, such as a question that expires, is then due as it was.`,
		Args: a.arguments("FILE", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.importFile(cmd.Context(), args[0], thread, cmd.Flags().Changed("thread"))
		},
	}
	cmd.Flags().StringVar(&thread, "thread", "", "the new thread's name (default the one it had)")
	return cmd
}

func (a *app) importFile(ctx context.Context, file, thread string, named bool) error {
	from := a.config.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return reports.CannotRead(file, err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return reports.Usage("name a file that export wrote", "%s is a folder", file)
		}
		from = f
	}
	in := bufio.NewReaderSize(from, longestHead)
	was, err := exportedAs(in)
	if err != nil {
		return damagedExport(file, err)
	}
	if !named {
		thread = was
	}
	return a.onThread(ctx, a.open, thread, func(s *session) error { return s.importFrom(ctx, file, in) })
}

func (s *session) importFrom(ctx context.Context, file string, in io.Reader) error {
	if err := checkpoint.Import(ctx, s.store, s.thread, in); err != nil {
		return damagedExport(file, err)
	}
	if timers, err := wake.Open(s.store); err == nil { // else no graph of the store has any
		if err := timers.Restore(ctx, s.store, s.thread); err != nil {
			err = fmt.Errorf("the thread is stored, but not when it is due: %w", err)
			return &reports.Failure{Code: reports.ExitFailed, Err: err, Next: "delete the thread and import it again"}
		}
	}
	p, err := graph.Inspect(ctx, s.store, checkpoint.Key{Thread: s.thread})
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(p)
	}
	_, err = fmt.Fprintf(s.Stdout, "thread %s is stored up to checkpoint %d: %s\n", reports.Cell(s.thread), p.Checkpoint, p.Status)
	return err
}

// longestHead is the maximum length of the first line of a file, in bytes: the name of a thread
// with every byte escaped, and the text around it.
const longestHead = 6*checkpoint.MaxThread + 256

// exportedAs returns the name of the exported thread, and rewinds the reader to the start of the
// file.
func exportedAs(in *bufio.Reader) (string, error) {
	start, err := in.Peek(longestHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line, _, whole := bytes.Cut(start, []byte("\n"))
	_, object, spaced := bytes.Cut(line, []byte(" "))
	var head struct {
		Format string `json:"format"`
		Thread string `json:"thread"`
	}
	if bytes.HasPrefix(line, []byte("{")) && json.Valid(line) {
		return "", reports.Usage("export the thread again without --json", "line 1 is JSON, as export --json writes it for other programs, and cannot be imported")
	}
	if !whole || !spaced || json.Unmarshal(object, &head) != nil || head.Format == "" {
		return "", fmt.Errorf("%w: line 1: it is not what export writes", checkpoint.ErrCorrupt)
	}
	return head.Thread, nil
}

// damagedExport describes what to do about a file that cannot be imported.
func damagedExport(file string, err error) error {
	if file == "-" {
		file = "the input"
	}
	named := errors.New(file + ": " + reports.WithoutPackage(err)) // a wrapped error would show only the text of the sentinel
	switch {
	case errors.Is(err, checkpoint.ErrCorrupt):
		return &reports.Failure{Code: reports.ExitFailed, Err: named, Next: "export the thread again; nothing was stored"}
	case errors.Is(err, checkpoint.ErrUnsupported):
		return &reports.Failure{Code: reports.ExitFailed, Err: named, Next: "import it with the version that wrote it, or a newer one; nothing was stored"}
	}
	return err
}
