package recording

import (
	"fmt"
	"strings"

	"github.com/weftrun/weft/state/agent"
)

// FileError is returned for a recording that cannot be read: it is damaged, or of a version that
// this program does not know.
type FileError struct {
	Path   string
	Line   int // from 1; 0 is unknown
	Reason string
}

func (e *FileError) Error() string {
	at := e.Path
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, e.Line)
	}
	return fmt.Sprintf("recording %s: %s; delete the file and record again", at, e.Reason)
}

// Difference is returned by a call that differs from the recording, and by [Recorder.Close] for the
// first such call, also for one that was not made.
type Difference struct {
	Path string
	// Line is that of the recorded call in the file; 0 if there is none.
	Line int
	// Node has the names of the nodes that the call is made in, from the outermost graph on, as
	// "answer/model"; "" outside of a graph.
	Node string
	// Number is the place of the recorded call among those of the node, from 1.
	Number int
	// Call is what is called, such as "model small" or "request GET https://example.org".
	Call string
	// Field is what differs, such as "request.messages[1].content"; "" if the call is not recorded,
	// or was not made. Got and Recorded are both values as JSON, around their first difference.
	Field, Got, Recorded string
	// Left is true for a recorded call that was not made.
	Left bool
	// More is how many other calls differ.
	More int
}

func (e *Difference) Error() string {
	var b strings.Builder
	b.WriteString("recording: ")
	if e.Node != "" {
		fmt.Fprintf(&b, "node %s: ", e.Node)
	}
	fmt.Fprintf(&b, "call %d, of the %s, ", e.Number, e.Call)
	at := e.Path
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, e.Line)
	}
	switch {
	case e.Left:
		fmt.Fprintf(&b, "was not made; it is recorded at %s", at)
	case e.Field == "":
		fmt.Fprintf(&b, "is not in %s", at)
	default:
		fmt.Fprintf(&b, "differs from %s: %s is %s, recorded %s", at, e.Field, e.Got, e.Recorded)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, " (and %d more)", e.More)
	}
	return b.String()
}

// Retryable is false: another attempt differs too.
func (e *Difference) Retryable() bool { return false }

// Code returns "recording_differs".
func (e *Difference) Code() string { return "recording_differs" }

// LimitError is returned for a call that is too large to record, and for too many calls.
type LimitError struct {
	Node, Call string
	What       string // request, error, calls, file, or what came back, such as answer or response
	Size, Max  int    // bytes, or calls
}

func (e *LimitError) Error() string {
	if e.What == "calls" {
		return fmt.Sprintf("recording: there are %d calls; the maximum is %d", e.Size, e.Max)
	}
	if e.What == "file" {
		return fmt.Sprintf("recording: the file has %d bytes; the maximum is %d", e.Size, e.Max)
	}
	at := ""
	if e.Node != "" {
		at = "node " + e.Node + ": "
	}
	return fmt.Sprintf("recording: %sthe %s of the %s has %d bytes; the maximum is %d", at, e.What, e.Call, e.Size, e.Max)
}

// AskError is returned for a call that asks a person by itself, which cannot be recorded.
type AskError struct{ Node, Call string }

func (e *AskError) Error() string {
	at := ""
	if e.Node != "" {
		at = "node " + e.Node + ": "
	}
	return fmt.Sprintf("recording: %sthe %s asks a person by itself, which cannot be recorded", at, e.Call)
}

// Failure is a recorded error.
type Failure struct {
	Text  string
	Again bool   // another attempt may succeed
	code  string // "" is none
	cause error  // a *model.Error, or nil

	severity agent.Severity // for the turns of an agent; "" is that of the cause
	user     string         // a message for the user; "" is none
}

func (e *Failure) Error() string { return e.Text }

// Unwrap returns the [model.Error] with the recorded kind and status, or nil. It asks for no wait.
func (e *Failure) Unwrap() error { return e.cause }

// Code returns the recorded code, or "".
func (e *Failure) Code() string { return e.code }

// Retryable reports whether another attempt may succeed.
func (e *Failure) Retryable() bool { return e.Again }
