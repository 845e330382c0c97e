package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/terminal"
	"github.com/weftrun/weft/state"
)

// The exit codes.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitInvalid = 3
	exitWaiting = 4
	ExitBusy    = 5
)

// Failure is an error as the user sees it.
type Failure struct {
	Code int
	Err  error  // nil if the command has printed everything
	Next string // what to do about it, or ""
}

func (f *Failure) Error() string {
	if f.Err == nil {
		return fmt.Sprintf("exit code %d", f.Code)
	}
	return f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// ErrWaiting ends a command whose thread waits for a person; the question was shown.
var ErrWaiting = &Failure{Code: exitWaiting}

// Usage is a mistake in the command line.
func Usage(next, format string, args ...any) error {
	return &Failure{ExitUsage, fmt.Errorf(format, args...), next}
}

// rules has the exit codes and hints of the errors of other packages. The first rule that matches
// applies. In a hint, %s is how the program was called.
var rules = []struct {
	is   error
	code int
	next string
}{
	{checkpoint.ErrThreadID, ExitUsage, "name the thread with --thread NAME, at most 1024 bytes"},
	{checkpoint.ErrBusy, ExitFailed, string(NextLocked)},
	{checkpoint.ErrFull, ExitFailed, "free some space and give the same command again"},
	{checkpoint.ErrNoBlobs, ExitFailed, "add the blobs of the store: --blobs store, or --blobs folder:DIR"},
	{checkpoint.ErrCorrupt, ExitFailed, "put back a copy of the store, or use another one with --store sqlite:PATH"},
	{checkpoint.ErrUnsupported, ExitFailed, "name a store of this program with --store; nothing was changed"},
	{checkpoint.ErrUnavailable, ExitFailed, string(nextUnavailable)},
	{checkpoint.ErrSchema, ExitFailed, "put back the type that the field had, or go on under another --thread"},
	{checkpoint.ErrOwned, ExitBusy, "wait for it with --wait, or take the thread over with --take-over"},
	{checkpoint.ErrFenced, ExitBusy, "nothing was written; the other process goes on"},
	{checkpoint.ErrThreadExists, ExitUsage, "choose another name with --thread NAME, or remove that one with %s delete"},
	{checkpoint.ErrUnknownOutcome, ExitFailed, "give the same command again: it finds out"},
	{checkpoint.ErrConflict, ExitFailed, "another process runs the thread; when it has ended, the same command goes on from there"},
	{graph.ErrUnknownThread, ExitUsage, "%s threads lists the threads of the store"},
	{graph.ErrAmbiguous, ExitUsage, "answer by id: --answer ID=VALUE"},
	{graph.ErrUnknownQuestion, ExitUsage, ""},
	{graph.ErrAnswer, ExitUsage, ""},
	{graph.ErrNotVerified, ExitFailed, "export the thread, and compare it with a copy that was made before"},
	{graph.ErrBy, ExitUsage, "give --by a name of one line, at most 256 bytes; nothing was changed"},
	{graph.ErrWaiting, ExitUsage, ""},
	{graph.ErrPinned, ExitFailed, "use the workflow as it was, or let the thread go on with any: %s unpin THREAD"},
	{graph.ErrProgram, ExitFailed, "put back the workflow as it was, or start over with --new-turn"},
}

// Explain returns the failure that an error is reported as.
func (o *Output) Explain(ctx context.Context, err error, started bool) *Failure {
	var f *Failure
	switch known := errors.As(err, &f); {
	case errors.Is(context.Cause(ctx), terminal.ErrSignal):
		next := ""
		if known {
			next = f.Next
		}
		return &Failure{terminal.ExitSignal, errors.New("stopped by a signal"), next}
	case !known && !started:
		return &Failure{ExitUsage, err, o.Invocation + " --help lists the commands; each has a --help too"}
	}
	return o.Classify(err)
}

// Classify applies the rules to an error of another package.
func (o *Output) Classify(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	for _, r := range rules {
		if errors.Is(err, r.is) {
			return &Failure{r.code, err, o.next(r.next)}
		}
	}
	if IsInvalid(err) {
		return &Failure{ExitInvalid, err, o.explains(err)}
	}
	return &Failure{ExitFailed, err, ""} // the caller adds the hint
}

// Hint is a hint that depends on the kind of the store.
type Hint string

const (
	NextLocked      Hint = "<locked>"
	nextUnavailable Hint = "<unavailable>"
)

func (o *Output) next(text string) string {
	switch h := Hint(text); h {
	case NextLocked, nextUnavailable:
		return o.Advice(h)
	}
	return strings.ReplaceAll(text, "%s", o.Invocation)
}

// IsInvalid reports whether err lists the mistakes of a workflow.
func IsInvalid(err error) bool {
	var we *workflow.Error
	var ce *graph.CompileError
	var se *state.SchemaError
	return errors.As(err, &we) || errors.As(err, &ce) || errors.As(err, &se)
}

// explains returns a hint with the command that explains the first mistake, or "" if the mistake
// has no code.
func (o *Output) explains(err error) string {
	code := Problems(err)[0].Code
	if code == "" {
		return ""
	}
	return fmt.Sprintf("%s explain %s describes the first mistake", o.Invocation, code)
}

// otherwise returns the hint of a failure without one.
func (o *Output) otherwise(code int) string {
	switch code {
	case ExitUsage:
		return o.Invocation + " --help lists the commands; each has a --help too"
	case ExitInvalid:
		return "mend the file; " + o.Invocation + " validate FILE checks it"
	}
	return "give the same command again; " + o.Command("doctor") + " looks at the store"
}

// Report prints a failure and returns its exit code.
func (o *Output) Report(f *Failure) int {
	if f.Next == "" && f.Err != nil && f.Code != terminal.ExitSignal {
		f = &Failure{f.Code, f.Err, o.otherwise(f.Code)}
	}
	switch {
	case f.Err == nil:
	case o.JSON:
		o.reportJSON(f)
	default:
		fmt.Fprintf(o.Stderr, "%s: %s\n", o.Name, o.Public(Message(f.Err)))
		if f.Next != "" {
			fmt.Fprintf(o.Stderr, "next: %s\n", o.Public(f.Next))
		}
	}
	return f.Code
}

func (o *Output) reportJSON(f *Failure) {
	e := map[string]any{"message": o.Public(Message(f.Err)), "code": f.Code}
	if w, ok := f.Err.(*workflow.Error); ok {
		e["message"], e["problems"] = "the workflow is not valid", Problems(w)
	}
	if f.Next != "" {
		e["next"] = o.Public(f.Next)
	}
	enc := json.NewEncoder(o.Stderr)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]any{"error": e}) // a failed standard error cannot be reported
}

