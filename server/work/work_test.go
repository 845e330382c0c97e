package work_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
	"github.com/weftrun/weft/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type steps struct {
	Log state.List[string] `json:"log"`
}

// host makes jobs whose request is the input of the graph.
type host struct {
	graph   graph.Untyped
	options graph.RunOptions
	mu      sync.Mutex
	ended   []string // run, status
	away    int      // how many calls of Ended fail
}

func (h *host) Job(ctx context.Context, r queue.Run) (work.Job, error) {
	if r.Request == nil {
		return work.Job{}, errors.New("the request is empty")
	}
	view := h.View(ctx, wire.RunStart{Thread: r.Thread, Graph: "steps"}, "")
	j := work.Job{Graph: h.graph, Options: h.options, Input: r.Request, Step: -2, Start: &wire.RunStart{Attempt: r.Attempt, Thread: r.Thread, Graph: "steps"}}
	j.StepOf = func(info graph.CommitInfo) int { return view.Step(info, 1) }
	if newest, ok := view.Commit(0); ok {
		j.Step = j.StepOf(newest.Info)
	}
	return j, nil
}

// View implements work.Viewer.
func (h *host) View(ctx context.Context, start wire.RunStart, namespace string) *wire.View {
	return &wire.View{Thread: start.Thread, Graph: start.Graph, Commit: func(number uint64) (s wire.Snapshot, ok bool) {
		state, info, err := h.graph.Thread(start.Thread).In(namespace).State(ctx, number)
		return wire.Snapshot{Info: info, State: state}, err == nil
	}}
}

// Start implements work.Viewer.
func (h *host) Start(_ context.Context, thread, run string) (wire.RunStart, bool, error) {
	return wire.RunStart{Attempt: 1, Thread: thread, Graph: "steps"}, run != "stranger", nil
}

func (h *host) Ended(_ context.Context, r queue.Run, o work.Outcome) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away--; h.away >= 0 {
		return fmt.Errorf("%w: a test", checkpoint.ErrUnavailable)
	}
	h.ended = append(h.ended, fmt.Sprint(r.ID, " ", o.Status))
	return nil
}

// site is what the processes of a test share.
type site struct {
	store checkpoint.Store
	docs  document.Store
	bus   topic.Bus
	host  *host

	engine bool          // see queue.Config
	warns  bool          // the workers may log warnings
	stays  chan struct{} // node "slow" ends when it can receive
	runs   chan string   // the nodes that begin
}

func newSite(t testing.TB) *site { return newSiteOn(t, new(checkpoint.Memory)) }

func newSiteOn(t testing.TB, store checkpoint.Store) *site {
	s := &site{store: store, docs: new(document.Map), bus: new(topic.Local), stays: make(chan struct{}), runs: make(chan string, 100)}
	b := graph.New[steps]("steps")
	node := func(name string, wait bool) {
		b.Node(name, graph.Func(func(ctx context.Context, st *steps) error {
			s.runs <- name
			if wait {
				select {
				case <-s.stays:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			st.Log.Append(name)
			return nil
		}))
	}
	node("first", false)
	node("slow", true)
	node("last", false)
	b.Edge(graph.Start, "first")
	b.Edge("first", "slow")
	b.Edge("slow", "last")
	b.Edge("last", graph.End)
	g, err := b.Compile(graph.Config{Store: s.store})
	if err != nil {
		t.Fatal(err)
	}
	s.host = &host{graph: g.Untyped()}
	return s
}

// quiet is a log in which the worker must not complain.
type quiet struct{ t testing.TB }

func (quiet) Enabled(context.Context, slog.Level) bool { return true }
func (q quiet) WithAttrs([]slog.Attr) slog.Handler     { return q }
func (q quiet) WithGroup(string) slog.Handler          { return q }
func (q quiet) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		r.Attrs(func(a slog.Attr) bool { r.Message += " " + a.String(); return true })
		q.t.Errorf("the worker logs %q", r.Message)
	}
	return nil
}

// queue returns the queue of a new process.
func (s *site) queue(t testing.TB) *queue.Queue {
	t.Helper()
	q, err := queue.New(queue.Config{Store: s.store, Documents: s.docs, Bus: s.bus, Engine: s.engine})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// process starts a worker of a new process, which end stops.
func (s *site) process(t testing.TB) (q *queue.Queue, end func()) {
	t.Helper()
	q = s.queue(t)
	log := slog.New(quiet{t})
	if s.warns {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		work.New(work.Config{Queue: q, Store: s.store, Bus: s.bus, Host: s.host, Log: log}).Work(ctx)
	})
	wg.Go(func() { _ = q.Follow(ctx) })
	return q, func() { cancel(); wg.Wait() }
}

