package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/weftrun/weft/state"
)

// Blobs stores large values by their hash, and counts which owners claim them. A thread is an
// owner. The Store of package checkpoint/blob is one.
type Blobs interface {
	// Of returns the blobs of an owner. What it puts is claimed for the owner.
	Of(owner string) state.Blobs
	// Claim claims blobs for an owner, or renews its claims. A blob that is not stored is an
	// ErrBlobNotFound that names it.
	Claim(ctx context.Context, owner string, hashes []string) error
	// Release ends the claims of an owner that are older than the grace and that uses does not
	// return; a negative grace is none. A blob without claims is removed.
	Release(ctx context.Context, owner string, grace time.Duration, uses func(context.Context) (map[string]bool, error)) (FreedBlobs, error)
}

// FreedBlobs is what a collection of blobs has removed.
type FreedBlobs struct {
	Blobs int
	Bytes int64 // as stored
}

// Add adds what another call has removed.
func (f *FreedBlobs) Add(g FreedBlobs) { f.Blobs, f.Bytes = f.Blobs+g.Blobs, f.Bytes+g.Bytes }

// BlobOptions are the settings of WithBlobs. The zero value is ready for use.
type BlobOptions struct {
	// Above is the size from which a piece of a field is stored as a blob, in bytes as stored; 0
	// means 256 KiB, and a negative size means that no piece is. Nodes see the value as before.
	Above int
	// Grace is how long a blob stays that no commit refers to: what a node has put for a commit
	// that is not made yet. 0 means 24 hours. It must be longer than a task runs.
	Grace time.Duration
}

// blobsAbove is the default of BlobOptions.Above.
const blobsAbove = 256 << 10

// WithBlobs returns a store that stores large values as blobs: the contents of state.Blob, and
// pieces of fields from BlobOptions.Above on. Code that has the returned store can read them. It
// implements Leaser, Dropper and Expirer if the other store does. A sealed store goes inside:
// WithBlobs(Sealed(store, codec), blobs, o), with blobs that have keys too.
//
// Before a commit is stored its blobs are claimed for the thread, so that no blob is removed to
// which a commit refers. [Prune], [DeleteRuns] and Delete end the claims that are not needed any
// more. A thread that expires keeps its claims until [CollectBlobs] is called for it.
func WithBlobs(store Store, b Blobs, o BlobOptions) (Store, error) {
	codec := codecOf(store)
	if codec.blobs != nil {
		return nil, fmt.Errorf("%w: the store has blobs already", ErrRequest)
	}
	if o.Grace < 0 {
		return nil, fmt.Errorf("%w: the grace must not be negative (got %v)", ErrRequest, o.Grace)
	}
	o.Above = cmp.Or(o.Above, blobsAbove)
	codec.blobs, codec.inner = &attached{b, o, store}, Unwrap(store)
	return withAbilities(&besides{carrier{store, codec}}, store), nil
}

// attached are the blobs of a store.
type attached struct {
	Blobs
	options BlobOptions
	store   Store // without them
}

// BlobsIn returns the blobs that a store has by WithBlobs; nil for none.
func BlobsIn(store Store) Blobs {
	if b := codecOf(store).blobs; b != nil {
		return b.Blobs
	}
	return nil
}

// Unwrap returns the store inside of [WithBlobs] and [WithHashes]: it has the methods of its type,
// such as Documents. Any other store, also one of [Sealed], is returned as it is.
func Unwrap(store Store) Store {
	if inner := codecOf(store).inner; inner != nil {
		return inner
	}
	return store
}

// CollectBlobs ends the claims of a thread to blobs to which none of its commits and pending
// entries refers, except those of the last BlobOptions.Grace. The caller must hold the thread, or
// know that no run works on it. A thread that does not exist refers to none, and a store without
// blobs has none.
func CollectBlobs(ctx context.Context, store Store, thread string) (FreedBlobs, error) {
	b := codecOf(store).blobs
	if b == nil {
		return FreedBlobs{}, nil
	}
	return b.Release(ctx, thread, b.options.Grace, func(ctx context.Context) (map[string]bool, error) {
		return BlobsUsed(ctx, store, thread)
	})
}

