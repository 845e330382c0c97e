package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
)

// follower is a reader of a run, which reads the log of the thread.
type follower struct {
	run    *run
	reader graph.Reader
	yield  func(graph.Event, error) bool
	seq    uint64
	at     uint64 // the newest commit
}

// lateTime is how long a reader waits for the last events of a run that has ended.
const lateTime = 2 * time.Second

// follow yields the events of the run up to its last. It returns false if the reader has left.
func (f *follower) follow() bool {
	r := f.run
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	defer cancel()
	go func() {
		select {
		case <-r.finished:
			if r.left { // the run goes on, and with it the events
				cancel()
				return
			}
			timer := time.NewTimer(lateTime)
			defer timer.Stop()
			select {
			case <-timer.C:
				cancel()
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}()
	for b, err := range r.client.log().Follow(ctx, r.o.Thread, r.from) {
		var missed *topic.MissedError
		switch {
		case errors.As(err, &missed):
			if !f.send(graph.Event{Mode: graph.Missed, Missed: missed.Count}) {
				return false
			}
			continue
		case err != nil:
			return true // the last event comes all the same
		case b.Run != r.id:
			continue
		}
		for _, ev := range b.Events {
			if !f.pass(ev) {
				return false
			}
		}
		if b.End {
			return true
		}
	}
	return true
}

// pass yields an event if the reader takes it. A large state is read from the store.
func (f *follower) pass(ev graph.Event) bool {
	if ev.Mode == graph.Checkpoints && ev.Namespace == "" {
		f.at = ev.Checkpoint
	}
	if !f.takes(ev.Mode, ev.Namespace) {
		return true
	}
	if ev.Mode == graph.Values && ev.State == nil {
		if ev.Namespace != "" { // the graph of a subgraph is not known here
			return true
		}
		state, _, err := f.run.client.Thread(f.run.o.Thread).State(f.run.ctx, f.at)
		if err != nil { // it was pruned; a later one follows
			return true
		}
		ev.State = state
	}
	return f.send(ev)
}

// takes reports whether the reader takes events of a mode from a namespace.
func (f *follower) takes(m graph.Mode, ns string) bool {
	depth := 1
	if ns != "" {
		depth += strings.Count(ns, "/") + 1
	}
	return cmp.Or(f.reader.Modes, graph.Updates)&m != 0 && (f.reader.Depth == 0 || depth <= f.reader.Depth)
}

// send yields an event with the next number.
func (f *follower) send(ev graph.Event) bool {
	f.seq++
	ev.Seq = f.seq
	return f.yield(ev, nil)
}

// end yields the last event, or the error of the run.
func (f *follower) end() {
	res, err := f.run.Wait()
	if err != nil {
		f.yield(graph.Event{}, err)
		return
	}
	f.send(graph.Event{Mode: graph.Ended, Time: time.Now(), Status: res.Status, State: json.RawMessage(res.State), Interrupts: res.Interrupts,
		Drained: res.Drained, Starved: res.Starved, Steps: res.Steps, Checkpoint: res.Checkpoint})
}
