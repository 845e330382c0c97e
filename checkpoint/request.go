package checkpoint

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// What a call may ask for. A store checks it before anything else, with the functions
// here, so that all stores refuse the same.
const (
	// MaxID is the greatest length of a commit's ID, in bytes.
	MaxID = 64
	// MaxOwner is the greatest length of the owner of a lease, in bytes.
	MaxOwner = 256
	// MaxLabels is how many labels a commit may have.
	MaxLabels = 64
	// MaxLabelKey is the greatest length of the key of a label, in bytes.
	MaxLabelKey = 256
	// MaxLabelValue is the greatest length of the value of a label, in bytes.
	MaxLabelValue = 4096
)

// Check returns an ErrThreadID or an ErrRequest that says why no store can make this
// commit, or nil.
func (c Commit) Check() error {
	if err := CheckThread(c.Thread); err != nil {
		return err
	}
	switch {
	case len(c.ID) > MaxID:
		return c.bad("its ID has %d bytes, the limit is %d", len(c.ID), MaxID)
	case c.Number != 0 && c.Number <= c.Head:
		return c.bad("its number %d is not after the head %d", c.Number, c.Head)
	case c.Number > math.MaxInt64:
		return c.bad("its number %d is too great", c.Number)
	case c.TTL < 0:
		return c.bad("its TTL %v is negative", c.TTL)
	case len(c.Labels) > MaxLabels:
		return c.bad("it has %d labels, the limit is %d", len(c.Labels), MaxLabels)
	}
	for key, value := range c.Labels {
		if why := badLabel(key, value); why != "" {
			return c.bad("label %.80q: %s", key, why)
		}
	}
	return nil
}

func (c Commit) bad(format string, args ...any) error {
	return fmt.Errorf("%w: thread %q, namespace %q, commit %.80q: %s", ErrRequest, c.Thread, c.Namespace, c.ID, fmt.Sprintf(format, args...))
}

func badLabel(key, value string) string {
	switch {
	case key == "":
		return "its key is empty"
	case len(key) > MaxLabelKey:
		return fmt.Sprintf("its key has %d bytes, the limit is %d", len(key), MaxLabelKey)
	case len(value) > MaxLabelValue:
		return fmt.Sprintf("its value has %d bytes, the limit is %d", len(value), MaxLabelValue)
	case !isText(key) || !isText(value):
		return "it is not valid UTF-8 without NUL"
	}
	return ""
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Check returns an ErrThreadID or an ErrRequest that says why no store can grant this
// lease, or nil.
func (r LeaseRequest) Check() error {
	if err := CheckThread(r.Thread); err != nil {
		return err
	}
	why := ""
	switch {
	case r.TTL <= 0:
		why = fmt.Sprintf("its TTL %v is not positive", r.TTL)
	case len(r.Owner) > MaxOwner:
		why = fmt.Sprintf("its owner has %d bytes, the limit is %d", len(r.Owner), MaxOwner)
	case !isText(r.Owner):
		why = "its owner is not valid UTF-8 without NUL"
	case r.Force && r.Fence != "":
		why = "it renews a lease and takes the thread over at once"
	case r.ID != "" && r.Fence != "":
		why = "it renews a lease and has the ID of a new one"
	case !isLeaseID(r.ID):
		why = fmt.Sprintf("its ID %.80q is not 1 to %d letters and digits", r.ID, MaxID)
	default:
		return nil
	}
	return fmt.Errorf("%w: lease of thread %q: %s", ErrRequest, r.Thread, why)
}

// isLeaseID reports whether a request may have this ID; "" is none.
func isLeaseID(id string) bool {
	for _, c := range []byte(id) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return len(id) <= MaxID
}

// NewID returns the request with an ID, if it asks for a new lease and has none.
func (r LeaseRequest) NewID() LeaseRequest {
	if r.ID == "" && r.Fence == "" {
		r.ID = NewFence()
	}
	return r
}

// Takes reports whether the request takes the thread from an owner whose lease still
// runs.
func (r LeaseRequest) Takes(owner string) bool {
	return r.Force && (r.Over == "" || r.Over == owner)
}

// Check returns an ErrRequest that says why no store can drop this, or nil.
func (d Drop) Check() error {
	if d.All && d.Namespace == "" {
		return fmt.Errorf("%w: the root of thread %q goes only with the thread, by Delete", ErrRequest, d.Thread)
	}
	for _, n := range d.Commits {
		if !d.All && n == d.Head && n != 0 {
			return fmt.Errorf("%w: thread %q, namespace %q: commit %d is the head and cannot be dropped", ErrRequest, d.Thread, d.Namespace, n)
		}
	}
	return nil
}

// Result returns the result of a Drop that ended with err. A namespace that is not there was dropped
// already, perhaps by an earlier attempt whose reply was lost, so that is no conflict. Stores call it.
func (d Drop) Result(err error) error {
	var conflict *ConflictError
	if d.All && errors.As(err, &conflict) && conflict.Head == 0 {
		return nil
	}
	return err
}

// CheckTTL returns an ErrRequest when a time to live is negative.
func CheckTTL(ttl time.Duration) error {
	if ttl < 0 {
		return fmt.Errorf("%w: a time to live of %v is negative", ErrRequest, ttl)
	}
	return nil
}

// NewFence returns a fence for a new lease: 26 letters and digits that no other lease
// has. Since fences are random and never guessed again, a store needs to remember only
// the newest of each thread.
func NewFence() string { return rand.Text() }
