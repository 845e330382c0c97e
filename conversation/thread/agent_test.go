package thread_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/thread"
)

func newGame() Game { return Game{Room: "hall"} }

// each calls f with both strategies, each on its own thread.
func (p *probe) each(f func(s *session, id string)) {
	for _, strategy := range []thread.Strategy{thread.Explicit, thread.Implicit} {
		m, id := p.manager(strategy), "t-"+string(strategy)
		p.Done("set", m.SetConfig(p.Context(), id, thread.Config{"model": "m-1"}))
		f(m.Begin(), id)
	}
}

func (p *probe) roomOf(id string) string {
	p.Helper()
	s, err := p.repo().State(p.Context(), id)
	p.Done("the state can be read", err)
	return room(s)
}

func TestInitAndUpdate(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) {
		th := p.load(s, id)
		p.Done("a first state can be saved", s.Init(p.Context(), th, newGame))
		p.Same("a first state is saved", p.roomOf(id), "hall v1")
		p.Done("an update can be saved", s.Update(p.Context(), th, Game{Room: "cellar"}))
		p.Same("an update is saved", p.roomOf(id), "cellar v2")
	})
}

func TestLoad_CreatesNoThread(t *testing.T) {
	p := newProbe(t)
	_, err := p.manager(thread.Explicit).Begin().Load(p.Context(), "unknown")
	p.Fails("a load creates no thread", err, thread.ErrThreadNotFound)
}

func TestExplicit_SaveIfModifiedWritesNothing(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Explicit)
	p.unwritten("explicit: SaveIfModified saves nothing", func() { p.Done("save", s.SaveIfModified(p.Context(), "t1")) })
	p.logs.take()
}

func TestRepository_SetAndGet(t *testing.T) {
	p := newProbe(t)
	r := p.repo()
	p.Done("set the configuration", r.SetConfig(p.Context(), "t1", thread.Config{"a": 1}))
	v, err := r.SetState(p.Context(), "t1", game("hall", 0))
	p.Same("set the state", []any{v, err}, "[1 <nil>]")
	c, err := r.Config(p.Context(), "t1")
	p.Same("get the configuration", []any{c, err}, "[map[a:1] <nil>]")
	st, err := r.State(p.Context(), "t1")
	p.Same("get the state", []any{room(st), err}, "[hall v1 <nil>]")
	p.Done("set the whole", r.SetThread(p.Context(), &thread.Thread[Game]{ID: "t1", Config: thread.Config{"a": 2}, State: game("roof", 2)}))
	th, err := r.Thread(p.Context(), "t1")
	p.Done("get the whole", err)
	p.Same("the whole", []any{th.ID, th.Config, room(th.State)}, "[t1 map[a:2] roof v2]")
	p.Fails("the whole has versions too", r.SetThread(p.Context(), &thread.Thread[Game]{ID: "t1", Config: thread.Config{}, State: game("old", 2)}), thread.ErrConflict)
	_, err = r.SetState(p.Context(), "t1", nil)
	p.Done("a repository clears by nil", err)
	p.stored("a cleared state", "none")
	for _, err := range []error{r.SetConfig(p.Context(), "", thread.Config{}), r.SetThread(p.Context(), &thread.Thread[Game]{Config: thread.Config{}})} {
		p.Fails("an empty thread id is rejected", err, thread.ErrThreadID)
	}
}

func TestSetConfig_KeepsTheState(t *testing.T) {
	p := newProbe(t)
	p.Done("set", p.manager("").SetConfig(p.Context(), "t1", thread.Config{"a": 1}))
	p.stored("a new thread has no state", "none")
	_, err := p.repo().SetState(p.Context(), "t1", game("hall", 1))
	p.Done("set", err)
	p.Done("set", p.manager("").SetConfig(p.Context(), "t1", thread.Config{"a": 2}))
	p.stored("SetConfig keeps the state", "hall v1")
}

