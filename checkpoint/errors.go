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
	// version of this package, or are not its own at all.
	ErrUnsupported = errors.New("checkpoint: stored in a format this version does not know")
	// ErrSchema is returned when a stored value is intact but does not fit the type that
	// the program declares for its field: the type was changed. The bytes are left as
	// they are.
	ErrSchema = errors.New("checkpoint: a stored value does not fit the type of its field")
	// ErrNewerSchema is returned when a stored value was written by a program in which its
	// field has a later version. Nothing was changed; errors.As with *NewerSchemaError
	// gives the versions.
	ErrNewerSchema = errors.New("checkpoint: a field was stored by a newer program")
	// ErrKey is returned when a value cannot be decrypted because its key is not there or is
	// another one, or when a value is not encrypted and should be. errors.As with
	// *KeyError gives the id of the key.
	ErrKey = errors.New("checkpoint: not the right key")
	// ErrConflict is returned when the head is not the one that was expected:
	// somebody else went on with the thread. Nothing was written.
	ErrConflict = errors.New("checkpoint: the thread was moved on by another writer")
	// ErrThreadID is returned when a thread id is empty, too long or not UTF-8.
	ErrThreadID = errors.New("checkpoint: bad thread id")
	// ErrBusy is returned when a store stayed locked by others for too long.
	// Nothing was written.
	ErrBusy = errors.New("checkpoint: the store is busy")
	// ErrUnavailable is returned when a store cannot be opened or reached.
	ErrUnavailable = errors.New("checkpoint: the store cannot be used")
	// ErrFull is returned when a store has no room left. It is an ErrUnavailable.
	// Nothing was written, and what was there can still be read.
	ErrFull = fmt.Errorf("%w: no room left", ErrUnavailable)
	// ErrFenced is returned when a writer's lease was taken over, or when it has none on
	// a thread that is leased. Nothing was written.
	ErrFenced = errors.New("checkpoint: the thread belongs to another writer")
	// ErrOwned is returned when a thread is leased to somebody else. Nothing was
	// written.
	ErrOwned = errors.New("checkpoint: somebody else works on the thread")
	// ErrUnknownOutcome is returned when a write was sent and no reply came: it may
	// have happened or not. The same Commit again finds out.
	ErrUnknownOutcome = errors.New("checkpoint: it is not known whether the write happened")
	// ErrTooLarge is returned when a value, a header or a commit is larger than it may
	// be. Nothing was sent to the store.
	ErrTooLarge = errors.New("checkpoint: too large")
	// ErrRequest is returned when a call asks for what no store can do: a number that is
	// not after the head, a negative time, a label that is no text. Nothing was written.
	ErrRequest = errors.New("checkpoint: bad request")
	// ErrThreadExists is returned when a thread cannot be copied to where there is one
	// already. What is there was not changed.
	ErrThreadExists = errors.New("checkpoint: the thread exists already")
	// ErrNoDrop is returned when a store is no Dropper, so that nothing can be pruned.
	ErrNoDrop = errors.New("checkpoint: this store cannot drop commits")
	// ErrLeaseLost is why the context of a Held ends when the thread is no longer held.
	ErrLeaseLost = errors.New("checkpoint: the lease of the thread was lost")
	// ErrClosed is returned when a store is used after Close.
	ErrClosed = errors.New("checkpoint: the store is closed")
)

// ConflictError says where a chain really is. It is an ErrConflict.
type ConflictError struct {
	Key
	Want, Head uint64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: thread %q, namespace %q: head is %d, not %d", ErrConflict, e.Thread, e.Namespace, e.Head, e.Want)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// FencedError says who owns a thread. It is an ErrFenced.
type FencedError struct {
	Thread string
	Owner  string // "" if nobody does
}

func (e *FencedError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%v: thread %q: the lease is over", ErrFenced, e.Thread)
	}
	return fmt.Sprintf("%v: thread %q is owned by %s", ErrFenced, e.Thread, e.Owner)
}

// Is makes errors.Is(err, ErrFenced) true.
func (e *FencedError) Is(target error) bool { return target == ErrFenced }

// BusyError says who works on a thread, and for how long still. It is an ErrOwned.
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

// CorruptError says which stored bytes are damaged. It is an ErrCorrupt.
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

// NewerSchemaError says which field was stored by a newer program. It is an
// ErrNewerSchema.
type NewerSchemaError struct {
	Field         string
	Stored, Known int // versions: the one that is stored, and the program's
}

func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("%v: field %q has version %d there and %d here", ErrNewerSchema, e.Field, e.Stored, e.Known)
}

// Is makes errors.Is(err, ErrNewerSchema) true.
func (e *NewerSchemaError) Is(target error) bool { return target == ErrNewerSchema }

// KeyError says which key is not right. It is an ErrKey.
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

// CheckThread returns an ErrThreadID that says what is wrong with a thread id, or
// nil. Ids are never shortened or changed: any valid UTF-8 of 1 to 1024 bytes is
// an id of its own.
func CheckThread(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty; give the thread a name", ErrThreadID)
	case len(id) > MaxThread:
		return fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrThreadID, len(id), MaxThread)
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: it is not valid UTF-8", ErrThreadID)
	}
	return nil
}
