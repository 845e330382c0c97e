package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

// eventful is a document store that calls functions before its calls. An error of get is that of
// the call.
type eventful struct {
	document.Store
	get   func(p document.Place, id string) error
	write func(p document.Place, id string) // for each document that a call changes
}

func (s *eventful) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	err := ctx.Err()
	if err == nil && s.get != nil {
		err = s.get(p, id)
	}
	if err != nil {
		return document.Doc{}, err
	}
	return s.Store.Get(ctx, p, id)
}

func (s *eventful) writes(p document.Place, changes ...document.Change) {
	for _, c := range changes {
		if s.write != nil {
			s.write(p, c.ID)
		}
	}
}

func (s *eventful) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	s.writes(p, c)
	return s.Store.Set(ctx, p, c)
}

func (s *eventful) Delete(ctx context.Context, p document.Place, id string) error {
	s.writes(p, document.Change{ID: id})
	return s.Store.Delete(ctx, p, id)
}

func (s *eventful) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	s.writes(p, changes...)
	return s.Store.Batch(ctx, p, changes)
}

// once calls f before the next change of a document, "" for any, of a collection.
func (s *eventful) once(collection, id string, f func()) {
	s.write = func(p document.Place, changed string) {
		if p.Collection == collection && (id == "" || changed == id) {
			s.write = nil
			f()
		}
	}
}

// laden is a store that calls functions before its calls.
type laden struct {
	*checkpoint.Memory
	load   func(key checkpoint.Key) error
	commit func(ctx context.Context) error
	remove func(ctx context.Context, thread string) error
}

func (s *laden) Load(ctx context.Context, key checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	if s.load != nil {
		if err := s.load(key); err != nil {
			return checkpoint.Snapshot{}, err
		}
	}
	return s.Memory.Load(ctx, key, seq)
}

func (s *laden) Commit(ctx context.Context, c checkpoint.Commit) error {
	if s.commit != nil {
		if err := s.commit(ctx); err != nil {
			return err
		}
	}
	return s.Memory.Commit(ctx, c)
}

func (s *laden) Delete(ctx context.Context, thread string) error {
	if s.remove != nil {
		if err := s.remove(ctx, thread); err != nil {
			return err
		}
	}
	return s.Memory.Delete(ctx, thread)
}

func withEvents(docs *eventful) func(*Config) {
	return func(c *Config) { docs.Store, c.Documents = c.Documents, docs }
}

func withStore(store checkpoint.Store) func(*Config) {
	return func(c *Config) { c.Store, c.Memory, c.Bus = store, new(memory.Map), new(topic.Local) }
}

func adds(_ context.Context, s *onceState) error {
	s.Log.Append("ran")
	return nil
}

func (s *single) thread() string { return s.call("POST /threads", `{}`).Get("thread_id").String() }

func TestRun_CreatedWhileItsThreadCannotBeMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSingle(t, adds)
		thread := s.thread()
		s.docs.refuse(1, checkpoint.ErrUnavailable, `"status":"busy"`)
		run := s.start(thread, `"input":{}`) // an error would make the client create it again
		if r := s.work(thread); r.ID != run || s.docs.left != 0 {
			t.Errorf("run %s was worked on, want %s, and %d batches are to fail, want 0", r.ID, run, s.docs.left)
		}
		got := s.call("GET /threads/"+thread, "")
		if got.Get("status").String() != "idle" || got.Get("metadata.graph_id").String() != "g" {
			t.Errorf("the thread must show how its run has ended, and of which graph: %s", got)
		}
	})
}

func TestRun_CreatedWhileItsThreadIsRemoved(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			docs := new(eventful)
			s := newSingle(t, adds, withEvents(docs))
			thread := s.thread()
			want := http.StatusOK
			create := func() {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, httptest.NewRequest("POST", "/threads/"+thread+"/runs", strings.NewReader(`{"assistant_id":"g","input":{}}`)))
				if w.Code != want {
					t.Errorf("late %v: the run was answered with status %d, want %d", late, w.Code, want)
				}
			}
			remove := func() { s.call("DELETE /threads/"+thread, "") }
			if late { // the thread goes between the look for it and the run
				want = http.StatusNotFound
				docs.once("weft.runs", "", remove)
				create()
			} else { // the run comes between the removal of the runs and that of the record
				docs.once("weft.threads", thread, create)
				remove()
			}
			runs, err := s.queue.List(t.Context(), thread)
			unfinished, err2 := s.queue.Unfinished(t.Context(), thread)
			if err = errors.Join(err, err2); err != nil || len(runs)+len(unfinished) > 0 {
				t.Errorf("late %v: a thread that is gone has %d runs and %d to run, error %v; want none", late, len(runs), len(unfinished), err)
			}
		})
	}
}