func TestRun_ConfigSetBeforeEachRun(t *testing.T) {
	p := newProbe(t)
	m := p.manager(thread.Implicit)
	for i := range 3 {
		p.Done("set before every run", m.SetConfig(p.Context(), "t1", thread.Config{"a": i}))
		p.Done("run", m.Run(p.Context(), func(s *session) error {
			th := p.load(s, "t1")
			err := s.Init(p.Context(), th, newGame)
			th.State.Data.Coins++
			return err
		}))
	}
	s, err := p.repo().State(p.Context(), "t1")
	p.Done("the state can be read", err)
	p.Same("setting the configuration does not disturb the state", []any{s.Data.Coins, s.Version}, "[3 4]")
}

func TestLoad_AfterSetConfig(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) { p.Same("after SetConfig a load succeeds", p.load(s, id).ID, id) })
}

func TestSetState_InsertsAndUpdates(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) {
		p.Done("SetState sets", s.SetState(p.Context(), id, game("hall", 1)))
		p.Done("SetState updates", s.SetState(p.Context(), id, game("roof", 2)))
		p.Same("SetState", p.roomOf(id), "roof v2")
	})
}

func TestSetState_EmptyID(t *testing.T) {
	p := newProbe(t)
	p.Fails("an empty thread id is rejected", p.begin("").SetState(p.Context(), "", game("hall", 1)), thread.ErrThreadID)
}

func TestSetState_Nil(t *testing.T) {
	p := newProbe(t)
	p.Fails("a nil state is rejected", p.begin("").SetState(p.Context(), "t1", nil), thread.ErrState)
}

func TestSetState_ReadsOnce(t *testing.T) {
	p := newProbe(t)
	s := p.manager("").Begin()
	before := p.docs.reads.Load()
	p.Fails("the repository refuses a state without a configuration", s.SetState(p.Context(), "t1", game("hall", 1)), thread.ErrThreadNotFound)
	p.Same("the manager does not look first", p.docs.reads.Load()-before, 1)
}

func TestSetState_ReportsStoreFailures(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) {
		defer p.down()()
		p.Fails("the error of the store is returned", s.SetState(p.Context(), id, game("hall", 1)), errDown)
	})
}

func TestState_StoredJSON(t *testing.T) {
	p := newProbe(t)
	p.Done("set", p.manager("").SetConfig(p.Context(), "t1", thread.Config{}))
	r := thread.NewRepository[any](p.docs)
	var data any = map[string]any{"n": json.Number("12345678901234567890"), "list": []any{nil, true, "x"}}
	_, err := r.SetState(p.Context(), "t1", &thread.State[any]{Data: &data, Ext: map[string]json.RawMessage{"mood": json.RawMessage(`{"glad":1.50}`)}})
	p.Done("set", err)
	d, err := p.docs.Store.Get(p.Context(), document.At("threads", "t1"), "record")
	p.Done("the record can be read", err)
	p.Same("a state is an object with data, a version and other fields", string(d.Value),
		`{"config":{},"state":{"data":{"list":[null,true,"x"],"n":12345678901234567890},"mood":{"glad":1.50},"version":1}}`)
	s, err := r.State(p.Context(), "t1")
	p.Done("the state can be read", err)
	p.Same("all comes back", fmt.Sprint(*s.Data, string(s.Ext["mood"]), s.Version), fmt.Sprint(data, `{"glad":1.50}`, 1))
	for _, name := range []string{"data", "version"} {
		_, err = r.SetState(p.Context(), "t1", &thread.State[any]{Ext: map[string]json.RawMessage{name: nil}})
		p.Fails("another field does not hide "+name, err, thread.ErrState)
	}
}

