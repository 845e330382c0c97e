package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
)

// Checked is what a [Graph.Check] of a thread has found.
type Checked struct {
	CommitInfo
	// Same is true if this program made the newest commit.
	Same bool `json:"same"`
	// Lacks is what the thread needs and the graph does not have, a sentence each; none means that
	// the graph can go on with the thread.
	Lacks []string `json:"lacks,omitempty"`
	// Unchecked names the subgraphs with work left that the graph does not declare, so that only
	// a run finds out: see [Calls].
	Unchecked []string `json:"unchecked,omitempty"`
}

// Check finds out whether the graph can go on with a thread that another version of it has begun:
// its state fits the fields, its due nodes and joins are there, stored results of the open step can
// be applied, and its subgraphs have all of this too. Nothing runs and nothing is written. What
// nodes do with the state, and results of Once and Call that they read, are not checked.
func (g *Graph[S]) Check(ctx context.Context, thread string) (Checked, error) {
	return g.p.check(ctx, thread)
}

func (p *program) check(ctx context.Context, thread string) (c Checked, err error) {
	store, err := p.requireStore()
	if err != nil {
		return c, err
	}
	snap, info, err := loadCommit(ctx, store, checkpoint.Key{Thread: thread}, 0)
	c.CommitInfo = info
	if err != nil {
		return c, err
	}
	c.Same = c.Program == p.hash
	if c.Graph != p.name {
		c.lack("it is a thread of the graph %q, and this is %q", c.Graph, p.name)
		return c, nil
	}
	if c.Pin != "" && c.Pin != p.hash {
		c.lack("it is pinned to the program %s, and this is %s", c.Pin, p.hash)
	}
	if err := c.fit(p, snap, ""); err != nil {
		return c, err
	}
	if err := c.fitSubgraphs(ctx, p, store, snap); err != nil || len(c.Lacks) > 0 {
		return c, err
	}
	if err := p.rehearse(ctx, store, thread); err != nil {
		if ctx.Err() != nil || errors.Is(err, checkpoint.ErrUnavailable) || errors.Is(err, checkpoint.ErrBusy) {
			return c, err
		}
		c.lack("%s", err)
	}
	return c, nil
}

func (c *Checked) lack(format string, args ...any) {
	c.Lacks = append(c.Lacks, fmt.Sprintf(format, args...))
}

// fit notes what the commit of a namespace needs and the program does not have.
func (c *Checked) fit(p *program, snap checkpoint.Snapshot, where string) error {
	rec, err := checkpoint.ReadRecord(snap)
	if err != nil {
		return err
	}
	switch _, _, err := checkpoint.Restore(snap, p.schema); {
	case errors.Is(err, checkpoint.ErrSchema) || errors.Is(err, checkpoint.ErrNewerSchema):
		c.lack("%s%s", where, err)
	case err != nil:
		return err
	}
	var front step.Frontier
	missing, err := p.frontierOf(rec, &front)
	for _, what := range missing {
		c.lack("%s%s", where, "it waits for "+what)
	}
	if err != nil {
		c.lack("%s%s", where, err)
	}
	return nil
}

// fitSubgraphs is fit for the subgraphs in which due tasks have work left.
func (c *Checked) fitSubgraphs(ctx context.Context, p *program, store checkpoint.Store, root checkpoint.Snapshot) error {
	spaces, err := store.Namespaces(ctx, root.Thread)
	if err != nil {
		return err
	}
	type level struct {
		*program
		due []string // the ids of the tasks
	}
	rec, err := checkpoint.ReadRecord(root)
	if err != nil {
		return err
	}
	live := map[string]level{"": {p, taskIDs(rec)}}
	slices.SortFunc(spaces, func(a, b string) int { return cmp.Compare(len(a), len(b)) }) // callers first
	for _, ns := range spaces {
		if ns == "" || ns == inputs {
			continue
		}
		snap, err := store.Load(ctx, checkpoint.Key{Thread: root.Thread, Namespace: ns}, 0)
		if errors.Is(err, checkpoint.ErrNotFound) {
			continue // it is pruned
		}
		if err != nil {
			return err
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			return err
		}
		w := rec.Within
		if w == nil || !slices.Contains(live[w.Namespace].due, w.Task) {
			continue // no due task goes on with it
		}
		caller := live[w.Namespace].program
		n, ok := caller.find(w.Node)
		if !ok {
			continue // the missing node is noted
		}
		child := caller.nodes[n].child
		if child == nil || child.name != rec.Graph {
			c.Unchecked = append(c.Unchecked, fmt.Sprintf("the graph %q in node %q", rec.Graph, w.Node))
			continue
		}
		if err := c.fit(child, snap, fmt.Sprintf("in the subgraph of node %q: ", w.Node)); err != nil {
			return err
		}
		live[ns] = level{child, taskIDs(rec)}
	}
	return nil
}

// taskIDs returns the ids of the due tasks.
func taskIDs(rec *checkpoint.Record) (ids []string) {
	for _, t := range rec.Next {
		ids = append(ids, t.ID)
	}
	return ids
}

// rehearse resumes a thread up to its next step, which does not run, and writes nothing.
func (p *program) rehearse(ctx context.Context, store checkpoint.Store, thread string) error {
	own := *p
	own.cfg.Store, own.cfg.Cache, own.cfg.Timers, own.cfg.Observer = unwritten{store}, nil, nil, nil
	own.cfg.Keep, own.cfg.TTL = checkpoint.Keep{}, 0
	var stop Drain
	stop.Request("nothing runs in a check")
	o := RunOptions{Thread: thread, Lease: checkpoint.HoldOptions{Policy: checkpoint.NoLease}, Drain: &stop}
	f := own.launch(ctx, o, request{op: opResume})
	_, err := f.runInline()
	return err
}

// unwritten is a store that drops what is written. It has no leases.
type unwritten struct{ checkpoint.Store }

// Commit drops a commit.
func (unwritten) Commit(context.Context, checkpoint.Commit) error { return nil }

// Put drops pending writes.
func (unwritten) Put(context.Context, checkpoint.Pending) error { return nil }

// Delete changes nothing.
func (unwritten) Delete(context.Context, string) error { return nil }

// Codec returns the codec of the store.
func (u unwritten) Codec() checkpoint.Codec {
	if s, ok := u.Store.(interface{ Codec() checkpoint.Codec }); ok {
		return s.Codec()
	}
	return checkpoint.Codec{}
}
