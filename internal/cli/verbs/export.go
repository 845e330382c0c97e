package verbs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// exportFlags are the flags of export.
type exportFlags struct {
	to   string
	bulk bulkFlags
}

func (a *app) exportVerb() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export THREAD | --where KEY=VALUE --to DIR",
		Short: "Write a thread, with its whole history, to stdout, or many to files",
		Long: `Export writes a thread to stdout, for import into any store: a JSON object a line,
each with a checksum. The file holds values in the clear. From one store to another:
  export THREAD --store FROM | import - --store TO
With --json each line is an object with its checksum and the line, to be read by other
programs: import does not take that form.

` + bulkHelp + `
Each thread becomes a file of the folder DIR, whole or not at all. One whose file is there is
skipped, unless --again is given.`,
		Args: f.bulk.arguments(a, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.bulk.check(cmd); err != nil {
				return err
			}
			switch {
			case f.bulk.on() && f.to == "":
				return reports.Usage("name a folder with --to DIR", "export with --where writes files, and does not know where to")
			case f.bulk.on():
				return a.exportMany(cmd.Context(), f)
			case f.to != "":
				return reports.Usage("write > FILE, or add --where KEY=VALUE", "--to requires --where")
			}
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error { return s.export(cmd.Context()) })
		},
	}
	cmd.Flags().StringVar(&f.to, "to", "", "with --where, the folder for the files; it is made if it is not there")
	f.bulk.flags(cmd)
	f.bulk.againFlag(cmd, "also threads whose file is there")
	return cmd
}

// exportMany exports the threads that fit, each to a file of its own.
func (a *app) exportMany(ctx context.Context, f exportFlags) error {
	if !f.bulk.dryRun {
		if err := os.MkdirAll(f.to, 0o700); err != nil {
			return reports.CannotWrite(f.to, err)
		}
	}
	return a.onSelected(ctx, a.openToRead, "export", f.bulk, func(ctx context.Context, s *session, p graph.CommitInfo) (bulkOutcome, error) {
		path := filepath.Join(f.to, fileOf(s.thread))
		_, err := os.Stat(path)
		switch {
		case err == nil && !f.bulk.again:
			return did(outcomeSkipped, "%s is there", path), nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return bulkOutcome{}, reports.CannotRead(path, err)
		case f.bulk.dryRun:
			return did(outcomePlanned, "%s, up to checkpoint %d", path, p.Checkpoint), nil
		}
		err = writeWhole(path, 0o600, func(w io.Writer) error { return checkpoint.Export(ctx, s.store, s.thread, w) })
		return did(outcomeDone, "%s", path), err
	})
}

// longestFile is the length of the longest name of a file that systems allow, in bytes, without
// room for an ending.
const longestFile = 200

// fileOf returns the name of the file of a thread. Threads have different files, also where a file
// system ignores case.
func fileOf(thread string) string {
	name := url.PathEscape(thread)
	if len(name) > longestFile || name != strings.ToLower(name) || strings.Trim(name, ".") == "" || strings.Contains(name, "*") {
		sum := sha256.Sum256([]byte(thread))
		name = strings.Trim(strings.ReplaceAll(name[:min(len(name), longestFile)], "*", "%2A"), ".") + "-" + hex.EncodeToString(sum[:8])
	}
	return name + ".jsonl"
}

// writeWhole writes a file, which appears under its name when it is whole.
func writeWhole(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".weft-*")
	if err != nil {
		return reports.CannotWrite(path, err)
	}
	w := bufio.NewWriterSize(f, 64<<10)
	if err = f.Chmod(mode); err == nil {
		err = write(w)
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is reported
	}
	return reports.CannotWrite(path, err)
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
	out := s.Verbatim // an escaped line would not have its checksum
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
