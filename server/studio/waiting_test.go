package studio_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weftrun/weft/server/studio"
)

func TestMenu_CountsThreadsThatWait(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	for _, path := range []string{"/studio/graphs", "/studio/graphs/review", "/studio/threads/t%201", "/studio/inbox", "/studio/system", "/studio/store"} {
		holds(t, get(t, h, path), 200, `<span id="waiting" title="threads that wait: 1">1</span>`, `data-changes="/studio/changes"`)
	}
	holds(t, get(t, h, "/studio/threads/none"), 404, `!id="waiting"`, "!data-changes")
	next := reads(t, h, "/studio/changes", "")
	if got, want := next("data: "), `{"waiting":1,"text":"1","title":"threads that wait: 1"}`; got != want {
		t.Errorf("got the change %s, want %s", got, want)
	}
	next = reads(t, h, "/studio/threads/t%201/events", "")
	next("event: waiting")
	if got, want := next("data: "), `{"waiting":1,"text":"1","title":"threads that wait: 1"}`; got != want {
		t.Errorf("got the change %s on a thread, want %s", got, want)
	}
	many, m := newStudio(t, "/studio")
	for i := range 150 {
		m.threads = append(m.threads, studio.Thread{ID: fmt.Sprint("w", i), Status: "interrupted", GraphID: "review"})
	}
	holds(t, get(t, many, "/studio/graphs"), 200, `title="threads that wait: 151">99+</span>`)
	m.threads = slices.DeleteFunc(m.threads, func(t studio.Thread) bool { return t.Status == "interrupted" })
	holds(t, get(t, many, "/studio/graphs"), 200, `<span id="waiting" hidden`)
}
