package verbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// fmtFlags are the flags of fmt.
type fmtFlags struct{ write, diff, check bool }

func (a *app) fmtVerb() *cobra.Command {
	var f fmtFlags
	cmd := &cobra.Command{
		Use:   "fmt FILE...",
		Short: "Format workflows in the canonical way",
		Long: `Fmt prints workflows in their canonical form: two spaces a level, no space at the end of
a line, at most one blank line in a row. Comments, quotes and the order of keys stay,
and the meaning of a file never changes. - is stdin. With --check it prints the names of
the files that are not formatted, and the exit code is 1 if there are any.`,
		Args: a.arguments("FILE", 1, math.MaxInt),
		RunE: func(cmd *cobra.Command, files []string) error {
			switch {
			case f.write && (f.check || f.diff):
				return reports.Usage("leave one of them out", "--write changes the files, --check and --diff do not")
			case f.write && slices.Contains(files, "-"):
				return reports.Usage("leave out --write", "stdin cannot be written")
			}
			return a.format(cmd.Context(), files, f)
		},
	}
	cmd.Flags().BoolVarP(&f.write, "write", "w", false, "write the files instead of printing them")
	cmd.Flags().BoolVarP(&f.diff, "diff", "d", false, "print what would change")
	cmd.Flags().BoolVar(&f.check, "check", false, "print the names of the files that are not formatted")
	return cmd
}

// formatted is the report of fmt on one file, as JSON.
type formatted struct {
	File      string `json:"file"`
	Formatted bool   `json:"formatted"` // before this command
	Text      string `json:"text,omitempty"`
}

func (a *app) format(ctx context.Context, files []string, f fmtFlags) error {
	var worst error
	for _, file := range files {
		same, err := a.formatFile(ctx, file, f)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			c := a.Classify(err)
			a.Report(c)
			worst = &reports.Failure{Code: c.Code}
		case !same && f.check && worst == nil:
			worst = &reports.Failure{Code: reports.ExitFailed}
		}
	}
	return worst
}

// formatFile formats one file and reports whether it was formatted already.
func (a *app) formatFile(ctx context.Context, file string, f fmtFlags) (same bool, err error) {
	src, mode, err := a.source(ctx, file)
	if err != nil {
		return false, err
	}
	text, err := workflow.Format(file, src)
	if err != nil {
		return false, err
	}
	same = bytes.Equal(src, text)
	if f.write && !same {
		if err := overwrite(file, text, mode); err != nil {
			return same, reports.CannotWrite(file, err)
		}
	}
	switch {
	case a.JSON:
		v := formatted{File: file, Formatted: same}
		if !f.write && !f.check {
			v.Text = string(text)
		}
		err = a.PrintJSON(v)
	case f.diff:
		_, err = fmt.Fprint(a.Stdout, lineDiff(file, string(src), string(text)))
		fallthrough
	case f.check || f.write:
		if !same && !f.diff && err == nil {
			_, err = fmt.Fprintln(a.Stdout, file)
		}
	default:
		_, err = a.Verbatim.Write(text)
	}
	return same, err
}

// overwrite replaces the text of a file, whole or not at all. A link stays one. Where only the file
// can be written, as one that is mounted into a container, it is written in place.
func overwrite(path string, text []byte, mode fs.FileMode) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	err = writeWhole(path, mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	for _, denied := range []error{fs.ErrPermission, syscall.EBUSY, syscall.EXDEV, syscall.EROFS} {
		if errors.Is(err, denied) {
			return os.WriteFile(path, text, mode)
		}
	}
	return err
}

// source reads a file, or stdin.
func (a *app) source(ctx context.Context, file string) (src []byte, mode fs.FileMode, err error) {
	if file == "-" {
		src, err = a.readStdin(ctx, terminal.MaxInput)
		if errors.Is(err, terminal.ErrTooLong) {
			err = noWorkflow("stdin")
		}
		return src, 0, err
	}
	info, err := os.Stat(file)
	if err == nil {
		src, err = terminal.ReadFileAtMost(file, terminal.MaxInput)
	}
	switch {
	case errors.Is(err, terminal.ErrTooLong):
		return nil, 0, noWorkflow(file)
	case err != nil:
		return nil, 0, reports.CannotRead(file, err)
	}
	return src, info.Mode().Perm(), nil
}

// noWorkflow returns the error for a file that is longer than any workflow may be.
func noWorkflow(file string) error {
	return reports.Usage("name a workflow, which has at most 1 MiB", "%s has more than %d MiB", file, terminal.MaxInput>>20)
}

// lineDiff returns the lines that differ between two texts, or "" if they are equal.
func lineDiff(name, before, after string) string {
	was, is := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	if before == after {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s, formatted\n", name, name)
	for len(was) > 0 || len(is) > 0 {
		skip, add := nextCommon(was, is)
		for _, line := range was[:skip] {
			b.WriteString(terminated("-" + line))
		}
		for _, line := range is[:add] {
			b.WriteString(terminated("+" + line))
		}
		was, is = was[skip:], is[add:]
		if len(was) > 0 && len(is) > 0 && was[0] == is[0] {
			was, is = was[1:], is[1:]
		}
	}
	return b.String()
}

// terminated returns a line with a newline at its end.
func terminated(line string) string {
	if len(line) == 1 {
		return "" // nothing follows the last newline
	}
	return strings.TrimSuffix(line, "\n") + "\n"
}

// nextCommon returns how many lines to skip in each text until both have the same line, as few as
// possible. It returns one for each text if no common line is near.
func nextCommon(was, is []string) (skip, add int) {
	for n := 0; n <= min(len(was)+len(is), 100); n++ {
		for skip = max(0, n-len(is)); skip <= min(n, len(was)); skip++ {
			if add = n - skip; skip < len(was) && add < len(is) && was[skip] == is[add] {
				return skip, add
			}
		}
	}
	return min(1, len(was)), min(1, len(is))
}
