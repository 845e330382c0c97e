package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// MaxOwner is the length of the longest name of an owner, in bytes. The id of a thread is one.
const MaxOwner = 1024

// Ref names a blob: see [state.BlobRef].
type Ref = state.BlobRef

// Store stores blobs by their hash. It is safe for concurrent use. Make one with [Over], or with
// the method Blobs of a store of checkpoints.
type Store struct {
	// Now is the clock of claims and uploads; nil means time.Now. The clocks of all processes that
	// use the blobs must agree to much less than the grace of a collection.
	Now func() time.Time

	table Table
	keys  *keyring
}

// Over returns a Store that uses a Table. Over itself does not call the table.
func Over(t Table) *Store { return &Store{table: t} }

// Sealed returns a Store over the same blobs that encrypts what it puts, with AES-256-GCM and the
// current key. Opening a blob that is not encrypted is an ErrKey, unless keys.Plain is set.
func (s *Store) Sealed(keys *checkpoint.Keys) (*Store, error) {
	k, err := newKeyring(keys)
	if err != nil {
		return nil, err
	}
	return &Store{Now: s.Now, table: s.table, keys: k}, nil
}

func (s *Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Of returns the blobs of an owner, such as a thread.
func (s *Store) Of(owner string) state.Blobs { return owned{s, owner} }

type owned struct {
	*Store
	owner string
}

func (o owned) Put(ctx context.Context, r io.Reader) (Ref, error) {
	return o.Store.Put(ctx, o.owner, r)
}

func checkOwner(owner string) error {
	if owner == "" || len(owner) > MaxOwner || !utf8.ValidString(owner) {
		return fmt.Errorf("%w: an owner must have 1 to %d bytes of UTF-8 (got %.80q)", ErrOwner, MaxOwner, owner)
	}
	return nil
}

func checkHash(h string) error {
	if raw, err := hex.DecodeString(h); err != nil || len(raw) != sha256.Size || h != hex.EncodeToString(raw) {
		return fmt.Errorf("%w: a hash must have 64 hexadecimal digits (got %.80q)", ErrOwner, h)
	}
	return nil
}

// newUpload returns the name of an upload: the time of its begin in milliseconds, and a random
// text.
func newUpload(now time.Time) string {
	return fmt.Sprintf("%013d-%s", now.UnixMilli(), rand.Text())
}

// Begun reports whether an upload has begun before a time.
func Begun(upload string, before time.Time) bool {
	ms, err := strconv.ParseInt(upload[:min(13, len(upload))], 10, 64)
	return err != nil || ms < before.UnixMilli()
}

// discardTime bounds the removal of an upload that failed.
const discardTime = 5 * time.Second

// buffers has memory for chunks.
var buffers = sync.Pool{New: func() any { return new([ChunkSize]byte) }}

// Put reads r to its end, stores the content, and claims it for an owner. The content is stored
// once, however often it is put. Put holds one chunk in memory. When it fails, the content is not
// stored; what was sent of it is removed at once, or by the next [Store.Sweep].
func (s *Store) Put(ctx context.Context, owner string, r io.Reader) (Ref, error) {
	if err := checkOwner(owner); err != nil {
		return Ref{}, err
	}
	u := upload{s: s, name: newUpload(s.now()), owner: owner, sum: sha256.New()}
	ref, err := u.run(ctx, r)
	if err != nil && u.chunks > 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
		defer cancel()
		_ = s.table.Discard(ctx, u.name) // Sweep removes it otherwise
	}
	if err != nil {
		return Ref{}, fmt.Errorf("blob: put for %.80q: %w", owner, err)
	}
	return ref, nil
}

// upload is one Put.
type upload struct {
	s           *Store
	name, owner string
	sum         hash.Hash
	sealer      *sealer // nil without keys
	size        int64   // of the content
	stored      int64
	chunks      int
}

func (u *upload) run(ctx context.Context, r io.Reader) (Ref, error) {
	buffer := buffers.Get().(*[ChunkSize]byte)
	defer buffers.Put(buffer)
	for {
		if err := ctx.Err(); err != nil {
			return Ref{}, err
		}
		n, err := io.ReadFull(r, buffer[:])
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return Ref{}, err
		}
		u.sum.Write(buffer[:n])
		u.size += int64(n)
		if end && u.chunks == 0 {
			if ref, ok, err := u.again(ctx); ok || err != nil {
				return ref, err
			}
		}
		if n > 0 || u.chunks == 0 {
			if err := u.stage(ctx, buffer[:n]); err != nil {
				return Ref{}, err
			}
		}
		if end {
			break
		}
	}
	ref := u.ref()
	b := Stat{Hash: ref.Hash, Size: u.stored, Chunks: u.chunks}
	return ref, u.s.table.Finish(ctx, u.name, b, Claim{Owner: u.owner, Hash: ref.Hash, At: u.s.now()})
}

// again claims a content of one chunk that is stored already.
func (u *upload) again(ctx context.Context) (Ref, bool, error) {
	ref := u.ref()
	missing, err := u.s.table.Claim(ctx, u.owner, []string{ref.Hash}, u.s.now())
	return ref, err == nil && len(missing) == 0, err
}