func TestWait_OutlastsAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		docs := &eventful{get: func(p document.Place, id string) error {
			if away.Load() && p.Collection == "weft.runs" && id != "line" {
				return checkpoint.ErrUnavailable
			}
			return nil
		}}
		release := make(chan struct{})
		s := newSingle(t, func(ctx context.Context, s *onceState) error { <-release; return adds(ctx, s) }, withEvents(docs))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.worker(Workers{Slots: 1}).Work(ctx); close(ended) }()
		go func() {
			time.Sleep(1500 * time.Millisecond)
			away.Store(true)
			close(release)
			time.Sleep(5 * time.Second)
			away.Store(false)
		}()
		got := s.call("POST /runs/wait", `{"assistant_id":"g","input":{}}`)
		stop()
		<-ended
		if got.Get("log").String() != `["ran"]` {
			t.Errorf("the client that waits got %q, want the state", got.Raw)
		}
	})
}

func TestUpdateState_MayTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &laden{Memory: new(checkpoint.Memory)}
		s := newSingle(t, adds, withStore(store))
		thread := s.thread()
		s.start(thread, `"input":{}`)
		s.work(thread)
		store.commit = func(context.Context) error { time.Sleep(2 * releaseTime); return nil }
		s.call("POST /threads/"+thread+"/state", `{"values":{"log":["more"]}}`)
		if got := s.call("GET /threads/"+thread+"/state", "").Get("values.log").String(); got != `["ran","more"]` {
			t.Errorf("the state is %s", got)
		}
	})
}

func TestCreateThread_WhoseClientHasGone(t *testing.T) {
	store, docs := &laden{Memory: new(checkpoint.Memory)}, new(eventful)
	s := newSingle(t, adds, withStore(store), withEvents(docs))
	ctx, leave := context.WithCancel(t.Context())
	commits := 0
	store.commit = func(ctx context.Context) error {
		if commits++; commits == 2 {
			leave()
		}
		return ctx.Err()
	}
	id := newID()
	body := `{"thread_id":"` + id + `","supersteps":[{"updates":[{"values":{"log":["a"]},"as_node":"__start__"}]},{"updates":[{"values":{"log":["b"]},"as_node":"a"}]}]}`
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "/threads", strings.NewReader(body)))
	_, found, err := s.threads.get(t.Context(), id)
	_, unknown := s.rootOf(t.Context(), id)
	if err != nil || found || !errors.Is(unknown, graph.ErrUnknownThread) || commits < 2 {
		t.Errorf("after %d commits a thread with half of its steps is there: %v, error %v, and its commits: %v", commits, found, err, unknown)
	}
}

func TestSearch_GreatestOffset(t *testing.T) {
	s := newSingle(t, adds)
	s.thread()
	if got := s.call("POST /threads/search", `{"sort_by":"updated_at","offset":9223372036854775807}`); got.Raw != "[]" {
		t.Errorf("the page is %s, want none", got)
	}
}

// The runs of a thread decide whether it is busy, and not its record, which may be late.
func TestCopyThread_OfABusyThread(t *testing.T) {
	s := newSingle(t, adds)
	id := s.thread()
	copied := func() (status int) {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/threads/"+id+"/copy", nil))
		return w.Code
	}
	s.docs.refuse(1, checkpoint.ErrUnavailable, `"status":"busy"`)
	s.start(id, `"input":{}`)
	if got := copied(); got != http.StatusConflict {
		t.Errorf("a thread with a run is copied with status %d, want %d", got, http.StatusConflict)
	}
	s.work(id)
	if _, _, err := s.threads.change(t.Context(), id, func(t *thread) error { t.Status = wire.ThreadBusy; return nil }); err != nil {
		t.Fatal(err)
	}
	if got := copied(); got != http.StatusOK {
		t.Errorf("a thread whose runs have ended is copied with status %d, want %d", got, http.StatusOK)
	}
}

