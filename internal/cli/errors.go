package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/state"
)

// The exit codes.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitInvalid = 3
	exitWaiting = 4
	exitBusy    = 5
	exitSignal  = 130
)

// failure is an error as the user sees it.
type failure struct {
	code int
	err  error  // nil: all was said already, only the code is left
	next string // what to do about it, or ""
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// errWaits ends a command whose thread waits for a person; the question was shown.
var errWaits = &failure{code: exitWaiting}

// usage is a mistake in the command line.
func usage(next, format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...), next}
}

// rules says what the errors of other packages mean here: the first that matches
// counts. In a hint %s is how the program was called.
var rules = []struct {
	is   error
	code int
	next string
}{
	{checkpoint.ErrThreadID, exitUsage, "name the thread with --thread NAME, at most 1024 bytes"},
	{checkpoint.ErrBusy, exitFailed, nextLocked},
	{checkpoint.ErrFull, exitFailed, "free some space and give the same command again"},
	{checkpoint.ErrCorrupt, exitFailed, "put back a copy of the store, or use another one with --store sqlite:PATH"},
	{checkpoint.ErrUnsupported, exitFailed, "name a store of this program with --store; nothing was changed"},
	{checkpoint.ErrUnavailable, exitFailed, nextUnavailable},
	{checkpoint.ErrSchema, exitFailed, "put back the type that the field had, or go on under another --thread"},
	{checkpoint.ErrOwned, exitBusy, "wait for it with --wait, or take the thread over with --take-over"},
	{checkpoint.ErrFenced, exitBusy, "nothing was written; the other process goes on"},
	{checkpoint.ErrThreadExists, exitUsage, "choose another name with --thread NAME, or remove that one with %s delete"},
	{checkpoint.ErrUnknownOutcome, exitFailed, "give the same command again: it finds out"},
	{checkpoint.ErrConflict, exitFailed, "another process runs the thread; when it has ended, the same command goes on from there"},
	{graph.ErrUnknownThread, exitUsage, "%s threads lists the threads of the store"},
	{graph.ErrAmbiguous, exitUsage, "answer by id: --answer ID=VALUE"},
	{graph.ErrUnknownQuestion, exitUsage, ""},
	{graph.ErrAnswer, exitUsage, ""},
	{graph.ErrBy, exitUsage, "give --by a name of one line, at most 256 bytes; nothing was changed"},
	{graph.ErrWaiting, exitUsage, ""},
	{graph.ErrProgram, exitFailed, "put back the workflow as it was, or start over with --new-turn"},
}

// explain turns any error into what the user sees.
func (a *app) explain(ctx context.Context, err error) *failure {
	var f *failure
	switch known := errors.As(err, &f); {
	case errors.Is(context.Cause(ctx), errSignal):
		next := ""
		if known {
			next = f.next
		}
		return &failure{exitSignal, errors.New("stopped by a signal"), next}
	case !known && !a.started:
		return &failure{exitUsage, err, a.as + " --help lists the commands; each has a --help too"}
	}
	return a.classify(err)
}

// classify finds the rule for an error of another package.
func (a *app) classify(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	for _, r := range rules {
		if errors.Is(err, r.is) {
			return &failure{r.code, err, a.next(r.next)}
		}
	}
	if isInvalid(err) {
		return &failure{exitInvalid, err, a.explains(err)}
	}
	return &failure{exitFailed, err, ""} // who knows what was to be done adds what is next
}

// What the kind of the store decides.
const (
	nextLocked      = "<locked>"
	nextUnavailable = "<unavailable>"
)

func (a *app) next(hint string) string {
	switch hint {
	case nextLocked:
		return a.locked()
	case nextUnavailable:
		return a.unavailable()
	}
	return strings.ReplaceAll(hint, "%s", a.as)
}

// isInvalid reports whether err lists the mistakes of a workflow.
func isInvalid(err error) bool {
	var we *workflow.Error
	var ce *graph.CompileError
	var se *state.SchemaError
	return errors.As(err, &we) || errors.As(err, &ce) || errors.As(err, &se)
}

