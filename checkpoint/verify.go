package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Verified is what [Verify] found in a thread.
type Verified struct {
	Thread string          `json:"thread"`
	Chains []VerifiedChain `json:"chains"` // by namespace, the root first
	// Decisions is how many decisions carry a hash.
	Decisions int `json:"decisions"`
	// Changed has the first change of each namespace. It is nil if nothing was changed.
	Changed []Changed `json:"changed,omitempty"`

	hashes map[commitPlace]string
}

// VerifiedChain is what Verify found in a namespace.
type VerifiedChain struct {
	Namespace string `json:"namespace"`
	Commits   int    `json:"commits"` // that are stored
	Hashed    int    `json:"hashed"`  // of them, that carry a hash
	// Missing is how many commits before the newest one are not stored. They were pruned, or the
	// store lost them, or they were deleted: the hashes do not show which.
	Missing uint64 `json:"missing,omitempty"`
	// Lost lists the commits that were made after the store had lost those before them, as their
	// program noticed.
	Lost []uint64 `json:"lost,omitempty"`
	// Since is the first commit that the hash of the newest one covers; 0 for none. Commits before
	// it are checked, but that they are the original ones is not shown: the link to them is
	// missing, because a commit was pruned or lost or carries no hash.
	Since uint64 `json:"since,omitempty"`
	Head  uint64 `json:"head"`           // the newest commit
	Hash  string `json:"hash,omitempty"` // of its record, SHA-256 in hex; "" if it carries none
}

// Changed is a part of a history that is not what was stored.
type Changed struct {
	Namespace  string `json:"namespace"`
	Checkpoint uint64 `json:"checkpoint"`
	Field      string `json:"field"` // whose value was changed; "header" is the record of the commit
	Why        string `json:"why"`
}

func (c Changed) String() string {
	at := fmt.Sprintf("commit %d", c.Checkpoint)
	if c.Namespace != "" {
		at = fmt.Sprintf("namespace %q, %s", c.Namespace, at)
	}
	switch c.Field {
	case "header":
	case decisionField:
		at += ", decisions"
	default:
		at += fmt.Sprintf(", field %q", c.Field)
	}
	return at + ": " + c.Why
}

// Hash returns the hash of a commit. ok is false if the commit is not stored, or comes after the
// first change.
func (v *Verified) Hash(namespace string, seq uint64) (hash string, ok bool) {
	hash, ok = v.hashes[commitPlace{namespace, seq}]
	return hash, ok
}

// Has reports whether one of the commits has this hash. If so, this commit is what it was when the
// hash was read, and so are those before it up to the first that is missing.
func (v *Verified) Has(hash string) bool {
	for _, h := range v.hashes {
		if h == hash {
			return true
		}
	}
	return false
}

// commitPlace names a commit of a thread.
type commitPlace struct {
	namespace string
	seq       uint64
}

// Verify checks the hashes of a thread, see [WithHashes], and the checksums of all its values. It
// reads each value once. A thread without hashes has no Changed unless a value is damaged. An
// unknown thread is an ErrNotFound; other errors are those of the store.
//
// The hashes do not cover pending entries, queued inputs, labels and ids, and do not show that the
// newest commits are missing: compare Hash, or the Link of a decision, with one that was read
// before. The content of a blob is checked whenever it is read.
func Verify(ctx context.Context, store Store, thread string) (v *Verified, err error) {
	if err := CheckThread(thread); err != nil {
		return nil, err
	}
	for range 5 {
		v, err = verify(ctx, store, thread)
		if !errors.Is(err, errPruned) {
			break
		}
	}
	return v, err
}

// errPruned is returned if a commit that was listed cannot be loaded.
var errPruned = errors.New("checkpoint: the thread was pruned while it was read; try again")

func verify(ctx context.Context, store Store, thread string) (*Verified, error) {
	spaces, err := store.Namespaces(ctx, thread)
	if err != nil {
		return nil, err
	}
	if len(spaces) == 0 {
		return nil, fmt.Errorf("%w: thread %q", ErrNotFound, thread)
	}
	v := &Verified{Thread: thread, hashes: map[commitPlace]string{}}
	for _, ns := range spaces {
		if !hasHistory(ns) {
			continue
		}
		if err := v.chain(ctx, store, Key{thread, ns}); err != nil {
			return nil, err
		}
	}
	if len(v.Changed) > 0 {
		return v, nil // the decisions are among the values
	}
	if err := v.decisions(ctx, store); err != nil {
		return nil, err
	}
	return v, nil
}

