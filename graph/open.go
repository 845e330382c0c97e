package graph

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// open opens the thread with which the run goes on, and takes over its record.
func (r *run) open() error {
	if err := r.opts.check(r.program, r.inside != nil); err != nil {
		return err
	}
	if r.cfg.Store == nil {
		r.state, r.origin = r.schema.New(), cmp.Or(r.origin, r.session.originID())
		return nil
	}
	if r.inside == nil { // a subgraph has the lease of its root
		if err := r.session.acquireLease(); err != nil {
			return err
		}
	}
	o := newOpener(r)
	ctx, end := r.observeStore(o.ctx, "load")
	o.ctx = ctx
	chain, err := o.chain()
	end(err)
	if err != nil {
		return fmt.Errorf("graph %q: %w", r.name, err)
	}
	r.journal, r.next.forks, r.next.rewind = r.newJournal(chain), o.forks, cmp.Or(o.rewind, r.next.rewind)
	if err := r.unmoved(); err != nil {
		return err
	}
	if r.inside == nil && r.ns() == "" && !r.req.replays() && chain.Record != nil {
		if err := recordAnnounced(r.thread(), r.deciderIn(chain)); err != nil {
			return fmt.Errorf("graph %q: %w", r.name, err)
		}
	}
	r.state = chain.State
	if chain.Record != nil {
		if err := r.goOnFrom(chain); err != nil {
			return err
		}
	} else if r.cfg.Pin && r.inside == nil {
		r.pin = r.hash
	}
	r.origin = cmp.Or(r.origin, r.session.originID())
	return nil
}

// unmoved checks that the newest commit is the one that the caller has seen.
func (r *run) unmoved() error {
	if r.opts.If == nil || r.inside != nil || r.driven.madeHead() {
		return nil
	}
	if newest := r.journal.Chain.Head(); newest != *r.opts.If {
		return fmt.Errorf("%w: the newest commit of thread %q is %d, not %d", ErrMoved, r.opts.Thread, newest, *r.opts.If)
	}
	return nil
}

// goOnFrom takes over the record of the commit at which a chain was opened.
func (r *run) goOnFrom(chain *checkpoint.Chain) error {
	rec := chain.Record
	r.noteBefore(chain)
	r.progress = progress{origin: rec.Origin, branch: rec.Branch, turn: rec.Turn, step: rec.Step, done: rec.Step,
		inputHash: rec.Input, taken: rec.Taken, labels: rec.Metadata}
	r.questions.answered, r.next.rewind = rec.Answered, cmp.Or(r.next.rewind, rec.Rewind)
	if (chain.Branches() || r.next.forks) && !r.req.replays() {
		r.branch = chain.Head() + 1
	}
	if r.inside != nil {
		return nil
	}
	if !chain.Branches() {
		return r.setPin(rec, chain.Pending)
	}
	// The inputs that the newest commit has taken stay taken, and its questions are closed.
	newest, pending, err := r.thread().newest(r.ns())
	if err == nil {
		err = r.setPin(newest.rec, pending)
	}
	if err == nil {
		err = r.closeOpen(newest.Seq, newest.rec, pending, nil)
	}
	if err != nil {
		return r.fail(err)
	}
	r.taken = newest.rec.Taken
	return nil
}

// opener finds the chain of commits with which a run goes on: at the newest commit of its thread,
// at an older one that the options name, or at the one from which the call of a subgraph goes on.
// It reads the thread, and changes neither it nor the run.
type opener struct {
	threadReader
	run    *run
	rewind *checkpoint.Rewind // found: of the due task that goes back to a commit of a subgraph; nil for none
	forks  bool               // found: the next commit begins a branch, also where the chain is at its head
}

func newOpener(r *run) *opener { return &opener{threadReader: r.thread(), run: r} }

// chain opens the chain with which the run goes on.
func (o *opener) chain() (*checkpoint.Chain, error) {
	r := o.run
	switch {
	case r.inside != nil:
		return o.childChain()
	case r.opts.Namespace != "" && r.ns() == "":
		return o.hostChain()
	case r.opts.At == 0:
		return o.head()
	}
	return o.named()
}

// named opens the chain at the commit that the options name. At the newest one the run goes on,
// unless it cannot: with a question that was closed without an answer, its task fails forever.
func (o *opener) named() (*checkpoint.Chain, error) {
	c, err := o.older(o.run.opts.At)
	if err != nil || c.Branches() || c.Record == nil || o.run.req.replays() {
		return c, err
	}
	sorted := sortPending(c.Pending)
	open, err := sorted.open(c.Record)
	o.forks = err == nil && len(open) == 0 && sorted.refused()
	return c, err
}

// head opens the chain at its newest commit.
func (o *opener) head() (*checkpoint.Chain, error) {
	return checkpoint.Open(o.ctx, o.store, o.run.key(), o.run.schema)
}

// older opens the chain at a commit.
func (o *opener) older(at uint64) (*checkpoint.Chain, error) {
	c, err := checkpoint.OpenAt(o.ctx, o.store, o.run.key(), o.run.schema, at)
	if errors.Is(err, checkpoint.ErrNotFound) {
		err = unknown(o.run.key(), at)
	}
	return c, err
}

