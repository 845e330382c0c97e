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

// taskView is the state of a running task, or of a step inside one.
type taskView struct {
	id, namespace, node, label string
	step                       int
	began                      time.Time
	attempt                    int
	text                       string // the end of the text that a model has produced in it
	lines                      []string
}

// outcome describes how a task or one of its attempts ended. It is "" for a task that has begun.
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

// quiet reports whether ev is the normal end of a step inside a task, which has no line of its own.
func quiet(ev graph.Event) bool {
	return ev.ParentTask != "" && (ev.Phase == graph.Finished || ev.Phase == graph.Asking)
}

// failing returns "stopped" for a task that was cancelled because another failed, else "failed".
func failing(err error) string {
	if n := (*graph.NodeError)(nil); errors.As(err, &n) && n.Cancelled {
		return "stopped"
	}
	return "failed"
}

// IsHidden reports whether views omit an event: that of a node that only chooses the next nodes.
func IsHidden(ev graph.Event) bool {
	_, chooses := workflow.NodeOf(ev.Node)
	return chooses && ev.Phase != graph.Failing
}

// TaskTitle returns the title of a task: the nodes around it, its node, and its label.
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
		b.WriteString(" " + terminal.Cut(label, maxLabel))
	}
	return b.String()
}

func NodeName(node string) string {
	name, _ := workflow.NodeOf(node)
	return name
}

// maxLabel is the limit of a label in a title, in columns.
const maxLabel = 40

// Duration formats a duration briefly: 0ms, 120ms, 1.2s, 2m03s, 1h02m.
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

// OneLine returns the first line of a text, with " …" if there are more.
func OneLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if rest != "" {
		line += " …"
	}
	return line
}
