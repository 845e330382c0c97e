package checkpoint

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Sealed returns a store that stores its values in another store with the codec c. Code that has
// the returned store can read the values. Closing it closes the other store. It implements Leaser,
// Dropper and Expirer if the other store does.
//
// With keys, all values are encrypted and bound to their thread and place: the record of each
// commit, all fields, and pending entries. The fields and entries of a commit are also bound to
// its record, which names run, origin and branch. A value of another commit, of another branch, or
// of an earlier thread with the same id is an ErrCorrupt.
//
// The following is not encrypted: the ids of threads and commits; the names of namespaces, fields,
// tasks and slots; the labels with the run's metadata; and all sizes. A deletion is not detected,
// nor a rollback of a thread or its newest commits to an older stored state.
//
// Sealed returns an ErrRequest if the codec is not valid: a key of the wrong length, or a negative
// limit.
func Sealed(store Store, c Codec) (Store, error) {
	if _, twice := store.(interface{ Codec() Codec }); twice {
		return nil, fmt.Errorf("%w: the store is sealed already", ErrRequest)
	}
	if err := c.Limits.check(); err != nil {
		return nil, err
	}
	if c.Keys == nil {
		return withAbilities(carrier{store, c}, store), nil
	}
	if err := c.Keys.check(); err != nil {
		return nil, err
	}
	return withAbilities(&sealed{carrier{store, c}, c.Keys.ring()}, store), nil
}

// carrier is a store that carries its codec.
type carrier struct {
	Store
	codec Codec
}

// Codec returns the codec.
func (s carrier) Codec() Codec { return s.codec }

type coded interface {
	Store
	Codec() Codec
}

// withAbilities returns s with the optional interfaces of store.
func withAbilities(s coded, store Store) Store {
	l, leases := store.(Leaser)
	d, drops := store.(Dropper)
	e, expires := store.(Expirer)
	switch {
	case leases && drops && expires:
		return struct {
			coded
			Leaser
			Dropper
			Expirer
		}{s, l, d, e}
	case leases && drops:
		return struct {
			coded
			Leaser
			Dropper
		}{s, l, d}
	case leases && expires:
		return struct {
			coded
			Leaser
			Expirer
		}{s, l, e}
	case drops && expires:
		return struct {
			coded
			Dropper
			Expirer
		}{s, d, e}
	case leases:
		return struct {
			coded
			Leaser
		}{s, l}
	case drops:
		return struct {
			coded
			Dropper
		}{s, d}
	case expires:
		return struct {
			coded
			Expirer
		}{s, e}
	}
	return s
}

// sealed is a store whose values are encrypted.
type sealed struct {
	carrier
	ring *keyring
}

// Commit implements [Store].
func (s *sealed) Commit(ctx context.Context, c Commit) error {
	enc, err := s.ring.encrypter(c.Thread)
	if err != nil {
		return err
	}
	if c.Header, err = enc.encrypt(headerPlace(c.Key, c.Seq()), c.Header); err != nil {
		return err
	}
	c.Blobs = slices.Clone(c.Blobs)
	for i, b := range c.Blobs {
		if c.Blobs[i].Data, err = enc.encrypt(place(c.Key, b.Field, b.Base, b.Chunk), b.Data); err != nil {
			return err
		}
	}
	if c.Pending, err = enc.entries(c.Key, c.Pending); err != nil {
		return err
	}
	return s.Store.Commit(ctx, c)
}

func (e *encrypter) entries(k Key, entries []Entry) ([]Entry, error) {
	entries = slices.Clone(entries)
	for i, entry := range entries {
		var err error
		if entries[i].Data, err = e.encrypt(pendingPlace(k, entry), entry.Data); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Put implements [Store].
func (s *sealed) Put(ctx context.Context, p Pending) error {
	enc, err := s.ring.encrypter(p.Thread)
	if err != nil {
		return err
	}
	if p.Entries, err = enc.entries(p.Key, p.Entries); err != nil {
		return err
	}
	return s.Store.Put(ctx, p)
}

// Load implements [Store].
func (s *sealed) Load(ctx context.Context, k Key, seq uint64) (Snapshot, error) {
	snap, err := s.Store.Load(ctx, k, seq)
	if err != nil {
		return snap, err
	}
	return s.open(snap)
}

// History implements [Store]. It yields a commit that cannot be decrypted with an error and
// without values; more commits may follow.
func (s *sealed) History(ctx context.Context, k Key, q Query) iter.Seq2[Snapshot, error] {
	return s.opened(s.Store.History(ctx, k, q))
}

// Threads implements [Store], and yields errors as History does.
func (s *sealed) Threads(ctx context.Context, q ThreadQuery) iter.Seq2[Snapshot, error] {
	return s.opened(s.Store.Threads(ctx, q))
}

func (s *sealed) opened(snaps iter.Seq2[Snapshot, error]) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		for snap, err := range snaps {
			if err == nil {
				snap, err = s.open(snap)
			}
			if !yield(snap, err) {
				return
			}
		}
	}
}

// open decrypts a snapshot. If it fails the snapshot has no values.
func (s *sealed) open(snap Snapshot) (Snapshot, error) {
	field, err := "header", error(nil)
	if snap.Header, err = s.ring.decrypt(headerPlace(snap.Key, snap.Seq), snap.Header); err == nil {
		field, err = s.openValues(&snap)
	}
	if err != nil {
		err = damaged(snap, field, err)
		snap.Header, snap.Blobs, snap.Pending = nil, nil, nil
	}
	return snap, err
}

// openValues decrypts the blobs and the pending entries. It returns the field at which it fails.
func (s *sealed) openValues(snap *Snapshot) (field string, err error) {
	snap.Blobs, snap.Pending = slices.Clone(snap.Blobs), slices.Clone(snap.Pending)
	for i, b := range snap.Blobs {
		if snap.Blobs[i].Data, err = s.ring.decrypt(place(snap.Key, b.Field, b.Base, b.Chunk), b.Data); err != nil {
			return b.Field, err
		}
	}
	for i, e := range snap.Pending {
		if snap.Pending[i].Data, err = s.ring.decrypt(pendingPlace(snap.Key, e), e.Data); err != nil {
			return "pending", err
		}
	}
	return "", nil
}
