package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/state/message"
)

// Collection is the collection of a Repository. Each thread is a partition.
const Collection = "conversations"

// ThreadKey is the metadata key with which a message may name its thread. A message that names
// another thread than the one of the Add is stored in the named thread, with a warning in the log.
const ThreadKey = "thread_id"

// Repository stores messages in a document.Store. It is safe for concurrent use by any number of
// processes, and has no state of its own.
type Repository struct {
	store document.Store
	// Log receives a warning for a message that names another thread; nil means slog.Default().
	Log *slog.Logger
	// Now is the clock for messages without a time; nil means time.Now.
	Now func() time.Time
}

var _ MessageStore = (*Repository)(nil)

// NewRepository returns a repository in a store. It neither prepares nor closes the store. The
// fields of the repository may be set before its first use.
func NewRepository(store document.Store) (*Repository, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: a repository needs a store", ErrConfig)
	}
	return &Repository{store: store}, nil
}

// Add stores messages and returns them as stored: each with an id, which is a version 7 UUID if it
// had none, and a time. The messages of one thread are one atomic batch. To repeat an Add with an
// unknown result, set the ids. Invalid messages are reported together in one *message.InvalidError;
// then nothing is stored.
func (r *Repository) Add(ctx context.Context, thread string, ms ...message.Message) ([]message.Message, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	if err := checkpoint.CheckThread(thread); err != nil {
		return nil, err
	}
	stored, err := r.complete(ms)
	if err != nil {
		return nil, place(thread, err)
	}
	batches, err := r.batches(thread, stored)
	if err != nil {
		return nil, place(thread, err)
	}
	for _, b := range batches {
		if _, err := r.store.Batch(ctx, document.At(Collection, b.thread), b.changes); err != nil {
			return nil, place(b.thread, err)
		}
	}
	return stored, nil
}

func place(thread string, err error) error {
	return fmt.Errorf("conversation: thread %q: %w", thread, err)
}

// complete returns copies of whole messages, with ids and times.
func (r *Repository) complete(ms []message.Message) ([]message.Message, error) {
	if err := new(message.Log).Add(ms...); err != nil {
		return nil, err
	}
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	at, stored := now(), make([]message.Message, len(ms))
	for i, m := range ms {
		stored[i] = m.Clone()
		if err := identify(&stored[i], at); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// identify sets a missing id and a missing time.
func identify(m *message.Message, at time.Time) error {
	if m.Created.IsZero() {
		m.Created = at.UTC().Round(0)
	}
	if m.ID != "" {
		return nil
	}
	id, err := uuid.NewV7()
	m.ID = id.String()
	return err
}

// batch has the changes of one thread.
type batch struct {
	thread  string
	changes []document.Change
}

// batches groups messages by their own thread. Of several messages with one id, the last one is
// stored, at the position of the first.
func (r *Repository) batches(thread string, ms []message.Message) (list []*batch, err error) {
	for _, m := range ms {
		own, err := r.threadOf(thread, m)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		list = put(list, own, document.Change{ID: m.ID, Value: value, Order: document.AtTime(m.Created)})
	}
	return list, nil
}

func put(list []*batch, thread string, c document.Change) []*batch {
	i := slices.IndexFunc(list, func(b *batch) bool { return b.thread == thread })
	if i < 0 {
		return append(list, &batch{thread, []document.Change{c}})
	}
	b := list[i]
	if j := slices.IndexFunc(b.changes, func(o document.Change) bool { return o.ID == c.ID }); j >= 0 {
		b.changes[j] = c
	} else {
		b.changes = append(b.changes, c)
	}
	return list
}

func (r *Repository) threadOf(thread string, m message.Message) (string, error) {
	var own string
	if ok, err := m.Meta(ThreadKey, &own); !ok || err != nil || own == thread {
		return thread, err
	}
	if err := checkpoint.CheckThread(own); err != nil {
		return "", fmt.Errorf("message %q: metadata %q: %w", m.ID, ThreadKey, err)
	}
	cmp.Or(r.Log, slog.Default()).Warn("conversation: a message names another thread and is stored there",
		"thread", thread, "own", own, "message", m.ID)
	return own, nil
}

// Get returns messages of a thread, oldest first. An unknown thread has no messages.
func (r *Repository) Get(ctx context.Context, thread string, o Options) ([]message.Message, error) {
	docs, err := r.find(ctx, thread, o)
	if err != nil {
		return nil, err
	}
	return read(thread, docs)
}

func read(thread string, docs []document.Doc) ([]message.Message, error) {
	ms := make([]message.Message, len(docs))
	for i, d := range docs {
		if err := json.Unmarshal(d.Value, &ms[i]); err != nil {
			return nil, place(thread, fmt.Errorf("%w: message %q: %w", checkpoint.ErrCorrupt, d.ID, err))
		}
	}
	return ms, nil
}

// Delete removes the messages of a thread. It returns no error for an unknown thread.
func (r *Repository) Delete(ctx context.Context, thread string) error {
	if err := checkpoint.CheckThread(thread); err != nil {
		return err
	}
	if err := r.store.Clear(ctx, document.At(Collection, thread)); err != nil {
		return place(thread, err)
	}
	return nil
}
