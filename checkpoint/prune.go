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

// Keep says which commits of a thread stay. A commit stays when any field says so; the
// newest of each namespace always stays, and so the zero Keep keeps only these.
type Keep struct {
	Last   int                 // the newest so many of each namespace
	For    time.Duration       // those whose Record.Time is not longer ago
	Runs   []string            // those that one of these runs made
	Marked func(Snapshot) bool // those for which it returns true; it gets no blobs

	// Now is the clock that For goes by; nil means time.Now.
	Now func() time.Time
	// Fence is the lease under which to prune; "" for a thread that nobody has leased.
	Fence string
}

// Prune drops the commits of a thread that need not stay, with the blobs that only they
// need, and the namespaces of subgraphs whose tasks no commit that stays has before it.
// Every commit that stays can be loaded as before. When others write meanwhile, Prune
// looks again. It works in small steps: when it fails, what it has dropped stays dropped,
// and nothing is half gone. An unknown thread has nothing to prune.
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
		if strings.HasPrefix(ns, "+") {
			continue // inputs that wait for their turn, and the like: no history
		}
		if err := p.chain(ctx, Key{thread, ns}); err != nil {
			return err
		}
	}
	return nil
}

// dropAtOnce bounds the commits, and about so the blobs, that one Drop removes.
const dropAtOnce = 256

type pruner struct {
	store   Store
	dropper Dropper
	keep    Keep
	alive   map[string]bool // the ids of tasks that a commit that stays has before it
}

// chain prunes one namespace. It looks again after a conflict, for as long as ctx lasts:
// each time somebody else has got on.
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

// note remembers the tasks that are due after a commit that stays.
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

// subgraphOf returns the id of the task whose subgraph has a namespace: the namespace of
// the graph that runs it, "|", the name of the node, ":" and the id, and "#" with a number
// when it is not the first of the task, and "@" with one when it is on a branch of the
// thread. An id is 32 hex digits; a namespace that ends
// otherwise is no subgraph's.
func subgraphOf(namespace string) (task string, ok bool) {
	task = namespace[strings.LastIndexByte(namespace, ':')+1:]
	task, _, _ = strings.Cut(task, "@")
	task, _, _ = strings.Cut(task, "#")
	id, err := hex.DecodeString(task)
	return task, err == nil && len(id) == 16 && len(task) < len(namespace)
}

// drops returns what to drop so that of a list, oldest first, only what stays is left.
// Each Drop leaves a chain of which every commit is whole, if they are made in order.
func drops(list []Snapshot, stays []bool) (all []Drop) {
	need := map[blobRun]int{} // how many pieces of a run others need: all that stay, and those dropped later
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
	slices.Reverse(all) // the oldest go first, so nothing that is dropped is still needed
	return all
}

func needs(need map[blobRun]int, refs []Ref) {
	for _, r := range refs {
		run := blobRun{r.Field, r.Base}
		need[run] = max(need[run], r.Chunks+1)
	}
}

// DeleteRuns takes back what runs have done to a thread: their commits go, with the
// entries beside them. When the newest commit of a namespace goes, the newest that stays
// takes its place, as a new commit with a number of its own; when none stays the
// namespace goes, and with the root the thread. Runs that are not there are no error.
// The decisions of the runs are deleted too: those pending, and those of their commits.
func DeleteRuns(ctx context.Context, store Store, thread string, runs ...string) error {
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
			err := deleteRuns(ctx, store, d, Key{thread, ns}, runs)
			if again = errors.Is(err, ErrConflict); err != nil && !again {
				return err
			}
		}
	}
	return nil
}

func deleteRuns(ctx context.Context, store Store, dropper Dropper, k Key, runs []string) error {
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
		return store.Delete(ctx, k.Thread)
	case last < 0:
		return dropper.Drop(ctx, Drop{Key: k, Head: list[len(list)-1].Seq, All: true})
	}
	head := list[len(list)-1].Seq
	if last < len(list)-1 {
		if head, err = goBack(ctx, store, list[last], head); err != nil {
			return err
		}
	}
	for _, d := range drops(list, stays) {
		d.Key, d.Head = k, head
		if err := dropper.Drop(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// goBack commits an older state again, as the newest.
func goBack(ctx context.Context, store Store, old Snapshot, head uint64) (uint64, error) {
	rec, err := ReadRecord(old)
	if err != nil {
		return 0, err
	}
	rec.Parent = old.Seq
	header, err := json.Marshal(rec)
	if err != nil {
		return 0, err
	}
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
	c := Commit{Key: old.Key, ID: NewFence(), Head: head, Header: header, Refs: old.Refs, Labels: old.Labels}
	return c.Seq(), storeOpen(ctx, store, c, stored)
}
