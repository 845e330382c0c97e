package wire

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/weftrun/weft/graph"
)

// commit holds a commit until its state comes, or records it if the state has come.
func (r *Recorder) commit(out *[]Event, g *recordedGraph, ev graph.Event) error {
	if ev.Commit == nil {
		return nil
	}
	if g.held != nil {
		if err := r.state(out, g, ev.Time, nil, true); err != nil {
			return err
		}
	}
	info := *ev.Commit
	g.head = 0
	info.Namespace = ev.Namespace
	g.held = &info
	if g.early != nil && g.earlyStep == info.Step {
		state := g.early
		g.early = nil
		return r.state(out, g, ev.Time, state, true)
	}
	return nil
}

// values records a state: with the commit that is held, or alone.
func (r *Recorder) values(out *[]Event, g *recordedGraph, ev graph.Event) error {
	state, err := stateJSON(ev)
	if err != nil {
		return err
	}
	if g.held != nil {
		return r.state(out, g, ev.Time, state, false)
	}
	number := g.head
	g.head = 0
	if s, ok := g.view.Commit(number); ok && number != 0 {
		s.State = state
		shown, err := g.view.State(s, 1, nil)
		if err != nil {
			return err
		}
		r.shown(out, g, ev.Time, s.Info, shown, 1, false)
		g.last, g.before = s, Snapshot{}
		return nil
	}
	shown, err := g.view.Values(state)
	if err != nil {
		return err
	}
	g.early, g.earlyStep = state, ev.Step
	r.add(out, ev.Time, ev.Namespace, "", KindValues, 0, Values{Values: shown, Messages: g.view.Messages})
	return nil
}

// state records the commit that is held, with its state: for an input the two phases. quiet is true
// if the values were recorded before.
func (r *Recorder) state(out *[]Event, g *recordedGraph, at time.Time, state json.RawMessage, quiet bool) error {
	info := *g.held
	g.held = nil
	s := Snapshot{Info: info, State: state}
	shown, err := g.view.States(s, nil)
	if err != nil {
		return err
	}
	slices.Reverse(shown)
	for i, st := range shown {
		r.shown(out, g, at, info, st, 2-len(shown)+i, quiet)
	}
	g.last, g.before = s, Snapshot{}
	return nil
}

// shown records the state at a checkpoint.
func (r *Recorder) shown(out *[]Event, g *recordedGraph, at time.Time, info graph.CommitInfo, st ThreadState, phase int, quiet bool) {
	_ = json.Unmarshal(st.Metadata["step"], &g.step)
	data := StateAt{Step: g.step, Source: source(info, phase), Phase: phase, Metadata: st.Metadata, Next: st.Next, Tasks: st.Tasks,
		Values: st.Values, Messages: g.view.Messages, Quiet: quiet, CreatedAt: st.CreatedAt, Checkpoint: *st.Checkpoint.CheckpointID}
	if p := st.ParentCheckpoint; p != nil {
		data.Parent = *p.CheckpointID
	}
	r.add(out, at, info.Namespace, "", KindState, 0, data)
}

// flush records the commits that are held.
func (r *Recorder) flush(at time.Time) (out []Event) {
	var held []string
	for ns, g := range r.graphs {
		if g.held != nil {
			held = append(held, ns)
		}
	}
	slices.Sort(held)
	for _, ns := range held {
		_ = r.state(&out, r.graphs[ns], at, r.graphs[ns].last.State, true) // the state was shown before
	}
	return out
}

// stateJSON returns the state of an event as JSON.
func stateJSON(ev graph.Event) (json.RawMessage, error) {
	ev.Payload, ev.Mode = nil, graph.Values
	data, err := json.Marshal(ev)
	if err != nil {
		return nil, err
	}
	var j struct {
		State json.RawMessage `json:"state"`
	}
	err = json.Unmarshal(data, &j)
	return j.State, err
}
