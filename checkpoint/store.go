package checkpoint

import (
	"context"
	"iter"
	"time"
)

// Store keeps the commits of threads. It holds bytes and numbers: what a value
// means, how it is encoded and whether it is intact is known above it.
//
// A thread has namespaces ("" is the root, subgraphs have their own), and a
// namespace is a chain of commits numbered 1, 2, 3… The head is the newest.
// It moves only by compare-and-set, so two writers cannot fork a thread silently.
//
// A Store is safe for concurrent use, by many goroutines and, where its backend
// allows, by many processes. It never keeps or changes a slice that was passed
// in, and the caller owns what it returns. checkpointtest.Run judges a Store.
type Store interface {
	// Commit appends c to its chain, whole or not at all. It returns a
	// *ConflictError, and changes nothing, when the head is not c.Head; but when
	// the head is already c itself (the same ID at c.Head+1), the commit is done
	// and Commit returns nil, so a lost reply is safe to retry. A commit drops the
	// pending entries of its namespace and puts c.Pending in their place, in the same
	// atomic write.
	Commit(ctx context.Context, c Commit) error

	// Load returns the commit with number seq and every blob that its Refs name, or
	// the head when seq is 0, and then with its pending entries. It returns
	// ErrNotFound when there is no such thread, namespace or commit, and ErrCorrupt
	// when a blob is missing: never less than the whole.
	Load(ctx context.Context, k Key, seq uint64) (Snapshot, error)

	// Put stores entries beside the head, in one atomic call. It returns a
	// *ConflictError, and changes nothing, when the head is not p.Head, and ErrNotFound
	// when there is no commit yet. An entry with Keep set stays as it is if one with the same Task and Slot is already there;
	// any other replaces it. Keep itself is not stored.
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

	// Delete removes a thread with all its namespaces and whatever else is kept of it,
	// except that its fences stay spent. An unknown thread is no error.
	Delete(ctx context.Context, thread string) error

	// Close releases what the store holds. A store that the caller opened is the
	// caller's to close; the runtime never does.
	Close() error
}

// Key names a chain of commits.
type Key struct {
	Thread    string // 1 to 1024 bytes of valid UTF-8; see CheckThread
	Namespace string // "" is the root
}

// Commit is one link of a chain: the header, the references to everything that
// makes up the state, and the blobs that are new.
type Commit struct {
	Key
	ID      string // names this attempt; unique, at most MaxID bytes
	Head    uint64 // the head this commit was made for, 0 for none; it becomes Head+1
	Header  []byte
	Refs    []Ref   // the whole state, at most one Ref a field; only what the head has or Blobs brings
	Blobs   []Blob  // what this commit adds
	Pending []Entry // the pending entries that the new head begins with

	// Number, if it is not 0, is the number the commit gets instead of Head+1. It is
	// greater than Head: a copy of a pruned chain has gaps where the original has them.
	Number uint64
	// Labels can be searched for in listings. They are text without NUL, see MaxLabels, and
	// stored in the clear.
	Labels map[string]string
	// Fence is the lease that the writer holds; "" for none. See Leaser.
	Fence string
	// TTL, if it is not 0, lets the whole thread expire so long after this commit,
	// unless a later one or Expirer.Expire says otherwise.
	TTL time.Duration
}

// Seq returns the number that the commit has once it is stored.
func (c Commit) Seq() uint64 {
	if c.Number != 0 {
		return c.Number
	}
	return c.Head + 1
}

// Ref says which blobs make up a field: chunk 0 of Base, which is the whole value,
// and then the chunks 1 to Chunks, which were added to it step by step.
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

// Pending are entries to store beside a head.
type Pending struct {
	Key
	Head    uint64 // the head they belong to
	Entries []Entry
	Fence   string // the lease that the writer holds; "" for none. See Leaser.
}

// Entry is something that belongs to the step after the head and must not wait
// for its commit: the finished work of one task, a question, an answer, an error.
type Entry struct {
	Task string `json:"task,omitempty"` // the task's id
	Slot string `json:"slot"`           // what it is; one entry for each task and slot
	Keep bool   `json:"-"`              // the first entry stays: a late duplicate changes nothing
	Data []byte `json:"data"`
}

// Query selects commits of a chain.
//
// The labels of a commit are source (see [Source]), run, graph, turn and step, the numbers in
// decimal, and the run's metadata beside them (graph.RunOptions.Metadata), in which these five
// names are not searched. A label that no commit has finds nothing.
type Query struct {
	Before uint64            // only commits with a smaller number; 0 means from the head
	Limit  int               // at most so many; 0 means all
	Where  map[string]string // only commits that have all these labels
}

// ThreadQuery selects threads.
type ThreadQuery struct {
	After string            // only threads whose id is greater; "" means from the first
	Limit int               // at most so many; 0 means all
	Where map[string]string // only threads whose root head has all these labels; see Query
}
