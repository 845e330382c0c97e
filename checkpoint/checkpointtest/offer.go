package checkpointtest

import (
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// Clock is a store under test whose time the test can move: the rules about leases that
// run out and threads that expire need it. A store that has its clock in this process
// takes one from the test; a server's store moves the deadlines that it has stored.
type Clock interface {
	// Advance lets d pass, by the store's clock.
	Advance(d time.Duration)
}

// Damager is a store under test whose bytes the test can change behind its back.
type Damager interface {
	// Damage replaces the stored bytes of a blob, of which the data does not matter, by
	// what change returns for them; nil removes the blob.
	Damage(k checkpoint.Key, b checkpoint.Blob, change func(data []byte) []byte) error
}

// offer is something that a store may offer beside its duties.
type offer string

const (
	leases  offer = "checkpoint.Leaser"
	drops   offer = "checkpoint.Dropper"
	expiry  offer = "checkpoint.Expirer"
	clock   offer = "checkpointtest.Clock"
	damages offer = "checkpointtest.Damager"
	spoils  offer = "checkpointtest.Spoiler"
)

// in reports whether a store has something.
func (o offer) in(s checkpoint.Store) (ok bool) {
	switch o {
	case leases:
		_, ok = s.(checkpoint.Leaser)
	case drops:
		_, ok = s.(checkpoint.Dropper)
	case expiry:
		_, ok = s.(checkpoint.Expirer)
	case clock:
		_, ok = s.(Clock)
	case damages:
		_, ok = s.(Damager)
	case spoils:
		_, ok = s.(Spoiler)
	}
	return ok
}

// missing returns the first thing that a rule needs and the store does not have.
func (r rule) missing(s checkpoint.Store) (offer, bool) {
	for _, o := range r.needs {
		if !o.in(s) {
			return o, true
		}
	}
	return "", false
}

// judge runs one rule on a fresh store. full demands what the rule needs.
func (r rule) judge(t testing.TB, open func(t testing.TB) checkpoint.Store, full bool) {
	s := open(t)
	defer s.Close()
	if o, missing := r.missing(s); missing {
		if full && o != damages && o != spoils {
			t.Errorf("rule: a full store offers everything\n got: a store that is no %s\nwant: one that is", o)
			return
		}
		t.Logf("not offered: %s", o)
		return
	}
	r.check(&probe{TB: t, store: s})
}

func (p *probe) advance(d time.Duration)     { p.store.(Clock).Advance(d) }
func (p *probe) leaser() checkpoint.Leaser   { return p.store.(checkpoint.Leaser) }
func (p *probe) expirer() checkpoint.Expirer { return p.store.(checkpoint.Expirer) }
func (p *probe) dropper() checkpoint.Dropper { return p.store.(checkpoint.Dropper) }
