package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/blob"
)

// errKilled is the error of each call after the process has died.
var errKilled = errors.New("the process has died")

// dying is a Table of a process that dies at a call that writes: before it, or after it before its
// reply.
type dying struct {
	blob.Table
	left  int  // calls until it dies
	after bool // the last call takes effect
	dead  bool
}

func (d *dying) write(call func() error) error {
	if d.dead {
		return errKilled
	}
	if d.left--; d.left >= 0 {
		return call()
	}
	d.dead = true
	if d.after {
		_ = call()
	}
	return errKilled
}

func (d *dying) Stage(ctx context.Context, upload string, n int, data []byte) error {
	return d.write(func() error { return d.Table.Stage(ctx, upload, n, data) })
}

func (d *dying) Finish(ctx context.Context, upload string, b blob.Stat, c blob.Claim) error {
	return d.write(func() error { return d.Table.Finish(ctx, upload, b, c) })
}

func (d *dying) Discard(ctx context.Context, upload string) error {
	return d.write(func() error { return d.Table.Discard(ctx, upload) })
}

func (d *dying) Claim(ctx context.Context, owner string, hashes []string, at time.Time) (missing []string, err error) {
	err = d.write(func() (err error) { missing, err = d.Table.Claim(ctx, owner, hashes, at); return err })
	return missing, err
}

func (d *dying) Release(ctx context.Context, owner string, hashes []string, before, now time.Time) (f blob.Freed, err error) {
	err = d.write(func() (err error) { f, err = d.Table.Release(ctx, owner, hashes, before, now); return err })
	return f, err
}

func (d *dying) Sweep(ctx context.Context, before time.Time) error {
	return d.write(func() error { return d.Table.Sweep(ctx, before) })
}

// kills lets the process die at each write of a put and a collection. The next process finds all
// that is claimed, does the same again, and removes the rest.
func kills(t *testing.T, open func(t testing.TB) blob.Table) {
	table := open(t)
	for n := 0; ; n++ {
		died := false
		for _, after := range []bool{false, true} {
			p := newProbe(t, table)
			p.now = p.now.Add(time.Duration(n) * 100 * time.Hour)
			died = killed(p, n, after) || died
		}
		if !died {
			if n < 5 {
				t.Errorf("rule: the test kills at each write\n got: only %d writes", n)
			}
			return
		}
	}
}

// killed runs the work of a process that dies at write n, and then that of the next process.
func killed(p *probe, n int, after bool) (died bool) {
	ctx := p.Context()
	others := text(50, 3*n)
	ref := p.put("others", others)
	old := p.put("owner", text(60, 3*n+1))
	p.now = p.now.Add(48 * time.Hour)
	big := text(2*blob.ChunkSize+n, 3*n+2)
	work := func(s *blob.Store) error {
		if _, err := s.Put(ctx, "owner", bytes.NewReader(big)); err != nil {
			return err
		}
		if err := s.Claim(ctx, "owner", []string{ref.Hash}); err != nil {
			return err
		}
		if _, err := s.Release(ctx, "owner", time.Hour, none); err != nil {
			return err
		}
		return s.Sweep(ctx, time.Hour)
	}
	d := &dying{Table: p.table, left: n, after: after}
	err := work(p.over(d))
	name := fmt.Sprintf("a process that dies at write %d (after it: %v)", n, after)
	if err != nil && !errors.Is(err, errKilled) {
		p.Errorf("rule: %s gets no other error\n got: %v", name, err)
	}
	p.has(name+" leaves what others claim", ref, others)
	p.Done("the next process does the same again", work(p.blobs))
	p.has("the content is there in the next process", blob.Ref{Hash: hashOf(big)}, big)
	p.gone("what was not used is gone in the next process", old)
	// The end: all is released, and a sweep removes what was cut off.
	p.now = p.now.Add(48 * time.Hour)
	for _, owner := range []string{"owner", "others"} {
		_, err := p.blobs.Release(ctx, owner, time.Hour, none)
		p.Done("everything can be released", err)
	}
	p.Done("a sweep succeeds", p.blobs.Sweep(ctx, time.Hour))
	for _, r := range []blob.Ref{ref, old, {Hash: hashOf(big)}} {
		p.gone("at the end nothing is left", r)
	}
	for owner := range p.blobs.Owners(ctx) {
		p.Errorf("rule: at the end no owner is left\n got: %q", owner)
	}
	return d.dead
}
