package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// CommitInfo is one commit of a thread, as far as it can be read without the graph.
type CommitInfo struct {
	Thread     string            `json:"thread"`
	Namespace  string            `json:"namespace,omitempty"` // of a subgraph; "" is the thread itself
	Checkpoint uint64            `json:"checkpoint"`          // the commit's number
	Graph      string            `json:"graph"`
	Program    string            `json:"program"` // hash of the graph that made it
	Run        string            `json:"run"`
	Time       time.Time         `json:"time"`
	Source     checkpoint.Source `json:"source"`
	Turn       int               `json:"turn"`
	Step       int               `json:"step"`
	Parent     uint64            `json:"parent,omitempty"` // the commit it goes on from, if that is not the one before it
	Branch     uint64            `json:"branch,omitempty"` // the commit that began its branch; 0 for the first
	Ran        []checkpoint.Ran  `json:"ran,omitempty"`    // what the step did, in canonical order
	Next       []string          `json:"next,omitempty"`   // the nodes of the tasks that were due after it
	Due        []DueTask         `json:"-"`                // the tasks of Next, in the same order
	Status     Status            `json:"status"`           // Done, Interrupted, Failed or Pending; of an older commit Done or Pending
	Interrupts []Interrupt       `json:"interrupts,omitempty"`
	Answered   []string          `json:"answered,omitempty"` // the ids of the turn's questions that have an answer
	Failures   []Failure         `json:"failures,omitempty"`
	RetryAt    time.Time         `json:"retry_at,omitzero"`  // when a Failed run is tried again; see Config.RunRetry
	Finished   []FinishedTask    `json:"finished,omitempty"` // the due tasks that have finished beside others that have not
	Input      string            `json:"input,omitempty"`    // hash of the turn's input; see InputHash
	Metadata   map[string]string `json:"metadata,omitempty"`
	Pin        string            `json:"pin,omitempty"` // the program to which the thread is pinned; see Pin
}

// Nodes names the nodes that ran in the step, in canonical order; an edit by hand that
// is no node's is "(edit)".
func (p CommitInfo) Nodes() (names []string) {
	for _, r := range p.Ran {
		if p.Source != checkpoint.Input {
			names = append(names, cmp.Or(r.Node, "(edit)"))
		}
	}
	return names
}

// DueTask is a task that was due after a commit.
type DueTask struct {
	Node string `json:"node"`
	Task string `json:"task"`           // its id, see TaskID
	Send bool   `json:"send,omitempty"` // a Send started it
}

// FinishedTask is a due task that has finished beside a failure or a question of its step, or
// beside tasks that still run. Its result is stored, and Resume does not run it again.
type FinishedTask struct {
	Node string `json:"node"`
	Task string `json:"task"` // its id, see TaskID
}

// Threads yields the newest commit of each thread in a store, by thread id.
func Threads(ctx context.Context, store checkpoint.Store, q checkpoint.ThreadQuery) iter.Seq2[CommitInfo, error] {
	return commitInfos(store.Threads(ctx, q))
}

// History yields the commits of a thread, newest first, or those of a subgraph on it, if the key
// has its Namespace. An unknown thread or namespace is an ErrUnknownThread.
func History(ctx context.Context, store checkpoint.Store, key checkpoint.Key, q checkpoint.Query) iter.Seq2[CommitInfo, error] {
	return func(yield func(CommitInfo, error) bool) {
		if _, err := Inspect(ctx, store, key); err != nil { // an empty page is no unknown thread
			yield(CommitInfo{}, err)
			return
		}
		commitInfos(store.History(ctx, key, q))(yield)
	}
}

// Inspect returns the newest commit of a thread, or of a subgraph on it, if the key has its
// Namespace; or an ErrUnknownThread.
func Inspect(ctx context.Context, store checkpoint.Store, key checkpoint.Key) (CommitInfo, error) {
	if err := checkpoint.CheckThread(key.Thread); err != nil {
		return CommitInfo{}, err
	}
	for p, err := range commitInfos(store.History(ctx, key, checkpoint.Query{Limit: 1})) {
		return p, err
	}
	return CommitInfo{}, unknown(key, 0)
}

