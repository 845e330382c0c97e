package thread

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/validtext"
)

// Repository reads and writes the records of threads. It caches nothing, and is safe for concurrent
// use. It returns errors of the store unchanged.
type Repository[S any] struct {
	docs document.Store
	// Collection is the collection of the records; "" means "threads". It must be set before the
	// first use.
	Collection string
}

// NewRepository returns a repository for the records in a store.
func NewRepository[S any](docs document.Store) *Repository[S] { return &Repository[S]{docs: docs} }

// record is the stored JSON. A write of one half does not decode the other.
type record struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state,omitempty"`
	// Epoch counts how often the state was cleared; its version then starts again.
	Epoch uint64 `json:"epoch,omitempty"`
}

// recordID is the id of a record in the partition of its thread.
const recordID = "record"

func (r *Repository[S]) place(thread string) document.Place {
	return document.At(cmp.Or(r.Collection, "threads"), thread)
}

// read returns a record and the version of its document, or ErrThreadNotFound.
func (r *Repository[S]) read(ctx context.Context, thread string) (rec record, version uint64, err error) {
	if thread == "" {
		return rec, 0, ErrThreadID
	}
	d, err := r.docs.Get(ctx, r.place(thread), recordID)
	if errors.Is(err, document.ErrNotFound) {
		return rec, 0, fmt.Errorf("%w: %.200q", ErrThreadNotFound, thread)
	}
	if err != nil {
		return rec, 0, err
	}
	if err := json.Unmarshal(d.Value, &rec); err != nil {
		return rec, 0, fmt.Errorf("%w: thread %.200q: %w", ErrState, thread, err)
	}
	return rec, d.Version, nil
}

// edit changes a record, and retries after a conflict. An unknown thread is the zero record. It
// returns the new record.
func (r *Repository[S]) edit(ctx context.Context, thread string, change func(rec *record) error) (record, error) {
	for {
		rec, version, err := r.read(ctx, thread)
		if err != nil && !errors.Is(err, ErrThreadNotFound) {
			return rec, err
		}
		if err := change(&rec); err != nil {
			return rec, err
		}
		value, err := validtext.Marshal(rec)
		if err != nil {
			return rec, err
		}
		_, err = r.docs.Set(ctx, r.place(thread), document.Change{ID: recordID, Value: value, If: &version})
		if !errors.Is(err, document.ErrConflict) {
			return rec, err
		}
	}
}

func decodeConfig(rec record) (c Config, err error) {
	d := json.NewDecoder(bytes.NewReader(rec.Config))
	d.UseNumber()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return c, nil
}

func decodeState[S any](rec record) (s *State[S], err error) {
	if rec.State == nil {
		return nil, nil
	}
	err = json.Unmarshal(rec.State, &s)
	return s, err
}

func encodeConfig(c Config) (json.RawMessage, error) {
	if c == nil {
		return nil, fmt.Errorf("%w: it is nil", ErrConfig)
	}
	data, err := validtext.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return data, nil
}

// versionOf returns the version of a stored state, 0 if there is none.
func versionOf(rec record) (uint64, error) {
	s, err := decodeState[json.RawMessage](rec)
	if err != nil || s == nil {
		return 0, err
	}
	return s.Version, nil
}

// Thread returns the record of a thread, or ErrThreadNotFound.
func (r *Repository[S]) Thread(ctx context.Context, thread string) (*Thread[S], error) {
	t, _, err := r.thread(ctx, thread)
	return t, err
}

func (r *Repository[S]) thread(ctx context.Context, thread string) (t *Thread[S], epoch uint64, err error) {
	rec, _, err := r.read(ctx, thread)
	if err != nil {
		return nil, 0, err
	}
	t = &Thread[S]{ID: thread}
	if t.Config, err = decodeConfig(rec); err == nil {
		t.State, err = decodeState[S](rec)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("thread %.200q: %w", thread, err)
	}
	return t, rec.Epoch, nil
}

