package checkpointtest

import (
	"context"
	"errors"
	"iter"
	"maps"

	"github.com/weftrun/weft/checkpoint"
)

// each calls every method that takes a context, and returns the errors by name. The
// chain k has the head 1.
func (p *probe) each(ctx context.Context, k checkpoint.Key) map[string]error {
	_, loadErr := p.store.Load(ctx, k, 0)
	_, spacesErr := p.store.Namespaces(ctx, k.Thread)
	errs := p.eachOffer(ctx, k)
	maps.Copy(errs, map[string]error{
		"Commit":                p.store.Commit(ctx, step(k, 2)),
		"Commit of a new one":   p.store.Commit(ctx, step(key("new"), 1)),
		"Load":                  loadErr,
		"Put":                   p.store.Put(ctx, beside(k, 1, entry("t", "s", "late"))),
		"History":               firstError(p.store.History(ctx, k, checkpoint.Query{})),
		"History of an unknown": firstError(p.store.History(ctx, key("unknown"), checkpoint.Query{})),
		"Threads":               firstError(p.store.Threads(ctx, checkpoint.ThreadQuery{})),
		"Namespaces":            spacesErr,
		"Delete":                p.store.Delete(ctx, k.Thread),
	})
	return errs
}

// eachOffer is each for what a store may leave out.
func (p *probe) eachOffer(ctx context.Context, k checkpoint.Key) map[string]error {
	errs := map[string]error{}
	if s, ok := p.store.(checkpoint.Leaser); ok {
		_, errs["Acquire"] = s.Acquire(ctx, ask(k.Thread, "late"))
		errs["Release"] = s.Release(ctx, k.Thread, "x")
	}
	if s, ok := p.store.(checkpoint.Dropper); ok {
		errs["Drop"] = s.Drop(ctx, checkpoint.Drop{Key: k, Head: 1})
	}
	if s, ok := p.store.(checkpoint.Expirer); ok {
		errs["Expire"] = s.Expire(ctx, k.Thread, 1)
	}
	return errs
}

// firstError returns the error that ends a listing.
func firstError(list iter.Seq2[checkpoint.Snapshot, error]) (err error) {
	n := 0
	for _, err = range list {
		if n++; err != nil && n > 1 {
			return errors.New("the listing went on as if nothing were wrong")
		}
	}
	return err
}

func cancelledContext(p *probe) {
	k := key("thread")
	p.commitSteps(k, 1)
	p.put(k, 1, entry("t", "s", "work"))
	before := p.dump(k)
	for name, err := range p.each(p.cancelled(), k) {
		p.fails(name+" returns the error of a context that has ended", err, context.Canceled)
	}
	p.same("with a context that has ended nothing is written", p.dump(k), before)
	p.same("with a context that has ended no thread starts", names(p.threads(checkpoint.ThreadQuery{})), names([]checkpoint.Snapshot{{Key: k}}))
	p.commit(step(k, 2))
}

func afterClose(p *probe) {
	k := key("thread")
	p.commitSteps(k, 1)
	p.done("Close of a store without calls succeeds", p.store.Close())
	for name, err := range p.each(p.Context(), k) {
		p.fails(name+" of a closed store returns ErrClosed", err, checkpoint.ErrClosed)
	}
}

// scribble overwrites everything that a slice of a snapshot or commit points to.
func scribble(header []byte, refs []checkpoint.Ref, blobs []checkpoint.Blob, entries []checkpoint.Entry) {
	clear(header)
	for i := range blobs {
		clear(blobs[i].Data)
	}
	for i := range entries {
		clear(entries[i].Data)
	}
	clear(refs)
	clear(blobs)
	clear(entries)
}

func slicesAreNotShared(p *probe) {
	k := key("thread")
	work := []checkpoint.Entry{entry("t", "s", "work"), entry("u", "s", "more work")}
	want := stored(step(k, 1), 1, entry("t", "s", "work"), entry("u", "s", "more work"))
	want.Labels = map[string]string{"a": "b"}

	c := step(k, 1)
	c.Labels = map[string]string{"a": "b"}
	p.commit(c)
	p.put(k, 1, work...)
	p.same("a store does not change what it is given", show(stored(c, 1, work...)), show(want))
	scribble(c.Header, c.Refs, c.Blobs, work)
	clear(c.Labels)
	p.same("the caller may reuse slices after the call", p.load(k, 0), want)

	snap := p.load(k, 0)
	scribble(snap.Header, snap.Refs, snap.Blobs, snap.Pending)
	clear(snap.Labels)
	for _, snap := range append(p.history(k, checkpoint.Query{}), p.threads(checkpoint.ThreadQuery{})...) {
		scribble(snap.Header, snap.Refs, snap.Blobs, snap.Pending)
		clear(snap.Labels)
	}
	p.same("the caller owns what Load and the listings return", p.load(k, 0), want)
}
