package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/weftrun/weft/graph"
)

// plain shows a run as lines for a file or a log, one for each task that has ended. It prints them
// at the commit of their step and in its order, so two runs differ only in the times. A step inside
// a task has no line unless it fails.
type plain struct {
	out   io.Writer
	now   func() time.Time
	tasks map[string]*taskView // by id: those whose step is not committed
}

func newPlain(out io.Writer) *plain {
	return &plain{out: out, now: time.Now, tasks: map[string]*taskView{}}
}

func (p *plain) Modes() graph.Mode { return graph.Tasks | graph.Updates }

func (p *plain) Event(ev graph.Event) {
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
	if ev.Phase == graph.Waiting { // its time begins when it runs
		return
	}
	t := p.tasks[ev.Task]
	if t == nil {
		t = &taskView{namespace: ev.Namespace, node: ev.Node, label: ev.Label, step: ev.Step, began: p.now()}
		p.tasks[ev.Task] = t
	}
	if ev.Label != "" && ev.ParentTask == "" {
		t.label = ev.Label // an edited call has another label
	}
	line := outcome(ev, p.now().Sub(t.began))
	if ev.ParentTask != "" {
		p.inside(ev, line)
	} else if line != "" {
		t.lines = append(t.lines, line)
	}
}

// inside adds the outcome of a step to the lines of its task, unless the outcome is normal.
func (p *plain) inside(ev graph.Event, line string) {
	if of := p.tasks[ev.ParentTask]; of != nil && line != "" && !quiet(ev) {
		of.lines = append(of.lines, ev.Label+": "+line)
	}
	if ev.Phase == graph.Finished || ev.Phase == graph.Failing || ev.Phase == graph.Asking {
		delete(p.tasks, ev.Task)
	}
}

// Say prints a line at once. It may be called from another goroutine.
func (p *plain) Say(line string) { fmt.Fprintln(p.out, line) }

// Close prints the tasks of a step that was not committed, in a fixed order.
func (p *plain) Close() {
	var rest []*taskView
	for _, t := range p.tasks {
		rest = append(rest, t)
	}
	slices.SortFunc(rest, func(a, b *taskView) int {
		return cmp.Or(cmp.Compare(b.namespace, a.namespace), cmp.Compare(a.step, b.step),
			cmp.Compare(a.node, b.node), cmp.Compare(a.label, b.label))
	})
	for _, t := range rest {
		p.print(t)
	}
}

func (p *plain) print(t *taskView) {
	for _, line := range t.lines {
		fmt.Fprintf(p.out, "%s: %s\n", TaskTitle(t.namespace, t.node, t.label), line)
	}
}
