package thread_test

import (
	"math"
	"testing"

	"github.com/weftrun/weft/conversation/thread"
)

func TestSetState_ReplacesTheWhole(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Explicit)
	p.Done("set", s.SetState(p.Context(), "t1", &state{Data: &Game{Coins: 7}}))
	got, err := p.repo().State(p.Context(), "t1")
	p.Done("the state can be read", err)
	p.Same("a state is replaced as a whole", []any{got.Data.Room, got.Data.Coins, len(got.Data.Bag), got.Version}, "[ 7 0 2]")
}

func TestSetState_NeedsAConfig(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	p.unwritten("without a configuration nothing is written", func() {
		p.Fails("a state needs a configuration", s.SetState(p.Context(), "unknown", game("hall", 1)), thread.ErrThreadNotFound)
		p.Fails("a state needs a configuration", p.repo().SetThread(p.Context(), &thread.Thread[Game]{ID: "unknown", State: game("hall", 1)}), thread.ErrConfig)
	})
	_, err := p.repo().Thread(p.Context(), "unknown")
	p.Fails("and no thread is made", err, thread.ErrThreadNotFound)
}

func TestSetState_UpdatesALoadedThread(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	next := game("cellar", 2)
	p.Done("set", s.SetState(p.Context(), "t1", next))
	next.Data.Bag["lamp"] = "broken"
	p.Same("a loaded thread gets a copy", []any{th.State != next, room(th.State), th.State.Data.Bag["lamp"]}, "[true cellar v2 true]")
	p.unwritten("a state of SetState is not saved again", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	p.Done("set without a version", s.SetState(p.Context(), "t1", game("roof", 0)))
	p.stored("is set with the next", "roof v3")
	th.State.Data.Room = "attic"
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	p.stored("edits go on from there", "attic v4")
}

func TestSetState_ThreadNotLoaded(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	p.Done("set", s.SetState(p.Context(), "t1", game("cellar", 1)))
	p.stored("SetState writes a thread that is not loaded", "cellar v1")
	p.unwritten("SetState does not load the thread", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	p.warned("a thread that is not loaded is not saved", "t1")
}

func TestSetState_StoreFailure(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	up := p.down()
	p.Fails("the error of the store is returned", s.SetState(p.Context(), "t1", game("cellar", 2)), errDown)
	up()
	p.Same("the session has what it had", room(th.State), "hall v1")
	p.unwritten("and nothing to save", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
}

func TestSetState_RejectsInvalidValues(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	p.quiet("an invalid state is rejected without a call", func() {
		p.Fails("an empty thread id is rejected", s.SetState(p.Context(), "", game("hall", 1)), thread.ErrThreadID)
		p.Fails("a nil state is rejected", s.SetState(p.Context(), "t1", nil), thread.ErrState)
	})
	numbers := thread.NewRepository[float64](p.docs)
	_, err := numbers.SetState(p.Context(), "t1", &thread.State[float64]{Data: new(math.NaN())})
	p.Fails("a value that is not JSON is rejected", err, thread.ErrState)
}

// Requirement: a missing state is saved as undefined
func TestSaveIfModified_NilStateIsNotSaved(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	th.State = nil
	for range 2 {
		p.unwritten("nil is not saved", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
		p.warned("each save of a nil state", "ClearState")
	}
	p.Done("end", s.End(p.Context()))
	p.stored("a nil state does not clear the stored one", "hall v1")
	s = s.Begin()
	th = p.load(s, "t1")
	p.Done("clear", s.ClearState(p.Context(), "t1"))
	p.stored("ClearState is a call of its own", "none")
	p.Same("a loaded thread has no state then", th.State == nil, true)
	th.State = game("garden", 0)
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	p.stored("and may have another one", "garden v1")
	p.Fails("an unknown thread cannot be cleared", s.ClearState(p.Context(), "unknown"), thread.ErrThreadNotFound)
	p.Fails("nor can one without an id", s.ClearState(p.Context(), ""), thread.ErrThreadID)
}

func TestSaveIfModified_StillWithoutState(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	p.load(s, "t1")
	p.logs.take()
	p.unwritten("nil that stays nil is not saved", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	p.silent("nil that stays nil")
}

func TestSaveIfModified_FirstState(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	p.load(s, "t1").State = game("hall", 0)
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	p.stored("a first state is a change", "hall v1")
}
