package checkpoint

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Keep selects the commits of a thread that remain after a Prune. A commit remains when any field
// selects it. The newest commit of each namespace always remains, so the zero Keep keeps only
// these.
type Keep struct {
	Last   int                 // the number of newest commits of each namespace
	For    time.Duration       // the greatest age of a commit, by its Record.Time
	Runs   []string            // the runs whose commits remain
	Marked func(Snapshot) bool // reports whether a commit remains; it gets no blobs

	// Now is the clock for For; nil means time.Now.
	Now func() time.Time
	// Fence is the lease under which to prune; "" for a thread without a lease.
	Fence string
}

// Prune drops the commits of a thread that keep does not select, with the blobs that only they
// need. It also drops the namespaces of subgraphs whose tasks are due after no remaining commit.
// Every remaining commit can be loaded as before. After a conflict with another writer Prune tries
// again. It drops in small atomic steps: when it fails, some commits are dropped and the thread is
// intact. An unknown thread is no error.
func Prune(ctx context.Context, store Store, thread string, keep Keep) error {
	d, ok := store.(Dropper)
	if !ok {
		return fmt.Errorf("%w: thread %q", ErrNoDrop, thread)
	}
	spaces, err := store.Namespaces(ctx, thread)
	if err != nil {
		return err
	}
	// A subgraph's namespace is longer than that of the graph that runs it.
	slices.SortStableFunc(spaces, func(a, b string) int { return len(a) - len(b) })
	p := pruner{store: store, dropper: d, keep: keep, alive: map[string]bool{}}
	for _, ns := range spaces {
		if !hasHistory(ns) {
			continue
		}
		if err := p.chain(ctx, Key{thread, ns}); err != nil {
			return err
		}
	}
	_, err = CollectBlobs(ctx, store, thread)
	return err
}

// hasHistory reports whether the commits of a namespace are a history. Those of others are queued
// inputs and similar data.
func hasHistory(namespace string) bool { return !strings.HasPrefix(namespace, "+") }

// dropAtOnce is how many commits and blobs one Drop removes, approximately.
const dropAtOnce = 256

type pruner struct {
	store   Store
	dropper Dropper
	keep    Keep
	alive   map[string]bool // the ids of tasks that are due after a remaining commit
}