func (v *Verified) chain(ctx context.Context, store Store, k Key) error {
	list, damage, err := undamaged(ctx, store, k)
	if err != nil {
		return err
	}
	c := verifier{VerifiedChain: VerifiedChain{Namespace: k.Namespace}, stored: tags{}}
	b := bearer{store: store, list: list, held: map[blobAddress][]byte{}, gone: map[blobRun]int{}}
	for i := 0; i < len(list) && err == nil; i++ {
		var commit Commit
		if commit, err = b.commit(ctx, i); err == nil {
			err = c.next(&commit)
		}
		if err == nil && c.Hash != "" {
			v.hashes[commitPlace{k.Namespace, c.Head}] = c.Hash
		}
	}
	v.Chains = append(v.Chains, c.VerifiedChain)
	return v.addChange(cmp.Or(err, damage))
}

// addChange adds what was changed. It returns any other error.
func (v *Verified) addChange(err error) error {
	var c *CorruptError
	if !errors.As(err, &c) {
		return err
	}
	v.Changed = append(v.Changed, Changed{c.Namespace, c.Seq, c.Field, c.Why})
	return nil
}

// undamaged returns the commits of a namespace before the first whose record cannot be read, oldest
// first and without their values, and the error of that one.
func undamaged(ctx context.Context, store Store, k Key) (list []Snapshot, damage, err error) {
	before := uint64(0)
	for again := true; again; { // a store may end the listing at the damage
		again = false
		for snap, err := range store.History(ctx, k, Query{Before: before}) { // newest first
			var c *CorruptError
			switch {
			case err == nil:
				list, again = append(list, snap), false
			case errors.As(err, &c):
				list, damage = nil, err
				again, before = c.Seq > 1 && (before == 0 || c.Seq < before), c.Seq
			default:
				return nil, nil, err
			}
		}
	}
	slices.Reverse(list)
	return list, damage, nil
}

// verifier checks the commits of one namespace, oldest first.
type verifier struct {
	VerifiedChain
	stored tags
}

// next checks the commit that is stored after the one before it, and the pieces that it adds.
func (c *verifier) next(commit *Commit) error {
	seq := commit.Seq()
	changed := func(field, format string, args ...any) error {
		return &CorruptError{commit.Key, seq, field, fmt.Sprintf(format, args...)}
	}
	rec := new(Record)
	if err := json.Unmarshal(commit.Header, rec); err != nil {
		return changed("header", "%v", err)
	}
	for _, b := range commit.Blobs {
		c.stored.add(c.Namespace, b, nextTag(c.stored.last(c.Namespace, b), b.Data))
	}
	missing := seq - 1 - c.Head
	switch {
	case rec.Prev == "" && c.Hashed > 0:
		return changed("header", "it carries no hash, and commit %d does", c.Head)
	case rec.Prev == "":
	case missing > 0:
		c.Since = seq
	case rec.Prev == cmp.Or(c.Hash, noHash):
		c.Since = cmp.Or(c.Since, seq)
	case rec.Recovered:
		c.Lost, c.Since = append(c.Lost, seq), seq
	case c.Hashed == 0:
		return changed("header", "it follows another commit than the one that is there")
	default:
		return &CorruptError{commit.Key, c.Head, "header", fmt.Sprintf("it is not the record that commit %d follows", seq)}
	}
	if rec.Prev != "" {
		c.Hashed++
		for _, f := range rec.Fields {
			if f.Base == 0 {
				continue
			}
			list := c.stored[blobPlace{c.Namespace, f.Name, f.Base}]
			if f.Chunks < 0 || f.Chunks >= len(list) || list[f.Chunks] != f.Tag {
				return changed(f.Name, "the value is not the one that was stored with this commit")
			}
		}
	}
	c.Commits++
	c.Missing += missing
	c.Head, c.Hash = seq, ""
	if rec.Prev != "" {
		c.Hash = hashOf(commit.Header)
	}
	return nil
}

// decisions checks the list of decisions.
func (v *Verified) decisions(ctx context.Context, store Store) error {
	snap, err := store.Load(ctx, Key{Thread: v.Thread}, 0)
	if err != nil {
		return v.addChange(err)
	}
	rec, err := ReadRecord(snap)
	if err != nil {
		return v.addChange(err)
	}
	l := readDecisions(snap, rec)
	items, err := l.items(snap.Key)
	if err != nil {
		return v.addChange(damaged(snap, decisionField, err))
	}
	before := noHash
	for i, d := range items {
		prev, err := prevOf(d)
		switch {
		case err != nil:
			return v.addChange(damaged(snap, decisionField, err))
		case prev == before:
			v.Decisions++
		case prev != "" || v.Decisions > 0:
			return v.addChange(damaged(snap, decisionField, fmt.Errorf("decision %d does not follow the one before it", i+1)))
		}
		before = hashOf(d)
	}
	return nil
}
