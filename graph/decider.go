package graph

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// decider makes the decisions that a call records in one chain of its thread.
type decider struct {
	chain   *checkpoint.Chain
	branch  uint64 // of the thread
	graph   string
	thread  string
	by, via string // who makes the call
	run     string // the id of the call
	now     func() time.Time
	seals   bool // the store encrypts
	origin  string
	signer  signer
}

// decider makes the decisions that the run records in its own chain.
func (c *committer) decider() decider {
	d := c.deciderIn(c.journal.Chain)
	d.branch = c.run.branch
	return d
}

// deciderIn makes the decisions that the run records in a chain, on a branch that the chain's next
// commit begins.
func (c *committer) deciderIn(chain *checkpoint.Chain) decider {
	r := c.run
	s, encodes := r.cfg.Store.(interface{ Codec() checkpoint.Codec })
	return decider{chain: chain, branch: chain.Head() + 1, graph: r.name, thread: r.opts.Thread, by: r.opts.By, via: r.opts.Via,
		run: r.session.id, now: r.cfg.Now, seals: encodes && s.Codec().Keys != nil, origin: r.origin, signer: r.opts.signer}
}

// on returns a decision on a question.
func (m decider) on(in Interrupt, kind DecisionType) DecisionRecord {
	return DecisionRecord{Type: kind, Question: in.ID, Namespace: in.Namespace, Node: in.Node, Prompt: in.Prompt, Secret: in.Secret,
		By: m.by, Via: m.via, Time: m.now().UTC(), Checkpoint: m.chain.Parent(), Branch: m.branch, Run: m.run}
}

// change returns the decision to edit the state of a namespace by hand, by the writes of these
// views.
func (m decider) change(namespace, as string, schema *state.Schema, views ...state.View) DecisionRecord {
	d := DecisionRecord{Type: DecisionChange, Namespace: namespace, Node: as, By: m.by, Via: m.via, Time: m.now().UTC(),
		Checkpoint: m.chain.Head() + 1, Branch: m.branch, Run: m.run}
	for _, v := range views {
		for _, name := range appendWrote(nil, schema, v) {
			if !slices.Contains(d.Fields, name) {
				d.Fields = append(d.Fields, name)
			}
		}
	}
	return d
}

// encode returns a decision as it is stored, signed if there is a key.
func (m decider) encode(d DecisionRecord) (json.RawMessage, error) {
	if m.signer.key == nil {
		return json.Marshal(d)
	}
	d.Signature = &Signature{Origin: m.origin, Commit: m.chain.Link(), Key: m.signer.key.Public().(ed25519.PublicKey)}
	data, err := d.signed()
	if err != nil {
		return nil, err
	}
	d.Signature.Value = ed25519.Sign(m.signer.key, data)
	return json.Marshal(d)
}

// answer gives each answer to an open question its decision, and returns the entries that store
// both.
func (m decider) answer(fresh answers, open []Interrupt) []checkpoint.Entry {
	entries := fresh.entries()
	room := m.chain.DecisionRoom(mostDecisions)
	for _, in := range open {
		a, ok := fresh[in.ID]
		if !ok {
			continue
		}
		if room--; room < 0 {
			m.logUnrecorded()
			continue
		}
		d := m.on(in, DecisionRespond)
		d.By = cmp.Or(a.by, d.By)
		switch {
		case a.refusal == lapsed:
			d.expire()
		case a.refusal != "":
			d.Type, d.Message = DecisionDecline, strings.TrimPrefix(a.refusal, refusedBy)
		default:
			d.Value = bytes.Clone(a.data)
			d.read()
		}
		a.decision = &d
		fresh[in.ID] = a
		if data, err := m.encode(m.storable(d)); err == nil {
			entries = append(entries, checkpoint.Entry{Slot: a.slot(in.ID), Keep: true, Data: data})
		}
	}
	return entries
}

// storable returns a decision as it is stored.
func (m decider) storable(d DecisionRecord) DecisionRecord {
	if len(d.Value) > longestValue || d.Secret && !m.seals {
		d.hide()
	}
	return d
}

// record lets the next commit of the chain record decisions.
func (m decider) record(all ...DecisionRecord) error {
	room := m.chain.DecisionRoom(mostDecisions)
	for _, d := range all {
		if room--; room < 0 {
			m.logUnrecorded()
			continue
		}
		data, err := m.encode(d)
		if err != nil {
			return err
		}
		m.chain.Decide(data)
	}
	return nil
}

// logUnrecorded logs that a decision takes effect although it is not recorded.
func (m decider) logUnrecorded() {
	slog.Error("graph: the thread keeps no more decisions; this one takes effect without a record",
		"graph", m.graph, "thread", m.thread, "limit", mostDecisions, "by", m.by, "via", m.via)
}

// discards returns a decision for each question that is open with the pending writes before and not
// with those after, at the commit that rec describes.
func (m decider) discards(rec *checkpoint.Record, before, after []checkpoint.Entry) (all []DecisionRecord, err error) {
	open, err := sortPending(before).open(rec)
	if err != nil {
		return nil, err
	}
	left, err := sortPending(after).open(rec)
	if err != nil {
		return nil, err
	}
	for _, in := range open {
		if !in.IsQuestion() || slices.ContainsFunc(left, func(l Interrupt) bool { return l.ID == in.ID }) {
			continue
		}
		d := m.on(in, DecisionDiscard)
		if in.expired(d.Time) {
			d.expire()
		}
		all = append(all, d)
	}
	return all, nil
}

// discardsAt is discards for commit number at, which may be on another branch.
func (m decider) discardsAt(at uint64, rec *checkpoint.Record, before, after []checkpoint.Entry) ([]DecisionRecord, error) {
	closed, err := m.discards(rec, before, after)
	for i := range closed {
		closed[i].Checkpoint = at
		if at != m.chain.Parent() {
			closed[i].Branch = rec.Branch
		}
	}
	return closed, err
}

// closeOpen lets the next commit record the questions that were open with the pending writes before
// and are not with those after, at commit number at. Those of a subgraph are listed at the root.
func (c *committer) closeOpen(at uint64, rec *checkpoint.Record, before, after []checkpoint.Entry) error {
	if r := c.run; r.inside != nil || r.ns() != "" || r.req.replays() {
		return nil
	}
	closed, err := c.decider().discardsAt(at, rec, before, after)
	c.next.closed = append(c.next.closed, closed...)
	return err
}

// withoutTask returns the entries but those of a task.
func withoutTask(entries []checkpoint.Entry, task string) []checkpoint.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e checkpoint.Entry) bool { return e.Task == task })
}
