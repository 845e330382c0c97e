package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/weftrun/weft/graph"
)

// Options say what a [Recorder] does with calls. The zero Options replay the file.
type Options struct {
	// Record makes the calls that are not in the file, and Close writes the file with what was
	// called. A call that is in the file is not made again.
	Record bool
	// Fresh, with Record, makes all calls, and does not read the file.
	Fresh bool
	// Failed, with Record, also writes the calls of a run that has failed, for a test that expects
	// this. Without it Close leaves the file as it is then.
	Failed bool
	// Test names the test in the file; "" leaves it out.
	Test string
	// Secrets are values that the file must not have, by their names. "[secret NAME]" replaces
	// them, in requests, answers, results and errors, also where they are encoded. Values of less
	// than 4 bytes are no secrets.
	Secrets map[string]string
}

// Recorder records or replays the calls of one run. It is safe for concurrent use.
type Recorder struct {
	path  string
	o     Options
	clean func(string) string // removes secrets

	mu     sync.Mutex
	old    []*call // of the file
	made   []*made
	differ []*found
	err    error // why the recording cannot be written
	lists  map[string]*made
	closed bool
}

// made is a call of this run.
type made struct {
	*call
	places []graph.Place
	order  int
	done   bool
	reused bool
	line   int // of the reused call in the file; 0 if there is none
}

// found is a difference, with the place of the call in the run.
type found struct {
	*Difference
	places []graph.Place
	order  int
}

// Open returns a Recorder for a file. Without [Options.Record] the file must exist. A damaged file
// is a [*FileError].
func Open(path string, o Options) (*Recorder, error) {
	r := &Recorder{path: path, o: o, clean: Redact(o.Secrets), lists: map[string]*made{}}
	if !o.Record {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	if o.Record && o.Fresh {
		return r, nil
	}
	var err error
	r.old, err = load(path)
	if err != nil || !o.Record {
		return r, err
	}
	for _, old := range r.old { // it may be older than a secret
		old.name, old.request = r.clean(old.name), old.request.replaced(r.clean)
		old.outcome = r.cleaned(old.kind, old.outcome)
	}
	r.old = slices.DeleteFunc(r.old, func(old *call) bool { return old.check() != nil }) // it is made again
	return r, nil
}

type recorderKey struct{}

// Context returns a context for the run. Calls by this package with it, or with one that is derived
// from it, are recorded or replayed.
func (r *Recorder) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// Recorded reports whether the file has a call of a node. A path of nodes leads to one in a
// subgraph: "order/pay".
func (r *Recorder) Recorded(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.old, func(c *call) bool {
		rest, ok := strings.CutPrefix(c.node, node)
		return ok && (rest == "" || rest[0] == '/' || rest[0] == '.')
	})
}

// of returns the recorder of a context, or nil.
func of(ctx context.Context) *Recorder {
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	return r
}

// without returns a context in which nothing is recorded, for what a recorded call does.
func without(ctx context.Context) context.Context {
	return context.WithValue(ctx, recorderKey{}, (*Recorder)(nil))
}

// begin begins a call. It returns the recorded call to replay; or m, for the caller to make the
// call and to end it; or an error.
func (r *Recorder) begin(ctx context.Context, kind, name string, request *value) (replay *call, m *made, err error) {
	c := &call{index: -1, kind: kind, name: r.clean(name), request: request.replaced(r.clean)}
	places := graph.Places(ctx)
	names := make([]string, len(places))
	for i, p := range places {
		names[i], c.index = p.Node, p.Index
	}
	c.node = strings.Join(names, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, errClosed
	}
	m = &made{call: c, places: places, order: len(r.made) + len(r.differ)}
	if old := r.match(c, request); old != nil {
		old.used = true
		c.outcome = old.outcome
		m.done, m.reused, m.line = true, true, old.line
		r.made = append(r.made, m)
		return old, nil, nil
	}
	if r.o.Record {
		r.made = append(r.made, m)
		return nil, m, nil
	}
	if ctx.Err() != nil { // the step has failed
		return nil, nil, context.Cause(ctx)
	}
	d := r.difference(c)
	r.differ = append(r.differ, &found{d, places, m.order})
	return nil, nil, d
}

var errClosed = errors.New("recording: a call was made after the end of the run")

// match returns the recorded call to use for c, or nil. Its request may be with the secrets of this
// environment replaced, or without.
func (r *Recorder) match(c *call, request *value) (best *call) {
	for _, old := range r.old {
		if old.used || old.node != c.node || old.kind != c.kind || old.name != c.name || !old.request.equal(c.request) && !old.request.equal(request) {
			continue
		}
		if old.index == c.index {
			return old
		}
		if best == nil {
			best = old
		}
	}
	return best
}