func TestCopyThread_LeavesNothingWhereItFails(t *testing.T) {
	s := newSingle(t, adds)
	thread := s.thread()
	s.start(thread, `"input":{}`)
	s.work(thread)
	s.docs.refuse(1, checkpoint.ErrUnavailable, `"copied"`)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "/threads/"+thread+"/copy", nil))
	threads := 0
	for _, err := range s.config.Store.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if threads++; err != nil {
			t.Fatal(err)
		}
	}
	if w.Code != http.StatusServiceUnavailable || threads != 1 {
		t.Errorf("the copy has status %d, and %d threads have commits; want %d and 1", w.Code, threads, http.StatusServiceUnavailable)
	}
}

// unheard is documents whose next reply to a batch of assistants is lost.
type unheard struct {
	document.Store
	lost bool
}

func (s *unheard) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	docs, err := s.Store.Batch(ctx, p, changes)
	if err == nil && p.Collection == "weft.assistants" && !s.lost {
		s.lost = true
		return nil, checkpoint.ErrUnknownOutcome
	}
	return docs, err
}

func TestUpdateAssistant_WhoseReplyIsLost(t *testing.T) {
	docs := &unheard{lost: true}
	s := newSingle(t, adds, func(c *Config) { docs.Store, c.Documents = c.Documents, docs })
	docs.lost = false
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("PATCH", "/assistants/g", strings.NewReader(`{"name":"new"}`)))
	newest := s.call("GET /assistants/g", "").Get("version").Int()
	versions := s.call("POST /assistants/g/versions", `{}`).Get("#.version").String()
	if w.Code != http.StatusServiceUnavailable || newest != 2 || versions != "[2,1]" {
		t.Errorf("status %d; the assistant has version %d of %s; want 503 and the version 2 of [2,1]", w.Code, newest, versions)
	}
	if got := s.call("PATCH /assistants/g", `{}`).Get("version").Int(); got != 3 {
		t.Errorf("the next version is %d, want 3", got)
	}
}

func TestCommand_WhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs, looks := new(eventful), 0
		s := newSingle(t, asksTwice, withEvents(docs))
		thread := s.thread()
		s.start(thread, `"input":{}`)
		s.work(thread)
		id := s.call("GET /threads/"+thread+"/state", ``).Get("interrupts.0.id").String()
		respond := func() gjson.Result {
			return s.call("POST /threads/"+thread+"/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"`+id+`","response":"yes"}}`)
		}
		docs.get = func(p document.Place, _ string) error {
			if looks++; p.Collection == "weft.threads" && looks > 2 { // the others are before the command
				return checkpoint.ErrUnavailable
			}
			return nil
		}
		if got := respond(); got.Get("error").String() != "unknown_error" {
			t.Errorf("the answer is %s, want that the command failed, and is not wrong", got)
		}
		docs.get = nil

		// The run that comes first is rolled back while the command waits for it.
		blocks := s.start(thread, `"input":{}`)
		go func() {
			time.Sleep(time.Second)
			s.call("POST /threads/"+thread+"/runs/"+blocks+"/cancel?action=rollback", "")
		}()
		if got := respond(); got.Get("type").String() != "success" {
			t.Errorf("the answer is %s, want success", got)
		}
	})
}

// The run of a tool has ended: an error would make the client call the tool again.
func TestMCP_OutlastsAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, away := &laden{Memory: new(checkpoint.Memory)}, 0
		s := newSingle(t, adds, withStore(store))
		store.load = func(checkpoint.Key) error {
			if away--; away >= 0 {
				return checkpoint.ErrUnavailable
			}
			return nil
		}
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/mcp", nil)
		c := &call{Request: r, w: httptest.NewRecorder(), server: s.Server}
		made, err := c.enqueue(runRequest{AssistantID: "g", Input: json.RawMessage(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		s.work(made.run.Thread)
		away = 3
		if o, err := c.finish(made.run); err != nil || gjson.GetBytes(o.Values, "log").String() != `["ran"]` || away >= 0 {
			t.Errorf("the run has ended with %s and error %v, want its state", o.Values, err)
		}
	})
}
