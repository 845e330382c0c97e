package checkpoint

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

var (
	// ErrNotFound is returned when there is no such thread, namespace or commit.
	ErrNotFound = errors.New("checkpoint: not found")
	// ErrCorrupt is returned when stored bytes are not what was once written.
	// The bytes are left as they are; errors.As with *CorruptError gives the place.
	ErrCorrupt = errors.New("checkpoint: stored bytes are damaged")
	// ErrUnsupported is returned when stored bytes were written by a newer
	// version of this package, or by other software.
	ErrUnsupported = errors.New("checkpoint: stored in a format this version does not know")
	// ErrSchema is returned when a stored value is intact but does not fit the type that
	// the program declares for its field: the type was changed. The bytes are left as
	// they are.
	ErrSchema = errors.New("checkpoint: a stored value does not fit the type of its field")
	// ErrNewerSchema is returned when a stored value was written by a program in which its
	// field has a later version. Nothing was changed; errors.As with *NewerSchemaError
	// gives the versions.
	ErrNewerSchema = errors.New("checkpoint: a field was stored by a newer program")
	// ErrKey is returned when a value cannot be decrypted because its key is missing or wrong,
	// or when a value is not encrypted and must be. errors.As with *KeyError gives the id of
	// the key.
	ErrKey = errors.New("checkpoint: missing or wrong key")
	// ErrConflict is returned when the head is not the one that was expected:
	// another writer has committed to the thread. Nothing was written.
	ErrConflict = errors.New("checkpoint: another writer has committed to the thread")
	// ErrThreadID is returned when a thread id is empty, too long or not UTF-8.
	ErrThreadID = errors.New("checkpoint: invalid thread id")
	// ErrBusy is returned when a store stayed locked by other callers for too long.
	// Nothing was written.
	ErrBusy = errors.New("checkpoint: the store is busy")
	// ErrUnavailable is returned when a store cannot be opened or reached.
	ErrUnavailable = errors.New("checkpoint: the store cannot be used")
	// ErrFull is returned when a store has no room left. It is an ErrUnavailable.
	// Nothing was written, and stored values can still be read.
	ErrFull = fmt.Errorf("%w: no room left", ErrUnavailable)
	// ErrFenced is returned when a writer's lease was taken over, or when it has none on
	// a thread that is leased. Nothing was written.
	ErrFenced = errors.New("checkpoint: the thread belongs to another writer")
	// ErrOwned is returned when a thread is leased to another owner. Nothing was
	// written.
	ErrOwned = errors.New("checkpoint: the thread is leased to another owner")
	// ErrUnknownOutcome is returned when a write was sent and no reply came: the write may
	// or may not have happened. Repeat the same Commit to find out.
	ErrUnknownOutcome = errors.New("checkpoint: it is not known whether the write happened")
	// ErrTooLarge is returned when a value, a header or a commit is larger than its limit.
	// Nothing was sent to the store.
	ErrTooLarge = errors.New("checkpoint: too large")
	// ErrRequest is returned when a request is not valid for any store: a number that is
	// not after the head, a negative time, a label that is not text. Nothing was written.
	ErrRequest = errors.New("checkpoint: invalid request")
	// ErrThreadExists is returned when a thread cannot be copied because the new thread
	// exists. The existing thread was not changed.
	ErrThreadExists = errors.New("checkpoint: the thread exists already")
	// ErrNoDrop is returned when a store is not a Dropper, so it cannot be pruned.
	ErrNoDrop = errors.New("checkpoint: this store cannot drop commits")
	// ErrNoBlobs is returned when a value is stored as a blob and the store was opened without its
	// blobs: see WithBlobs.
	ErrNoBlobs = errors.New("checkpoint: the store was opened without its blobs")
	// ErrBlobNotFound is returned when a blob is not stored to which a value refers.
	ErrBlobNotFound = errors.New("checkpoint: no such blob")
	// ErrLeaseLost is the cause with which the context of a Held ends when its lease is lost.
	ErrLeaseLost = errors.New("checkpoint: the lease of the thread was lost")
	// ErrClosed is returned when a store is used after Close.
	ErrClosed = errors.New("checkpoint: the store is closed")
)

// IsTemporary reports whether err means that a store did not answer, or could not carry out a call
// at that time: an ErrUnavailable, ErrBusy or ErrUnknownOutcome. The same call may succeed later.
func IsTemporary(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrBusy) || errors.Is(err, ErrUnknownOutcome)
}

// ConflictError has the head that a call expected and the actual one. It is an ErrConflict.
type ConflictError struct {
	Key
	Want, Head uint64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: thread %q, namespace %q: head is %d, not %d", ErrConflict, e.Thread, e.Namespace, e.Head, e.Want)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// FencedError names the owner of a thread. It is an ErrFenced.
type FencedError struct {
	Thread string
	Owner  string // "" if the thread has no owner
}

func (e *FencedError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%v: thread %q: the lease has ended", ErrFenced, e.Thread)
	}
	return fmt.Sprintf("%v: thread %q is owned by %s", ErrFenced, e.Thread, e.Owner)
}

// Is makes errors.Is(err, ErrFenced) true.
func (e *FencedError) Is(target error) bool { return target == ErrFenced }

// BusyError names the owner of a thread and how long its lease still runs. It is an ErrOwned.
type BusyError struct {
	Thread    string
	Owner     string
	Remaining time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%v: thread %q is owned by %s for another %v", ErrOwned, e.Thread, e.Owner, e.Remaining)
}

// Is makes errors.Is(err, ErrOwned) true.
func (e *BusyError) Is(target error) bool { return target == ErrOwned }

// CorruptError names the stored bytes that are damaged. It is an ErrCorrupt.
type CorruptError struct {
	Key
	Seq   uint64 // 0 when not known
	Field string // the field, "header", or "pending"
	Why   string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: thread %q, namespace %q, commit %d, %s: %s", ErrCorrupt, e.Thread, e.Namespace, e.Seq, e.Field, e.Why)
}

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// NewerSchemaError names a field that was stored by a newer program. It is an ErrNewerSchema.
type NewerSchemaError struct {
	Field         string
	Stored, Known int // the stored version and the program's
}

func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("%v: field %q has version %d in the store and %d in this program", ErrNewerSchema, e.Field, e.Stored, e.Known)
}

// Is makes errors.Is(err, ErrNewerSchema) true.
func (e *NewerSchemaError) Is(target error) bool { return target == ErrNewerSchema }

// KeyError names a key that is missing or wrong. It is an ErrKey.
type KeyError struct {
	ID  string // of the key; "" for a value that is not encrypted
	Why string
}

func (e *KeyError) Error() string {
	if e.ID == "" {
		return fmt.Sprintf("%v: %s", ErrKey, e.Why)
	}
	return fmt.Sprintf("%v: key %q: %s", ErrKey, e.ID, e.Why)
}

// Is makes errors.Is(err, ErrKey) true.
func (e *KeyError) Is(target error) bool { return target == ErrKey }

// MaxThread is the greatest length of a thread id, in bytes.
const MaxThread = 1024

// CheckThread returns an ErrThreadID if a thread id is not valid. Any valid UTF-8 of 1 to
// MaxThread bytes is a distinct id: ids are never shortened or changed.
func CheckThread(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it must not be empty", ErrThreadID)
	case len(id) > MaxThread:
		return fmt.Errorf("%w: it must have at most %d bytes (got %d)", ErrThreadID, MaxThread, len(id))
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: it must be valid UTF-8", ErrThreadID)
	}
	return nil
}