// newestOf opens the chain at the newest commit that was made for a call that counts; nil means
// that there is none.
func (o *opener) newestOf(counts func(*checkpoint.Within) (bool, error)) (*checkpoint.Chain, error) {
	for c, err := range o.commits(o.run.ns(), checkpoint.Query{}) {
		if err != nil {
			return nil, err
		}
		if ok, err := counts(c.rec.Within); err != nil {
			return nil, err
		} else if ok {
			return o.older(c.Seq)
		}
	}
	return nil, nil
}

// childChain opens the chain of a subgraph.
func (o *opener) childChain() (*checkpoint.Chain, error) {
	r := o.run
	if r.call.from.at != 0 {
		if branched, err := o.hasBranched(r.ns(), r.place()); err != nil {
			return nil, err
		} else if !branched {
			o.forks = true
			return o.older(r.call.from.at)
		}
	}
	switch {
	case r.cfg.Nested == PerThread:
		return o.threadChain()
	case r.session.root.req.replays():
		return o.replayedChain()
	}
	return o.head()
}

// threadChain opens the chain of a subgraph whose state lives as long as the thread. Where no
// commit of it belongs to the thread's present branch, the chain begins again with an empty state.
func (o *opener) threadChain() (*checkpoint.Chain, error) {
	root := &o.run.session.root
	c, err := o.head()
	if err != nil || c.Record == nil || root.branch == 0 && !root.req.replays() {
		return c, err
	}
	lin, err := o.lineage(root)
	if err != nil {
		return nil, err
	}
	known := &lineages{o.threadReader, lin, map[string]lineage{}}
	if ok, err := known.include(c.Record.Within); ok || err != nil {
		return c, err
	}
	older, err := o.newestOf(known.include)
	if older == nil && err == nil {
		c.Forget()
		return c, nil
	}
	return older, err
}

// replayedChain opens the chain of a subgraph for a replay, at its newest commit on the branch of
// the thread that is replayed.
func (o *opener) replayedChain() (*checkpoint.Chain, error) {
	c, err := o.newestOf(func(w *checkpoint.Within) (bool, error) {
		return w == nil || w.Root.Branch == o.run.place().Root.Branch, nil
	})
	if c == nil && err == nil {
		return o.head()
	}
	return c, err
}

// hostChain opens the chain of the root for options that name a commit of a subgraph: before the
// step whose task runs the subgraph, or at the head if the subgraph is at that commit there.
func (o *opener) hostChain() (*checkpoint.Chain, error) {
	host, rw, err := o.hostOf(o.run.opts.Namespace, o.run.opts.At)
	if err != nil {
		return nil, err
	}
	if rw == nil {
		return o.head()
	}
	o.rewind, o.forks = rw, true
	return o.older(host)
}

// hostOf finds the task of the root in which a subgraph runs. It returns the commit at which that
// task is due, and the path from the task to the subgraph's commit number at, or its newest if at
// is 0. The Rewind is nil if the subgraph is at that commit at the head of the thread.
func (o *opener) hostOf(namespace string, at uint64) (host uint64, rw *checkpoint.Rewind, err error) {
	child, atHead, named := "", true, fmt.Sprintf("commit %d of namespace %q", at, namespace)
	for namespace != "" {
		newest, err := o.newestNumber(namespace)
		if err != nil {
			return 0, nil, err
		}
		if at == 0 {
			at = newest
		}
		rec, err := o.at(namespace, at)
		if err != nil {
			return 0, nil, err
		}
		if rec == nil {
			return 0, nil, unknown(o.key(namespace), at)
		}
		w := rec.Within
		if w == nil {
			return 0, nil, fmt.Errorf("%w: namespace %q of thread %q is that of no subgraph", ErrEdit, namespace, o.thread)
		}
		atHead, child = atHead && at == newest, cmp.Or(child, rec.Graph)
		rw = &checkpoint.Rewind{Task: w.Task, Call: w.Call, Scopes: w.Scopes, Namespace: namespace, At: at, Next: rw}
		var parent *checkpoint.Record
		if host, parent, err = o.callerOf(w); err != nil {
			return 0, nil, fmt.Errorf("%w, and %s belongs to that step", err, named)
		}
		rw.Branches = []uint64{parent.Branch}
		if before := parent.Rewind; before != nil && before.Task == w.Task {
			rw.Branches = append(rw.Branches, before.Branches...)
		}
		if namespace, at = w.Namespace, host; namespace == "" && o.run.ns() == "" && child == o.run.name && parent.Graph != o.run.name {
			return 0, nil, fmt.Errorf("%w: %s is gone back to with the graph of the thread, %q, and not with that of the subgraph", ErrEdit, named, parent.Graph)
		}
	}
	newest, err := o.newestNumber("")
	if atHead && err == nil && host == newest {
		return host, nil, nil
	}
	return host, rw, err
}

// lineage returns the lineage of a run at the root.
func (o *opener) lineage(root *run) (lineage, error) {
	lin := lineage{{Branch: root.branch}}
	if root.req.replays() { // what came after its step does not count
		lin[0].Turn, lin[0].Step = root.turn, root.step
	}
	for at := root.branch; at != 0; {
		begun, err := o.branchStart(root.ns(), at)
		if err != nil {
			return nil, err
		}
		from, err := o.branchStart(root.ns(), cmp.Or(begun.Parent, at-1))
		if err != nil {
			return nil, err
		}
		lin = append(lin, checkpoint.Position{Branch: from.Branch, Turn: from.Turn, Step: from.Step})
		at = from.Branch
	}
	return lin, nil
}
