package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// Durability says when the steps of a run are committed: what a crash can cost. Whatever
// it is, a thread is always as it was after some step, and a run that has returned
// is stored.
type Durability uint8

const (
	// Sync commits each step before the next one starts: a crash costs the step
	// that runs. It is the default.
	Sync Durability = iota
	// Async commits each step beside the next one, in order and one at a time: a crash
	// costs the step that runs and the one before it. A commit that fails stops
	// the run at once.
	Async
	// Exit commits when the run ends, pauses or fails, or when something of a step must
	// be stored by itself, such as the result of a Once: a crash costs all since then, and
	// the input with it. How long a node takes makes no difference.
	Exit
)

func (d Durability) String() string {
	if int(d) < len(durabilities) {
		return durabilities[d]
	}
	return fmt.Sprintf("Durability(%d)", uint8(d))
}

var durabilities = [...]string{"sync", "async", "exit"}

// turn is a lock that is held while the store is called. It is not a sync.Mutex, which must
// not be held while others wait for something slow: in simulated time they would wait for ever.
type turn chan struct{}

func (t turn) Lock()   { t <- struct{}{} }
func (t turn) Unlock() { <-t }

// flight is a commit on its way to the store.
type flight struct {
	seq  uint64
	done chan struct{} // closed when err is set
	err  error
}

// commit brings what a step ended with to the store, as soon as the run's durability
// asks for it.
func (r *run) commit(source checkpoint.Source) error {
	r.tries = 0
	if r.chain == nil {
		return r.fits()
	}
	if r.source = source; source != checkpoint.Input {
		r.ran, r.trace = r.whatRan(), append(r.trace, r.traced()...)
	}
	if r.opts.Durability == Exit && (!r.front.Empty() || r.dispensable()) {
		r.unsaved = true
		return nil
	}
	r.storing.Lock()
	defer r.storing.Unlock()
	return r.save()
}

// dispensable reports whether nobody will ever ask for the end of this run, if its
// parent's task finishes: a subgraph that is done is part of it, unless it lives on.
func (r *run) dispensable() bool { return r.inside != nil && r.cfg.Nested != PerThread }

// save commits what the run has come to. Whoever calls it holds r.storing. A subgraph
// stands on what its parent has come to, so that is stored first.
func (r *run) save(beside ...checkpoint.Entry) error {
	if r.inside != nil {
		if err := r.inside.run.store(); err != nil {
			return err
		}
	}
	rec, err := r.record()
	if err != nil {
		return err
	}
	closed := r.closed
	if r.closed = nil; len(closed) > 0 {
		if err := r.decideIn(closed...); err != nil {
			return err
		}
	}
	p, err := r.chain.Prepare(r.commitID(r.chain.Head()+1), rec, r.state, r.changed, beside...)
	if err != nil {
		return r.fail(err)
	}
	if err := r.fitsIn(p.Bytes()); err != nil {
		return err
	}
	if first := r.first; first != nil {
		r.first = nil
		if err := first(); err != nil {
			return r.fail(err)
		}
	}
	r.pruned()
	if err := r.land(); err != nil {
		return r.heal(err) // with this step in it
	}
	r.chain.Advance(p)
	r.chain.Pending, r.forks = p.Beside(), false
	clear(r.changed)
	r.healed = false
	if r.trace != nil {
		r.traces = append(r.traces, traced{p.Seq(), r.trace})
	}
	r.unsaved, r.wrote, r.trace = false, nil, nil
	r.flight = &flight{seq: p.Seq(), done: make(chan struct{})}
	if r.opts.Durability == Async && !r.front.Empty() && len(closed) == 0 {
		go r.send(r.flight, p)
		return nil
	}
	r.send(r.flight, p)
	if err := r.heal(r.land()); err != nil {
		return err
	}
	for _, d := range closed {
		r.emitDecision(d)
	}
	return nil
}

// send stores p. If that fails the run must not go on.
func (r *run) send(f *flight, p *checkpoint.Prepared) {
	defer close(f.done)
	if f.err = r.lastingly(p.Store); f.err != nil && r.opts.Durability == Async && !isRegression(f.err) {
		r.cancel(f.err)
	}
}