// end ends a call that was made. It reports whether the call can be recorded; m has the outcome
// without secrets then.
func (r *Recorder) end(m *made, o outcome) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended(m, o)
}

// ended is end for a caller that holds mu.
func (r *Recorder) ended(m *made, o outcome) bool {
	if r.closed || m.done {
		return false
	}
	m.done = true
	for _, part := range []struct {
		what string
		v    *value
	}{{"request", m.request}, {results[m.kind], o.result}, {"error", o.err}} {
		if part.v == nil {
			continue
		}
		if size := len(part.v.json(nil)); size > MaxValue {
			r.fail(&LimitError{Node: m.node, Call: m.call.String(), What: part.what, Size: size, Max: MaxValue})
			return false
		}
	}
	m.outcome = r.cleaned(m.kind, o)
	if err := m.check(); err != nil {
		r.fail(fmt.Errorf("recording: the %s cannot be recorded: %w", m.call, err))
		return false
	}
	return true
}

// cleaned returns an outcome without secrets. Vectors have none: their digits must stay.
func (r *Recorder) cleaned(kind string, o outcome) outcome {
	if kind != kindEmbedder {
		o.result = o.result.replaced(r.clean)
	}
	o.err = o.err.replaced(r.clean)
	return o
}

// drop forgets a call.
func (r *Recorder) drop(m *made) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = slices.DeleteFunc(r.made, func(other *made) bool { return other == m })
}

// refuse notes why the recording cannot be written.
func (r *Recorder) refuse(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(err)
}

// fail is refuse for a caller that holds mu.
func (r *Recorder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Stats count the calls of a run.
type Stats struct {
	Made     int `json:"recorded"` // were made
	Replayed int `json:"replayed"` // came from the file
}

// Stats returns the counts so far.
func (r *Recorder) Stats() (s Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.made {
		switch {
		case m.reused:
			s.Replayed++
		case m.done:
			s.Made++
		}
	}
	return s
}

// Close ends the run, which has failed with err, or nil. If it records, it writes the file: whole,
// or not at all. The calls are in the order of their steps and nodes. Without calls it removes
// the file. A value that is too large is a [*LimitError]; the file is not written then. A run that
// has failed is not written either, unless [Options.Failed] is set: the error wraps err.
//
// If it replays, Close returns a [*Difference] for the first call that differs from the recording.
// Calls that were in flight when the run failed need not be made again.
func (r *Recorder) Close(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.o.Record {
		return r.write(err)
	}
	return r.compared()
}

// Discard ends the run. It writes nothing.
func (r *Recorder) Discard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

func (r *Recorder) write(failed error) error {
	all := slices.DeleteFunc(slices.Clone(r.made), func(m *made) bool { return !m.done })
	if len(all) > MaxCalls {
		r.fail(&LimitError{What: "calls", Size: len(all), Max: MaxCalls})
	}
	if r.err != nil {
		return r.err
	}
	if failed != nil && !r.o.Failed {
		return fmt.Errorf("recording %s: the run has failed, so it was not recorded: %w", r.path, failed)
	}
	slices.SortStableFunc(all, func(a, b *made) int { return cmp.Or(byPlace(a.places, b.places), cmp.Compare(a.order, b.order)) })
	keepOrder(all)
	last := 0
	for _, m := range all {
		if len(m.places) > 0 {
			last = max(last, m.places[0].Step)
		}
	}
	calls := make([]*call, len(all))
	for i, m := range all {
		calls[i] = m.call
		m.optional = failed != nil && len(m.places) > 0 && m.places[0].Step == last
	}
	if len(calls) == 0 {
		if err := os.Remove(r.path); err != nil && !os.IsNotExist(err) {
			return err
		}
		return nil
	}
	data, err := encode(r.o.Test, calls)
	if err != nil {
		return err
	}
	return replace(r.path, data)
}

// keepOrder gives the calls of each place the order that they have in the file, if all of them are
// there. They may be made at the same time.
func keepOrder(all []*made) {
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && byPlace(all[from].places, all[to].places) == 0 {
			to++
		}
		if group := all[from:to]; !slices.ContainsFunc(group, func(m *made) bool { return m.line == 0 }) {
			slices.SortStableFunc(group, func(a, b *made) int { return cmp.Compare(a.line, b.line) })
		}
		from = to
	}
}
