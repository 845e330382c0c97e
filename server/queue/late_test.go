package queue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/queue"
)

// lateless is documents that take no new time at which a worker has to look at a thread, if that is
// stored after the line.
type lateless struct{ document.Store }

func (s lateless) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	if p.Collection == "weft.lines" {
		return nil, checkpoint.ErrUnavailable
	}
	return s.Store.Batch(ctx, p, changes)
}

// What is stored has happened, even if the time of the next look is not stored.
func TestChange_WhoseNextLookIsNotStored(t *testing.T) {
	var ended []string
	s := inMemory()
	q, err := queue.New(queue.Config{
		Store: s.store, Documents: lateless{s.docs},
		Ended: func(_ context.Context, r queue.Run, _ bool) { ended = append(ended, r.ID) },
	})
	if err != nil {
		t.Fatal(err)
	}
	create(t, q, "t1", "r1", queue.Enqueue)
	if _, err := q.Cancel(t.Context(), "t1", "r1", queue.Stop); err != nil || len(ended) != 1 {
		t.Errorf("a run was cancelled with error %v, and %v have ended", err, ended)
	}
	create(t, q, "t1", "r2", queue.Enqueue)
	create(t, q, "t1", "r3", queue.Enqueue)
	for _, id := range []string{"r2", "r3"} {
		finish(t, claim(t, q, 1, id)[0]) // and the lease is free for the next one
		status(t, q, "t1", id, queue.Success)
	}
}

// unheard are documents whose next reply to a batch of runs is lost.
type unheard struct {
	document.Store
	lost bool
}

func (s *unheard) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	docs, err := s.Store.Batch(ctx, p, changes)
	if err == nil && p.Collection == "weft.runs" && !s.lost {
		s.lost = true
		return nil, checkpoint.ErrUnknownOutcome
	}
	return docs, err
}

func TestCreate_WhoseReplyIsLost(t *testing.T) {
	s := inMemory()
	docs := &unheard{Store: s.docs}
	var ended []string
	q, err := queue.New(queue.Config{
		Store: s.store, Documents: docs,
		Ended: func(_ context.Context, r queue.Run, _ bool) { ended = append(ended, r.ID) },
	})
	if err != nil {
		t.Fatal(err)
	}
	create(t, q, "t1", "r1", queue.Enqueue)
	if _, err := q.Create(t.Context(), queue.Run{ID: "r1", Thread: "t1"}, queue.Enqueue); !errors.Is(err, queue.ErrExists) {
		t.Errorf("the same id again: error %v, want ErrExists", err)
	}
	docs.lost = false
	create(t, q, "t1", "r2", queue.Interrupt)
	if len(ended) != 1 || ended[0] != "r1" {
		t.Errorf("%v have ended, want the run that was interrupted", ended)
	}
	finish(t, claim(t, q, 1, "r2")[0])
}

func TestFinish_WhoseReplyIsLost(t *testing.T) {
	docs := &unheard{Store: new(document.Map), lost: true}
	q, err := queue.New(queue.Config{Store: new(checkpoint.Memory), Documents: docs})
	if err != nil {
		t.Fatal(err)
	}
	create(t, q, "t1", "r1", queue.Enqueue)
	create(t, q, "t1", "r2", queue.Enqueue)
	c := claim(t, q, 1, "r1")[0]
	docs.lost = false
	if err := c.Finish(t.Context(), queue.End{Status: queue.Success}); !checkpoint.IsTemporary(err) {
		t.Errorf("the error is %v, want that of the store", err)
	}
	finish(t, c)
	finish(t, claim(t, q, 1, "r2")[0]) // the lease is free at once
	status(t, q, "t1", "r1", queue.Success)
}

// A run that cannot be rolled back is not claimed for ever.
func TestUndo_ThatCannotBeDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := new(checkpoint.Memory)
		q, err := queue.New(queue.Config{Documents: new(document.Map), Store: struct { // it cannot drop commits
			checkpoint.Store
			checkpoint.Leaser
		}{memory, memory}})
		if err != nil {
			t.Fatal(err)
		}
		create(t, q, "t1", "r1", queue.Enqueue)
		c := claim(t, q, 1, "r1")[0]
		if _, err := q.Cancel(t.Context(), "t1", "r1", queue.Undo); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := c.Finish(t.Context(), queue.End{Status: queue.Interrupted}); !errors.Is(err, checkpoint.ErrNoDrop) {
				t.Fatalf("the error is %v, want ErrNoDrop", err)
			}
			time.Sleep(2 * queue.DefaultLease)
			c = claim(t, q, 1, "r1")[0]
		}
		c.Abandon()
		time.Sleep(2 * queue.DefaultLease)
		claim(t, q, 1)
		status(t, q, "t1", "r1", queue.Failed)
	})
}