func TestInit_SetsTheFirstState(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) {
		th := p.load(s, id)
		p.Done("init", s.Init(p.Context(), th, newGame))
		p.Same("a thread without a state gets its first", p.roomOf(id), "hall v1")
		p.Same("and the loaded thread has it", room(th.State), "hall v1")
		p.Done("init", s.Init(p.Context(), th, func() Game { p.Error("rule: Init does not replace data"); return Game{} }))
		p.Done("set a state without data", s.SetState(p.Context(), id, &state{Version: 2, Ext: map[string]json.RawMessage{"mood": json.RawMessage(`"glad"`)}}))
		again := s.Begin()
		th = p.load(again, id)
		p.Done("init", again.Init(p.Context(), th, newGame))
		p.Same("a state without data gets its first", []any{p.roomOf(id), string(th.State.Ext["mood"])}, `[hall v3 "glad"]`)
	})
}

func TestInit_StoreFailure(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) {
		th := p.load(s, id)
		up := p.down()
		err := s.Init(p.Context(), th, newGame)
		up()
		p.Fails("a first state that cannot be saved has an error of its own", err, thread.ErrStateSave)
		p.Fails("it wraps the cause", err, errDown)
		p.Same("the agent has no state then", th.State == nil, true)
	})
}

func TestUpdate_ReplacesData(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) {
		p.Done("set", s.SetState(p.Context(), id, &state{Version: 1, Data: &Game{Room: "hall"}, Ext: map[string]json.RawMessage{"mood": json.RawMessage(`1`)}}))
		th := p.load(s, id)
		p.unwritten("equal data are not saved", func() { p.Done("update", s.Update(p.Context(), th, Game{Room: "hall"})) })
		p.Done("update", s.Update(p.Context(), th, Game{Room: "cellar"}))
		st, err := p.repo().State(p.Context(), id)
		p.Done("the state can be read", err)
		p.Same("data are replaced, the version grows, other fields stay", []any{room(st), string(st.Ext["mood"])}, "[cellar v2 1]")
		p.Same("the loaded thread has it", room(th.State), "cellar v2")
	})
}

func TestUpdate_StoreFailure(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) {
		th := p.load(s, id)
		p.Done("init", s.Init(p.Context(), th, newGame))
		up := p.down()
		err := s.Update(p.Context(), th, Game{Room: "cellar"})
		up()
		p.Fails("the error of the store is returned", err, errDown)
		p.Same("it is not the fatal one", errors.Is(err, thread.ErrStateSave), false)
		p.Same("the loaded thread does not change", room(th.State), "hall v1")
		p.Done("another try", s.Update(p.Context(), th, Game{Room: "cellar"}))
		p.Same("saves", p.roomOf(id), "cellar v2")
	})
}

func TestSetState_VersionsCountUp(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) {
		th := p.load(s, id)
		p.Done("init", s.Init(p.Context(), th, newGame))
		for i := range 5 {
			p.Done("update", s.Update(p.Context(), th, Game{Coins: i + 1}))
			p.Same("a version is one more than the last", th.State.Version, i+2)
		}
		for _, v := range []uint64{1, 5, 6, 8, 1 << 60} {
			p.Fails("another version is rejected", s.SetState(p.Context(), id, game("roof", v)), thread.ErrConflict)
		}
		p.Done("the next is not", s.SetState(p.Context(), id, game("roof", 7)))
	})
}

func TestSession_CallsOfTheStore(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	before := p.docs.touched()
	p.load(s, "t1").State.Data.Room = "cellar"
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	p.Same("all goes through the repository to the store: a read, and a read and a write", p.docs.touched()-before, 3)
	other := p.repo()
	other.Collection = "others"
	_, err := other.Thread(p.Context(), "t1")
	p.Fails("a repository has a collection of its own", err, thread.ErrThreadNotFound)
}

func TestSession_ConfigOnly(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) {
		th := p.load(s, id)
		p.Same("a thread without a state has a configuration", th.Config["model"], "m-1")
		p.unwritten("a session without edits", func() { p.Done("end", s.End(p.Context())) })
		p.silent("a run without a state")
	})
}