// Turn returns the commits of a thread's turn up to one of them or, if at is 0, to the newest: the
// newest first, without those on other branches, and at most limit of them, all if limit is 0. An
// unknown thread or commit is an ErrUnknownThread.
func Turn(ctx context.Context, store checkpoint.Store, thread string, at uint64, limit int) (turn []CommitInfo, err error) {
	q, key := checkpoint.Query{}, checkpoint.Key{Thread: thread}
	if at != 0 {
		q.Before = at + 1
	}
	next := uint64(0) // the commit that the ones after it go on from
	for p, err := range History(ctx, store, key, q) {
		switch {
		case err != nil:
			return nil, err
		case len(turn) == 0 && at != 0 && p.Checkpoint != at:
			return nil, unknown(key, at)
		case len(turn) > 0 && p.Checkpoint > next:
			continue // on another branch
		case len(turn) > 0 && p.Turn != turn[0].Turn:
			return turn, nil
		}
		if turn, next = append(turn, p), p.parent(); len(turn) == limit {
			return turn, nil
		}
	}
	if len(turn) == 0 {
		return nil, unknown(key, at)
	}
	return turn, nil
}

// Namespaces returns the namespaces of a thread's subgraphs that have commits, in ascending
// byte order: what [Interrupt], [Event] and [CommitInfo] call Namespace. A thread without
// subgraphs has none; an unknown one is an ErrUnknownThread.
func Namespaces(ctx context.Context, store checkpoint.Store, thread string) ([]string, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return nil, err
	}
	all, err := store.Namespaces(ctx, thread)
	if err == nil && len(all) == 0 {
		return nil, unknown(checkpoint.Key{Thread: thread}, 0)
	}
	return slices.DeleteFunc(all, func(ns string) bool { return ns == "" || ns == inputs }), err
}

func unknown(key checkpoint.Key, at uint64) error {
	where := fmt.Sprintf("thread %q", key.Thread)
	if key.Namespace != "" {
		where += fmt.Sprintf(", namespace %q", key.Namespace)
	}
	switch {
	case at > 0:
		return unknownError(fmt.Sprintf("graph: no such commit: %s has no commit %d", where, at))
	case key.Namespace != "":
		return unknownError("graph: no such namespace: " + where)
	}
	return fmt.Errorf("%w: %q", ErrUnknownThread, key.Thread)
}

// unknownError is an ErrUnknownThread of which more can be said.
type unknownError string

func (e unknownError) Error() string { return string(e) }

// Is makes errors.Is(err, ErrUnknownThread) true.
func (e unknownError) Is(target error) bool { return target == ErrUnknownThread }

