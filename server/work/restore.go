package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

// mostRestored is how many commits a restore reads in a namespace. A process that dies has
// published all but the last of its batches, so it leaves far fewer.
const mostRestored = 1000

// A process publishes the events of a run beside the run, so its last batch dies with it. The next
// attempt adds the events of the commits that the log does not have: the tasks of the step, what
// they wrote, the commit and the state. What nodes emitted meanwhile is lost.
type restorer struct {
	store  checkpoint.Store
	graph  graph.Untyped
	thread string
	run    string
	seen   logged
}

// logged is what the log has of a run.
type logged struct {
	cut     bool // its first batches are gone
	newest  map[string]uint64
	commits map[atCommit]int // the step
	values  map[atStep]bool
	started map[atTask]bool
	updates map[atTask]bool
}

type atCommit struct {
	namespace string
	number    uint64
}

type atStep struct {
	namespace string
	step      int
}

type atTask struct{ namespace, task string }

// readLogged reads what the log of a thread has of a run. Its events are behind a position.
func readLogged(ctx context.Context, log eventlog.Log, thread, run string, behind uint64) (l logged, err error) {
	l = logged{newest: map[string]uint64{}, commits: map[atCommit]int{}, values: map[atStep]bool{}, started: map[atTask]bool{}, updates: map[atTask]bool{}}
	last, err := log.Last(ctx, thread)
	if last < behind { // the log has begun anew
		behind = 0
	}
	if err != nil || last == behind {
		return l, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	for b, err := range log.Follow(ctx, thread, behind) {
		var missed *topic.MissedError
		switch {
		case errors.As(err, &missed):
			if l.cut = true; missed.Count == 0 || missed.From+missed.Count > last {
				return l, nil
			}
			continue
		case err != nil:
			return l, err
		}
		if b.Run == run {
			for _, ev := range b.Events {
				l.add(ev)
			}
		}
		if b.Position >= last {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return l, fmt.Errorf("the log was not read in %v: %w", readTime, err)
	}
	for c, step := range l.commits { // a commit without its state is added again
		if l.values[atStep{c.namespace, step}] {
			l.newest[c.namespace] = max(l.newest[c.namespace], c.number)
		}
	}
	return l, nil
}

func (l *logged) add(ev graph.Event) {
	switch ev.Mode {
	case graph.Checkpoints:
		l.commits[atCommit{ev.Namespace, ev.Checkpoint}] = ev.Step
	case graph.Values:
		l.values[atStep{ev.Namespace, ev.Step}] = true
	case graph.Updates:
		l.updates[atTask{ev.Namespace, ev.Task}] = true
	case graph.Tasks:
		if ev.Phase == graph.Started {
			l.started[atTask{ev.Namespace, ev.Task}] = true
		}
	}
}

// restored is what a log lacks.
type restored struct {
	events []graph.Event
	// before is the commit before the first that is missing in the thread's own namespace; nil if
	// there is none, or no such commit is missing.
	before *graph.CommitInfo
	begins bool // a commit of the thread's own namespace is missing
}

// restore returns the events of the commits of the run that the log lacks, in the order of the
// commits.
func (r *restorer) restore(ctx context.Context) (out restored, err error) {
	type missing struct {
		info   graph.CommitInfo
		events []graph.Event
	}
	inner, err := graph.Namespaces(ctx, r.store, r.thread)
	if err != nil {
		return out, err
	}
	var all []missing
	for _, ns := range append([]string{""}, inner...) {
		g := graphIn(r.graph, ns)
		if g == nil || r.seen.cut && r.seen.newest[ns] == 0 { // what is missing cannot be known
			continue
		}
		infos, err := r.missing(ctx, ns)
		if err != nil {
			return out, err
		}
		thread := g.Thread(r.thread).In(ns)
		for i, info := range infos {
			before, err := stateBefore(ctx, thread, info)
			if err != nil {
				return out, err
			}
			if i == 0 && ns == "" {
				if out.begins = true; before.info.Checkpoint != 0 {
					out.before = &before.info
				}
			}
			events, err := r.events(ctx, thread, kindsOf(g), before, info)
			if err != nil {
				return out, err
			}
			all = append(all, missing{info, events})
		}
	}
	slices.SortStableFunc(all, func(a, b missing) int {
		return cmp.Or(a.info.Time.Compare(b.info.Time), cmp.Compare(nesting(a.info), nesting(b.info)))
	})
	for _, m := range all {
		out.events = append(out.events, m.events...)
	}
	return out, nil
}

// nesting orders commits of one time: the input of a graph is before that of its subgraphs, and a
// step after those of the subgraphs in it.
func nesting(info graph.CommitInfo) int {
	depth := strings.Count(info.Namespace, "|") + min(1, len(info.Namespace))
	if info.Source == checkpoint.Input {
		return depth - 1000
	}
	return -depth
}

// graphIn returns the graph that runs in a namespace; nil if no node names it.
func graphIn(g graph.Untyped, namespace string) graph.Untyped {
	if namespace == "" {
		return g
	}
	for part := range strings.SplitSeq(namespace, "|") {
		node, _, _ := strings.Cut(part, ":")
		node, _, _ = strings.Cut(node, "/")
		if g = g.Children()[node]; g == nil {
			return nil
		}
	}
	return g
}

// missing returns the commits of the run in a namespace that the log lacks, the oldest first.
func (r *restorer) missing(ctx context.Context, ns string) (list []graph.CommitInfo, err error) {
	key := checkpoint.Key{Thread: r.thread, Namespace: ns}
	q := checkpoint.Query{Where: map[string]string{"run": r.run}, Limit: mostRestored}
	for info, err := range graph.History(ctx, r.store, key, q) {
		if err != nil {
			return nil, err
		}
		if info.Checkpoint <= r.seen.newest[ns] {
			break
		}
		list = append(list, info)
	}
	slices.Reverse(list)
	return list, nil
}

// stateAt is a commit with its state.
type stateAt struct {
	info  graph.CommitInfo // without a Checkpoint for the beginning of a thread
	state []byte
}

// stateBefore returns the commit that another one goes on from.
func stateBefore(ctx context.Context, thread graph.StoredThread[rawJSON], info graph.CommitInfo) (s stateAt, err error) {
	number := cmp.Or(info.Parent, info.Checkpoint-1)
	if number == 0 {
		return s, nil
	}
	s.state, s.info, err = thread.State(ctx, number)
	if errors.Is(err, graph.ErrUnknownThread) || errors.Is(err, checkpoint.ErrNotFound) { // it was dropped
		return stateAt{}, nil
	}
	return s, err
}

// events returns the events of a commit in the order in which a run sends them.
func (r *restorer) events(ctx context.Context, thread graph.StoredThread[rawJSON], kinds map[string]string, before stateAt, info graph.CommitInfo) (out []graph.Event, err error) {
	state, _, err := thread.State(ctx, info.Checkpoint)
	if err != nil {
		return nil, err
	}
	ns := info.Namespace
	send := func(ev graph.Event) {
		ev.Namespace, ev.Step, ev.Time = ns, info.Step, info.Time
		out = append(out, ev)
	}
	tasks := tasksOf(before.info, info)
	for _, t := range tasks {
		if !r.seen.started[atTask{ns, t.Task}] && !r.seen.updates[atTask{ns, t.Task}] {
			send(graph.Event{Mode: graph.Tasks, Phase: graph.Started, Node: t.Node, Task: t.Task, Sends: t.sends, Attempt: 1})
		}
	}
	send(graph.Event{Mode: graph.Checkpoints, Checkpoint: info.Checkpoint, Commit: &info})
	for i, writes := range writesOf(kinds, before.state, state, tasks) {
		if t := tasks[i]; !r.seen.updates[atTask{ns, t.Task}] {
			send(graph.Event{Mode: graph.Updates, Node: t.Node, Task: t.Task, Writes: writes})
		}
	}
	send(graph.Event{Mode: graph.Values, State: state})
	return out, nil
}

// ranTask is a task of a step that was committed.
type ranTask struct {
	graph.DueTask
	sends int // how many Sends the step has to its node; 0 for no Send
	wrote []string
}

// tasksOf returns the tasks that led from one commit to the next; none if the commit is no step.
func tasksOf(before, info graph.CommitInfo) (tasks []ranTask) {
	if info.Source != checkpoint.Step || len(info.Ran) != len(before.Due) {
		return nil
	}
	for i, d := range before.Due {
		if info.Ran[i].Node != d.Node {
			return nil
		}
		t := ranTask{DueTask: d, wrote: info.Ran[i].Wrote}
		if d.Send {
			for _, other := range before.Due {
				if other.Send && other.Node == d.Node {
					t.sends++
				}
			}
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// restoreTime bounds a restore.
const restoreTime = 30 * time.Second