func create(t testing.TB, q *queue.Queue, id string, rule queue.Rule) {
	t.Helper()
	if _, err := q.Create(t.Context(), queue.Run{ID: id, Thread: "t1", Request: json.RawMessage(`{}`)}, rule); err != nil {
		t.Fatal(err)
	}
}

// begins waits until a node begins.
func (s *site) begins(t testing.TB, node string) {
	t.Helper()
	select {
	case got := <-s.runs:
		if got != node {
			t.Fatalf("node %s begins, want %s", got, node)
		}
	case <-time.After(time.Minute): // of fake time
		t.Fatalf("node %s does not begin", node)
	}
}

func ended(t testing.TB, q *queue.Queue, id string, want queue.Status) queue.Run {
	t.Helper()
	r, err := q.Wait(t.Context(), "t1", id)
	if err != nil || r.Status != want {
		t.Fatalf("run %s ended as %q (%+v) with error %v, want %q", id, r.Status, r.Error, err, want)
	}
	return r
}

func (s *site) log() work.Log { return work.Log{Bus: s.bus, Viewer: s.host} }

// logged returns the records of the thread as text, without reading on.
func (s *site) logged(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var lines []string
	var last wire.Event
	for ev, err := range s.log().Follow(ctx, "t1", 0) {
		if err != nil || ev.Seq <= last.Seq || ev.Run == last.Run && ev.N < last.Next() {
			t.Fatalf("got record %d (id %d) with error %v after %d (id %d)", ev.Seq, ev.N, err, last.Seq, last.N)
		}
		last = ev
		lines = append(lines, strings.TrimSpace(fmt.Sprint(ev.Run, " ", ev.Kind, " ", ev.Node)))
	}
	return strings.Join(lines, "; ")
}

func (s *site) state(t testing.TB) []string {
	t.Helper()
	data, _, err := s.host.graph.Thread("t1").State(t.Context(), 0)
	var st struct{ Log []string }
	if err == nil {
		err = json.Unmarshal(data, &st)
	}
	if err != nil {
		t.Fatal(err)
	}
	return st.Log
}

func TestWorker_RunsARunAndLogsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		q, end := s.process(t)
		defer end()
		begun := time.Now()
		create(t, q, "r1", queue.Enqueue)
		s.begins(t, "first")
		s.begins(t, "slow")
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("the run began after %v, want at once", waited)
		}
		s.stays <- struct{}{}
		ended(t, q, "r1", queue.Success)
		const want = "r1 run; r1 state; r1 state; r1 task first; r1 result first; r1 state; r1 task slow; r1 result slow; r1 state; " +
			"r1 task last; r1 result last; r1 state; r1 end"
		if got := s.logged(t); got != want {
			t.Errorf("the log is\n%s\nwant\n%s", got, want)
		}
		if want := []string{"r1 success"}; !slices.Equal(s.host.ended, want) {
			t.Errorf("the host was notified of %v, want %v", s.host.ended, want)
		}
	})
}

func TestWorker_AnotherProcessGoesOnAfterADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		q, end := s.process(t)
		create(t, q, "r1", queue.Enqueue)
		s.begins(t, "first")
		s.begins(t, "slow")
		stopped := make(chan struct{})
		go func() { end(); close(stopped) }()
		synctest.Wait()
		other, endOther := s.process(t)
		defer endOther()
		s.stays <- struct{}{} // the superstep ends, and the run with it
		<-stopped
		s.begins(t, "last")
		if r := ended(t, other, "r1", queue.Success); r.Attempt != 1 {
			t.Errorf("the attempt is %d, want 1", r.Attempt)
		}
		if got, want := s.state(t), []string{"first", "slow", "last"}; !slices.Equal(got, want) {
			t.Errorf("the state is %v, want %v", got, want)
		}
	})
}

