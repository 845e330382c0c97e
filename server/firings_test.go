package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/state"
)

type onceState struct {
	Log state.List[string] `json:"log"`
}

// fired are processes with crons on a store, and what their runs did.
type fired struct {
	*testing.T
	clock
	store checkpoint.Store
	docs  document.Store
	bus   topic.Local
	items memory.Map

	mu  sync.Mutex
	ran map[string]int // by the id of the run
}

func newFired(t *testing.T, store checkpoint.Store) *fired {
	f := &fired{T: t, clock: clock{time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)}, store: store, ran: map[string]int{}}
	var err error
	if f.docs, _, err = storesOf(t.Context(), Config{Store: store}); err != nil {
		t.Fatal(err)
	}
	return f
}

// process returns a server that sees the documents as they are given.
func (f *fired) process(docs document.Store) *Server {
	f.Helper()
	b := graph.New[onceState]("once")
	b.Node("a", graph.Func(func(ctx context.Context, s *onceState) error {
		settings, _ := graph.Settings(ctx).(Settings)
		f.mu.Lock()
		f.ran[settings.RunID]++
		f.mu.Unlock()
		s.Log.Append("ran")
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g, err := b.Compile(graph.Config{Store: f.store})
	if err != nil {
		f.Fatal(err)
	}
	s, err := New(f.Context(), Config{
		Store: f.store, Documents: docs, Memory: &f.items, Bus: &f.bus, Graphs: map[string]graph.Untyped{"once": g.Untyped()},
		Now: f.now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// post makes a request, and returns a field of the answer.
func (f *fired) post(s *Server, path, body, field string) string {
	f.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	s.ServeHTTP(w, r)
	if w.Code != 200 {
		f.Fatalf("POST %s: status %d: %s", path, w.Code, w.Body)
	}
	return gjson.Get(w.Body.String(), field).String()
}

// fire moves the clock and fires what is due then.
func (f *fired) fire(s *Server, after time.Duration) error {
	f.at = f.at.Add(after)
	_, err := s.crons.fire(f.Context(), s.attend)
	return err
}

// work runs all runs to their ends, and removes the threads that do not stay.
func (f *fired) work(s *Server) {
	f.Helper()
	ctx, stop := context.WithCancel(f.Context())
	ended := make(chan struct{})
	go func() { s.worker(Workers{Slots: 4}).Work(ctx); close(ended) }()
	for r, err := range s.queue.Active(ctx) {
		if err != nil {
			f.Fatal(err)
		}
		if _, err := s.queue.Wait(ctx, r.Thread, r.ID); err != nil && !errors.Is(err, queue.ErrNotFound) {
			f.Error(err)
		}
	}
	stop()
	<-ended
	f.at = f.at.Add(leftoverTime)
	if err := s.removeLeftovers(f.Context()); err != nil {
		f.Error(err)
	}
}

// firings returns what is stored of firings.
func (f *fired) firings(s *Server) (all []firing) {
	f.Helper()
	docs, err := f.docs.Query(f.Context(), document.Query{Place: s.crons.due})
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range docs {
		if one, err := firingIn(d); err != nil {
			f.Error(err)
		} else if one.Cron != "" {
			all = append(all, one)
		}
	}
	return all
}

// settled fails the test unless no firing is left.
func (f *fired) settled(s *Server, name string) {
	f.Helper()
	if err := f.fire(s, firingWait); err != nil {
		f.Errorf("%s: %v", name, err)
	}
	if left := f.firings(s); len(left) > 0 {
		f.Errorf("%s: firings are left: %+v", name, left)
	}
}

// cronKinds are the crons of the tests: on a thread, or with threads that stay or do not.
var cronKinds = map[string]string{
	"thread":   `{"assistant_id":"once","input":{},"schedule":"0 * * * *"}`,
	"rollback": `{"assistant_id":"once","input":{},"schedule":"0 * * * *","multitask_strategy":"rollback"}`,
	"reject":   `{"assistant_id":"once","input":{},"schedule":"0 * * * *","multitask_strategy":"reject"}`,
	"delete":   `{"assistant_id":"once","input":{},"schedule":"0 * * * *"}`,
	"keep":     `{"assistant_id":"once","input":{},"schedule":"0 * * * *","on_run_completed":"keep"}`,
}

// cron creates a cron of a kind, and returns its id.
func (f *fired) cron(s *Server, kind string) string {
	f.Helper()
	path := "/runs/crons"
	if kind != "delete" && kind != "keep" {
		path = "/threads/" + f.post(s, "/threads", `{}`, "thread_id") + "/runs/crons"
	}
	return f.post(s, path, cronKinds[kind], "cron_id")
}

// A process dies at each of its writes while it fires a cron. Each firing has one run.
func TestCrons_SurviveDeathAtEachWrite(t *testing.T) {
	for store, open := range map[string]func() (checkpoint.Store, error){
		"memory": func() (checkpoint.Store, error) { return new(checkpoint.Memory), nil },
		"sqlite": func() (checkpoint.Store, error) { return sqlite.Open(t.Context(), t.TempDir()+"/weft.db") },
	} {
		for kind := range cronKinds {
			if testing.Short() && store != "memory" && kind != "delete" {
				continue
			}
			t.Run(store+"/"+kind, func(t *testing.T) {
				for n, whole := 1, false; !whole; n++ {
					for _, done := range []bool{false, true} {
						s, err := open()
						if err != nil {
							t.Fatal(err)
						}
						whole = cronDiesAt(newFired(t, s), kind, n, done)
						if err := s.Close(); err != nil {
							t.Error(err)
						}
					}
					if whole && n < 8 {
						t.Errorf("the process made only %d writes", n-1)
					}
				}
			})
		}
	}
}

// cronDiesAt lets a process die at its write n. It returns true if the process makes fewer.
func cronDiesAt(f *fired, kind string, n int, done bool) (whole bool) {
	life := &storetest.Life{Left: n, Done: done}
	healthy := f.process(f.docs)
	cron := f.cron(healthy, kind)
	begun := f.at
	mortal := f.process(f.docs)
	mortal.crons = newCrons(life.Documents(f.docs), f.now)
	mortal.threads.docs = life.Documents(f.docs)
	var err error
	if mortal.queue, err = queue.New(queue.Config{Store: f.store, Documents: life.Documents(f.docs), Now: f.now}); err != nil {
		f.Fatal(err)
	}
	name := fmt.Sprintf("death at write %d, done %t", n, done)
	for hour := 1; hour <= 2; hour++ {
		f.at = begun.Add(time.Duration(hour) * time.Hour)
		_ = f.fire(mortal, 0)
		f.work(healthy)
		if life.Ended() {
			if err := f.fire(healthy, time.Minute); err != nil {
				f.Errorf("%s: %v", name, err)
			}
			f.work(healthy)
		}
	}
	f.settled(healthy, name)
	for hour := 1; hour <= 2; hour++ {
		id := firingID(cron, begun.Add(time.Duration(hour)*time.Hour))
		if n := f.ran[id]; n != 1 {
			f.Errorf("%s: the run of hour %d ran %d times", name, hour, n)
		}
		delete(f.ran, id)
	}
	if len(f.ran) > 0 {
		f.Errorf("%s: other runs: %v", name, f.ran)
	}
	return !life.Ended()
}

// A process is stopped for long, before it creates the run of a firing. Meanwhile another process
// has created the run, which has ended and was removed with its thread.
func TestCrons_AProcessThatWasStopped(t *testing.T) {
	for kind := range cronKinds {
		t.Run(kind, func(t *testing.T) {
			f := newFired(t, new(checkpoint.Memory))
			s := f.process(f.docs)
			cron := f.cron(s, kind)
			at := f.at.Add(time.Hour)
			f.at = at
			var stopped firing
			_, err := s.crons.fire(t.Context(), func(_ context.Context, one firing) error { stopped = one; return errors.New("stopped") })
			if err == nil || stopped.Cron != cron {
				t.Fatalf("got %+v and error %v", stopped, err)
			}
			if err := s.startFiring(t.Context(), stopped, newID()); err != nil { // and the process dies
				t.Fatal(err)
			}
			f.work(s)
			if err := s.removeThread(t.Context(), stopped.Thread); err != nil && kind != "delete" {
				t.Fatal(err)
			}
			for range 2 {
				if err := s.attend(t.Context(), stopped); err != nil {
					t.Errorf("a process that goes on: %v", err)
				}
				f.work(s)
				if err := f.fire(s, firingWait); err != nil {
					t.Error(err)
				}
			}
			f.settled(s, kind)
			if want := map[string]int{firingID(cron, at): 1}; f.ran[stopped.run] != 1 || len(f.ran) != 1 {
				t.Errorf("the runs are %v, want %v", f.ran, want)
			}
		})
	}
}

// awayRuns are documents whose runs cannot be stored for a while.
type awayRuns struct {
	document.Store
	away bool
}

func (s *awayRuns) Batch(ctx context.Context, p document.Place, c []document.Change) ([]document.Doc, error) {
	if s.away && p.Collection == "weft.runs" {
		return nil, checkpoint.ErrUnavailable
	}
	return s.Store.Batch(ctx, p, c)
}

func TestCrons_StartFailsAtFirst(t *testing.T) {
	for kind := range cronKinds {
		t.Run(kind, func(t *testing.T) {
			f := newFired(t, new(checkpoint.Memory))
			docs := &awayRuns{Store: f.docs}
			s := f.process(docs)
			cron := f.cron(s, kind)
			at := f.at.Add(time.Hour)
			docs.away = true
			if err := f.fire(s, time.Hour); !errors.Is(err, checkpoint.ErrUnavailable) {
				t.Errorf("the store is away: got %v", err)
			}
			docs.away = false
			s.load.runs.Store(&queue.Load{Pending: s.limits.Runs})
			if err := f.fire(s, time.Minute); err == nil {
				t.Error("the server has too many runs: got no error")
			}
			s.load.runs.Store(nil)
			for range 2 {
				if err := f.fire(s, time.Minute); err != nil {
					t.Error(err)
				}
				f.work(s)
			}
			f.settled(s, kind)
			if f.ran[firingID(cron, at)] != 1 || len(f.ran) != 1 {
				t.Errorf("the runs are %v, want one", f.ran)
			}
		})
	}
}

func TestCrons_RemovedOrDisabledAfterTheyWereDue(t *testing.T) {
	for name, change := range map[string]func(f *fired, s *Server, cron string) error{
		"removed": func(f *fired, s *Server, cron string) error { return s.crons.remove(f.Context(), cron) },
		"disabled": func(f *fired, s *Server, cron string) error {
			_, _, err := s.crons.change(f.Context(), cron, func(r *cronRecord) error { r.Enabled = false; return nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFired(t, new(checkpoint.Memory))
			docs := &awayRuns{Store: f.docs, away: true}
			s := f.process(docs)
			cron := f.cron(s, "delete")
			if err := f.fire(s, time.Hour); err == nil {
				t.Error("the store is away: got no error")
			}
			docs.away = false
			if err := change(f, s, cron); err != nil {
				t.Fatal(err)
			}
			if err := f.fire(s, time.Minute); err != nil {
				t.Error(err)
			}
			f.work(s)
			f.settled(s, name)
			if len(f.ran) > 0 {
				t.Errorf("the runs are %v, want none", f.ran)
			}
		})
	}
}

// A cron whose request cannot be read keeps no other waiting.
func TestCrons_AFailureKeepsNoOtherWaiting(t *testing.T) {
	f := newFired(t, new(checkpoint.Memory))
	s := f.process(f.docs)
	broken := f.cron(s, "keep")
	if _, _, err := s.crons.change(t.Context(), broken, func(r *cronRecord) error { r.Payload = json.RawMessage(`{"input":{},"metadata":7}`); return nil }); err != nil {
		t.Fatal(err)
	}
	cron := f.cron(s, "keep")
	at := f.at.Add(time.Hour)
	if err := f.fire(s, time.Hour); err == nil {
		t.Error("got no error for the broken request")
	}
	f.work(s)
	if f.ran[firingID(cron, at)] != 1 || len(f.ran) != 1 {
		t.Errorf("the runs are %v, want that of the other cron", f.ran)
	}
}

func TestCrons_ManyProcessesAtOnce(t *testing.T) {
	f := newFired(t, new(checkpoint.Memory))
	processes := []*Server{f.process(f.docs), f.process(f.docs), f.process(f.docs)}
	var crons []string
	for kind := range cronKinds {
		for range 4 {
			crons = append(crons, f.cron(processes[0], kind))
		}
	}
	begun := f.at
	for hour := 1; hour <= 3; hour++ {
		f.at = begun.Add(time.Duration(hour) * time.Hour)
		for range 2 {
			var firing sync.WaitGroup
			for _, s := range processes {
				firing.Go(func() {
					if _, err := s.crons.fire(t.Context(), s.attend); err != nil {
						t.Error(err)
					}
				})
			}
			firing.Wait()
			f.work(processes[0])
		}
	}
	f.settled(processes[1], "all")
	for _, cron := range crons {
		for hour := 1; hour <= 3; hour++ {
			if n := f.ran[firingID(cron, begun.Add(time.Duration(hour)*time.Hour))]; n != 1 {
				t.Errorf("the run of cron %s at hour %d ran %d times", cron, hour, n)
			}
		}
	}
	if want := 3 * len(crons); len(f.ran) != want {
		t.Errorf("there were %d runs, want %d", len(f.ran), want)
	}
}