// Message returns the text of an error for the user.
func Message(err error) string {
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
	return WithoutPackage(err)
}

// WithoutPackage returns the text of an error from its sentinel on, without the package's name.
func WithoutPackage(err error) string {
	text := err.Error()
	for _, r := range rules {
		if _, after, ok := strings.Cut(text, r.is.Error()); ok && errors.Is(err, r.is) {
			_, what, _ := strings.Cut(r.is.Error(), ": ")
			return what + after
		}
	}
	return text
}

// reason returns why a node failed, without the node's name but with the names of the nodes inside
// it.
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

// BugFailure is the failure of a command that panicked.
func BugFailure(v any) *Failure {
	return &Failure{ExitFailed, fmt.Errorf("this is a bug: %v (%s)", v, panicked()),
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

// CannotRead is the failure of a workflow file that cannot be read.
func CannotRead(path string, err error) error {
	var pe *fs.PathError
	switch to, _ := os.Readlink(path); {
	case errors.Is(err, fs.ErrNotExist) && to != "":
		return Usage("remove the link, or create what it leads to", "%s is a link to %s, which does not exist", path, to)
	case errors.Is(err, fs.ErrNotExist):
		return Usage("check the path", "there is no file %s", path)
	case errors.As(err, &pe):
		return Usage("check the path and its permissions", "%s cannot be read: %w", path, pe.Err)
	}
	return err
}

// CannotWrite describes why a file or a folder cannot be written. It returns any other error
// unchanged.
func CannotWrite(path string, err error) error {
	var pe *fs.PathError
	var no syscall.Errno
	switch {
	case errors.As(err, &no) && (no == syscall.ENOSPC || no == syscall.EDQUOT):
		return &Failure{ExitFailed, fmt.Errorf("%s cannot be written: %w", path, no), "free some space and give the same command again"}
	case errors.As(err, &pe):
		return Usage("check the path and its permissions", "%s cannot be written: %w", path, pe.Err)
	}
	return err
}

// busy returns the text of a BusyError.
func busy(e *checkpoint.BusyError) string {
	return fmt.Sprintf("%s works on thread %q, and holds it for another %s unless it goes on", worker(e.Owner), e.Thread, Duration(max(e.Remaining, time.Second)))
}

// worker describes the owner of a lease: its name, and its process if the name contains it.
func worker(owner string) string {
	who, rest, _ := strings.Cut(owner, "[")
	f := strings.Fields(strings.TrimSuffix(rest, "]"))
	who = strings.TrimSpace(who)
	switch {
	case len(f) != 6 && owner == "":
		return "another process"
	case len(f) != 6:
		return owner
	case who == "":
		return fmt.Sprintf("process %s on %s", f[3], f[0])
	}
	return fmt.Sprintf("%s, process %s on %s,", who, f[3], f[0])
}