func TestWorker_CancelsARunForAnother(t *testing.T) {
	for rule, c := range map[queue.Rule]struct {
		first queue.Status
		state []string
	}{
		queue.Interrupt: {queue.Interrupted, []string{"first", "first", "slow", "last"}},
		queue.Rollback:  {"", []string{"first", "slow", "last"}},
	} {
		t.Run(string(rule), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				_, end := s.process(t)
				defer end()
				web, err := queue.New(queue.Config{Store: s.store, Documents: s.docs, Bus: s.bus})
				if err != nil {
					t.Fatal(err)
				}
				create(t, web, "r1", queue.Enqueue)
				s.begins(t, "first")
				s.begins(t, "slow")
				create(t, web, "r2", rule)
				s.begins(t, "first") // of r2
				s.begins(t, "slow")
				s.stays <- struct{}{}
				ended(t, web, "r2", queue.Success)
				if r, err := web.Get(t.Context(), "t1", "r1"); r.Status != c.first && !(c.first == "" && errors.Is(err, queue.ErrNotFound)) {
					t.Errorf("the first run is %q with error %v, want %q", r.Status, err, c.first)
				}
				if got := s.state(t); !slices.Equal(got, c.state) {
					t.Errorf("the state is %v, want %v", got, c.state)
				}
			})
		})
	}
}

// A process that stops without a word leaves its lease behind. The other one goes on from the
// last commit within 2 seconds.
func TestWorker_GoesOnWithTheRunOfADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		dead, err := queue.New(queue.Config{Store: s.store, Documents: s.docs})
		if err != nil {
			t.Fatal(err)
		}
		create(t, dead, "r1", queue.Enqueue)
		claims, err := dead.Claim(t.Context(), 1)
		if err != nil || len(claims) != 1 {
			t.Fatalf("got %d claims and error %v, want one", len(claims), err)
		}
		ctx, kill := context.WithCancel(t.Context())
		h := s.host.graph.Start(ctx, json.RawMessage(`{}`), graph.RunOptions{ID: "r1", Thread: "t1", Lease: claims[0].Lease()})
		s.begins(t, "first")
		s.begins(t, "slow")
		claims[0].Abandon()
		kill()
		_, _ = h.Wait()
		died := time.Now()
		q, end := s.process(t)
		defer end()
		s.begins(t, "slow")
		if waited := time.Since(died); waited > 2*time.Second {
			t.Errorf("the run went on after %v, want at most 2s", waited)
		}
		s.stays <- struct{}{}
		if r := ended(t, q, "r1", queue.Success); r.Attempt != 2 {
			t.Errorf("the attempt is %d, want 2", r.Attempt)
		}
		if got, want := s.state(t), []string{"first", "slow", "last"}; !slices.Equal(got, want) {
			t.Errorf("the state is %v, want %v: the first node must not run again", got, want)
		}
	})
}

func TestWorker_ARunWithoutAJobFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		q, end := s.process(t)
		defer end()
		if _, err := q.Create(t.Context(), queue.Run{ID: "bad", Thread: "t1"}, queue.Enqueue); err != nil {
			t.Fatal(err)
		}
		if r := ended(t, q, "bad", queue.Failed); !strings.Contains(r.Error.Message, "the request is empty") {
			t.Errorf("got %+v, want the error of the host", r.Error)
		}
	})
}

// blockedDocs blocks all changes after a number of them.
type blockedDocs struct {
	document.Store
	left chan struct{}
}

func (d blockedDocs) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	select {
	case <-d.left:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return d.Store.Batch(ctx, p, changes)
}

func TestWorker_BeginsRunsBeforeAllAreClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		docs := blockedDocs{s.docs, make(chan struct{}, 1000)}
		s.docs = docs
		allow := func(n int) {
			for range n {
				docs.left <- struct{}{}
			}
		}
		q := s.queue(t)
		allow(40)
		for i := range 20 {
			if _, err := q.Create(t.Context(), queue.Run{ID: fmt.Sprint("r", i), Thread: fmt.Sprint("t", i), Request: json.RawMessage("{}")}, queue.Enqueue); err != nil {
				t.Fatal(err)
			}
		}
		for len(docs.left) > 0 {
			<-docs.left
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			work.New(work.Config{Queue: q, Store: s.store, Bus: s.bus, Host: s.host, Log: slog.New(slog.DiscardHandler)}).Work(ctx)
			close(ended)
		}()
		allow(12)
		synctest.Wait()
		if n := len(s.runs); n == 0 {
			t.Error("no run has begun while others are claimed")
		}
		close(docs.left)
		close(s.stays)
		time.Sleep(time.Second)
		stop()
		<-ended
	})
}
