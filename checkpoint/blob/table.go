package blob

import (
	"context"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// ChunkSize is the size of all chunks of a blob but the last, in bytes before encryption.
const ChunkSize = 1 << 20

// Table is the interface of a backend: it stores chunks, names them by a hash, and counts who
// claims them. [Over] makes a Store of it, which hashes, encrypts and checks. blobtest.Run tests a
// Table. A Table never retains or changes a slice that was passed in. Times have the precision of a
// millisecond.
type Table interface {
	// Stage stores chunk n of an upload, which no reader sees. The chunks of an upload come in
	// order. A chunk that is staged again replaces the first.
	Stage(ctx context.Context, upload string, n int, data []byte) error
	// Finish makes the chunks of an upload the blob b and claims it, atomically. If a blob with
	// this hash is stored, that one is claimed and the upload is removed. Finish may be repeated.
	// It is an ErrNotFound when the upload does not have b.Chunks chunks and no blob has the hash.
	Finish(ctx context.Context, upload string, b Stat, c Claim) error
	// Discard removes an upload that was not finished. Any other is left as it is.
	Discard(ctx context.Context, upload string) error
	// Stat describes a blob, or is an ErrNotFound.
	Stat(ctx context.Context, hash string) (Stat, error)
	// Read returns chunk n of a blob. It is an ErrNotFound when there is no such blob or chunk.
	Read(ctx context.Context, hash string, n int) ([]byte, error)
	// Claim claims blobs for an owner, or renews its claims. It returns the hashes without a blob,
	// for which it makes no claim.
	Claim(ctx context.Context, owner string, hashes []string, at time.Time) (missing []string, err error)
	// Claims returns at most limit claims of an owner, in ascending order of the hash, from the
	// first hash after the given one.
	Claims(ctx context.Context, owner, after string, limit int) ([]Claim, error)
	// Owners returns at most limit owners with claims, in an order of the table, from the first one
	// after the given one; "" is before all.
	Owners(ctx context.Context, after string, limit int) ([]string, error)
	// Release ends the claims of an owner that were made or renewed before a time. A blob without
	// claims is removed in the same atomic step, or such that a claim that succeeds always has its
	// blob. Release returns what was removed.
	Release(ctx context.Context, owner string, hashes []string, before, now time.Time) (Freed, error)
	// Sweep removes the uploads that [Begun] reports as begun before a time and that were not
	// finished, and what a removal that was cut off has left.
	Sweep(ctx context.Context, before time.Time) error
}

// Stat describes a stored blob.
type Stat struct {
	Hash   string // 64 hexadecimal digits
	Size   int64  // of all chunks, as stored, in bytes
	Chunks int    // at least 1
}

// Claim is the reference of an owner to a blob. A blob is stored as long as it has a claim.
type Claim struct {
	Owner string
	Hash  string
	Size  int64     // of the blob as stored, in bytes; not set where a claim is made
	At    time.Time // when it was made or renewed
}

// Freed is what was removed.
type Freed = checkpoint.FreedBlobs
