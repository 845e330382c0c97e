package state

import (
	"context"
	"errors"
	"io"
)

// BlobRef names a large value that is stored beside the history: an image, a file, a recording. It
// may be in any channel, also inside structs and lists. Its JSON form is
// {"$blob":"HASH","size":N}, by which the runtime finds it. A BlobRef is a capability: a program
// that has it can read the value.
type BlobRef struct {
	// Hash is the SHA-256 of the content, as 64 hexadecimal digits. In a store with keys it is an
	// HMAC-SHA-256 of that.
	Hash string `json:"$blob"`
	// Size is the length of the content in bytes.
	Size int64 `json:"size"`
	// Type is the media type, such as image/png. The program sets it; "" is unknown.
	Type string `json:"type,omitempty"`
}

// Blobs stores the contents of BlobRefs for one owner, such as a thread. Package checkpoint/blob
// has the stores.
type Blobs interface {
	// Put reads r to its end and stores the content. It holds a small part in memory.
	Put(ctx context.Context, r io.Reader) (BlobRef, error)
	// Open returns a reader of the content, which the caller closes. The reader returns an error,
	// and not io.EOF, where the content is not what the hash names.
	Open(ctx context.Context, ref BlobRef) (io.ReadCloser, error)
}

// ErrNoBlobs is returned when a node stores or opens a blob, and the store of its graph has no
// blobs: see checkpoint.WithBlobs. A test of a node passes them with [WithBlobs].
var ErrNoBlobs = errors.New("state: the store has no blobs; checkpoint.WithBlobs adds them, and --blobs on the command line")

type blobsKey struct{}

// WithBlobs returns a context in which [PutBlob] and [OpenBlob] use b. The runtime gives it to
// nodes.
func WithBlobs(ctx context.Context, b Blobs) context.Context {
	return context.WithValue(ctx, blobsKey{}, b)
}

// PutBlob stores the content of r and returns its name, for a node that puts it into a list or a
// struct. It streams: r may be larger than the memory.
func PutBlob(ctx context.Context, r io.Reader) (BlobRef, error) {
	b, ok := ctx.Value(blobsKey{}).(Blobs)
	if !ok {
		return BlobRef{}, ErrNoBlobs
	}
	return b.Put(ctx, r)
}

// OpenBlob returns a reader of the content of ref. The caller closes it.
func OpenBlob(ctx context.Context, ref BlobRef) (io.ReadCloser, error) {
	b, ok := ctx.Value(blobsKey{}).(Blobs)
	if !ok {
		return nil, ErrNoBlobs
	}
	return b.Open(ctx, ref)
}

// Blob holds the name of one large value. It is a [Value] of a [BlobRef]: a write replaces it. The
// content is stored once, beside the history, and is read and written as a stream.
type Blob struct{ Value[BlobRef] }

// Store stores the content of r and sets the value to its name.
func (b *Blob) Store(ctx context.Context, r io.Reader) error {
	ref, err := PutBlob(ctx, r)
	if err != nil {
		return err
	}
	b.Set(ref)
	return nil
}

// Open returns a reader of the content. The caller closes it. A Blob without a value is an error.
func (b *Blob) Open(ctx context.Context) (io.ReadCloser, error) {
	ref, ok := b.Lookup()
	if !ok {
		return nil, errors.New("state: the Blob has no value to open")
	}
	return OpenBlob(ctx, ref)
}
