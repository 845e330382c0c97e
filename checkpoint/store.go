package checkpoint

import (
	"context"
	"iter"
	"time"
)

// Store stores the commits of threads. It handles bytes and numbers only: [Chain] encodes the
// values and checks that they are intact.
//
// A thread has namespaces ("" is the root, subgraphs have their own), and a
// namespace is a chain of commits numbered 1, 2, 3… The head is the newest.
// It moves only by compare-and-set, so two writers cannot fork a thread silently.
//
// A Store is safe for concurrent use by many goroutines and, where its backend
// allows, by many processes. It never retains or changes a slice that was passed
// in, and the caller owns what it returns. checkpointtest.Run tests a Store.
type Store interface {
	// Commit appends c to its chain atomically. It returns a *ConflictError, and
	// changes nothing, when the head is not c.Head. But when the head is already c
	// itself (the same ID at c.Seq()), Commit returns nil, so a lost reply is safe to
	// retry. A commit replaces the pending entries of its namespace by c.Pending, in
	// the same atomic write.
	Commit(ctx context.Context, c Commit) error

	// Load returns the commit with number seq, or the head when seq is 0, with every
	// blob that its Refs name. The head comes with its pending entries. Load returns
	// ErrNotFound when there is no such thread, namespace or commit, and ErrCorrupt
	// when a blob is missing. It never returns an incomplete commit.
	Load(ctx context.Context, k Key, seq uint64) (Snapshot, error)

	// Put stores pending entries of the head, in one atomic call. It returns a
	// *ConflictError, and changes nothing, when the head is not p.Head, and ErrNotFound
	// when there is no commit yet. An entry replaces a stored one with the same Task and
	// Slot, unless it has Keep set: then the stored one stays. Keep itself is not stored.
	Put(ctx context.Context, p Pending) error

	// History yields the commits of a namespace, newest first, without blobs. Only
	// the head carries pending entries. An unknown thread yields nothing. Ranging
	// over it again reads again.
	History(ctx context.Context, k Key, q Query) iter.Seq2[Snapshot, error]

	// Threads yields the root head of each thread with its pending entries and
	// without blobs, in ascending byte order of the thread's id.
	Threads(ctx context.Context, q ThreadQuery) iter.Seq2[Snapshot, error]

	// Namespaces returns the namespaces of a thread that have commits, in ascending
	// byte order. An unknown thread has none.
	Namespaces(ctx context.Context, thread string) ([]string, error)

	// Delete removes a thread with all its namespaces and everything else stored of it.
	// A fence of a deleted thread is never valid again. An unknown thread is no error.
	Delete(ctx context.Context, thread string) error

	// Close releases the resources of the store. The caller that opened a store closes
	// it; the runtime never does.
	Close() error
}

// Key names a chain of commits.
type Key struct {
	Thread    string // 1 to 1024 bytes of valid UTF-8; see CheckThread
	Namespace string // "" is the root
}

// Commit is one element of a chain: the header, the references to all blobs of the
// state, and the blobs that are new.
type Commit struct {
	Key
	ID      string // names this attempt; unique, at most MaxID bytes
	Head    uint64 // the head that this commit follows, 0 for none; the commit gets number Head+1
	Header  []byte
	Refs    []Ref   // the whole state, at most one Ref a field: blobs of the head, or in Blobs
	Blobs   []Blob  // the blobs that this commit adds
	Pending []Entry // the pending entries that the new head begins with

	// Number, if it is not 0, is the number of the commit instead of Head+1. It must be
	// greater than Head. A copy of a pruned chain has the same gaps as the original.
	Number uint64
	// Labels select commits in listings. They are text without NUL, see MaxLabels, and
	// are not encrypted.
	Labels map[string]string
	// Fence is the lease that the writer holds; "" for none. See Leaser.
	Fence string
	// TTL, if it is not 0, lets the whole thread expire that long after this commit,
	// unless a later commit or Expirer.Expire sets another time.
	TTL time.Duration
}

// Seq returns the number that the commit has once it is stored.
func (c Commit) Seq() uint64 {
	if c.Number != 0 {
		return c.Number
	}
	return c.Head + 1
}

// Ref names the blobs of a field: chunk 0 of Base, which is a whole value,
// and the chunks 1 to Chunks, which later steps added to it.
type Ref struct {
	Field  string
	Base   uint64 // the number of the commit that wrote the base
	Chunks int
}

// Blob is a piece of a field's value. A blob is written once and never changes.
type Blob struct {
	Field string
	Base  uint64
	Chunk int // 0 is the base itself
	Data  []byte
}

// Snapshot is one stored commit.
type Snapshot struct {
	Key
	Seq     uint64
	Head    uint64 // the head of the chain when this was read
	ID      string
	Labels  map[string]string
	Header  []byte
	Refs    []Ref   // in the order of the commit
	Blobs   []Blob  // in the order of Refs, then of Chunk; nil in listings
	Pending []Entry // in order of Task, then Slot; only for the head
}

// Pending are entries to store for a head.
type Pending struct {
	Key
	Head    uint64 // the head they belong to
	Entries []Entry
	Fence   string // the lease that the writer holds; "" for none. See Leaser.
}

// Entry is a result of the step after the head that is stored before the commit of that
// step: the finished work of one task, a question, an answer, or an error.
type Entry struct {
	Task string `json:"task,omitempty"` // the task's id
	Slot string `json:"slot"`           // the kind of entry; one entry for each task and slot
	Keep bool   `json:"-"`              // do not replace a stored entry of the same task and slot
	Data []byte `json:"data"`
}

// Query selects commits of a chain.
//
// The labels of a commit are source (see [Source]), run, graph, turn and step, with numbers in
// decimal, and the run's metadata (graph.RunOptions.Metadata). Metadata with one of these five
// names cannot be searched. A label that no commit has finds nothing.
type Query struct {
	Before uint64            // only commits with a smaller number; 0 means from the head
	Limit  int               // the greatest number of commits; 0 means all
	Where  map[string]string // only commits that have all these labels
}

// ThreadQuery selects threads.
type ThreadQuery struct {
	After string            // only threads whose id is greater; "" means from the first
	Limit int               // the greatest number of threads; 0 means all
	Where map[string]string // only threads whose root head has all these labels; see Query
}
