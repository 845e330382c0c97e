package studio_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

// reads returns a function that returns the next line of a stream that begins with a prefix.
func reads(t *testing.T, h http.Handler, path, lastID string) (next func(prefix string) string) {
	t.Helper()
	server := httptest.NewServer(h)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = answer.Body.Close()
		server.Close()
	})
	if got := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("got %d %s", answer.StatusCode, got)
	}
	lines := bufio.NewScanner(answer.Body)
	return func(prefix string) string {
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				return rest
			}
		}
		t.Fatalf("the stream ended before %q: %v", prefix, lines.Err())
		return ""
	}
}

func TestEvents_FollowAThread(t *testing.T) {
	h, m := newStudio(t, "/studio")
	publish := func(b eventlog.Batch) {
		t.Helper()
		if err := m.log.Publish(t.Context(), "t 1", b); err != nil {
			t.Fatal(err)
		}
	}
	task := func(phase graph.Phase, attempt int, err error) graph.Event {
		return graph.Event{Mode: graph.Tasks, Phase: phase, Namespace: "read:1", Node: "page", Task: "x", Attempt: attempt, Step: 3, Err: err}
	}
	publish(eventlog.Batch{Run: "r", Events: []graph.Event{task(graph.Waiting, 1, nil), task(graph.Started, 1, nil), task(graph.Retrying, 1, errors.New("busy"))}})
	publish(eventlog.Batch{Run: "r", Events: []graph.Event{
		{Mode: graph.Updates, Node: "page"},
		{Mode: graph.Checkpoints, Step: 3, Commit: &graph.CommitInfo{Checkpoint: 7, Status: graph.Pending}},
		{Mode: graph.Messages, Node: "page", Token: graph.Token{ID: "m", Role: "assistant", Delta: "a\nb"}},
	}})
	next := reads(t, h, "/studio/threads/t%201/events?after=0", "")
	for _, want := range []string{"1", "2"} {
		if got := next("id: "); got != want {
			t.Errorf("got the position %s, want %s", got, want)
		}
		got, want := next("data: "), map[string]string{
			"1": `{"run":"r","events":[{"kind":"task","nodes":["node:read","node:read:page"],"node":"page","task":"x","state":"waiting","attempt":1,"step":3},{"kind":"task","nodes":["node:read","node:read:page"],"node":"page","task":"x","state":"running","attempt":1,"step":3},` +
				`{"kind":"task","nodes":["node:read","node:read:page"],"node":"page","task":"x","state":"retrying","attempt":1,"step":3}]}`,
			"2": `{"run":"r","events":[{"kind":"commit","step":3,"checkpoint":7,"status":"pending"},{"kind":"token","node":"page","id":"m","text":"a\nb","first":true}]}`,
		}[want]
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	publish(eventlog.Batch{Run: "r", End: true})
	next("id: 3")
	if got := next("data: "); got != `{"run":"r","end":true}` {
		t.Errorf("got %s", got)
	}
	again := reads(t, h, "/studio/threads/t%201/events?after=0", "2")
	if got := again("id: "); got != "3" {
		t.Errorf("after a break the stream goes on at %s, want 3", got)
	}
	holds(t, get(t, h, "/studio/threads/none/events"), 404)
	holds(t, get(t, h, "/studio/threads/t%201/events?after=x"), 400)
}

// The log may have the end of a run before the thread has its status.
func TestEvents_HaveTheStatus(t *testing.T) {
	h, m := newStudio(t, "/studio")
	m.threads[0].Status = "busy"
	next := reads(t, h, "/studio/threads/t%201/events", "")
	for _, want := range []string{`{"status":"busy"}`, `{"status":"idle"}`} {
		next("event: status")
		if got := next("data: "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if m.threads[0].Status == "busy" {
			m.threads[0].Status = "idle"
			close(m.changed)
		}
	}
}

func TestChanges_AreAnnounced(t *testing.T) {
	h, m := newStudio(t, "/studio")
	next := reads(t, h, "/studio/changes", "")
	next("event: change") // the first reports that the stream is open
	close(m.changed)
	next("event: change")
}

func TestThread_ShowsTheTimesOfItsLog(t *testing.T) {
	h, m := newStudio(t, "/studio")
	head, err := graph.Inspect(t.Context(), m.threads[0].Store, checkpoint.Key{Thread: "t 1"})
	if err != nil {
		t.Fatal(err)
	}
	at := head.Time.Add(time.Second)
	event := func(second int, phase graph.Phase, err error) graph.Event {
		return graph.Event{Mode: graph.Tasks, Time: at.Add(time.Duration(second) * time.Second), Phase: phase, Node: "read", Task: "x", Attempt: 1 + second/4, Err: err}
	}
	err = m.log.Publish(t.Context(), "t 1", eventlog.Batch{Run: head.Run, Events: []graph.Event{
		event(0, graph.Started, nil), event(2, graph.Retrying, errors.New("<busy>")), event(4, graph.Started, nil), event(5, graph.Finished, nil),
	}})
	if err == nil {
		err = m.log.Publish(t.Context(), "t 1", eventlog.Batch{Run: "of another turn", Events: []graph.Event{{Mode: graph.Tasks, Phase: graph.Started, Node: "odd"}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	holds(t, get(t, h, "/studio/threads/t%201"), 200, `data-position="2"`, "read, failed, 2.0 s: &lt;busy&gt;",
		"read, waits for its next attempt, 2.0 s: &lt;busy&gt;", "read, finished, 1.0 s, attempt 2", "!odd")
}
