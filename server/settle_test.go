package server

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

func TestThread_StatusAfterItsProcessesHaveDied(t *testing.T) {
	store, c := &checkpoint.Memory{}, &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s, err := New(t.Context(), Config{Store: store, Graphs: map[string]graph.Untyped{"counter": counter(t, store)}, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	id := newID()
	record := thread{Thread: wire.Thread{ThreadID: id, Status: wire.ThreadBusy}}
	if _, err := s.threads.create(t.Context(), id, record, c.at); err != nil {
		t.Fatal(err)
	}
	if _, err := s.queue.Create(t.Context(), queue.Run{ID: newID(), Thread: id, Request: json.RawMessage(`{}`)}, queue.Enqueue); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "/threads/"+id, nil))
		if got := gjson.Get(w.Body.String(), "status").String() + " " + gjson.Get(w.Body.String(), "error.error").String(); got != want {
			t.Errorf("the status is %q, want %q, in %s", got, want, w.Body)
		}
	}
	check("busy ")
	claims, err := s.queue.Claim(t.Context(), 1)
	if err != nil || len(claims) != 1 {
		t.Fatalf("Claim returned %d claims and error %v", len(claims), err)
	}
	// As a process of a fourth attempt finds it.
	if err := claims[0].Finish(t.Context(), queue.End{Status: queue.Failed, Error: &queue.Failure{Name: queue.AttemptsExceeded}}); err != nil {
		t.Fatal(err)
	}
	check("error " + queue.AttemptsExceeded)
}
