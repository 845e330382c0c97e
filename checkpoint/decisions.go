package checkpoint

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weftrun/weft/state"
)

// The decisions of people about a thread are a list in its root, stored like a field: a base, and a
// chunk for each commit that adds decisions. No field of a state has its name. Every commit refers
// to the whole list, even one that begins a branch. So pruning and branches lose no decision, and a
// copy of the thread has them too.
//
// A decision that takes effect before the next commit, such as an answer, is a pending entry first.
// Its slot begins with [SlotDecision], and the same call of the store stores it with its effect.
// The next commit of a [Chain] moves it into the list.
const (
	// SlotDecision begins the slots of pending decisions. The rest of the slot is unique.
	SlotDecision = "decision/"

	decisionField = "+decisions"
)

// decisionLog is the list of decisions as of the head of a chain.
type decisionLog struct {
	field  Field  // Base is 0 if there are no decisions
	pieces []Blob // sealed: the base and its chunks
	fresh  []json.RawMessage
	whole  bool // the next commit stores the whole list: the store lost a part, or the key changes
}

// readDecisions returns the list as a commit has it; s came from Store.Load.
func readDecisions(s Snapshot, rec *Record) (l decisionLog) {
	for _, f := range rec.Fields {
		if f.Name == decisionField {
			l.field, l.pieces = f, blobsOf(s, decisionField)
		}
	}
	return l
}

// keepDecisions reads the decisions of the head, for a chain that continues from an older commit.
func (c *Chain) keepDecisions(head Snapshot, rec *Record) (err error) {
	c.log = readDecisions(head, rec)
	if f := &c.log.field; !c.codec.tags() {
		f.Tag = ""
	} else if f.Tag, err = tagOf(c.key, c.log.pieces); err != nil {
		return damaged(head, decisionField, err)
	}
	beside, err := ReadPending(head)
	c.log.fresh = decided(beside)
	return err
}

// Decisions returns the decisions of a thread up to a commit of its root, oldest first, including
// the pending ones. snap came from Store.Load.
func Decisions(snap Snapshot) ([]json.RawMessage, error) {
	rec, err := ReadRecord(snap)
	if err != nil {
		return nil, err
	}
	l := readDecisions(snap, rec)
	if err := l.field.check(l.pieces); err != nil {
		return nil, damaged(snap, decisionField, err)
	}
	all, err := l.items(snap.Key)
	if err != nil {
		return nil, damaged(snap, decisionField, err)
	}
	beside, err := ReadPending(snap)
	if err != nil {
		return nil, err
	}
	return append(all, decided(beside)...), nil
}

// items returns the committed decisions.
func (l *decisionLog) items(k Key) (all []json.RawMessage, err error) {
	for _, b := range l.pieces {
		data, err := unseal(place(k, b.Field, b.Base, b.Chunk), b.Data)
		if err != nil {
			return nil, err
		}
		var piece []json.RawMessage
		if err := json.Unmarshal(data, &piece); err != nil {
			return nil, err
		}
		all = append(all, piece...)
	}
	return all, nil
}

// decided returns the decisions among entries, by slot.
func decided(entries []Entry) (all []json.RawMessage) {
	for _, e := range entries {
		if isDecision(e) {
			all = append(all, e.Data)
		}
	}
	return all
}

func isDecision(e Entry) bool { return e.Task == "" && strings.HasPrefix(e.Slot, SlotDecision) }

// Decide adds decisions to the list; the next commit stores them.
func (c *Chain) Decide(decisions ...json.RawMessage) {
	c.log.fresh = append(slices.Clip(c.log.fresh), decisions...)
}

// DecisionRoom returns how many decisions can still be added to a list of at most most decisions.
// It is 0 for a list that has more than half of the bytes that a value may have.
func (c *Chain) DecisionRoom(most int) int {
	f := &c.log.field
	if f.BaseBytes+f.ChunkBytes > c.codec.Limits.Value/2 {
		return 0
	}
	return max(0, most-f.Items-len(c.log.fresh)-len(decided(c.Pending)))
}

// addDecisions adds the new decisions to the commit and returns the entries that remain pending.
func (c *Chain) addDecisions(p *Prepared, entries []Entry) ([]Entry, error) {
	p.log = c.log
	if len(c.log.fresh) == 0 && !c.log.whole && !slices.ContainsFunc(c.Pending, isDecision) && !slices.ContainsFunc(entries, isDecision) {
		return entries, nil
	}
	f := &p.log.field
	fresh, err := c.linkDecisions(append(slices.Clip(c.log.fresh), decided(unite(c.Pending, entries))...))
	if err != nil {
		return nil, err
	}
	p.log.fresh, p.log.whole = nil, false
	entries = slices.DeleteFunc(slices.Clone(entries), isDecision)
	if len(fresh) == 0 && (f.Base == 0 || !c.log.whole) {
		return entries, nil
	}
	if f.Base != 0 && !c.log.whole && !outweighed(f.BaseBytes, f.Chunks, f.ChunkBytes) {
		done, err := c.addToDecisions(p, fresh)
		if done || err != nil {
			return entries, err
		}
	}
	all, err := c.log.items(c.key)
	if err != nil {
		return nil, damaged(Snapshot{Key: c.key, Seq: c.head}, decisionField, err)
	}
	all = append(all, fresh...)
	data, tag, err := c.codec.sealField(new([]byte), c.place(decisionField, p.commit.Seq(), 0), "", all, "")
	if err != nil {
		return nil, err
	}
	*f = Field{Name: decisionField, Base: p.commit.Seq(), BaseBytes: len(data), Items: len(all), Tag: tag}
	p.log.pieces = []Blob{{decisionField, f.Base, 0, data}}
	p.commit.Blobs = append(p.commit.Blobs, p.log.pieces...)
	return entries, nil
}

// addToDecisions stores decisions as a chunk; done is false when the list would be too large.
func (c *Chain) addToDecisions(p *Prepared, fresh []json.RawMessage) (done bool, err error) {
	f := &p.log.field
	data, tag, err := c.codec.sealField(new([]byte), c.place(decisionField, f.Base, f.Chunks+1), "", fresh, f.Tag)
	if err != nil || f.BaseBytes+f.ChunkBytes+len(data) > c.codec.Limits.Value {
		return false, err
	}
	f.Chunks++
	f.ChunkBytes += len(data)
	f.Items += len(fresh)
	f.Kind, f.Tag = state.KindList, tag
	b := Blob{decisionField, f.Base, f.Chunks, data}
	p.log.pieces = append(slices.Clip(p.log.pieces), b)
	p.commit.Blobs = append(p.commit.Blobs, b)
	return true, nil
}

// unite returns the entries of a and b. An entry of b replaces one of a with the same task and
// slot.
func unite(a, b []Entry) []Entry {
	all := slices.Clone(a)
	for _, e := range b {
		at := slices.IndexFunc(all, func(o Entry) bool { return o.Task == e.Task && o.Slot == e.Slot })
		if at < 0 {
			all = append(all, e)
		} else {
			all[at] = e
		}
	}
	return all
}