// chain prunes one namespace. It tries again after each conflict, until ctx ends: a conflict
// means that another writer has made progress.
func (p *pruner) chain(ctx context.Context, k Key) error {
	for {
		err := p.try(ctx, k)
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

func (p *pruner) try(ctx context.Context, k Key) error {
	list, err := past(ctx, p.store, k)
	if err != nil || len(list) == 0 {
		return err
	}
	head := list[len(list)-1].Seq
	if task, ok := subgraphOf(k.Namespace); ok && !p.alive[task] {
		return p.dropper.Drop(ctx, Drop{Key: k, Head: head, All: true, Fence: p.keep.Fence})
	}
	stays := make([]bool, len(list))
	for i, snap := range list {
		rec, err := ReadRecord(snap)
		if err != nil {
			return err
		}
		if stays[i] = i >= len(list)-max(1, p.keep.Last) || p.keep.wants(snap, rec); stays[i] {
			p.note(rec)
		}
	}
	for _, d := range drops(list, stays) {
		d.Key, d.Head, d.Fence = k, head, p.keep.Fence
		if err := p.dropper.Drop(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// note remembers the tasks that are due after a remaining commit.
func (p *pruner) note(rec *Record) {
	for _, t := range rec.Next {
		p.alive[t.ID] = true
	}
}

func (k *Keep) wants(snap Snapshot, rec *Record) bool {
	now := time.Now
	if k.Now != nil {
		now = k.Now
	}
	return k.For > 0 && now().Sub(rec.Time) <= k.For || slices.Contains(k.Runs, rec.Run) || k.Marked != nil && k.Marked(snap)
}

// subgraphOf returns the id of the task whose subgraph has a namespace. The namespace of a subgraph
// is the namespace of the parent graph, "|", the name of the node, ":" and the id. For a later
// subgraph of the task "#" and a number follow, and on a branch of the thread "@" and a number. An
// id has 32 hex digits; a namespace that ends otherwise is not that of a subgraph.
func subgraphOf(namespace string) (task string, ok bool) {
	task = namespace[strings.LastIndexByte(namespace, ':')+1:]
	task, _, _ = strings.Cut(task, "@")
	task, _, _ = strings.Cut(task, "#")
	id, err := hex.DecodeString(task)
	return task, err == nil && len(id) == 16 && len(task) < len(namespace)
}

// drops returns the Drops that remove the commits of list that do not stay; list is in order,
// oldest first. If the Drops are made in order, each leaves a chain with only complete commits.
func drops(list []Snapshot, stays []bool) (all []Drop) {
	need := map[blobRun]int{} // the pieces of a run that commits need which stay or are dropped later
	for i, snap := range list {
		if stays[i] {
			needs(need, snap.Refs)
		}
	}
	var d Drop
	for i, snap := range slices.Backward(list) {
		if stays[i] {
			continue
		}
		d.Commits = append(d.Commits, snap.Seq)
		for _, r := range snap.Refs {
			for n := need[blobRun{r.Field, r.Base}]; n <= r.Chunks; n++ {
				d.Blobs = append(d.Blobs, Blob{Field: r.Field, Base: r.Base, Chunk: n})
			}
		}
		needs(need, snap.Refs)
		if len(d.Commits)+len(d.Blobs) >= dropAtOnce {
			all, d = append(all, d), Drop{}
		}
	}
	if len(d.Commits) > 0 {
		all = append(all, d)
	}
	slices.Reverse(all) // oldest first, so no remaining commit needs a dropped blob
	return all
}

func needs(need map[blobRun]int, refs []Ref) {
	for _, r := range refs {
		run := blobRun{r.Field, r.Base}
		need[run] = max(need[run], r.Chunks+1)
	}
}

// DeleteRuns deletes the commits of runs from a thread, with their pending entries and decisions.
// When it deletes the newest commit of a namespace, it stores the newest remaining one again, as a
// new commit with a new number. When no commit of a namespace remains, the namespace is deleted;
// for the root, the thread is. Unknown runs are no error.
//
// A run that begins meanwhile stays, unless it begins just before the thread is deleted: the store
// cannot check and delete in one call. A lease that is not taken over excludes such runs: see
// DeleteRunsHeld.
func DeleteRuns(ctx context.Context, store Store, thread string, runs ...string) error {
	return DeleteRunsHeld(ctx, store, thread, "", runs...)
}

// DeleteRunsHeld is DeleteRuns on a thread that the caller holds, by the fence of its lease. If it
// deletes the thread, the lease has ended.
func DeleteRunsHeld(ctx context.Context, store Store, thread, fence string, runs ...string) error {
	d, ok := store.(Dropper)
	if !ok {
		return fmt.Errorf("%w: thread %q", ErrNoDrop, thread)
	}
	if len(runs) == 0 {
		return nil
	}
	spaces, err := store.Namespaces(ctx, thread)
	if err != nil {
		return err
	}
	for _, ns := range slices.Backward(spaces) { // the root last
		for again := true; again; {
			err := deleteRuns(ctx, store, d, Key{thread, ns}, fence, runs)
			if again = errors.Is(err, ErrConflict); err != nil && !again {
				return err
			}
		}
	}
	return nil
}

func deleteRuns(ctx context.Context, store Store, dropper Dropper, k Key, fence string, runs []string) error {
	list, err := past(ctx, store, k)
	if err != nil {
		return err
	}
	stays, last, found := make([]bool, len(list)), -1, false
	for i, snap := range list {
		rec, err := ReadRecord(snap)
		if err != nil {
			return err
		}
		if stays[i] = !slices.Contains(runs, rec.Run); stays[i] {
			last = i
		} else {
			found = true
		}
	}
	switch {
	case !found:
		return nil
	case last < 0 && k.Namespace == "":
		// Delete checks neither a head nor a fence, so check both just before. A writer that comes
		// between the two calls is still deleted.
		if err := store.Put(ctx, Pending{Key: k, Head: list[len(list)-1].Seq, Fence: fence}); err != nil {
			return err
		}
		return store.Delete(ctx, k.Thread)
	case last < 0:
		return dropper.Drop(ctx, Drop{Key: k, Head: list[len(list)-1].Seq, All: true, Fence: fence})
	}
	head := list[len(list)-1].Seq
	if last < len(list)-1 {
		if head, err = goBack(ctx, store, list[last], list[len(list)-1], fence); err != nil {
			return err
		}
	}
	for _, d := range drops(list, stays) {
		d.Key, d.Head, d.Fence = k, head, fence
		if err := dropper.Drop(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// goBack commits an older state again as the head, after the newest commit.
func goBack(ctx context.Context, store Store, old, newest Snapshot, fence string) (uint64, error) {
	rec, err := ReadRecord(old)
	if err != nil {
		return 0, err
	}
	rec.Parent = old.Seq
	whole, err := store.Load(ctx, old.Key, old.Seq)
	if err == nil {
		err = verifyBlobs(whole)
	}
	if err != nil {
		return 0, err
	}
	stored := tags{}
	for _, b := range whole.Blobs {
		payload, err := unseal(place(old.Key, b.Field, b.Base, b.Chunk), b.Data)
		if err != nil {
			return 0, damaged(whole, b.Field, err)
		}
		stored.add(old.Namespace, b, nextTag(stored.last(old.Namespace, b), payload))
	}
	if rec.Prev, err = nextPrev(store, newest); err != nil {
		return 0, err
	}
	header, err := json.Marshal(rec)
	if err == nil && rec.Prev != "" {
		header, _, err = stored.bind(old.Namespace, header)
	}
	if err != nil {
		return 0, err
	}
	c := Commit{Key: old.Key, ID: NewFence(), Head: newest.Seq, Header: header, Refs: old.Refs, Labels: old.Labels, Fence: fence}
	return c.Seq(), storeOpen(ctx, store, c, stored)
}
