package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// memo is the memo journal of a task: the results that its code keeps ([Once], [Call], [Go]), by
// the id of the scope that made them. It is made with the first result, and all attempts share
// it.
type memo struct {
	owner *task

	mu     sync.Mutex
	byID   map[string]*memoEntry
	closed bool  // the step is over: no result is stored any more
	failed error // a result of this attempt could not be stored
}

// memoEntry is one result, or its place until it is made.
type memoEntry struct {
	free   chan struct{} // holds one element while no goroutine works on the entry
	name   string        // for people
	value  json.RawMessage
	asked  bool // the result may depend on an answer
	stored bool
	bad    error // the result was made and cannot be stored
}

// memoValue is the stored form of a result.
type memoValue struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
	// Asked is true when the task had asked a question before it came to the result.
	Asked bool `json:"asked,omitempty"`
}

// ownerOf returns the task under which the results of t are stored: t itself, or, where the run
// of t has no checkpoints, the task of the parent that t is part of.
func ownerOf(t *task) *task {
	for t.run.journal == nil && t.run.inside != nil {
		t = t.run.inside
	}
	return t
}

// memoOf returns the memo journal of a task. It makes one if there is none.
func memoOf(t *task) *memo {
	s := t.scope()
	if s.memo.Load() == nil {
		s.memo.CompareAndSwap(nil, &memo{owner: t})
	}
	return s.memo.Load()
}

// restoreMemo fills the memo journal of t from the pending writes of t.
func restoreMemo(t *task, slots map[string][]byte) error {
	for slot, data := range slots {
		id, ok := strings.CutPrefix(slot, slotMemo)
		if !ok {
			continue
		}
		v, err := readMemoValue(data)
		if err != nil {
			return err
		}
		e := memoOf(t).entry(id)
		e.name, e.value, e.asked, e.stored = v.Name, v.Value, v.Asked, true
	}
	return nil
}

func readMemoValue(data []byte) (v memoValue, err error) {
	if err = json.Unmarshal(data, &v); err != nil {
		err = fmt.Errorf("graph: a stored result: %w", err)
	}
	return v, err
}

// entry returns the entry of a result. It makes one if there is none.
func (m *memo) entry(id string) *memoEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID == nil {
		m.byID = map[string]*memoEntry{}
	}
	e := m.byID[id]
	if e == nil {
		e = &memoEntry{free: make(chan struct{}, 1)}
		e.free <- struct{}{}
		m.byID[id] = e
	}
	return e
}

// close ends the memo journal, which may be nil: no result is stored any more.
func (m *memo) close() {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.closed = true
	}
}

// over returns an error if no result is stored any more.
func (m *memo) over() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errOver
	}
	return nil
}

// fail notes that the attempt must fail, even if its node ignores err.
func (m *memo) fail(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = first(m.failed, err)
	return err
}

// endAttempt returns how an attempt ends whose node ended with err: a result that could not be
// stored fails it. m may be nil.
func (m *memo) endAttempt(err error) error {
	if m == nil {
		return err
	}
	m.mu.Lock()
	failed := m.failed
	m.failed = nil
	m.mu.Unlock()
	if failed != nil && !errors.Is(err, failed) {
		return errors.Join(failed, err)
	}
	return err
}

// keep returns the result with this id, or lets fn make it and stores it before it is used. What is
// returned has been through JSON, the first time too.
func keep[T any](ctx context.Context, s *scope, id, name string, fn func() (any, error)) (v T, err error) {
	m := memoOf(ownerOf(s.task))
	e := m.entry(id)
	if err := e.lock(ctx, s); err != nil {
		return v, err
	}
	defer e.unlock()
	if !e.isMade() {
		if err := m.find(e, ownerOf(s.task).rewound(), id, name); err != nil {
			return v, err
		}
	}
	if !e.isMade() {
		made, err := fn()
		if err != nil {
			return v, err
		}
		e.name, e.asked = name, s.task.dependsOnAnswers()
		if e.value, err = encode(made); err == nil {
			err = json.Unmarshal(e.value, &v)
		}
		if err != nil {
			e.value, e.bad = nil, fmt.Errorf("graph: the result of %q, a %T, cannot be stored: %w", name, v, err)
		}
	}
	if e.asked {
		s.task.consult()
	}
	if e.bad != nil {
		return *new(T), m.fail(e.bad)
	}
	if !e.stored {
		if err := m.store(id, memoValue{name, e.value, e.asked}); err != nil {
			return *new(T), m.fail(fmt.Errorf("the result of %q: %w", name, err))
		}
		e.stored = true
	}
	v = *new(T)
	if err = json.Unmarshal(e.value, &v); err != nil {
		return *new(T), fmt.Errorf("%w: the result of %q is %s, not of type %T: %w", ErrProgram, name, e.value, v, err)
	}
	return v, nil
}

// encode returns v as JSON. Text that JSON would change is a [*state.TextError].
func encode(v any) (json.RawMessage, error) {
	if err := state.CheckText(v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// lock waits until no other goroutine works on the entry, and releases the permit of s meanwhile.
func (e *memoEntry) lock(ctx context.Context, s *scope) error {
	select {
	case <-e.free:
		return nil
	default:
	}
	s.permit().Release()
	defer s.permit().Acquire(ctx)
	select {
	case <-e.free:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *memoEntry) unlock() { e.free <- struct{}{} }

// isMade reports whether there is a result, or one that cannot be stored.
func (e *memoEntry) isMade() bool { return e.value != nil || e.bad != nil }

// find fills an entry with a result from before: in a replay with the one that was recorded, and
// after the thread went back with the one that the task had then, if back still counts.
func (m *memo) find(e *memoEntry, back *rewound, id, name string) error {
	if step := m.owner.run.session.root.req.replay; step != nil {
		data, ok := step.results[m.owner.id()+slotMemo+id]
		if !ok {
			return fmt.Errorf("%w: %q of node %q", ErrReplay, name, m.owner.node.name)
		}
		v, err := readMemoValue(data)
		if err != nil {
			return err
		}
		e.value, e.asked, e.stored = v.Value, v.Asked, true
	} else if v, ok := back.result(id); ok {
		e.name, e.value, e.asked = v.Name, v.Value, v.Asked
	}
	return nil
}

// store adds a result to the pending writes. Without a store it lives as long as the task.
func (m *memo) store(id string, v memoValue) error {
	j := m.owner.run.journal
	if j == nil {
		return m.over()
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return j.PutWhile(m.over, []checkpoint.Entry{{Task: m.owner.id(), Slot: slotMemo + id, Keep: true, Data: data}})
}

// entries returns the results in the form in which they are stored. m may be nil.
func (m *memo) entries() (entries []checkpoint.Entry) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.byID)) {
		if e := m.byID[id]; e.stored {
			data, err := json.Marshal(memoValue{e.name, e.value, e.asked})
			if err == nil {
				entries = append(entries, checkpoint.Entry{Task: m.owner.id(), Slot: slotMemo + id, Data: data})
			}
		}
	}
	return entries
}
