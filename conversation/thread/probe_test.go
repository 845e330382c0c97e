package thread_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/internal/testreport"
)

// Game is the state of an agent in these tests.
type Game struct {
	Room  string
	Coins int
	Bag   map[string]any
}

type (
	manager = thread.Manager[Game]
	session = thread.Session[Game]
	state   = thread.State[Game]
)

// probe has the store and the helpers of one test.
type probe struct {
	testreport.Probe
	docs *spy
	logs logs
}

// spy counts the calls of a store, and can fail them.
type spy struct {
	document.Store
	reads, writes        atomic.Int64
	failReads, failWrite atomic.Pointer[error]
}

var errDown = errors.New("the store is down")

func (s *spy) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	s.reads.Add(1)
	if err := s.failReads.Load(); err != nil {
		return document.Doc{}, *err
	}
	return s.Store.Get(ctx, p, id)
}

func (s *spy) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	s.writes.Add(1)
	if err := s.failWrite.Load(); err != nil {
		return document.Doc{}, *err
	}
	return s.Store.Set(ctx, p, c)
}

// touched returns the number of calls.
func (s *spy) touched() int64 { return s.reads.Load() + s.writes.Load() }

// logs records log lines.
type logs struct {
	mu    sync.Mutex
	lines []string
}

func (l *logs) Enabled(context.Context, slog.Level) bool { return true }
func (l *logs) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logs) WithGroup(string) slog.Handler            { return l }
func (l *logs) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	return nil
}

// take returns the warnings since the last call.
func (l *logs) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

func newProbe(t *testing.T) *probe {
	return &probe{Probe: testreport.Probe{TB: t}, docs: &spy{Store: new(document.Map)}}
}

func (p *probe) repo() *thread.Repository[Game] { return thread.NewRepository[Game](p.docs) }

func (p *probe) manager(s thread.Strategy) *manager {
	p.Helper()
	m, err := thread.NewManager(p.repo(), thread.Options{Strategy: s, Logger: slog.New(&p.logs)})
	p.Done("a manager can be made", err)
	return m
}

// begin returns a session after SetConfig of thread t1.
func (p *probe) begin(s thread.Strategy) *session {
	p.Helper()
	m := p.manager(s)
	p.Done("a configuration can be set", m.SetConfig(p.Context(), "t1", thread.Config{"enabledTools": []string{"dice", "map"}, "historyLimit": 20}))
	return m.Begin()
}

// withState is begin for a thread with a state.
func (p *probe) withState(s thread.Strategy) *session {
	p.Helper()
	on := p.begin(s)
	_, err := p.repo().SetState(p.Context(), "t1", game("hall", 1))
	p.Done("a state can be set", err)
	return on
}

func game(room string, version uint64) *state {
	return &state{Data: &Game{Room: room, Bag: map[string]any{"lamp": true}}, Version: version}
}

func (p *probe) load(s *session, id string) *thread.Thread[Game] {
	p.Helper()
	t, err := s.Load(p.Context(), id)
	p.Done("thread "+id+" can be loaded", err)
	return t
}

// stored checks the stored state: the room and the version, or "none".
func (p *probe) stored(rule, want string) {
	p.Helper()
	s, err := p.repo().State(p.Context(), "t1")
	p.Done("the state can be read", err)
	p.Same(rule, room(s), want)
}

func room(s *state) string {
	switch {
	case s == nil:
		return "none"
	case s.Data == nil:
		return fmt.Sprintf("no data v%d", s.Version)
	}
	return fmt.Sprintf("%s v%d", s.Data.Room, s.Version)
}

// quiet checks that f makes no call of the store.
func (p *probe) quiet(rule string, f func()) {
	p.Helper()
	before := p.docs.touched()
	f()
	p.Same(rule+": calls of the store", p.docs.touched()-before, 0)
}

// unwritten checks that f writes nothing.
func (p *probe) unwritten(rule string, f func()) {
	p.Helper()
	before := p.docs.writes.Load()
	f()
	p.Same(rule+": writes", p.docs.writes.Load()-before, 0)
}

// warned checks that there is one warning with all of these words.
func (p *probe) warned(rule string, words ...string) {
	p.Helper()
	lines := p.logs.take()
	missing := slices.DeleteFunc(words, func(w string) bool { return len(lines) == 1 && strings.Contains(lines[0], w) })
	if len(lines) != 1 || len(missing) > 0 || !strings.HasPrefix(lines[0], "WARN") {
		p.Errorf("rule: %s, with one warning\n got: %q\nwant: one with %q", rule, lines, missing)
	}
}

func (p *probe) silent(rule string) {
	p.Helper()
	p.Same(rule+": warnings", len(p.logs.take()), 0)
}

// down makes the store fail until the returned function is called.
func (p *probe) down() (up func()) {
	p.docs.failReads.Store(&errDown)
	p.docs.failWrite.Store(&errDown)
	return func() { p.docs.failReads.Store(nil); p.docs.failWrite.Store(nil) }
}
