package queue_test

import (
	"errors"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/queue"
)

func TestForget_RemovesWhatIsStoredOfAThread(t *testing.T) {
	docs := &document.Map{}
	q, err := queue.New(queue.Config{Store: &checkpoint.Memory{}, Documents: docs})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Forget(t.Context(), "t1"); err != nil {
		t.Errorf("Forget of an unknown thread returned %v", err)
	}
	for _, id := range []string{"a", "b"} {
		if _, err := q.Create(t.Context(), queue.Run{ID: id, Thread: "t1"}, queue.Enqueue); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Forget(t.Context(), "t1"); !errors.Is(err, queue.ErrThreadBusy) {
		t.Errorf("Forget of a thread with runs returned %v, want ErrThreadBusy", err)
	}
	for _, id := range []string{"a", "b"} {
		if _, err := q.Cancel(t.Context(), "t1", id, queue.Stop); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Forget(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	left, err := docs.Query(t.Context(), document.Query{Place: document.At("weft.runs", "t1")})
	if err != nil || len(left) != 0 {
		t.Errorf("%d documents are left with error %v, want none", len(left), err)
	}
}
