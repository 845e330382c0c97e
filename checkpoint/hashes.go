package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/internal/compact"
)

// The record of a commit that carries hashes has two more members:
//
//   - Prev is the hash of the record of the commit before it, in the order of their numbers: the
//     SHA-256 of the record's JSON in hex. If that carries no hash, or there is none, Prev is the
//     SHA-256 of the empty string.
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
// Once the newest commit of a thread carries a hash, later commits do too, in any store. Those of
// its subgraphs do if the parent's do.
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

// noHash is the hash of the empty string, which the first commit carries.
var noHash = hashOf(nil)

// linkToHead lets the next commit of the chain carry the hash of the head, if the head carries one
// or the store asks for it.
func (c *Chain) linkToHead(head Snapshot, rec *Record) (err error) {
	if !hasHistory(c.key.Namespace) || !c.codec.hashes && rec.Prev == "" {
		return nil
	}
	c.codec.hashes = true
	c.hash, err = recordHash(head, rec)
	return err
}

// HashLike lets the commits of a new chain carry hashes if those of another chain of the thread do.
func (c *Chain) HashLike(parent *Chain) {
	if c.head == 0 && parent.codec.hashes && hasHistory(c.key.Namespace) {
		c.codec.hashes, c.hash = true, noHash
	}
}

// recordHash returns the hash of the record of a commit, as the commit after it carries it.
func recordHash(snap Snapshot, rec *Record) (string, error) {
	if rec.Prev == "" {
		return noHash, nil
	}
	payload, err := unseal(headerPlace(snap.Key, snap.Seq), snap.Header)
	if err != nil {
		return "", damaged(snap, "header", err)
	}
	return hashOf(payload), nil
}

// nextPrev returns the Prev of a commit after this one, "" for none.
func nextPrev(store Store, head Snapshot) (string, error) {
	rec, err := ReadRecord(head)
	if err != nil || !hasHistory(head.Namespace) || rec.Prev == "" && !codecOf(store).hashes {
		return "", err
	}
	return recordHash(head, rec)
}

// Link names a commit by its hash.
type Link struct {
	Namespace  string `json:"namespace,omitempty"`
	Checkpoint uint64 `json:"checkpoint"`
	Hash       string `json:"hash"` // SHA-256 in hex
}

// Link returns the newest commit of the chain with its hash, or nil if that is not known: commits
// carry no hashes, there is none, or the store has lost those after it.
func (c *Chain) Link() *Link {
	if !c.codec.hashes || c.hash == noHash || c.lost {
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
		return noHash, nil
	}
	last := decisionLog{pieces: l.pieces[len(l.pieces)-1:]}
	items, err := last.items(k)
	if err != nil || len(items) == 0 {
		return noHash, err
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
