package studio_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/studio"
)

func TestBulk(t *testing.T) {
	h, m := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/threads"), 200, `<input type="checkbox" name="thread" value="t 1">`, `name="do" value="delete"`, `formaction="/studio/threads/export"`)
	two := []string{"t 1", "new-aa"}
	var many []string
	for i := range 51 {
		many = append(many, fmt.Sprint(i))
	}
	for _, c := range []struct {
		name   string
		form   url.Values
		status int
		want   []string
	}{
		{"cancel", url.Values{"thread": two, "do": {"cancel"}}, 303, []string{"cancel new-aa", "cancel t 1"}},
		{"one twice", url.Values{"thread": {"t 1", "t 1"}, "do": {"cancel"}}, 303, []string{"cancel t 1"}},
		{"prune", url.Values{"thread": two, "do": {"prune"}, "confirm": {" prune 2 "}}, 303, []string{"prune new-aa", "prune t 1"}},
		{"prune, not confirmed", url.Values{"thread": two, "do": {"prune"}}, 200, nil},
		{"delete", url.Values{"thread": two, "do": {"delete"}, "confirm": {"delete 2"}}, 303, []string{"remove new-aa", "remove t 1"}},
		{"delete, not confirmed", url.Values{"thread": two, "do": {"delete"}}, 200, nil},
		{"delete, another number", url.Values{"thread": two, "do": {"delete"}, "confirm": {"delete 1"}}, 422, nil},
		{"delete, nothing typed", url.Values{"thread": two, "do": {"delete"}, "confirm": {""}}, 422, nil},
		{"no act", url.Values{"thread": two}, 422, nil},
		{"no thread", url.Values{"do": {"cancel"}}, 422, nil},
		{"more than a page", url.Values{"thread": many, "do": {"cancel"}}, 422, nil},
	} {
		m.acts = nil
		if w := post(h, "/studio/threads", "cross-site", c.form); w.Code != http.StatusForbidden {
			t.Errorf("%s: a form of another site gets %d", c.name, w.Code)
		}
		if w := post(h, "/studio/threads", "same-origin", c.form); w.Code != c.status || !slices.Equal(m.acts, c.want) {
			t.Errorf("%s: got %d and %q, want %d and %q\n%.600s", c.name, w.Code, m.acts, c.status, c.want, w.Body)
		}
	}
	asked := url.Values{"thread": two, "do": {"delete"}}
	holds(t, post(h, "/studio/threads", "same-origin", asked), 200, "Delete 2 threads", "Type “delete 2” to confirm", `<input type="hidden" name="thread" value="new-aa">`, `name="do" value="delete"`)
	m.refuse = errRefused
	asked.Set("confirm", "delete 2")
	holds(t, post(h, "/studio/threads", "same-origin", asked), 200, "2 of 2 threads failed", errRefused.Error())
}

func TestBulk_Export(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	w := post(h, "/studio/threads/export", "same-origin", url.Values{"thread": {"T 1", "new-aa"}})
	holds(t, w, 200)
	file, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
	if err != nil || len(file.File) != 1 || file.File[0].Name != "01-t%201.jsonl" {
		t.Fatalf("got %v, %+v, want the file of the thread with checkpoints", err, file)
	}
	in, err := file.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	var store checkpoint.Memory
	if err := checkpoint.Import(t.Context(), &store, "copy", in); err != nil {
		t.Fatal(err)
	}
	if got, err := graph.Inspect(t.Context(), &store, checkpoint.Key{Thread: "copy"}); err != nil || got.Checkpoint != 5 {
		t.Errorf("got the checkpoint %d, %v, want 5", got.Checkpoint, err)
	}
	if w := post(h, "/studio/threads/export", "cross-site", url.Values{"thread": {"t 1"}}); w.Code != http.StatusForbidden {
		t.Errorf("a form of another site gets %d", w.Code)
	}
	holds(t, post(h, "/studio/threads/export", "same-origin", url.Values{"thread": {"new-aa"}}), 422, "none of these threads has a checkpoint")
	holds(t, post(h, "/studio/threads/export", "same-origin", url.Values{"thread": {"unknown"}}), 404, "there is none")
	holds(t, post(h, "/studio/threads/export", "same-origin", nil), 422, "select 1 to 50 threads")
}

// gate lets what passes it wait until it is opened.
type gate struct{ reached, open chan struct{} }

func newGate() gate { return gate{make(chan struct{}), make(chan struct{})} }

func (g gate) pass() {
	select {
	case g.reached <- struct{}{}:
		<-g.open
	case <-g.open:
	}
}

// slowStore waits before it loads, and slowWriter before it writes.
type slowStore struct {
	checkpoint.Store
	gate
}

func (s slowStore) Load(ctx context.Context, key checkpoint.Key, n uint64) (checkpoint.Snapshot, error) {
	s.pass()
	return s.Store.Load(ctx, key, n)
}

type slowWriter struct {
	*httptest.ResponseRecorder
	gate
}

func (w slowWriter) Write(p []byte) (int, error) {
	w.pass()
	return w.ResponseRecorder.Write(p)
}

func TestBulk_OneExportAtATime(t *testing.T) {
	h, m := newStudio(t, "/studio")
	export := func(w http.ResponseWriter, thread string) {
		r := httptest.NewRequest(http.MethodPost, "/studio/threads/export", strings.NewReader("thread="+thread))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		h.ServeHTTP(w, r)
	}
	load, write, first := newGate(), newGate(), httptest.NewRecorder()
	store := m.threads[0].Store
	m.threads[0].Store = slowStore{store, load}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		export(slowWriter{first, write}, "t+1")
	}()
	for _, g := range []gate{load, write} { // while it is made, and while it is sent
		select {
		case <-g.reached:
		case <-ended:
			t.Fatalf("the export has ended: %d %s", first.Code, first.Body)
		}
		second := httptest.NewRecorder()
		export(second, "foreign")
		if holds(t, second, 429, "another export is under way; try again later"); second.Header().Get("Retry-After") != "1" {
			t.Errorf("got the header %v", second.Header())
		}
		close(g.open)
	}
	<-ended
	holds(t, first, 200)
	m.threads[0].Store = store
	for range 2 { // one that fails is not under way any more
		holds(t, post(h, "/studio/threads/export", "same-origin", url.Values{"thread": {"unknown"}}), 404)
	}
	last := httptest.NewRecorder()
	export(last, "t+1")
	if holds(t, last, 200); last.Header().Get("Content-Length") != fmt.Sprint(last.Body.Len()) || last.Body.Len() != first.Body.Len() {
		t.Errorf("got %d and %d bytes, and the header %v", first.Body.Len(), last.Body.Len(), last.Header())
	}
}

func TestBulk_IsNotThereReadOnly(t *testing.T) {
	_, m := newStudio(t, "/studio")
	h := studio.New(studio.Config{
		Base: "/studio", ReadOnly: true,
		Open:  func(*http.Request) (studio.Source, error) { return m, nil },
		Fault: func(error) (int, string) { return http.StatusInternalServerError, "" },
	})
	holds(t, get(t, h, "/studio/threads"), 200, "!checkbox", `!method="post"`, "!>Select<")
	for _, path := range []string{"/studio/threads", "/studio/threads/export"} {
		if w := post(h, path, "same-origin", url.Values{"thread": {"t 1"}, "do": {"cancel"}}); w.Code != http.StatusMethodNotAllowed || m.acts != nil {
			t.Errorf("%s: got %d and %q", path, w.Code, m.acts)
		}
	}
}