// SetThread replaces or creates a record. It checks the version of the state as SetState does. A
// nil State clears the stored one.
func (r *Repository[S]) SetThread(ctx context.Context, t *Thread[S]) error {
	config, err := encodeConfig(t.Config)
	if err != nil {
		return err
	}
	_, err = r.edit(ctx, t.ID, func(rec *record) error {
		rec.Config = config
		return r.put(t.ID, rec, t.State)
	})
	return err
}

// Config returns the configuration of a thread, or ErrThreadNotFound.
func (r *Repository[S]) Config(ctx context.Context, thread string) (Config, error) {
	rec, _, err := r.read(ctx, thread)
	if err != nil {
		return nil, err
	}
	return decodeConfig(rec)
}

// SetConfig replaces the configuration of a thread and does not change its state. It creates an
// unknown thread, without a state.
func (r *Repository[S]) SetConfig(ctx context.Context, thread string, c Config) error {
	data, err := encodeConfig(c)
	if err != nil {
		return err
	}
	_, err = r.edit(ctx, thread, func(rec *record) error { rec.Config = data; return nil })
	return err
}

// Create creates the record of an unknown thread, with an empty configuration and without a state.
// It does not change a record that exists.
func (r *Repository[S]) Create(ctx context.Context, thread string) error {
	_, err := r.edit(ctx, thread, func(rec *record) error {
		if rec.Config == nil {
			rec.Config = json.RawMessage("{}")
		}
		return nil
	})
	return err
}

// EditConfig changes the configuration of a thread atomically, or returns ErrThreadNotFound. It may
// call change more than once, and returns an error of change. It returns the new configuration.
func (r *Repository[S]) EditConfig(ctx context.Context, thread string, change func(Config) error) (Config, error) {
	rec, err := r.edit(ctx, thread, func(rec *record) error {
		if rec.Config == nil {
			return fmt.Errorf("%w: %.200q", ErrThreadNotFound, thread)
		}
		c, err := decodeConfig(*rec)
		if err == nil {
			err = change(c)
		}
		if err == nil {
			rec.Config, err = encodeConfig(c)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return decodeConfig(rec)
}

// State returns the state of a thread, nil if it has none, or ErrThreadNotFound.
func (r *Repository[S]) State(ctx context.Context, thread string) (*State[S], error) {
	rec, _, err := r.read(ctx, thread)
	if err != nil {
		return nil, err
	}
	return decodeState[S](rec)
}

// SetState replaces the state of a thread and does not change its configuration. A nil state clears
// the stored one. It returns the stored version, an ErrThreadNotFound for an unknown thread, and an
// ErrConflict for a version that does not follow the stored one; see State.Version.
func (r *Repository[S]) SetState(ctx context.Context, thread string, s *State[S]) (uint64, error) {
	rec, err := r.edit(ctx, thread, func(rec *record) error { return r.put(thread, rec, s) })
	if err != nil {
		return 0, err
	}
	return versionOf(rec)
}

// saveFrom is SetState for a state that was loaded in an epoch.
func (r *Repository[S]) saveFrom(ctx context.Context, thread string, s *State[S], epoch uint64) error {
	_, err := r.edit(ctx, thread, func(rec *record) error {
		if rec.Epoch != epoch {
			stored, err := versionOf(*rec)
			return cmp.Or[error](err, &ConflictError{Thread: thread, Base: s.Version - 1, Version: stored})
		}
		return r.put(thread, rec, s)
	})
	return err
}

// put sets the state of a record.
func (r *Repository[S]) put(thread string, rec *record, s *State[S]) error {
	if rec.Config == nil {
		return fmt.Errorf("%w: %.200q", ErrThreadNotFound, thread)
	}
	if s == nil {
		if rec.State != nil {
			rec.State = nil
			rec.Epoch++
		}
		return nil
	}
	stored, err := versionOf(*rec)
	if err != nil {
		return err
	}
	if s.Version != 0 && s.Version != stored+1 {
		return &ConflictError{Thread: thread, Base: s.Version - 1, Version: stored}
	}
	next := *s
	next.Version = stored + 1
	if rec.State, err = validtext.Marshal(next); err != nil {
		return fmt.Errorf("%w: thread %.200q: %w", ErrState, thread, err)
	}
	return nil
}
