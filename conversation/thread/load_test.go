package thread_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/weftrun/weft/conversation/thread"
)

func TestNewManager_Options(t *testing.T) {
	p := newProbe(t)
	for strategy, want := range map[thread.Strategy]error{"": nil, thread.Explicit: nil, thread.Implicit: nil, "sometimes": thread.ErrOptions, "Implicit": thread.ErrOptions} {
		_, err := thread.NewManager(p.repo(), thread.Options{Strategy: strategy})
		p.Fails("a strategy is explicit or implicit", err, want)
	}
	_, err := thread.NewManager[Game](nil, thread.Options{})
	p.Fails("a manager has a repository", err, thread.ErrOptions)
	_, err = thread.NewManager(thread.NewRepository[Game](nil), thread.Options{})
	p.Fails("a repository has a store", err, thread.ErrOptions)
	s := p.begin("")
	p.Done("the strategy that is omitted", s.SaveIfModified(p.Context(), "t1"))
	p.warned("is explicit", "explicit")
}

func TestLoad_ReturnsConfigAndState(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	th, err := s.Load(p.Context(), "t1", "ada")
	p.Done("a user may be named", err)
	p.Same("a thread without a state has none", th.State == nil, true)
	p.Same("it has its configuration", th.Config["historyLimit"], 20)
	p.Done("a state can be set", s.SetState(p.Context(), "t1", game("hall", 1)))
	p.Same("it has its state", room(p.load(s, "t1").State), "hall v1")
}

func TestLoad_EmptyID(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	p.quiet("an empty thread id is rejected without a call", func() {
		_, err := s.Load(p.Context(), "")
		p.Fails("an empty thread id is rejected", err, thread.ErrThreadID)
	})
}

func TestLoad_UnknownThread(t *testing.T) {
	p := newProbe(t)
	for _, strategy := range []thread.Strategy{thread.Explicit, thread.Implicit} {
		_, err := p.manager(strategy).Begin().Load(p.Context(), "unknown")
		p.Fails("an unknown thread is not found", err, thread.ErrThreadNotFound)
		p.Same("the error names SetConfig", strings.Contains(err.Error(), "SetConfig"), true)
		_, err = p.repo().Thread(p.Context(), "unknown")
		p.Fails("loading creates no thread", err, thread.ErrThreadNotFound)
	}
}

func TestLoad_StoreFailure(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	defer p.down()()
	if _, err := s.Load(p.Context(), "t1"); err != errDown {
		p.Errorf("rule: the error of the store is returned unchanged\n got: %v\nwant: %v", err, errDown)
	}
}

func TestLoad_ExplicitReadsTheStore(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Explicit)
	first := p.load(s, "t1")
	before := p.docs.reads.Load()
	second := p.load(s, "t1")
	p.Same("explicit: every load reads the store", p.docs.reads.Load()-before, 1)
	p.Same("explicit: no instance is shared", first != second && first.State != second.State, true)
}

func TestLoad_ImplicitReadsTheStoreOnce(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	before := p.docs.reads.Load()
	th := p.load(s, "t1")
	p.Same("implicit: the first load reads the store", p.docs.reads.Load()-before, 1)
	th.Config["historyLimit"] = 99
	p.unwritten("the configuration is no part of what is compared", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	th.State.Data.Room = "cellar"
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	p.stored("the state is", "cellar v2")
	c, err := p.repo().Config(p.Context(), "t1")
	p.Done("the configuration can be read", err)
	p.Same("and is not saved with it", c["historyLimit"], 20)
}

func TestLoad_ImplicitReturnsOneInstance(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	th.State.Data.Room = "cellar"
	p.quiet("implicit: a second load does not ask the store", func() {
		p.Same("implicit: a load gives the same instance", p.load(s, "t1") == th, true)
		p.Same("with its edits", room(p.load(s, "t1").State), "cellar v1")
	})
}

func TestLoad_ReturnsACopy(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	th.State.Data.Bag["lamp"] = false
	th.Config["enabledTools"] = nil
	stored, err := p.repo().Thread(p.Context(), "t1")
	p.Done("the record can be read", err)
	p.Same("edits do not change the store", stored.State.Data.Bag["lamp"], true)
	stored.State.Data.Bag["lamp"] = "broken"
	p.Same("and the store does not change what was loaded", p.load(s, "t1").State.Data.Bag["lamp"], false)
}

func TestSession_ThreadsAreSeparate(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	p.Done("set", s.SetConfig(p.Context(), "t2", thread.Config{"a": 1}))
	p.Done("set", s.SetState(p.Context(), "t2", game("attic", 1)))
	one, two := p.load(s, "t1"), p.load(s, "t2")
	one.State.Data.Room, two.State.Data.Room = "cellar", "roof"
	p.Done("set", s.SetConfig(p.Context(), "t2", thread.Config{"a": 2}))
	p.Done("save", s.SaveIfModified(p.Context(), "t2"))
	p.stored("another thread is saved alone", "hall v1")
	p.Same("another thread is left alone", room(p.load(s, "t1").State), "cellar v1")
}

func TestClearCache_DropsEdits(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	th.State.Data.Room = "cellar"
	_, err := p.repo().SetState(p.Context(), "t1", game("garden", 2))
	p.Done("another writer saves a state", err)
	s.ClearCache()
	p.unwritten("a dropped edit is not saved", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	p.warned("a thread that is not loaded is not saved", "t1")
	p.Same("after ClearCache a load reads the store", room(p.load(s, "t1").State), "garden v2")
}

func TestLoad_WithoutState(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	th := p.load(s, "t1")
	p.Same("a thread without a state", th.State == nil, true)
	p.unwritten("a nil state is no change", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	th.State = game("hall", 0)
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	p.stored("the first state is saved", "hall v1")
}

// Requirement: a cache lives as long as its manager
func TestRun_SavesAndForgets(t *testing.T) {
	p := newProbe(t)
	m := p.withState(thread.Implicit).Manager
	p.Done("the first run", m.Run(p.Context(), func(s *session) error { p.load(s, "t1").State.Data.Room = "cellar"; return nil }))
	p.stored("a run saves when it ends", "cellar v2")
	_, err := p.repo().SetState(p.Context(), "t1", game("garden", 3))
	p.Done("another process may write", err)
	p.Done("the second run", m.Run(p.Context(), func(s *session) error {
		p.Same("the next run reads the store", room(p.load(s, "t1").State), "garden v3")
		return nil
	}))
	s := m.Begin()
	p.Done("a session can end", s.End(p.Context()))
	_, err = s.Load(p.Context(), "t1")
	p.Fails("a session that has ended is over", err, thread.ErrEnded)
	p.Done("a session may end twice", s.End(p.Context()))
}

func TestManager_ConcurrentUse(t *testing.T) {
	p := newProbe(t)
	raceOnOneManager(p, slog.New(&p.logs))
}
