package reports

import (
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// itemsView is the progress of a node that runs once for each item: the tasks of the Sends to it in
// one step.
type itemsView struct {
	namespace, node string
	step            int
	total           int
	began           time.Time
	ended, failed   int
	retrying        map[string]bool // by the id of the task
	handled         map[string]bool // failed, and its handler runs
}

// count updates the progress of the items of a node. It removes the progress of a node whose items
// have all ended.
func (l *live) count(ev graph.Event) {
	if ev.Sends < 2 {
		return
	}
	at := slices.IndexFunc(l.items, func(v *itemsView) bool {
		return v.namespace == ev.Namespace && v.node == ev.Node && v.step == ev.Step
	})
	if at < 0 {
		at = len(l.items)
		l.items = append(l.items, &itemsView{namespace: ev.Namespace, node: ev.Node, step: ev.Step, total: ev.Sends, began: l.now(),
			retrying: map[string]bool{}, handled: map[string]bool{}})
	}
	v := l.items[at]
	switch ev.Phase {
	case graph.Retrying:
		v.retrying[ev.Task] = true
	case graph.Handling:
		v.handled[ev.Task] = true
		v.failed++
		delete(v.retrying, ev.Task)
	case graph.Finished, graph.Failing, graph.Asking:
		v.ended++
		if ev.Phase == graph.Failing && !v.handled[ev.Task] {
			v.failed++
		}
		delete(v.retrying, ev.Task)
	}
	if v.ended >= v.total {
		l.items = slices.Delete(l.items, at, at+1)
	}
}

// itemsLine returns the line of the progress: "score  17 of 60, 2 failed, 3 retrying".
func (l *live) itemsLine(v *itemsView) string {
	text := fmt.Sprintf("%d of %d", v.ended, v.total)
	if v.failed > 0 {
		text += fmt.Sprintf(", %d failed", v.failed)
	}
	if len(v.retrying) > 0 {
		text += fmt.Sprintf(", %d retrying", len(v.retrying))
	}
	text += "  " + Duration(l.now().Sub(v.began))
	return l.line(frames[l.frame%len(frames)], terminal.Cyan, &taskView{namespace: v.namespace, node: v.node}, text)
}
