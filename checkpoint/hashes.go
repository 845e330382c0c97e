package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/internal/compact"
)

// A commit that carries hashes has two things in its record, beside what other records have:
//
//   - Prev is the hash of the record of the commit before it, in the order of their numbers: the
//     SHA-256 of the record's JSON in hex. For the first commit it is the hash of nothing.
//   - Each field has its Tag, a digest of all pieces of the value, see binding.go.
//
// So the hash of the newest record covers the whole history. The hash does not depend on the
// store, the compression, the encryption or the name of the thread: a copy and an imported thread
// have the same.
//
// A decision carries the hash of the one before it in the list, in the member "prev".

// WithHashes returns a store in which each new commit carries the hash of the one before, and each
// new decision that of the decision before. [Verify] finds what was changed later. It implements
// Leaser, Dropper and Expirer if the other store does.
//
// A thread whose newest commit carries a hash goes on so in any store: a program that was not
// called with WithHashes does not interrupt it.
func WithHashes(store Store) Store {
	codec := codecOf(store)
	codec.hashes, codec.inner = true, Unwrap(store)
	return withAbilities(carrier{store, codec}, store)
}

// hashOf returns the hash of a record, or of a decision, in JSON.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// follow lets the next commit of the chain carry the hash of the head, if the head carries one or
// the store asks for it.
func (c *Chain) follow(head Snapshot, rec *Record) (err error) {
	if !hasHistory(c.key.Namespace) || !c.codec.hashes && rec.Prev == "" {
		return nil
	}
	c.codec.hashes = true
	c.hash, err = recordHash(head)
	return err
}

// recordHash returns the hash of the record of a commit.
func recordHash(snap Snapshot) (string, error) {
	payload, err := unseal(headerPlace(snap.Key, snap.Seq), snap.Header)
	if err != nil {
		return "", damaged(snap, "header", err)
	}
	return hashOf(payload), nil
}

// hashAfter returns the hash that a commit after this one carries, "" for none.
func hashAfter(store Store, head Snapshot) (string, error) {
	rec, err := ReadRecord(head)
	if err != nil || !hasHistory(head.Namespace) || rec.Prev == "" && !codecOf(store).hashes {
		return "", err
	}
	return recordHash(head)
}

// Link names a commit by its hash.
type Link struct {
	Namespace  string `json:"namespace,omitempty"`
	Checkpoint uint64 `json:"checkpoint"`
	Hash       string `json:"hash"` // SHA-256 in hex
}

// Link returns the newest commit of the chain with its hash, or nil if commits carry no hashes or
// there is no commit.
func (c *Chain) Link() *Link {
	if !c.codec.hashes || c.head == 0 {
		return nil
	}
	return &Link{c.key.Namespace, c.head, c.hash}
}

// linkDecisions adds to each of the decisions, which come next in the list, the hash of the one
// before, if commits carry hashes.
func (c *Chain) linkDecisions(fresh []json.RawMessage) ([]json.RawMessage, error) {
	if !c.codec.hashes || len(fresh) == 0 {
		return fresh, nil
	}
	prev, err := c.log.lastHash(c.key)
	if err != nil {
		return nil, damaged(Snapshot{Key: c.key, Seq: c.head}, decisionField, err)
	}
	linked := make([]json.RawMessage, len(fresh))
	for i, d := range fresh {
		if linked[i], err = withPrev(d, prev); err != nil {
			return nil, err
		}
		prev = hashOf(linked[i])
	}
	return linked, nil
}

// lastHash returns the hash of the newest decision of the list.
func (l *decisionLog) lastHash(k Key) (string, error) {
	if len(l.pieces) == 0 {
		return hashOf(nil), nil
	}
	last := decisionLog{pieces: l.pieces[len(l.pieces)-1:]}
	items, err := last.items(k)
	if err != nil || len(items) == 0 {
		return hashOf(nil), err
	}
	return hashOf(items[len(items)-1]), nil
}

// withPrev returns a decision, which is a JSON object, as it is stored: with the hash of the one
// before it as its last member.
func withPrev(decision json.RawMessage, prev string) (json.RawMessage, error) {
	data, err := compact.Append(nil, decision, compact.Float)
	if err != nil {
		return nil, err
	}
	if len(data) < 2 || data[0] != '{' {
		return nil, fmt.Errorf("%w: a decision must be a JSON object (got %.80s)", ErrRequest, data)
	}
	data = data[:len(data)-1]
	if len(data) > 1 {
		data = append(data, ',')
	}
	return fmt.Appendf(data, `"prev":"%s"}`, prev), nil
}

// prevOf returns the hash that a decision carries, "" for none.
func prevOf(decision json.RawMessage) (string, error) {
	var d struct {
		Prev string `json:"prev"`
	}
	if len(decision) == 0 || decision[0] != '{' {
		return "", nil
	}
	err := json.Unmarshal(decision, &d)
	return d.Prev, err
}
