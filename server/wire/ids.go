package wire

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ErrID is returned for an id that is not a UUID, or not the id of a checkpoint.
var ErrID = errors.New("wire: not a valid id")

// idSpace is the UUID of the name space in which ids are derived from names.
var idSpace = uuid.MustParse("6ba7b821-9dad-11d1-80b4-00c04fd430c8")

// CheckpointID identifies a checkpoint: a commit of a thread or a subgraph, and the phase. As a
// UUID it has the layout of version 6, so that ids sort by time:
//
//   - 60 bits: the time of the commit in units of 100 ns since 15 October 1582
//   - clock sequence, 14 bits: the low bits of the number of the commit
//   - node, 48 bits: the number of the commit, shifted by one, and the phase
//
// A caller that reads an id loads that commit, and refuses the id unless [CheckpointID.Matches].
type CheckpointID struct {
	Number uint64 // of the commit, less than 1<<47
	// Phase is 0 for the state before the input of a commit, and 1 for the state of the commit.
	Phase int
	Time  time.Time // of the commit, cut to 100 ns
}

// The number of 100 ns units from the epoch of UUIDs to that of Unix.
const uuidEpoch = 0x01b21dd213814000

const numberBits = 47

// String returns the id as a UUID.
func (c CheckpointID) String() string {
	t := c.Time.Unix()*1e7 + int64(c.Time.Nanosecond()/100) + uuidEpoch
	var id uuid.UUID
	put(id[0:6], uint64(t)>>12)
	put(id[6:8], 0x6000|uint64(t)&0x0fff)
	put(id[8:10], 0x8000|c.Number&0x3fff)
	put(id[10:16], c.Number<<1&(1<<48-1)|uint64(c.Phase&1))
	return id.String()
}

// put writes the low bytes of v to b, the highest first.
func put(b []byte, v uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte(v)
		v >>= 8
	}
}

func get(b []byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

// ParseCheckpointID reads a UUID that String returned. Any other UUID is an ErrID.
func ParseCheckpointID(s string) (CheckpointID, error) {
	id, err := ParseUUID(s)
	if err != nil {
		return CheckpointID{}, err
	}
	b := uuid.MustParse(id)
	number, phase := get(b[10:16])>>1, int(b[15]&1)
	if b[6]>>4 != 6 || b[8]>>6 != 2 || get(b[8:10])&0x3fff != number&0x3fff || number == 0 {
		return CheckpointID{}, fmt.Errorf("%w: %q is not the id of a checkpoint", ErrID, s)
	}
	t := int64(get(b[0:6])<<12|get(b[6:8])&0x0fff) - uuidEpoch
	at := time.Unix(t/1e7, t%1e7*100).UTC()
	return CheckpointID{Number: number, Phase: phase, Time: at}, nil
}

// Matches reports whether the id is one of the commit with this number and time.
func (c CheckpointID) Matches(number uint64, at time.Time) bool {
	return c == CheckpointOf(number, c.Phase, at)
}

// CheckpointOf returns the id of a commit in a phase.
func CheckpointOf(number uint64, phase int, at time.Time) CheckpointID {
	return CheckpointID{Number: number & (1<<numberBits - 1), Phase: phase, Time: at.UTC().Truncate(100)}
}

// ParseUUID returns a UUID in lower case, or an ErrID. It takes the form with four hyphens only.
func ParseUUID(s string) (string, error) {
	if len(s) == 36 {
		if id, err := uuid.Parse(s); err == nil {
			return id.String(), nil
		}
	}
	return "", fmt.Errorf("%w: it must be a UUID (got %.60q)", ErrID, s)
}

// AssistantUUID returns the id of the assistant that every graph has from the start.
func AssistantUUID(graphID string) string {
	return uuid.NewSHA1(idSpace, []byte(graphID)).String()
}

// ThreadUUID returns the id of a thread: its name if that is a UUID in lower case, else a UUID that
// is derived from it. The server lists such a thread with its name in the metadata
// [MetadataThread].
func ThreadUUID(name string) string {
	if id, err := ParseUUID(name); err == nil && id == name {
		return name
	}
	return uuid.NewSHA1(idSpace, []byte("weft:thread:"+name)).String()
}

// taskDigits is how many hex digits the id of a task has.
const taskDigits = 32

// TaskUUID returns the id of a task as a UUID. An id of another form is returned unchanged.
func TaskUUID(id string) string {
	if !isHex(id, taskDigits) {
		return id
	}
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}

// TaskID reverses TaskUUID.
func TaskID(id string) string {
	if plain, err := ParseUUID(id); err == nil && plain == id {
		return strings.ReplaceAll(id, "-", "")
	}
	return id
}

// isHex reports whether s has n hex digits in lower case.
func isHex(s string, n int) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == n && s == strings.ToLower(s)
}

// NamespaceToWire returns a namespace with the ids of tasks in it as UUIDs, and without the names
// of the graphs that live as long as the thread.
func NamespaceToWire(ns string) string {
	return eachSegment(ns, func(s string) string {
		node, id, tail, ok := cutTask(s, taskDigits)
		switch {
		case ok:
			return node + ":" + TaskUUID(id) + tail
		case !strings.Contains(s, ":"):
			node, _, _ = strings.Cut(s, "/")
			return node
		}
		return s
	})
}

// NamespaceFromWire reverses NamespaceToWire, for namespaces without graphs that live as long as
// the thread. See [FindNamespace] for all.
func NamespaceFromWire(ns string) string {
	return eachSegment(ns, func(s string) string {
		if node, id, tail, ok := cutTask(s, 36); ok {
			return node + ":" + TaskID(id) + tail
		}
		return s
	})
}

// FindNamespace returns which of the known namespaces of a thread is on the wire as ns. The root,
// "", is always known.
func FindNamespace(ns string, known []string) (found string, ok bool) {
	if ns == "" {
		return "", true
	}
	for _, k := range known {
		if k == ns || NamespaceToWire(k) == ns {
			return k, true
		}
	}
	return "", false
}

// NamespacePath returns the segments of a namespace as they are on the wire. That of the root is
// empty and not nil.
func NamespacePath(ns string) []string {
	if ns == "" {
		return []string{}
	}
	return strings.Split(NamespaceToWire(ns), "|")
}

func eachSegment(ns string, f func(string) string) string {
	if ns == "" {
		return ""
	}
	parts := strings.Split(ns, "|")
	for i, p := range parts {
		parts[i] = f(p)
	}
	return strings.Join(parts, "|")
}

// cutTask cuts a segment "node:ID#2@5" whose ID has n characters. The tail begins with # or @, or
// is empty.
func cutTask(s string, n int) (node, id, tail string, ok bool) {
	node, rest, ok := strings.Cut(s, ":")
	if !ok || len(rest) < n {
		return "", "", "", false
	}
	id, tail = rest[:n], rest[n:]
	if tail != "" && tail[0] != '#' && tail[0] != '@' {
		return "", "", "", false
	}
	if n == taskDigits {
		return node, id, tail, isHex(id, n)
	}
	plain, err := ParseUUID(id)
	return node, id, tail, err == nil && plain == id
}
