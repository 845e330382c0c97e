package reports

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// taskView is what is known of a task, or of a step inside one, while it is on the way.
type taskView struct {
	id, namespace, node, label string
	step                       int
	began                      time.Time
	attempt                    int
	said                       string // the end of what a model has said in it so far
	lines                      []string
}

// outcome says how a task or one of its attempts ended; "" if it has only begun.
func outcome(ev graph.Event, took time.Duration) string {
	switch ev.Phase {
	case graph.Finished:
		return "finished in " + Duration(took)
	case graph.Failing:
		return failing(ev.Err) + " after " + Duration(took)
	case graph.Retrying:
		return fmt.Sprintf("attempt %d failed: %s; trying again", ev.Attempt, OneLine(reason(ev.Err)))
	case graph.Handling:
		return "failed: " + OneLine(reason(ev.Err)) + "; its handler takes over"
	case graph.Uncached:
		return OneLine(reason(ev.Err)) + "; the run goes on without"
	case graph.Asking:
		return "waits for an answer"
	}
	return ""
}

// quiet reports whether a step inside a task ended as one expects: then its task says enough.
func quiet(ev graph.Event) bool {
	return ev.ParentTask != "" && (ev.Phase == graph.Finished || ev.Phase == graph.Asking)
}

// failing tells a task that failed from one that was stopped because another did.
func failing(err error) string {
	if n := (*graph.NodeError)(nil); errors.As(err, &n) && n.Cancelled {
		return "stopped"
	}
	return "failed"
}

// IsHidden reports whether an event tells the reader nothing: a node that only chooses.
func IsHidden(ev graph.Event) bool {
	_, chooses := workflow.NodeOf(ev.Node)
	return chooses && ev.Phase != graph.Failing
}

// TaskTitle names a task as the file does: the nodes around it, its node, and its item.
func TaskTitle(namespace, node, label string) string {
	var b strings.Builder
	if namespace != "" {
		for level := range strings.SplitSeq(namespace, "|") {
			parent, _, _ := strings.Cut(level, ":")
			b.WriteString(NodeName(parent) + "/")
		}
	}
	b.WriteString(NodeName(node))
	if label != "" {
		b.WriteString(" " + terminal.Cut(label, longestItem))
	}
	return b.String()
}

func NodeName(node string) string {
	name, _ := workflow.NodeOf(node)
	return name
}

// longestItem is at most how many columns a title gives to the label of a task.
const longestItem = 40

// Duration returns a duration in few letters: 0ms, 120ms, 1.2s, 2m03s, 1h02m.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// OneLine returns the first line of a text.
func OneLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if rest != "" {
		line += " …"
	}
	return line
}