func (u *upload) ref() Ref {
	sum := u.sum.Sum(nil)
	if u.s.keys != nil {
		sum = u.s.keys.name(sum)
	}
	return Ref{Hash: hex.EncodeToString(sum), Size: u.size}
}

func (u *upload) stage(ctx context.Context, data []byte) (err error) {
	if u.s.keys == nil && u.chunks == 0 && isSealed(data) {
		return fmt.Errorf("%w: the content begins like an encrypted blob", checkpoint.ErrRequest)
	}
	if u.s.keys != nil {
		if u.sealer == nil {
			if u.sealer, err = u.s.keys.sealer(); err != nil {
				return err
			}
		}
		if data, err = u.sealer.seal(u.chunks, data); err != nil {
			return err
		}
	}
	if err := u.s.table.Stage(ctx, u.name, u.chunks, data); err != nil {
		return err
	}
	u.stored += int64(len(data))
	u.chunks++
	return nil
}

// Claim claims blobs for an owner, or renews its claims. It returns a *MissingError if one is not
// stored; the others are claimed.
func (s *Store) Claim(ctx context.Context, owner string, hashes []string) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	for _, h := range hashes {
		if err := checkHash(h); err != nil {
			return err
		}
	}
	if len(hashes) == 0 {
		return nil
	}
	missing, err := s.table.Claim(ctx, owner, hashes, s.now())
	if err == nil && len(missing) > 0 {
		err = &MissingError{owner, missing}
	}
	return err
}

// Open returns a reader of a blob. It reads one chunk at a time. At the end of a content that does
// not have the hash it returns an ErrCorrupt and not io.EOF. The context applies to all reads.
func (s *Store) Open(ctx context.Context, ref Ref) (io.ReadCloser, error) {
	if err := checkHash(ref.Hash); err != nil {
		return nil, err
	}
	b, err := s.table.Stat(ctx, ref.Hash)
	if err != nil {
		return nil, place(ref.Hash, err)
	}
	return &reader{ctx: ctx, s: s, stat: b, sum: sha256.New()}, nil
}

// Stat describes a stored blob, or is an ErrNotFound.
func (s *Store) Stat(ctx context.Context, hash string) (Stat, error) {
	if err := checkHash(hash); err != nil {
		return Stat{}, err
	}
	b, err := s.table.Stat(ctx, hash)
	if err != nil {
		return Stat{}, place(hash, err)
	}
	return b, nil
}

// Length returns the length of the content of a blob, in bytes, or is an ErrNotFound. Of a store
// with keys it reads the first chunk.
func (s *Store) Length(ctx context.Context, hash string) (int64, error) {
	b, err := s.Stat(ctx, hash)
	if err != nil || s.keys == nil {
		return b.Size, err
	}
	first, err := s.table.Read(ctx, hash, 0)
	if err != nil {
		return 0, place(hash, err)
	}
	if s.keys.plain && !isSealed(first) {
		return b.Size, nil
	}
	o, err := s.keys.opener(first)
	if err != nil {
		return 0, place(hash, err)
	}
	return b.Size - int64(len(o.head)) - int64(b.Chunks*o.aead.Overhead()), nil
}

// reader reads a blob chunk by chunk.
type reader struct {
	ctx    context.Context // that of Open, as for an http.Response
	s      *Store
	stat   Stat
	sum    hash.Hash
	opener *opener
	next   int
	rest   []byte
	err    error
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		r.rest, r.err = r.chunk()
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo: io.Copy needs no memory of its own.
func (r *reader) WriteTo(w io.Writer) (n int64, err error) {
	for {
		for len(r.rest) == 0 && r.err == nil {
			r.rest, r.err = r.chunk()
		}
		if len(r.rest) == 0 {
			if r.err == io.EOF {
				return n, nil
			}
			return n, r.err
		}
		m, err := w.Write(r.rest)
		n, r.rest = n+int64(m), r.rest[m:]
		if err != nil {
			return n, err
		}
	}
}

// chunk returns the next chunk, and io.EOF after the last if the content is intact.
func (r *reader) chunk() ([]byte, error) {
	hash := r.stat.Hash
	if r.next == r.stat.Chunks {
		if name := r.name(); name != hash {
			return nil, corrupt(hash, "the content has the hash %.16s", name)
		}
		return nil, io.EOF
	}
	data, err := r.s.table.Read(r.ctx, hash, r.next)
	if err != nil {
		return nil, place(hash, err)
	}
	if data, err = r.open(data); err != nil {
		return nil, place(hash, err)
	}
	r.next++
	r.sum.Write(data)
	return data, nil
}

func (r *reader) open(data []byte) ([]byte, error) {
	sealed := isSealed(data)
	if r.next == 0 {
		switch {
		case r.s.keys == nil && !sealed, r.s.keys != nil && !sealed && r.s.keys.plain:
			return data, nil
		}
		var err error
		if r.opener, err = r.s.keys.opener(data); err != nil {
			return nil, err
		}
	}
	if r.opener == nil {
		return data, nil
	}
	return r.opener.open(r.next, data)
}

func (r *reader) name() string {
	sum := r.sum.Sum(nil)
	if r.opener != nil {
		sum = r.opener.name(sum)
	}
	return hex.EncodeToString(sum)
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.rest, r.err = nil, errors.New("blob: read after Close")
	return nil
}
