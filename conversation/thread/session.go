package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/weftrun/weft/internal/values"
)

// Session is the unit of work of one run. Its methods are safe for concurrent use. Only one
// goroutine at a time may edit a loaded Thread, and not while it is saved.
type Session[S any] struct {
	*Manager[S]

	mu     sync.Mutex
	loaded map[string]*entry[S] // with Implicit
	ended  bool
}

// entry is a loaded thread.
type entry[S any] struct {
	thread   *Thread[S]
	snapshot any // the value of the stored state, nil if there is none
	version  uint64
	epoch    uint64
	sent     []any // values of states that may be stored, because a save without a conflict failed
}

// enter checks the id and locks s.mu. The caller unlocks it if there is no error.
func (s *Session[S]) enter(thread string) error {
	if thread == "" {
		return ErrThreadID
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return ErrEnded
	}
	return nil
}

// Load returns a thread, or ErrThreadNotFound. With Explicit it reads the store. With Implicit it
// returns the same instance each time, with all edits of this session. The user is ignored.
func (s *Session[S]) Load(ctx context.Context, thread string, user ...string) (*Thread[S], error) {
	if err := s.enter(thread); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.load(ctx, thread)
}

// load is Load for a caller that holds the lock.
func (s *Session[S]) load(ctx context.Context, thread string) (*Thread[S], error) {
	if e := s.loaded[thread]; e != nil {
		return e.thread, nil
	}
	t, epoch, err := s.repo.thread(ctx, thread)
	if err != nil || s.strategy == Explicit {
		return t, err
	}
	e := &entry[S]{thread: t, epoch: epoch}
	if err := e.saved(); err != nil {
		return nil, err
	}
	s.loaded[thread] = e
	return t, nil
}

// saved records that the state is equal to the stored one.
func (e *entry[S]) saved() (err error) {
	e.snapshot, e.version, e.sent = nil, 0, nil
	if e.thread.State != nil {
		e.version = e.thread.State.Version
		e.snapshot, err = treeOf(e.thread.State)
	}
	return err
}

// config loads the configuration of a thread. A session replaces configurations and never changes
// one, so the caller may read it without the lock.
func (s *Session[S]) config(ctx context.Context, thread string) (Config, error) {
	if err := s.enter(thread); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	t, err := s.load(ctx, thread)
	if err != nil {
		return nil, err
	}
	return t.Config, nil
}

// ConfigValue returns the value of a top-level key in the configuration of a thread, and whether
// there is one; see [Value].
func (s *Session[S]) ConfigValue(ctx context.Context, thread, key string) (json.RawMessage, bool, error) {
	c, err := s.config(ctx, thread)
	if err != nil {
		return nil, false, err
	}
	return c.Value(key)
}

// ConfigPath is ConfigValue with a path in the syntax of gjson.
func (s *Session[S]) ConfigPath(ctx context.Context, thread, path string) (json.RawMessage, bool, error) {
	c, err := s.config(ctx, thread)
	if err != nil {
		return nil, false, err
	}
	return c.Path(path)
}

// SetConfig replaces the configuration of a thread, or creates the thread. It changes neither the
// state nor edits of this session that are not saved yet.
func (s *Session[S]) SetConfig(ctx context.Context, thread string, c Config) error {
	if err := s.enter(thread); err != nil {
		return err
	}
	defer s.mu.Unlock()
	data, err := encodeConfig(c)
	if err != nil {
		return err
	}
	if err := s.repo.SetConfig(ctx, thread, c); err != nil {
		return err
	}
	if e := s.loaded[thread]; e != nil {
		e.thread.Config, err = decodeConfig(record{Config: data})
	}
	return err
}

// SetState replaces the stored state; see State.Version. The thread must have a configuration. If
// this session has loaded the thread, it gets a copy of the state.
func (s *Session[S]) SetState(ctx context.Context, thread string, state *State[S]) error {
	_, err := s.setState(ctx, thread, state)
	return err
}

// setState is SetState. It returns the stored version.
func (s *Session[S]) setState(ctx context.Context, thread string, state *State[S]) (uint64, error) {
	if err := s.enter(thread); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if state == nil {
		return 0, fmt.Errorf("%w: the state must not be nil; use ClearState", ErrState)
	}
	if e := s.loaded[thread]; e != nil {
		return s.replace(ctx, e, state)
	}
	return s.repo.SetState(ctx, thread, state)
}

// replace saves a state for a loaded thread. It returns the stored version. The caller holds the
// lock.
func (s *Session[S]) replace(ctx context.Context, e *entry[S], state *State[S]) (uint64, error) {
	next, err := state.clone()
	if err != nil {
		return 0, err
	}
	if next.Version == 0 {
		next.Version = e.version + 1
	}
	if err := s.save(ctx, e, next); err != nil {
		return 0, err
	}
	e.thread.State = next
	return next.Version, e.saved()
}

// ClearState removes the state of a thread of any version. It does not change the configuration.
func (s *Session[S]) ClearState(ctx context.Context, thread string) error {
	if err := s.enter(thread); err != nil {
		return err
	}
	defer s.mu.Unlock()
	rec, err := s.repo.edit(ctx, thread, func(rec *record) error { return s.repo.put(thread, rec, nil) })
	if err != nil {
		return err
	}
	if e := s.loaded[thread]; e != nil {
		e.thread.State, e.epoch = nil, rec.Epoch
		return e.saved()
	}
	return nil
}

