package checkpointtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// probe asks a store and complains in one form: the rule, got, want.
type probe struct {
	testing.TB
	store checkpoint.Store

	undecided int // histories of this rule that were not decided
}

// same complains, and goes on, when got and want do not look the same.
func (p *probe) same(rule string, got, want any) {
	p.Helper()
	if g, w := show(got), show(want); g != w {
		p.Errorf("rule: %s\n got: %s\nwant: %s", rule, g, w)
	}
}

// done ends the sub-test when err is not nil.
func (p *probe) done(rule string, err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("rule: %s\n got: error %v\nwant: no error", rule, err)
	}
}

// fails complains, and goes on, when err is not of a kind.
func (p *probe) fails(rule string, err, kind error) {
	p.Helper()
	if !errors.Is(err, kind) {
		p.Errorf("rule: %s\n got: error %v\nwant: an error that is %q", rule, err, kind)
	}
}

// conflicts complains when err does not say where the head of k really is.
func (p *probe) conflicts(rule string, err error, k checkpoint.Key, want, head uint64) {
	p.Helper()
	p.fails(rule, err, checkpoint.ErrConflict)
	var c *checkpoint.ConflictError
	if !errors.As(err, &c) {
		p.Errorf("rule: a conflict is a *ConflictError\n got: %T\nwant: a *checkpoint.ConflictError", err)
		return
	}
	p.same("a conflict names the chain, the head that was wanted and the real one",
		fmt.Sprintf("%q, want %d, head %d", c.Key, c.Want, c.Head), fmt.Sprintf("%q, want %d, head %d", k, want, head))
}

func (p *probe) commit(c checkpoint.Commit) {
	p.Helper()
	p.done(fmt.Sprintf("commit %d of %q is stored when the head is %d", c.Seq(), c.Key, c.Head), p.store.Commit(p.Context(), c))
}

func (p *probe) put(k checkpoint.Key, seq uint64, entries ...checkpoint.Entry) {
	p.Helper()
	p.done(fmt.Sprintf("entries are stored beside head %d of %q", seq, k), p.store.Put(p.Context(), beside(k, seq, entries...)))
}

func (p *probe) load(k checkpoint.Key, seq uint64) checkpoint.Snapshot {
	p.Helper()
	snap, err := p.store.Load(p.Context(), k, seq)
	p.done(fmt.Sprintf("commit %d of %q can be loaded", seq, k), err)
	return snap
}

func (p *probe) history(k checkpoint.Key, q checkpoint.Query) (list []checkpoint.Snapshot) {
	p.Helper()
	for snap, err := range p.store.History(p.Context(), k, q) {
		p.done(fmt.Sprintf("the history of %q can be read", k), err)
		list = append(list, snap)
	}
	return list
}

func (p *probe) threads(q checkpoint.ThreadQuery) (list []checkpoint.Snapshot) {
	p.Helper()
	for snap, err := range p.store.Threads(p.Context(), q) {
		p.done("the threads can be listed", err)
		list = append(list, snap)
	}
	return list
}

func (p *probe) namespaces(thread string) []string {
	p.Helper()
	list, err := p.store.Namespaces(p.Context(), thread)
	p.done(fmt.Sprintf("the namespaces of %q can be listed", thread), err)
	return list
}

// dump shows all that can be read of some chains.
func (p *probe) dump(keys ...checkpoint.Key) string {
	p.Helper()
	var b strings.Builder
	for _, k := range keys {
		for _, snap := range p.history(k, checkpoint.Query{}) {
			fmt.Fprintln(&b, show(snap), show(p.load(k, snap.Seq)))
		}
	}
	return b.String()
}

// cancelled returns a context that has ended.
func (p *probe) cancelled() context.Context {
	ctx, cancel := context.WithCancel(p.Context())
	cancel()
	return ctx
}

// show writes a value so that equal values look the same, and different ones do not.
// nil and empty slices are equal, and so are entries that differ in Keep only.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		if len(v) > 48 {
			return fmt.Sprintf("%d bytes %q… sha256 %.6x", len(v), v[:16], sha256.Sum256(v))
		}
		return fmt.Sprintf("%q", v)
	case []checkpoint.Snapshot:
		return showAll(v)
	case checkpoint.Snapshot:
		return fmt.Sprintf("{%q %d/%d id %q labels %s header %s refs %s blobs %s pending %s}",
			v.Key, v.Seq, v.Head, v.ID, show(v.Labels), show(v.Header), showAll(v.Refs), showAll(v.Blobs), showAll(v.Pending))
	case map[string]string:
		return fmt.Sprintf("%q", v)
	case checkpoint.Ref:
		return fmt.Sprintf("%q/%d+%d", v.Field, v.Base, v.Chunks)
	case checkpoint.Blob:
		return fmt.Sprintf("%q/%d/%d:%s", v.Field, v.Base, v.Chunk, show(v.Data))
	case checkpoint.Entry:
		return fmt.Sprintf("%q/%q:%s", v.Task, v.Slot, show(v.Data))
	}
	return fmt.Sprint(v)
}

func showAll[T any](list []T) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = show(v)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// seqs returns the numbers of snapshots, in their order.
func seqs(list []checkpoint.Snapshot) []uint64 {
	var ns []uint64
	for _, snap := range list {
		ns = append(ns, snap.Seq)
	}
	return ns
}

// names returns the threads of snapshots, in their order.
func names(list []checkpoint.Snapshot) string {
	var ids []string
	for _, snap := range list {
		ids = append(ids, snap.Thread)
	}
	return fmt.Sprintf("%q", ids)
}

// down returns first, first-1, … last.
func down(first, last uint64) []uint64 {
	var ns []uint64
	for n := last; n <= first; n++ {
		ns = append(ns, n)
	}
	slices.Reverse(ns)
	return ns
}
