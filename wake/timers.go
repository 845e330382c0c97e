package wake

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
)

// ErrConfig is returned for a Config or a store that cannot be used.
var ErrConfig = errors.New("wake: invalid configuration")

// Timers keeps when threads are due. It implements [graph.Timers], and is safe for concurrent use.
type Timers struct {
	open func(context.Context) (document.Store, error)

	mu   sync.Mutex
	docs document.Store // nil until they are first used
}

// place is where the entries are, in the order of their times.
var place = document.At("weft.timers", "all")

// Open returns the timers of a store, which sqlite, redis and postgres keep in their documents.
// These are opened when they are first used. A checkpoint.Memory has none: pass a document.Map to
// [Over].
func Open(store checkpoint.Store) (*Timers, error) {
	offers, ok := checkpoint.Unwrap(store).(interface {
		Documents(context.Context) (document.Store, error)
	})
	if !ok {
		return nil, fmt.Errorf("%w: the store %T offers no documents for timers", ErrConfig, store)
	}
	return &Timers{open: offers.Documents}, nil
}

// Over returns the timers in these documents. They must be as durable as the threads.
func Over(docs document.Store) *Timers { return &Timers{docs: docs} }

// documents returns the documents of the timers.
func (t *Timers) documents(ctx context.Context) (document.Store, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.docs == nil {
		docs, err := t.open(ctx)
		if err != nil {
			return nil, fmt.Errorf("wake: open the documents: %w", err)
		}
		t.docs = docs
	}
	return t.docs, nil
}

// entry is what is due on a thread, or a schedule.
type entry struct {
	graph.Timer
	Since    time.Time `json:"since,omitzero"`     // the notices until then were sent
	Failures int       `json:"failures,omitempty"` // in turn
	// Begun is true while a waker resumes the thread, also if its process has died meanwhile.
	Begun bool `json:"begun,omitempty"`
	// Start is the run that begins the thread, if a schedule does.
	Start *Start `json:"start,omitempty"`
	// Schedule is set in the entry of a schedule, which has no thread.
	Schedule *Schedule `json:"schedule,omitempty"`
	// Declared is true for a schedule whose source still has it when it has ended.
	Declared bool `json:"declared,omitempty"`
}

// never is when a schedule that has ended is due.
var never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// idOf returns the id of a thread's entry. A name may be longer than an id.
func idOf(thread string) string {
	if len(thread) <= document.MaxName/2 && !isReserved(thread) {
		return thread
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(thread)))
}

// stored is an entry as it was read.
type stored struct {
	entry
	version uint64 // 0: there is none
}

func storedIn(d document.Doc) (stored, error) {
	s := stored{version: d.Version}
	if err := json.Unmarshal(d.Value, &s.entry); err != nil {
		return s, fmt.Errorf("wake: the timer of thread %.100q: %w", d.ID, err)
	}
	return s, nil
}

// Set implements [graph.Timers]. An earlier time that is stored stays.
func (t *Timers) Set(ctx context.Context, timer graph.Timer) error {
	for {
		old, err := t.get(ctx, timer.Thread)
		if err != nil {
			return err
		}
		next := entry{Timer: timer, Since: old.Since, Begun: old.Begun, Start: old.Start}
		if old.version > 0 && old.At.Before(timer.At) {
			next.At = old.At
		}
		// An unchanged time is written too: a waker that looks at the thread must notice.
		if _, err = t.replace(ctx, old, next); !errors.Is(err, document.ErrConflict) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// get returns the entry of a thread; its version is 0 if it has none.
func (t *Timers) get(ctx context.Context, thread string) (stored, error) {
	return t.read(ctx, idOf(thread))
}

// read returns the entry of an id; its version is 0 if there is none.
func (t *Timers) read(ctx context.Context, id string) (stored, error) {
	docs, err := t.documents(ctx)
	if err != nil {
		return stored{}, err
	}
	d, err := docs.Get(ctx, place, id)
	if errors.Is(err, document.ErrNotFound) {
		return stored{}, nil
	}
	if err != nil {
		return stored{}, err
	}
	return storedIn(d)
}

// replace stores an entry in place of the old one, and returns it. If that has changed it is a
// document.ErrConflict.
func (t *Timers) replace(ctx context.Context, old stored, next entry) (stored, error) {
	change, err := next.change(old.version)
	if err != nil {
		return old, err
	}
	docs, err := t.documents(ctx)
	if err != nil {
		return old, err
	}
	d, err := docs.Set(ctx, place, change)
	if err != nil {
		return old, err
	}
	return stored{next, d.Version}, nil
}

// begin stores that the thread of an entry is being resumed, and returns the entry. Its version is
// 0 if it is gone.
func (t *Timers) begin(ctx context.Context, s stored) (stored, error) {
	for {
		next := s.entry
		next.Begun = true
		begun, err := t.replace(ctx, s, next)
		if !errors.Is(err, document.ErrConflict) {
			return begun, err
		}
		if s, err = t.get(ctx, s.Thread); err != nil || s.version == 0 {
			return s, err
		}
	}
}

// remove removes the entry of a thread unless it has changed.
func (t *Timers) remove(ctx context.Context, old stored) error {
	docs, err := t.documents(ctx)
	if err == nil {
		_, err = docs.Batch(ctx, place, []document.Change{{ID: old.id(), If: &old.version}})
	}
	return err
}

// query returns entries in the order of their times, within the bounds of q.
func (t *Timers) query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	docs, err := t.documents(ctx)
	if err != nil {
		return nil, err
	}
	q.Place = place
	return docs.Query(ctx, q)
}

// Timer is when something is due on a thread, as [Timers.List] returns it. Its time is zero for a
// schedule that has ended.
type Timer struct {
	graph.Timer
	Failures int       `json:"failures,omitempty"` // how often in turn the waker failed
	Schedule *Schedule `json:"schedule,omitempty"` // of a schedule, which has no Thread
}

// List returns the first timers in the order of their times, at most limit.
func (t *Timers) List(ctx context.Context, limit int) ([]Timer, error) {
	docs, err := t.query(ctx, document.Query{Limit: &limit})
	if err != nil {
		return nil, err
	}
	return timersIn(docs)
}

func timersIn(docs []document.Doc) ([]Timer, error) {
	all := make([]Timer, len(docs))
	for i, d := range docs {
		s, err := storedIn(d)
		if err != nil {
			return nil, err
		}
		if s.At.Equal(never) {
			s.At = time.Time{}
		}
		all[i] = Timer{s.Timer, s.Failures, s.Schedule}
	}
	return all, nil
}