// SaveIfModified saves the state of a thread if this session has loaded and edited it. With
// Explicit, for a thread that is not loaded, and for a state that was set to nil, it logs a warning
// and does nothing. After an error, another call saves again.
func (s *Session[S]) SaveIfModified(ctx context.Context, thread string) error {
	if err := s.enter(thread); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.strategy == Explicit {
		s.log.WarnContext(ctx, "thread: with the explicit strategy, a state is saved by SetState alone", "thread", thread)
		return nil
	}
	e := s.loaded[thread]
	if e == nil {
		s.log.WarnContext(ctx, "thread: a thread that was not loaded in this session is not saved", "thread", thread)
		return nil
	}
	return s.saveIfModified(ctx, e)
}

func (s *Session[S]) saveIfModified(ctx context.Context, e *entry[S]) error {
	if e.thread.State == nil {
		if e.snapshot != nil {
			s.log.WarnContext(ctx, "thread: a state that was set to nil is not saved; use ClearState", "thread", e.thread.ID)
		}
		return nil
	}
	now, err := treeOf(e.thread.State)
	if err != nil || e.snapshot != nil && values.Equal(now, e.snapshot) {
		return err
	}
	next := *e.thread.State
	next.Version = e.version + 1
	if err := s.save(ctx, e, &next); err != nil {
		return err
	}
	e.thread.State.Version = next.Version
	return e.saved()
}

// save saves a state for a loaded thread, and changes nothing else of it. If the stored state is
// one that this session has sent, a conflict with it is none: next gets its version if they are
// equal, or else the one that follows it.
func (s *Session[S]) save(ctx context.Context, e *entry[S], next *State[S]) error {
	for {
		err := s.repo.saveFrom(ctx, e.thread.ID, next, e.epoch)
		if err == nil {
			return nil
		}
		tree, bad := treeOf(next)
		if bad != nil {
			return err
		}
		if !errors.Is(err, ErrConflict) { // perhaps its reply was lost
			if !e.hasSent(tree) {
				e.sent = append(e.sent[max(0, len(e.sent)-mostSent+1):], tree)
			}
			return err
		}
		stored, version, ok := s.arrived(ctx, e)
		if !ok || next.Version <= e.version || next.Version > version {
			return err
		}
		next.Version = version
		if tree, err = treeOf(next); err != nil || values.Equal(tree, stored) {
			return err
		}
		next.Version++
	}
}

// mostSent is how many states that may be stored a session remembers of a thread.
const mostSent = 16

func (e *entry[S]) hasSent(state any) bool {
	return slices.ContainsFunc(e.sent, func(sent any) bool { return values.Equal(sent, state) })
}

// arrived returns the value and the version of the stored state. ok is false if it is not one that
// this session has sent.
func (s *Session[S]) arrived(ctx context.Context, e *entry[S]) (stored any, version uint64, ok bool) {
	if len(e.sent) == 0 {
		return nil, 0, false
	}
	t, epoch, err := s.repo.thread(ctx, e.thread.ID)
	if err != nil || t.State == nil || epoch != e.epoch {
		return nil, 0, false
	}
	stored, err = treeOf(t.State)
	return stored, t.State.Version, err == nil && e.hasSent(stored)
}

// Init sets the first state of a thread without a state or without data: the result of make. If it
// cannot be saved, Init returns an ErrStateSave and does not change t.
func (s *Session[S]) Init(ctx context.Context, t *Thread[S], make func() S) error {
	if t.State != nil && t.State.Data != nil {
		return nil
	}
	return errStateSave(s.advance(ctx, t, make()))
}

// Update saves new data for a thread, with the next version and the same other fields. It does
// nothing if the data are equal. If they cannot be saved, it does not change t and may be called
// again. For a thread that this session has not loaded with Implicit, the second call is an
// ErrConflict if only the reply of the first was lost.
func (s *Session[S]) Update(ctx context.Context, t *Thread[S], data S) error {
	if t.State != nil && t.State.Data != nil {
		before, err := treeOf(t.State.Data)
		if err != nil {
			return err
		}
		after, err := treeOf(data)
		if err != nil || values.Equal(before, after) {
			return err
		}
	}
	return s.advance(ctx, t, data)
}

// advance saves data and then updates t.
func (s *Session[S]) advance(ctx context.Context, t *Thread[S], data S) error {
	next := t.State.Next(data)
	version, err := s.setState(ctx, t.ID, next)
	if err != nil {
		return err
	}
	next.Version = version
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.loaded[t.ID]; e == nil || e.thread != t {
		t.State = next
	}
	return nil
}

// ClearCache drops all loaded threads, with edits that are not saved.
func (s *Session[S]) ClearCache() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.loaded)
}

// End saves the edited states and ends the session. It returns an ErrStateSave for the states that
// could not be saved, and saves all others. A second End does nothing.
func (s *Session[S]) End(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, thread := range slices.Sorted(maps.Keys(s.loaded)) {
		if err := s.saveIfModified(ctx, s.loaded[thread]); err != nil {
			errs = append(errs, fmt.Errorf("%w: thread %.200q: %w", ErrStateSave, thread, err))
		}
	}
	clear(s.loaded)
	s.ended = true
	return errors.Join(errs...)
}