func commitInfos(snaps iter.Seq2[checkpoint.Snapshot, error]) iter.Seq2[CommitInfo, error] {
	return func(yield func(CommitInfo, error) bool) {
		for snap, err := range snaps {
			p := CommitInfo{Thread: snap.Thread, Namespace: snap.Namespace, Checkpoint: snap.Seq}
			if err == nil {
				p, err = commitInfoOf(snap)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// loadCommit returns a stored commit, with a description of it; 0 is the newest.
func loadCommit(ctx context.Context, store checkpoint.Store, key checkpoint.Key, at uint64) (snap checkpoint.Snapshot, p CommitInfo, err error) {
	if err = checkpoint.CheckThread(key.Thread); err != nil {
		return snap, p, err
	}
	snap, err = store.Load(ctx, key, at)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return snap, p, unknown(key, at)
	}
	if err == nil {
		p, err = commitInfoOf(snap)
	}
	return snap, p, err
}

// commitInfoOf describes a stored commit.
func commitInfoOf(snap checkpoint.Snapshot) (CommitInfo, error) {
	p := CommitInfo{Thread: snap.Thread, Namespace: snap.Namespace, Checkpoint: snap.Seq}
	rec, err := checkpoint.ReadRecord(snap)
	if err != nil {
		return p, err
	}
	p.read(rec)
	entries, err := checkpoint.ReadPending(snap)
	if err != nil {
		return p, err
	}
	beside := sortPending(entries)
	if p.Interrupts, err = beside.open(rec); err != nil {
		return p, err
	}
	if len(p.Interrupts) > 0 {
		p.Status = Interrupted
	}
	p.readAnswers(rec, beside)
	if p.Pin, err = pinOf(rec, entries); err != nil {
		return p, err
	}
	for _, t := range rec.Next {
		if beside.byTask[t.ID][slotResult] != nil { // open has dropped those that do not count
			p.Finished = append(p.Finished, FinishedTask{t.Node, t.ID})
		}
	}
	p.Failures, err = failures(rec, beside)
	if err != nil || !slices.ContainsFunc(p.Failures, func(f Failure) bool { return !f.Cancelled }) {
		return p, err
	}
	if p.Status == Pending {
		p.Status = Failed
	}
	next, err := beside.rerun()
	if next != nil {
		p.RetryAt = next.At
	}
	return p, err
}

// commitInfoOfRecord describes a commit without pending writes.
func commitInfoOfRecord(thread string, seq uint64, rec *checkpoint.Record) CommitInfo {
	p := CommitInfo{Thread: thread, Checkpoint: seq}
	p.read(rec)
	p.readAnswers(rec, sortPending(nil))
	p.Pin = rec.Pin
	return p
}

func (p *CommitInfo) read(rec *checkpoint.Record) {
	p.Graph, p.Program, p.Run, p.Time, p.Source = rec.Graph, rec.Program, rec.Run, rec.Time, rec.Source
	p.Parent, p.Branch = rec.Parent, rec.Branch
	p.Turn, p.Step, p.Ran, p.Input, p.Metadata = rec.Turn, rec.Step, rec.Ran, rec.Input, rec.Metadata
	for _, t := range rec.Next {
		p.Next = append(p.Next, t.Node)
		p.Due = append(p.Due, DueTask{t.Node, t.ID, t.Send})
	}
	p.Status = Done
	if !rec.Done() {
		p.Status = Pending
	}
}

// readAnswers finds out which questions of the turn were answered, and which of the
// open ones were shown to a person.
func (p *CommitInfo) readAnswers(rec *checkpoint.Record, beside pending) {
	for _, a := range rec.Answered {
		p.Answered = append(p.Answered, a.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(beside.given)) {
		if !slices.Contains(p.Answered, id) {
			p.Answered = append(p.Answered, id)
		}
	}
	for i := range p.Interrupts {
		p.Interrupts[i].Seen = beside.note(slotSeen+p.Interrupts[i].ID) != nil
	}
}

// MarkSeen records that a person was shown these open questions of a thread, for
// front ends that take an answer without an id: after a crash the same command may
// come again, and must not answer a question that no person has seen. While a run owns
// the thread it notes nothing and returns a [*checkpoint.BusyError].
func MarkSeen(ctx context.Context, store checkpoint.Store, thread string, ids ...string) error {
	p, err := Inspect(ctx, store, checkpoint.Key{Thread: thread})
	if err != nil {
		return err
	}
	var entries []checkpoint.Entry
	for _, in := range p.Interrupts {
		if slices.Contains(ids, in.ID) && !in.Seen {
			entries = append(entries, checkpoint.Entry{Slot: slotSeen + in.ID, Data: []byte("true")})
		}
	}
	if len(entries) == 0 {
		return nil
	}
	seen := checkpoint.Pending{Key: checkpoint.Key{Thread: thread}, Head: p.Checkpoint, Entries: entries}
	if err = checkpoint.Put(ctx, store, seen); !errors.Is(err, checkpoint.ErrFenced) {
		return err
	}
	held, err := checkpoint.Hold(ctx, store, thread, checkpoint.HoldOptions{}) // of one that crashed
	if err != nil {
		return err
	}
	seen.Fence = held.Fence()
	err = checkpoint.Put(ctx, store, seen)
	return errors.Join(err, held.Release(context.WithoutCancel(ctx)))
}

func failures(rec *checkpoint.Record, beside pending) (all []Failure, err error) {
	v, err := beside.invalidation()
	if err != nil {
		return nil, err
	}
	if v.Try > 0 {
		all = append(all, Failure{Message: v.Message})
	}
	for _, t := range rec.Next {
		last, err := readLast(beside.byTask[t.ID])
		if err != nil {
			return nil, err
		}
		if last.Failure != nil {
			all = append(all, *last.Failure)
		}
	}
	return all, nil
}