// explains names the command that says more about the first mistake, "" if none has a
// code.
func (a *app) explains(err error) string {
	code := problems(err)[0].Code
	if code == "" {
		return ""
	}
	return fmt.Sprintf("%s explain %s says more about the first mistake", a.as, code)
}

// otherwise says what to do about a failure for which nobody knew more.
func (a *app) otherwise(code int) string {
	switch code {
	case exitUsage:
		return a.as + " --help lists the commands; each has a --help too"
	case exitInvalid:
		return "mend the file; " + a.as + " validate FILE checks it"
	}
	return "give the same command again; " + a.command("doctor") + " looks at the store"
}

// report prints a failure and returns its exit code.
func (a *app) report(f *failure) int {
	if f.next == "" && f.err != nil && f.code != exitSignal {
		f = &failure{f.code, f.err, a.otherwise(f.code)}
	}
	switch {
	case f.err == nil:
	case a.json:
		a.reportJSON(f)
	default:
		fmt.Fprintf(a.Stderr, "%s: %s\n", a.Name, a.public(message(f.err)))
		if f.next != "" {
			fmt.Fprintf(a.Stderr, "next: %s\n", a.public(f.next))
		}
	}
	return f.code
}

func (a *app) reportJSON(f *failure) {
	e := map[string]any{"message": a.public(message(f.err)), "code": f.code}
	if w, ok := f.err.(*workflow.Error); ok {
		e["message"], e["problems"] = "the workflow is not valid", problems(w)
	}
	if f.next != "" {
		e["next"] = a.public(f.next)
	}
	enc := json.NewEncoder(a.Stderr)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]any{"error": e}) // there is nobody left to tell
}

// message returns the text of an error without what the user knows or cannot use.
func message(err error) string {
	var n *graph.NodeError
	if errors.As(err, &n) {
		return fmt.Sprintf("node %q failed in step %d: %s", n.Node, n.Step, reason(n))
	}
	var b *checkpoint.BusyError
	if errors.As(err, &b) {
		return busy(b)
	}
	if w, ok := err.(*workflow.Error); ok {
		return "the workflow is not valid:\n  " + strings.ReplaceAll(w.Excerpts(), "\n", "\n  ")
	}
	return withoutPackage(err)
}

// withoutPackage returns the text of an error from its sentinel on, without the name
// of the package.
func withoutPackage(err error) string {
	text := err.Error()
	for _, r := range rules {
		if _, after, ok := strings.Cut(text, r.is.Error()); ok && errors.Is(err, r.is) {
			_, what, _ := strings.Cut(r.is.Error(), ": ")
			return what + after
		}
	}
	return text
}

// reason returns why a node failed: without its own name, and with those of the nodes
// inside it.
func reason(err error) string {
	var n, inner *graph.NodeError
	if !errors.As(err, &n) {
		return fmt.Sprint(err)
	}
	if errors.As(n.Err, &inner) {
		return fmt.Sprintf("node %q: %s", inner.Node, reason(inner))
	}
	return fmt.Sprint(n.Err) // its Error method may panic
}

// bug is the failure of a command that panicked.
func bug(v any) *failure {
	return &failure{exitFailed, fmt.Errorf("this is a bug: %v (%s)", v, panicked()),
		"please report it with the command line that shows it; threads keep all that was stored"}
}

// panicked returns where the panic that is being recovered happened.
func panicked() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	seen := false
	for {
		f, more := frames.Next()
		switch inside := strings.HasPrefix(f.Function, "runtime."); {
		case inside:
			seen = true
		case seen:
			return fmt.Sprintf("%s, line %d", f.Function, f.Line)
		}
		if !more {
			return "unknown place"
		}
	}
}

// cannotRead is the failure of a workflow file that cannot be read.
func cannotRead(path string, err error) error {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage("check the path", "there is no file %s", path)
	case errors.As(err, &pe):
		return usage("check the path and its permissions", "%s cannot be read: %w", path, pe.Err)
	}
	return err
}
