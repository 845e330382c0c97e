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

// live shows a run on a terminal. Each task that has ended leaves a line. Below these lines live
// redraws the running tasks with their times.
type live struct {
	term *terminal.Terminal
	now  func() time.Time
	stop chan struct{}
	done chan struct{}

	mu      sync.Mutex
	running []*taskView // in the order in which they began
	items   []*itemsView
	drawn   []int // the widths of the lines that are drawn
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

// spin redraws until Close is called.
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

// DrawsLines reports whether a view draws lines that are valid only while the run goes on.
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
	l.running, l.items = nil, nil
	l.draw(left.String())
}

// Say prints a line above the running tasks.
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

// token adds a token to the text of its task. The next redraw shows it.
func (l *live) token(ev graph.Event) {
	at := slices.IndexFunc(l.running, func(t *taskView) bool { return t.id == ev.Task })
	if at < 0 || ev.Token.Streamed && ev.Token.Delta == "" {
		return
	}
	t := l.running[at]
	if ev.Token.Index == 0 {
		t.text = ""
	}
	t.text = terminal.Tail(t.text+cmp.Or(ev.Token.Delta, ev.Token.Text), maxText)
}

// besideText is the number of columns that stay free for the rest of the line.
const besideText = 40

// maxText is the limit of the text of a running task, in columns.
const maxText = 60

// task shows an event of a task.
func (l *live) task(ev graph.Event) {
	if ev.Phase == graph.Waiting { // its time begins when it runs
		return
	}
	t := l.taskView(ev)
	t.attempt = ev.Attempt
	l.count(ev)
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
				t.label = ev.Label // an edited call has another label
			}
			return t
		}
	}
	t := &taskView{id: ev.Task, namespace: ev.Namespace, node: ev.Node, label: ev.Label, began: l.now()}
	l.running = append(l.running, t)
	return t
}

// end removes a running task and prints its line.
func (l *live) end(t *taskView, sign, colour, text string) {
	l.drop(t)
	l.draw(l.line(sign, colour, t, text))
}

func (l *live) drop(t *taskView) {
	l.running = slices.DeleteFunc(l.running, func(r *taskView) bool { return r == t })
}

// draw erases the running tasks, prints the lines that stay, and draws the running tasks again, in
// one write.
func (l *live) draw(stays string) {
	cols, rows := l.term.Size()
	var b strings.Builder
	b.WriteString(l.wipe(cols))
	b.WriteString(stays)
	l.drawn = l.drawn[:0]
	for _, v := range l.items {
		line := l.itemsLine(v)
		b.WriteString(line)
		l.drawn = append(l.drawn, terminal.Width(line))
	}
	for i, t := range l.running {
		if room := max(1, rows-2-len(l.items)); i == room && len(l.running) > room+1 {
			more := terminal.Cut(fmt.Sprintf("  … and %d more", len(l.running)-i), cols-1)
			b.WriteString(more + "\n")
			l.drawn = append(l.drawn, terminal.Width(more))
			break
		}
		text := Duration(l.now().Sub(t.began))
		if t.attempt > 1 {
			text += fmt.Sprintf("  attempt %d", t.attempt)
		}
		if end := terminal.Tail(t.text, cols-besideText); end != "" {
			text += "  " + end
		}
		line := l.line(frames[l.frame%len(frames)], terminal.Cyan, t, text)
		b.WriteString(line)
		l.drawn = append(l.drawn, terminal.Width(line))
	}
	if b.Len() > 0 {
		_, _ = l.term.Write([]byte(b.String())) // a failed view does not fail the run
	}
}

// wipe returns the escape sequence that erases the drawn lines. A terminal that has become narrower
// shows a long line as several.
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

// line returns one line: a sign, the task's title, and a text. If the line is too wide, it cuts the
// title first.
func (l *live) line(sign, colour string, t *taskView, text string) string {
	cols, _ := l.term.Size()
	room := cols - 1 - len("  ") - terminal.Width(sign) // the last column stays free
	text = terminal.Cut(text, max(room-8, 0))
	name := terminal.Cut(TaskTitle(t.namespace, t.node, t.label), max(room-len("   ")-terminal.Width(text), 1))
	return strings.TrimRight(fmt.Sprintf("  %s %s  %s", l.term.Paint(colour, sign), name, l.term.Paint(terminal.Grey, text)), " ") + "\n"
}
