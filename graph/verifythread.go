package graph

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weftrun/weft/checkpoint"
)

// Verification is what [VerifyThread] found in a thread.
type Verification struct {
	*checkpoint.Verified
	Signed   int `json:"signed"`   // decisions with a valid signature
	Unsigned int `json:"unsigned"` // decisions without one
	// Unanchored is how many of the signed decisions sign a commit that is not stored any more, or
	// that the store has lost, or none. They do not show that the history before them is the
	// original one.
	Unanchored int                `json:"unanchored,omitempty"`
	Rejected   []RejectedDecision `json:"rejected,omitempty"`
}

// RejectedDecision is a decision that does not prove who made it.
type RejectedDecision struct {
	Decision int    `json:"decision"` // its number in the list of the thread, from 1
	Question string `json:"question,omitempty"`
	By       string `json:"by,omitempty"` // as the decision claims
	Why      string `json:"why"`
}

// Err returns an ErrNotVerified that names the first thing that is wrong, or nil.
func (v *Verification) Err() error {
	switch {
	case len(v.Changed) > 0:
		return fmt.Errorf("%w: thread %q: %v", ErrNotVerified, v.Thread, v.Changed[0])
	case len(v.Rejected) > 0:
		r := v.Rejected[0]
		return fmt.Errorf("%w: thread %q: decision %d, by %.80q: %s", ErrNotVerified, v.Thread, r.Decision, r.By, r.Why)
	}
	return nil
}

// VerifyThread checks that the history of a thread is what was stored: the hashes of its commits
// and decisions, see [checkpoint.Verify], and the signatures of its decisions, see [WithSigner].
// With trusted keys each decision must have a signature by one of them. Without, a signature only
// shows that the decision is what the owner of some key has signed.
//
// A decision that is pending counts too. An unknown thread is an ErrUnknownThread.
func VerifyThread(ctx context.Context, store checkpoint.Store, thread string, trusted ...ed25519.PublicKey) (*Verification, error) {
	for _, k := range trusted {
		if len(k) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("graph: a trusted key must have %d bytes (got %d)", ed25519.PublicKeySize, len(k))
		}
	}
	key := checkpoint.Key{Thread: thread}
	found, err := checkpoint.Verify(ctx, store, thread)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, unknown(key, 0)
	}
	if err != nil {
		return nil, err
	}
	v := &Verification{Verified: found}
	snap, err := store.Load(ctx, key, 0)
	if err != nil {
		return v, v.unlessChanged(err)
	}
	items, err := checkpoint.Decisions(snap)
	if err != nil {
		return v, v.unlessChanged(err)
	}
	rec, err := checkpoint.ReadRecord(snap)
	if err != nil {
		return v, v.unlessChanged(err)
	}
	for i, item := range items {
		v.decision(i+1, item, rec.Origin, trusted)
	}
	return v, nil
}

// unlessChanged returns nil for an error that a change, which was found, explains.
func (v *Verification) unlessChanged(err error) error {
	if len(v.Changed) > 0 && errors.Is(err, checkpoint.ErrCorrupt) {
		return nil
	}
	return err
}

// decision checks the signature of one decision of a thread with this origin.
func (v *Verification) decision(n int, item json.RawMessage, origin string, trusted []ed25519.PublicKey) {
	var d DecisionRecord
	why := ""
	switch err := json.Unmarshal(item, &d); {
	case err != nil:
		why = "it cannot be read: " + err.Error()
	case d.Signature == nil:
		v.Unsigned++
		if len(trusted) > 0 {
			why = "it is not signed"
		}
	default:
		why = v.signature(d, item, origin, trusted)
		if why == "" {
			v.Signed++
		}
	}
	if why != "" {
		v.Rejected = append(v.Rejected, RejectedDecision{n, d.Question, d.By, why})
	}
}

// signature returns what is wrong with the signature of a decision, "" for nothing.
func (v *Verification) signature(d DecisionRecord, item []byte, origin string, trusted []ed25519.PublicKey) string {
	s := d.Signature
	whole, err := json.Marshal(d)
	if err != nil || len(s.Key) != ed25519.PublicKeySize {
		return "its signature cannot be read"
	}
	data, err := d.signed()
	switch {
	case err != nil || !ed25519.Verify(s.Key, data, s.Value):
		return "its signature does not match"
	case !bytes.Equal(whole, compacted(item)):
		return "it has parts that are not signed"
	case s.Origin != origin:
		return "it was signed for another thread"
	case len(trusted) > 0 && !slices.ContainsFunc(trusted, func(k ed25519.PublicKey) bool { return k.Equal(ed25519.PublicKey(s.Key)) }):
		return "it is signed with a key that is not trusted"
	}
	return v.anchor(s.Commit)
}

// anchor returns what is wrong with the commit that a decision signs, "" for nothing.
func (v *Verification) anchor(l *checkpoint.Link) string {
	if l == nil {
		v.Unanchored++
		return ""
	}
	switch hash, ok := v.Hash(l.Namespace, l.Checkpoint); {
	case ok && hash == l.Hash:
	case !ok || v.lost(l):
		v.Unanchored++
	default:
		return fmt.Sprintf("commit %d is not the one that it signs", l.Checkpoint)
	}
	return ""
}

// lost reports whether the store may have lost a commit, and another has its number.
func (v *Verification) lost(l *checkpoint.Link) bool {
	return slices.ContainsFunc(v.Chains, func(c checkpoint.VerifiedChain) bool {
		return c.Namespace == l.Namespace && len(c.Lost) > 0 && c.Lost[0] <= l.Checkpoint
	})
}

// compacted returns JSON as encoding/json writes it.
func compacted(data []byte) []byte {
	out, err := json.Marshal(json.RawMessage(data))
	if err != nil {
		return data
	}
	return out
}
