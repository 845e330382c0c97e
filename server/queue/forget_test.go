package queue_test

import (
	"context"
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

// before does something once, before the next batch.
type before struct {
	document.Store
	meanwhile func()
}

func (s *before) Batch(ctx context.Context, p document.Place, all []document.Change) ([]document.Doc, error) {
	if meanwhile := s.meanwhile; meanwhile != nil {
		s.meanwhile = nil
		meanwhile()
	}
	return s.Store.Batch(ctx, p, all)
}

func TestForget_BesideAnotherWriter(t *testing.T) {
	s := inMemory()
	docs := &before{Store: s.docs}
	q, other := storage{s.store, docs}.process(t), s.process(t)
	end := func(q *queue.Queue, id string) {
		create(t, q, "t1", id, queue.Enqueue)
		if _, err := q.Cancel(t.Context(), "t1", id, queue.Stop); err != nil {
			t.Fatal(err)
		}
	}
	end(q, "a")
	docs.meanwhile = func() { end(other, "b") }
	if err := q.Forget(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	left, err := s.docs.Query(t.Context(), document.Query{Place: document.At("weft.runs", "t1")})
	if err != nil || len(left) != 0 {
		t.Errorf("%d documents are left with error %v, want none", len(left), err)
	}
	end(q, "a")
	docs.meanwhile = func() { create(t, other, "t1", "b", queue.Enqueue) }
	if err := q.Forget(t.Context(), "t1"); !errors.Is(err, queue.ErrThreadBusy) {
		t.Errorf("Forget beside a new run returned %v, want ErrThreadBusy", err)
	}
	if r, err := q.Get(t.Context(), "t1", "b"); err != nil || r.Status != queue.Pending {
		t.Errorf("the new run is %+v, %v, want it pending", r, err)
	}
}
