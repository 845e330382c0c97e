package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// ledger holds the results that a task's code keeps, by the id of the scope that made
// them. All attempts of the task share it.
type ledger struct {
	mu     sync.Mutex
	byID   map[string]*kept
	closed bool  // the step is over: nothing can be kept any more
	failed error // a result of this attempt could not be stored
}

// kept is the place of one result.
type kept struct {
	turn   chan struct{} // holds one element while nobody works on it
	name   string        // for people
	value  json.RawMessage
	asked  bool // the result may depend on an answer
	stored bool
	bad    error // it is there and cannot be stored
}

// keptValue is the stored form of a result.
type keptValue struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
	// Asked is true when the task had asked somebody before it came to the result.
	Asked bool `json:"asked,omitempty"`
}

// at returns the place of a result.
func (l *ledger) at(id string) *kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[string]*kept{}
	}
	if l.byID[id] == nil {
		l.byID[id] = newKept()
	}
	return l.byID[id]
}

func newKept() *kept {
	e := &kept{turn: make(chan struct{}, 1)}
	e.turn <- struct{}{}
	return e
}

// close lets no result land any more.
func (l *ledger) close() {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.closed = true
	}
}

// fail notes that the attempt must fail, whatever its node makes of err.
func (l *ledger) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = first(l.failed, err)
	return err
}

// failure returns why the attempt must fail, or nil, and forgets it.
func (l *ledger) failure() (err error) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err, l.failed = l.failed, nil
	return err
}

// book returns the task's ledger.
func (t *task) book() *ledger {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ledger == nil {
		t.ledger = &ledger{}
	}
	return t.ledger
}

// remember fills the ledger from what stands beside the head.
func (t *task) remember(slots map[string][]byte) error {
	for slot, data := range slots {
		id, ok := strings.CutPrefix(slot, slotKept)
		if !ok {
			continue
		}
		var v keptValue
		if err := json.Unmarshal(data, &v); err != nil {
			return fmt.Errorf("graph: a kept result: %w", err)
		}
		e := t.book().at(id)
		e.name, e.value, e.asked, e.stored = v.Name, v.Value, v.Asked, true
	}
	return nil
}

// keeper returns the task beside whose entries the results of t are kept: t itself, or,
// where the run of t has no checkpoints, the task of the parent that t is part of.
func (t *task) keeper() *task {
	for t.run.journal == nil && t.run.inside != nil {
		t = t.run.inside
	}
	return t
}

// keep returns the result with this id, or lets fn make it and stores it before anybody
// sees it. What is returned has been through JSON, the first time too.
func keep[T any](ctx context.Context, s *scope, id, name string, fn func() (any, error)) (v T, err error) {
	k := s.task.keeper()
	book := k.book()
	e := book.at(id)
	if err := e.lock(ctx, s); err != nil {
		return v, err
	}
	defer func() { e.turn <- struct{}{} }()
	if e.value == nil && e.bad == nil {
		if err := k.recorded(e, id, name); err != nil {
			return v, err
		}
	}
	if e.value == nil && e.bad == nil {
		if v, ok := k.pastKept(id); ok {
			e.name, e.value, e.asked = v.Name, v.Value, v.Asked
		}
	}
	if e.value == nil && e.bad == nil {
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
		return *new(T), book.fail(e.bad)
	}
	if !e.stored {
		if err := k.store(book, id, keptValue{name, e.value, e.asked}); err != nil {
			return *new(T), book.fail(fmt.Errorf("the result of %q: %w", name, err))
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

// lock waits for the place, and releases the permit of s meanwhile.
func (e *kept) lock(ctx context.Context, s *scope) error {
	select {
	case <-e.turn:
		return nil
	default:
	}
	s.permit.Release()
	defer s.permit.Acquire(ctx)
	select {
	case <-e.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// store puts a result beside the head. Without a store it lives as long as the task.
func (t *task) store(book *ledger, id string, v keptValue) error {
	book.mu.Lock()
	closed := book.closed
	book.mu.Unlock()
	switch {
	case closed:
		return errOver
	case t.run.journal == nil:
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.run.journal.Put([]checkpoint.Entry{{Task: t.name(), Slot: slotKept + id, Keep: true, Data: data}})
}

// ending returns how an attempt of t ends that ended with err: a result that could not
// be stored fails it.
func (t *task) ending(err error) error {
	t.mu.Lock()
	book := t.ledger
	t.mu.Unlock()
	if failed := book.failure(); failed != nil && !errors.Is(err, failed) {
		return errors.Join(failed, err)
	}
	return err
}