// BlobsUsed returns the hashes of the blobs to which the commits and pending entries of a thread
// refer. It reads each piece of the thread once.
func BlobsUsed(ctx context.Context, store Store, thread string) (map[string]bool, error) {
	if b := codecOf(store).blobs; b != nil {
		store = b.store // it shows which pieces are blobs
	}
	u := used{store: store, hashes: map[string]bool{}}
	spaces, err := store.Namespaces(ctx, thread)
	if err != nil {
		return nil, err
	}
	for _, ns := range spaces {
		list, err := past(ctx, store, Key{thread, ns})
		if err != nil {
			return nil, err
		}
		u.seen = map[blobAddress]bool{}
		for _, snap := range slices.Backward(list) { // the newest has most pieces of a run
			if err := u.commit(ctx, snap); err != nil {
				return nil, err
			}
		}
	}
	return u.hashes, nil
}

// used finds the blobs of a thread.
type used struct {
	store  Store
	hashes map[string]bool
	seen   map[blobAddress]bool // pieces of the namespace
}

func (u *used) note(payload []byte) {
	for _, h := range appendBlobs(nil, payload) {
		u.hashes[h] = true
	}
}

func (u *used) commit(ctx context.Context, snap Snapshot) error {
	payload, err := unseal(headerPlace(snap.Key, snap.Seq), snap.Header)
	if err != nil {
		return damaged(snap, "header", err)
	}
	hashes, err := hashesInRecord(nil, payload)
	if err != nil {
		return damaged(snap, "header", err)
	}
	for _, h := range hashes {
		u.hashes[h] = true
	}
	entries, err := ReadPending(snap)
	if err != nil {
		return err
	}
	for _, e := range entries {
		u.note(e.Data)
	}
	if !slices.ContainsFunc(snap.Refs, func(r Ref) bool { return !u.seen[blobAddress{r.Field, r.Base, r.Chunks}] }) {
		return nil
	}
	full, err := u.store.Load(ctx, snap.Key, snap.Seq)
	if errors.Is(err, ErrNotFound) {
		return nil // dropped meanwhile
	}
	if err != nil {
		return err
	}
	for _, b := range full.Blobs {
		at := blobAddress{b.Field, b.Base, b.Chunk}
		if u.seen[at] {
			continue
		}
		u.seen[at] = true
		if s, ok := stubOf(b.Data); ok {
			for _, h := range s.hashes {
				u.hashes[h] = true
			}
			continue
		}
		payload, err := unseal(place(snap.Key, b.Field, b.Base, b.Chunk), b.Data)
		if err != nil {
			return damaged(snap, b.Field, err)
		}
		u.note(payload)
	}
	return nil
}

// blobMark precedes the hash in the JSON of a state.BlobRef. In a text it would be escaped.
const blobMark = `"$blob":"`

const hashDigits = 2 * sha256.Size

// appendBlobs appends the hashes of the blobs to which a JSON value refers.
func appendBlobs(hashes []string, payload []byte) []string {
	for {
		i := bytes.Index(payload, []byte(blobMark))
		if i < 0 {
			return hashes
		}
		payload = payload[i+len(blobMark):]
		if len(payload) <= hashDigits || payload[hashDigits] != '"' || !isHash(payload[:hashDigits]) {
			continue
		}
		if h := string(payload[:hashDigits]); !slices.Contains(hashes, h) {
			hashes = append(hashes, h)
		}
	}
}

func isHash(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}

// claim claims the blobs to which values of a thread refer.
func (c *Codec) claim(ctx context.Context, thread string, hashes []string) error {
	if len(hashes) == 0 || c.blobs == nil {
		return nil
	}
	if err := c.blobs.Claim(ctx, thread, hashes); err != nil {
		return fmt.Errorf("checkpoint: thread %q: %w", thread, err)
	}
	return nil
}

// besides is a store with blobs.
type besides struct{ carrier }

// Commit implements [Store]. It puts large pieces into the blobs.
func (s *besides) Commit(ctx context.Context, c Commit) error {
	above, cloned := s.codec.blobs.options.Above, false
	for i, b := range c.Blobs {
		if above < 0 || len(b.Data) < above {
			continue
		}
		stub, err := s.put(ctx, place(c.Key, b.Field, b.Base, b.Chunk), b.Data)
		if err != nil {
			return fmt.Errorf("checkpoint: thread %q, commit %d: field %q: %w", c.Thread, c.Seq(), b.Field, err)
		}
		if !cloned {
			c.Blobs, cloned = slices.Clone(c.Blobs), true
		}
		c.Blobs[i].Data = stub
	}
	return s.Store.Commit(ctx, c)
}

