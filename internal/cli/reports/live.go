package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// live shows a run on a terminal. Tasks that ended scroll by, a line each; below them
// the running ones are drawn again and again with the time they take.
type live struct {
	term *terminal.Terminal
	now  func() time.Time
	stop chan struct{}
	done chan struct{}

	mu      sync.Mutex
	running []*taskView // in the order in which they began
	drawn   []int       // the widths of the lines that are drawn
	frame   int
}

// tick is the time between two drawings.
const tick = 100 * time.Millisecond

var frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func newLive(t *terminal.Terminal) *live {
	l := &live{term: t, now: time.Now, stop: make(chan struct{}), done: make(chan struct{})}
	go l.spin()
	return l
}

// spin draws until close is called.
func (l *live) spin() {
	defer close(l.done)
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-t.C:
			l.mu.Lock()
			l.frame++
			l.draw("")
			l.mu.Unlock()
		}
	}
}

// DrawsLines reports whether a view leaves lines on the terminal that are only true while the run goes on.
func DrawsLines(v view) bool {
	_, ok := v.(*live)
	return ok
}

func (l *live) Close() {
	close(l.stop)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	var left strings.Builder
	for _, t := range l.running {
		left.WriteString(l.line("-", terminal.Grey, t, "stopped"))
	}
	l.running = nil
	l.draw(left.String())
}

// Say leaves a line above the running tasks.
func (l *live) Say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cols, _ := l.term.Size()
	l.draw(terminal.Cut(line, cols-1) + "\n")
}

func (l *live) Modes() graph.Mode { return graph.Tasks | graph.Messages }

func (l *live) Event(ev graph.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch ev.Mode {
	case graph.Tasks:
		l.task(ev)
	case graph.Messages:
		l.token(ev)
	}
}

// token notes what a model says in a task, which the next drawing shows.
func (l *live) token(ev graph.Event) {
	at := slices.IndexFunc(l.running, func(t *taskView) bool { return t.id == ev.Task })
	if at < 0 || ev.Token.Streamed && ev.Token.Delta == "" {
		return
	}
	t := l.running[at]
	if ev.Token.Index == 0 {
		t.said = ""
	}
	t.said = terminal.Tail(t.said+cmp.Or(ev.Token.Delta, ev.Token.Text), spoken)
}

// besideWords is how many columns stay for the rest of the line.
const besideWords = 40

// spoken is at most how many columns a running task shows of what a model says in it.
const spoken = 60

// task shows what became of a task.
func (l *live) task(ev graph.Event) {
	t := l.taskView(ev)
	t.attempt = ev.Attempt
	took := Duration(l.now().Sub(t.began))
	if quiet(ev) {
		l.drop(t)
		l.draw("")
		return
	}
	switch ev.Phase {
	case graph.Started:
		l.draw("")
	case graph.Retrying, graph.Handling, graph.Uncached:
		l.draw(l.line("↻", terminal.Yellow, t, outcome(ev, 0)))
	case graph.Finished:
		l.end(t, "✓", terminal.Green, took)
	case graph.Failing:
		l.fail(t, ev.Err, took)
	case graph.Asking:
		l.end(t, "?", terminal.Yellow, outcome(ev, 0))
	}
}

func (l *live) fail(t *taskView, err error, took string) {
	if failing(err) == "stopped" {
		l.end(t, "-", terminal.Grey, "stopped after "+took)
		return
	}
	l.end(t, "✗", terminal.Red, took+"  "+OneLine(reason(err)))
}

// taskView returns the running task of an event.
func (l *live) taskView(ev graph.Event) *taskView {
	for _, t := range l.running {
		if t.id == ev.Task {
			if ev.Label != "" {
				t.label = ev.Label // what a person has changed runs under another
			}
			return t
		}
	}
	t := &taskView{id: ev.Task, namespace: ev.Namespace, node: ev.Node, label: ev.Label, began: l.now()}
	l.running = append(l.running, t)
	return t
}

// end takes a task off the running ones and leaves a line about it.
func (l *live) end(t *taskView, sign, colour, text string) {
	l.drop(t)
	l.draw(l.line(sign, colour, t, text))
}

func (l *live) drop(t *taskView) {
	l.running = slices.DeleteFunc(l.running, func(r *taskView) bool { return r == t })
}

// draw wipes the running tasks, prints what stays, and draws them anew, all in one
// write.
func (l *live) draw(stays string) {
	cols, rows := l.term.Size()
	var b strings.Builder
	b.WriteString(l.wipe(cols))
	b.WriteString(stays)
	l.drawn = l.drawn[:0]
	for i, t := range l.running {
		if room := max(1, rows-2); i == room && len(l.running) > room+1 {
			more := terminal.Cut(fmt.Sprintf("  … and %d more", len(l.running)-i), cols-1)
			b.WriteString(more + "\n")
			l.drawn = append(l.drawn, terminal.Width(more))
			break
		}
		text := Duration(l.now().Sub(t.began))
		if t.attempt > 1 {
			text += fmt.Sprintf("  attempt %d", t.attempt)
		}
		if said := terminal.Tail(t.said, cols-besideWords); said != "" {
			text += "  " + said
		}
		line := l.line(frames[l.frame%len(frames)], terminal.Cyan, t, text)
		b.WriteString(line)
		l.drawn = append(l.drawn, terminal.Width(line))
	}
	if b.Len() > 0 {
		_, _ = l.term.Write([]byte(b.String())) // a view that cannot be seen is no failure of the run
	}
}

// wipe returns what takes the drawn lines away. A terminal that has become narrower
// has broken long lines in several.
func (l *live) wipe(cols int) string {
	up := 0
	for _, w := range l.drawn {
		up += max(1, (w+cols-1)/cols)
	}
	if up == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", up)
}

// line returns one line: a sign, the task's title, and a text. Where it is too wide
// the title is cut first.
func (l *live) line(sign, colour string, t *taskView, text string) string {
	cols, _ := l.term.Size()
	room := cols - 1 - len("  ") - terminal.Width(sign) // the last column stays free
	text = terminal.Cut(text, max(room-8, 0))
	name := terminal.Cut(TaskTitle(t.namespace, t.node, t.label), max(room-len("   ")-terminal.Width(text), 1))
	return strings.TrimRight(fmt.Sprintf("  %s %s  %s", l.term.Paint(colour, sign), name, l.term.Paint(terminal.Grey, text)), " ") + "\n"
}