// land waits for the commit that is on its way, if one is. A commit that failed fails
// everything after it. Whoever calls it holds r.storing.
func (r *run) land() error {
	f := r.flight
	if f == nil {
		return nil
	}
	<-f.done
	if f.err != nil {
		return r.fail(f.err)
	}
	r.flight, r.stored = nil, f.seq
	r.emitCommit(f.seq)
	r.prune(f.seq)
	return nil
}

// put stores entries beside the head, after everything that comes before them. It may
// be called by tasks.
func (r *run) put(entries []checkpoint.Entry) error {
	r.storing.Lock()
	defer r.storing.Unlock()
	if err := r.catchUp(); err != nil {
		return err
	}
	store := func(ctx context.Context) error { return r.chain.Put(ctx, entries) }
	err := r.lastingly(store)
	if isRegression(err) {
		if err = r.heal(err); err == nil {
			err = r.lastingly(store)
		}
	}
	if err != nil {
		return r.fail(err)
	}
	r.chain.Pending = beside(r.chain.Pending, entries)
	return nil
}

// settleStore makes sure that what the run has come to is stored before it returns; of
// a subgraph that is done and dispensable, not before its parent's task has failed.
func (r *run) settleStore(status Status) error {
	switch {
	case r.chain == nil:
		return nil
	case status == Done && r.unsaved && r.dispensable():
		r.inside.mayNeed(r)
		return nil
	}
	return r.store()
}

// mayNeed remembers a subgraph of t that is done and not stored.
func (t *task) mayNeed(child *run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unsaved = append(t.unsaved, child)
}

// saveChildren stores the subgraphs that are done, because t is not.
func (t *task) saveChildren() error {
	t.mu.Lock()
	unsaved := t.unsaved
	t.unsaved = nil
	t.mu.Unlock()
	var errs []error
	for _, child := range unsaved {
		errs = append(errs, child.store())
	}
	return errors.Join(errs...)
}

// store brings everything to the store that is not there yet.
func (r *run) store() error {
	r.storing.Lock()
	defer r.storing.Unlock()
	return r.catchUp()
}

// catchUp stores what is not stored yet. Whoever calls it holds r.storing.
func (r *run) catchUp() error {
	if r.unsaved {
		if err := r.save(); err != nil {
			return err
		}
	}
	return r.heal(r.land())
}

// record describes where the run stands, between two steps or, while one runs, before
// it.
func (r *run) record() (*checkpoint.Record, error) {
	rec := &checkpoint.Record{
		Graph: r.name, Program: r.hash, Run: r.session.id, Origin: r.origin, Time: r.cfg.Now().UTC(), Source: r.source,
		Branch: r.branch, Healed: r.healed, Turn: r.turn, Step: r.done, Ran: r.ran, Input: r.input, Taken: r.taken, Answered: r.answered,
		Metadata: r.opts.Metadata, Within: r.nested.within(), Trace: r.trace,
	}
	err := r.recordFrontier(rec)
	if r.rewind != nil && isDue(rec, r.rewind.Task) {
		rec.Rewind = r.rewind
	}
	return rec, err
}

// whatRan describes what the tasks of the step did, for its commit.
func (r *run) whatRan() []checkpoint.Ran {
	ran := make([]checkpoint.Ran, len(r.outs))
	for i, o := range r.outs {
		if o.Node >= 0 {
			ran[i].Node = r.nodes[o.Node].name
		}
		if i < len(r.tasks) {
			ran[i].Wrote, ran[i].Ways = wrote(r.schema, r.tasks[i].view), r.tasks[i].ways()
		}
	}
	return ran
}

// wrote names the fields that were written in a view.
func wrote(s *state.Schema, v state.View) (names []string) {
	for i, c := range v.Channels {
		if c.Wrote() {
			names = append(names, s.Fields()[i].Name)
		}
	}
	return names
}

// fits checks the size of a state that is not stored.
func (r *run) fits() error {
	if r.cfg.MaxState == 0 {
		return nil
	}
	data, err := r.schema.Encode(r.state)
	if err != nil {
		return r.fail(err)
	}
	return r.fitsIn(len(data))
}

func (r *run) fitsIn(bytes int) error {
	if r.cfg.MaxState == 0 || bytes <= r.cfg.MaxState {
		return nil
	}
	return r.fail(fmt.Errorf("%w: %d bytes, the limit is %d", ErrStateSize, bytes, r.cfg.MaxState))
}