// A piece that is stored as a blob leaves a stub: its envelope with flagBeside, and instead of the
// payload its length as a uvarint, its hash, and the hashes of the blobs to which it refers, of 32
// bytes each. So equal payloads are one blob.
func (s *besides) put(ctx context.Context, at spot, data []byte) ([]byte, error) {
	n, err := headLen(data)
	if err != nil {
		return nil, err
	}
	payload := data[n : len(data)-sumBytes]
	raw, err := unseal(at, data)
	if err != nil {
		return nil, err
	}
	inside := appendBlobs(nil, raw)
	ref, err := s.codec.blobs.Of(at.thread).Put(ctx, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	stub := slices.Clip(bytes.Clone(data[:n]))
	stub[3] |= flagBeside
	stub = binary.AppendUvarint(stub, uint64(len(payload)))
	for _, h := range append([]string{ref.Hash}, inside...) {
		if stub, err = hex.AppendDecode(stub, []byte(h)); err != nil {
			return nil, err
		}
	}
	return binary.BigEndian.AppendUint64(stub, sum(at, stub)), nil
}

// headLen returns the length of an envelope before its payload.
func headLen(b []byte) (int, error) {
	short := fmt.Errorf("%w: %d bytes are too few", ErrCorrupt, len(b))
	if len(b) < 5+sumBytes {
		return 0, short
	}
	rest, flags := b[4:len(b)-sumBytes], b[3]
	_, rest, ok := cutUvarint(rest)
	if ok && flags&flagNote != 0 {
		var n uint64
		if n, rest, ok = cutUvarint(rest); ok && n <= uint64(len(rest)) {
			rest = rest[n:]
		} else {
			ok = false
		}
	}
	if ok && flags&flagBound != 0 {
		if ok = len(rest) >= markBytes; ok {
			rest = rest[markBytes:]
		}
	}
	if !ok {
		return 0, short
	}
	return len(b) - sumBytes - len(rest), nil
}

// stub is what a piece leaves that is stored as a blob.
type stub struct {
	size   int      // of the payload
	hashes []string // of the blob, and of those to which its value refers
}

// stubOf returns the stub in an envelope; ok is false for another value.
func stubOf(b []byte) (s stub, ok bool) {
	if len(b) < 5+sumBytes || b[0] != magic || b[3]&flagBeside == 0 {
		return s, false
	}
	n, err := headLen(b)
	if err != nil {
		return s, false
	}
	size, rest, ok := cutUvarint(b[n : len(b)-sumBytes])
	if !ok || size > maxRaw || len(rest) < sha256.Size || len(rest)%sha256.Size != 0 {
		return s, false
	}
	s.size = int(size)
	for h := range slices.Chunk(rest, sha256.Size) {
		s.hashes = append(s.hashes, hex.EncodeToString(h))
	}
	return s, true
}

// Load implements [Store]. It replaces the stubs by the pieces.
func (s *besides) Load(ctx context.Context, k Key, seq uint64) (Snapshot, error) {
	snap, err := s.Store.Load(ctx, k, seq)
	if err != nil {
		return snap, err
	}
	for i, b := range snap.Blobs {
		st, ok := stubOf(b.Data)
		if !ok {
			continue
		}
		if snap.Blobs[i].Data, err = s.get(ctx, place(k, b.Field, b.Base, b.Chunk), b.Data, st); err != nil {
			return Snapshot{}, fmt.Errorf("checkpoint: thread %q, namespace %q, commit %d: field %q: %w", k.Thread, k.Namespace, snap.Seq, b.Field, err)
		}
	}
	return snap, nil
}

// get returns the piece of which b is the stub.
func (s *besides) get(ctx context.Context, at spot, b []byte, st stub) ([]byte, error) {
	if _, err := intact(at, b); err != nil {
		return nil, err
	}
	n, err := headLen(b)
	if err != nil {
		return nil, err
	}
	r, err := s.codec.blobs.Of(at.thread).Open(ctx, state.BlobRef{Hash: st.hashes[0]})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := append(make([]byte, 0, n+st.size+sumBytes), b[:n]...)
	data[3] &^= flagBeside
	data = data[:n+st.size]
	if _, err := io.ReadFull(r, data[n:]); err != nil {
		return nil, err
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		return nil, cmp.Or(err, fmt.Errorf("%w: the blob is longer than %d bytes", ErrCorrupt, st.size))
	}
	return binary.BigEndian.AppendUint64(data, sum(at, data)), nil
}

// Delete implements [Store]. It then ends all claims of the thread, whatever their age: no run may
// work on it.
func (s *besides) Delete(ctx context.Context, thread string) error {
	if err := s.Store.Delete(ctx, thread); err != nil {
		return err
	}
	_, err := s.codec.blobs.Release(ctx, thread, -1, func(ctx context.Context) (map[string]bool, error) {
		return BlobsUsed(ctx, s, thread) // nothing, unless the thread was begun again
	})
	return err
}
