package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
)

// plain shows a run as lines that a file or a log can hold: one for each task that
// has ended. They come with the commit of their step and in its order, so two runs
// print the same but for the times.
type plain struct {
	out   io.Writer
	now   func() time.Time
	tasks map[string]*track // by id: those whose step is not committed
}

// track is what is known of a task while it is on the way.
type track struct {
	id, namespace, node, label string
	step                       int
	began                      time.Time
	attempt                    int
	lines                      []string
}

func newPlain(out io.Writer) *plain {
	return &plain{out: out, now: time.Now, tasks: map[string]*track{}}
}

func (p *plain) event(ev graph.Event) {
	switch ev.Mode {
	case graph.Tasks:
		p.task(ev)
	case graph.Updates:
		if t := p.tasks[ev.Task]; t != nil {
			p.print(t)
			delete(p.tasks, ev.Task)
		}
	}
}

func (p *plain) task(ev graph.Event) {
	t := p.tasks[ev.Task]
	if t == nil {
		t = &track{namespace: ev.Namespace, node: ev.Node, label: ev.Label, step: ev.Step, began: p.now()}
		p.tasks[ev.Task] = t
	}
	if line := outcome(ev, p.now().Sub(t.began)); line != "" {
		t.lines = append(t.lines, line)
	}
}

// outcome says how a task or one of its attempts ended; "" if it has only begun.
func outcome(ev graph.Event, took time.Duration) string {
	switch ev.Phase {
	case graph.Finished:
		return "finished in " + brief(took)
	case graph.Failing:
		return failing(ev.Err) + " after " + brief(took)
	case graph.Retrying:
		return fmt.Sprintf("attempt %d failed: %s; trying again", ev.Attempt, oneLine(reason(ev.Err)))
	case graph.Asking:
		return "waits for an answer"
	}
	return ""
}

// failing tells a task that failed from one that was stopped because another did.
func failing(err error) string {
	if errors.Is(err, context.Canceled) {
		return "stopped"
	}
	return "failed"
}

// close prints the tasks of a step that was not committed, in a fixed order.
func (p *plain) close() {
	var rest []*track
	for _, t := range p.tasks {
		rest = append(rest, t)
	}
	slices.SortFunc(rest, func(a, b *track) int {
		return cmp.Or(cmp.Compare(b.namespace, a.namespace), cmp.Compare(a.step, b.step),
			cmp.Compare(a.node, b.node), cmp.Compare(a.label, b.label))
	})
	for _, t := range rest {
		p.print(t)
	}
}

func (p *plain) print(t *track) {
	for _, line := range t.lines {
		fmt.Fprintf(p.out, "%s: %s\n", title(t.namespace, t.node, t.label), line)
	}
}

// title names a task: the nodes around it, its node, and its item.
func title(namespace, node, label string) string {
	var b strings.Builder
	if namespace != "" {
		for _, level := range strings.Split(namespace, "|") {
			parent, _, _ := strings.Cut(level, ":")
			b.WriteString(parent + "/")
		}
	}
	b.WriteString(node)
	if label != "" {
		b.WriteString(" " + label)
	}
	return b.String()
}

// brief returns a duration in few letters: 0ms, 120ms, 1.2s, 2m03s, 1h02m.
func brief(d time.Duration) string {
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

// oneLine returns the first line of a text.
func oneLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if rest != "" {
		line += " …"
	}
	return line
}