func TestSetState_NestedData(t *testing.T) {
	p := newProbe(t)
	var deep any = "bottom"
	for i := range 40 {
		deep = map[string]any{"x": []any{deep, json.Number(fmt.Sprint(i)), strings.Repeat("é", 3)}}
	}
	p.each(func(s *session, id string) {
		p.Done("set", s.SetState(p.Context(), id, &state{Data: &Game{Bag: map[string]any{"deep": deep}}, Version: 1}))
		st, err := p.repo().State(p.Context(), id)
		p.Done("the state can be read", err)
		p.Same("a nested state comes back", st.Data.Bag["deep"], deep)
	})
}

func TestSetConfig_KeepsTheStoredState(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	p.load(s, "t1").State.Data.Room = "edited, not saved"
	p.Done("set", s.SetConfig(p.Context(), "t1", thread.Config{"a": 1}))
	th, err := p.repo().Thread(p.Context(), "t1")
	p.Done("the record can be read", err)
	p.Same("SetConfig writes the whole record, with the state that is stored", []any{th.Config, room(th.State)}, "[map[a:1] hall v1]")
}

func TestRun_InitThenUpdate(t *testing.T) {
	p := newProbe(t)
	m := p.manager(thread.Explicit)
	p.Done("set", m.SetConfig(p.Context(), "t1", thread.Config{"enabledTools": []string{"dice"}}))
	for i, want := range []string{"hall v1", "cellar v2"} {
		p.Done("run", m.Run(p.Context(), func(s *session) error {
			th := p.load(s, "t1")
			if err := s.Init(p.Context(), th, newGame); err != nil || i == 0 {
				return err
			}
			return s.Update(p.Context(), th, Game{Room: "cellar"})
		}))
		p.stored("the state after each run", want)
	}
}

// Requirement: every save has version 1
func TestSetState_SameVersionTwice(t *testing.T) {
	p := newProbe(t)
	p.each(func(s *session, id string) {
		p.Done("set", s.SetState(p.Context(), id, game("hall", 1)))
		p.Fails("the same version twice is a conflict", s.SetState(p.Context(), id, game("roof", 1)), thread.ErrConflict)
		p.Same("nothing is lost", p.roomOf(id), "hall v1")
	})
}

// raceOnOneManager uses a manager, a session and a thread from several goroutines.
func raceOnOneManager(p *probe, log *slog.Logger) {
	m, err := thread.NewManager(p.repo(), thread.Options{Strategy: thread.Implicit, Logger: log})
	p.Done("a manager can be made", err)
	p.Done("set", m.SetConfig(p.Context(), "t1", thread.Config{}))
	shared := m.Begin()
	const writers, each = 4, 5
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := count(p, m); err != nil {
					p.Errorf("rule: a save succeeds after a conflict\n got: %v", err)
				}
				if err := shared.EnableTools(p.Context(), "t1", fmt.Sprintf("tool-%d-%d", w, i)); err != nil {
					p.Errorf("rule: tools can be enabled concurrently\n got: %v", err)
				}
				shared.IsToolEnabled(p.Context(), "t1", "dice")
			}
		})
	}
	wg.Wait()
	s, err := p.repo().State(p.Context(), "t1")
	p.Done("the state can be read", err)
	p.Same("no update of a state is lost", []any{s.Data.Coins, s.Version}, []any{writers * each, writers * each})
	p.Same("no update of a configuration is lost", len(tools(p, m.Begin())), writers*each)
}

// count adds a coin in a run, and retries after a conflict.
func count(p *probe, m *manager) error {
	for {
		err := m.Run(p.Context(), func(s *session) error {
			t, err := s.Load(p.Context(), "t1")
			if err != nil {
				return err
			}
			if t.State == nil {
				t.State = &state{Data: &Game{}}
			}
			t.State.Data.Coins++
			return nil
		})
		if !errors.Is(err, thread.ErrConflict) {
			return err
		}
	}
}
