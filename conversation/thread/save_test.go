package thread_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/thread"
)

func TestSaveIfModified_Explicit(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Explicit)
	p.load(s, "t1").State.Data.Room = "cellar"
	p.quiet("explicit: SaveIfModified does nothing", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	p.warned("explicit: SaveIfModified logs a warning", "explicit", "t1")
}

func TestSaveIfModified_EmptyID(t *testing.T) {
	p := newProbe(t)
	for _, strategy := range []thread.Strategy{thread.Explicit, thread.Implicit} {
		p.Fails("an empty thread id is rejected", p.begin(strategy).SaveIfModified(p.Context(), ""), thread.ErrThreadID)
		p.silent("an error is no warning")
	}
}

func TestSaveIfModified_ThreadNotLoaded(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	p.quiet("a thread that is not loaded is not saved", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	p.warned("a thread that is not loaded", "t1")
}

func TestSaveIfModified_EditedState(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	th.State.Data.Bag["rope"] = 3
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	got, err := p.repo().State(p.Context(), "t1")
	p.Done("the state can be read", err)
	p.Same("an edited state is saved", []any{got.Data.Bag["rope"], got.Version, th.State.Version}, "[3 2 2]")
}

func TestSaveIfModified_UnchangedState(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	th.State.Data.Room = "cellar"
	th.State.Data.Room = "hall"
	p.unwritten("an unchanged state is not saved", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	p.silent("an unchanged state")
}

func TestSaveIfModified_Twice(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	p.load(s, "t1").State.Data.Room = "cellar"
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	p.unwritten("a saved state is not saved again", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
}

func TestSaveIfModified_StoreFailure(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	th.State.Data.Room = "cellar"
	up := p.down()
	p.Fails("the error of the store is returned", s.SaveIfModified(p.Context(), "t1"), errDown)
	up()
	p.Same("the version is not advanced", th.State.Version, 1)
	p.Done("another try", s.SaveIfModified(p.Context(), "t1"))
	p.stored("saves", "cellar v2")
}

func TestSaveIfModified_ComparesValues(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	at := document.At("threads", "t1")
	write := func(stateText string) {
		d, err := p.docs.Store.Get(p.Context(), at, "record")
		p.Done("the record can be read", err)
		_, err = p.docs.Store.Set(p.Context(), at, document.Change{ID: "record", If: &d.Version, Value: json.RawMessage(`{"config": {}, "state": ` + stateText + `}`)})
		p.Done("the record can be written", err)
	}
	write(`{"version": 1, "zeta": 1.50, "data": {"Bag": {"b": 1e2, "a": {"y": 1, "x": 12345678901234567890}}, "Coins": 0, "Room": "hall"}, "alpha": null}`)
	th := p.load(s, "t1")
	th.State.Ext["zeta"] = json.RawMessage(` 15e-1 `)
	th.State.Data.Bag = map[string]any{"a": map[string]any{"x": json.Number("12345678901234567890"), "y": 1.0}, "b": 100}
	p.unwritten("the order of names and the way of numbers are no change", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	th.State.Data.Bag["a"].(map[string]any)["x"] = json.Number("12345678901234567891")
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	got, err := p.repo().State(p.Context(), "t1")
	p.Done("the state can be read", err)
	p.Same("numbers are exact", got.Data.Bag["a"].(map[string]any)["x"], "12345678901234567891")
	th.State.Ext["zeta"] = json.RawMessage(`1.6`)
	before := p.docs.writes.Load()
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	p.Same("other fields count", p.docs.writes.Load()-before, 1)
	th.State.Data.Bag["broken"] = func() {}
	p.Fails("a value that is not JSON is an error", s.SaveIfModified(p.Context(), "t1"), thread.ErrState)
}

func TestExplicit_EditsNeedSetState(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Explicit)
	th := p.load(s, "t1")
	th.State.Data.Room = "cellar"
	p.Done("the save at the end is harmless", s.SaveIfModified(p.Context(), "t1"))
	p.stored("explicit: edits are lost", "hall v1")
	p.Done("set", s.SetState(p.Context(), "t1", th.State.Next(*th.State.Data)))
	p.stored("unless they are set", "cellar v2")
	p.logs.take()
}

func TestImplicit_SavesAfterSetState(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	th.State.Data.Room = "cellar"
	p.Done("a state may be set in between", s.SetState(p.Context(), "t1", th.State.Next(*th.State.Data)))
	th.State.Data.Room = "roof"
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	p.stored("implicit: the difference is saved at the end", "roof v3")
}

func TestRun_SavesHoweverItEnds(t *testing.T) {
	p := newProbe(t)
	m := p.withState(thread.Implicit).Manager
	failed := errors.New("the run failed")
	err := m.Run(p.Context(), func(s *session) error { p.load(s, "t1").State.Data.Room = "cellar"; return failed })
	p.Same("the error of a run is returned as it is", err == failed, true)
	p.stored("a run that failed saves too", "cellar v2")
	p.silent("a save that went well")
	edit := func(with error) func(s *session) error {
		return func(s *session) error {
			p.load(s, "t1").State.Data.Room = "roof"
			p.down()
			return with
		}
	}
	err = m.Run(p.Context(), edit(failed))
	p.Same("a save that fails does not hide why the run failed", err == failed, true)
	p.warned("it is logged", "down", "t1")
	p.docs.failReads.Store(nil)
	p.docs.failWrite.Store(nil)
	err = m.Run(p.Context(), edit(nil))
	p.Fails("a run whose state is lost did not succeed", err, thread.ErrStateSave)
	p.Fails("the error wraps the cause", err, errDown)
	p.silent("an error that is returned is not logged too")
	p.docs.failReads.Store(nil)
	p.docs.failWrite.Store(nil)
	ctx, cancel := context.WithCancel(p.Context())
	err = m.Run(ctx, func(s *session) error { p.load(s, "t1").State.Data.Room = "attic"; cancel(); return ctx.Err() })
	p.Fails("a run that is cancelled", err, context.Canceled)
	p.stored("saves too", "attic v3")
	func() {
		defer func() { p.Same("a panic goes on", recover(), "oh") }()
		_ = m.Run(p.Context(), func(s *session) error { p.load(s, "t1").State.Data.Room = "well"; panic("oh") })
	}()
	p.stored("a run that panics saves too", "well v4")
	func() {
		defer func() { p.Same("a panic goes on", recover(), "oh") }()
		_ = m.Run(p.Context(), func(s *session) error { _ = edit(nil)(s); panic("oh") })
	}()
	p.warned("a save that fails beside a panic is logged", "down", "t1")
}

func TestSaveIfModified_Conflict(t *testing.T) {
	p := newProbe(t)
	m := p.withState(thread.Implicit).Manager
	one, two := m.Begin(), m.Begin()
	p.load(one, "t1").State.Data.Room = "cellar"
	p.load(two, "t1").State.Data.Room = "roof"
	p.Done("the first saves", one.SaveIfModified(p.Context(), "t1"))
	err := two.SaveIfModified(p.Context(), "t1")
	p.Fails("the second save is a conflict", err, thread.ErrConflict)
	var c *thread.ConflictError
	if !errors.As(err, &c) {
		p.Fatalf("rule: a conflict is a *ConflictError\n got: %T", err)
	}
	p.Same("and what is there", []any{c.Thread, c.Base, c.Version}, "[t1 1 2]")
	p.Fails("a state that was made from an older one is rejected", two.SetState(p.Context(), "t1", game("roof", 2)), thread.ErrConflict)
	p.Fails("and without a version too, in a session that loaded it", two.SetState(p.Context(), "t1", game("roof", 0)), thread.ErrConflict)
	p.stored("nothing was lost", "cellar v2")
	fresh := m.Begin()
	th := p.load(fresh, "t1")
	p.Done("clear", one.ClearState(p.Context(), "t1"))
	p.Done("set", m.Begin().SetState(p.Context(), "t1", game("new", 1)))
	p.Done("set", m.Begin().SetState(p.Context(), "t1", game("newer", 2)))
	th.State.Data.Room = "old"
	p.Fails("a save after a concurrent ClearState is a conflict", fresh.SaveIfModified(p.Context(), "t1"), thread.ErrConflict)
	p.Same("End names the thread", strings.Contains(fmt.Sprint(fresh.End(p.Context())), "t1"), true)
	p.stored("nothing was lost", "newer v2")
}
