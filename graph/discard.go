package graph

import (
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
)

// discards returns a decision for each question that is open with the entries before and not with
// the entries after, beside the commit that rec describes.
func (r *run) discards(rec *checkpoint.Record, before, after []checkpoint.Entry) (all []Decision, err error) {
	open, err := sortPending(before).open(rec)
	if err != nil {
		return nil, err
	}
	left, err := sortPending(after).open(rec)
	if err != nil {
		return nil, err
	}
	for _, in := range open {
		if in.Kind != "question" || slices.ContainsFunc(left, func(l Interrupt) bool { return l.ID == in.ID }) {
			continue
		}
		d := r.decisionOn(in, DecisionDiscard)
		if in.expired(d.Time) {
			d.expire()
		}
		all = append(all, d)
	}
	return all, nil
}

// closeOpen lets the next commit record the questions that were open with the entries before, and
// are not with the entries after, beside the commit number at. Those of a subgraph are listed at the
// root.
func (r *run) closeOpen(at uint64, rec *checkpoint.Record, before, after []checkpoint.Entry) error {
	if r.inside != nil || r.ns != "" || r.req.replays() {
		return nil
	}
	closed, err := r.discards(rec, before, after)
	for i := range closed {
		closed[i].Checkpoint = at
		if at != r.journal.Chain.Parent() {
			closed[i].Branch = rec.Branch
		}
	}
	r.closed = append(r.closed, closed...)
	return err
}

// withoutTask returns the entries but those of a task.
func withoutTask(entries []checkpoint.Entry, task string) []checkpoint.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e checkpoint.Entry) bool { return e.Task == task })
}

// closeAtRoot lets the next commit of c, which begins a branch for an edit of a subgraph, record the
// questions that the branch closes, and returns them: all of the newest commit, or, where the branch
// begins there, those of the task that goes back.
func (r *run) closeAtRoot(c *checkpoint.Chain, rw *checkpoint.Rewind) ([]Decision, error) {
	rec, beside := c.Record, c.Pending
	after := withoutTask(beside, rw.Task)
	if c.Branches() {
		var err error
		if _, rec, beside, err = r.newestOf(checkpoint.Key{Thread: r.opts.Thread}); err != nil {
			return nil, r.fail(err)
		}
		after = nil
	}
	root := &run{program: r.program, req: r.req, ctx: r.ctx, opts: r.opts, session: r.session, journal: &journal.Journal{Chain: c}, branch: c.Head() + 1}
	if err := root.closeOpen(c.Head(), rec, beside, after); err != nil {
		return nil, err
	}
	return root.closed, root.decideIn(root.closed...)
}
