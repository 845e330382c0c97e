package queue_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/server/queue"
)

// What was begun goes before what waits: its client has waited for it already, and has seen a part.
func TestClaim_WhatWasBegunGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		dying, q := s.process(t), s.process(t)
		create(t, q, "left", "left", queue.Enqueue)
		create(t, q, "put", "put", queue.Enqueue)
		left, put := claim(t, dying, 1, "left")[0], claim(t, dying, 1, "put")[0]
		for _, id := range []string{"w1", "w2", "w3"} {
			create(t, q, id, id, queue.Enqueue)
			time.Sleep(time.Millisecond)
		}
		if err := put.PutBack(t.Context()); err != nil {
			t.Fatal(err)
		}
		finish(t, claim(t, q, 1, "put")[0])
		left.Abandon()
		finish(t, claim(t, q, 1, "w1")[0])
		time.Sleep(2 * queue.DefaultLease)
		finish(t, claim(t, q, 1, "left")[0])
		claim(t, q, 2, "w2", "w3")
	})
}

// A run that is alone on its thread begins behind the log of those before it. One behind another
// begins where that one does.
func TestCreate_KnowsWhereTheLogOfARunBegins(t *testing.T) {
	s := inMemory()
	end, calls := uint64(7), 0
	q, err := queue.New(queue.Config{Store: s.store, Documents: s.docs, LogEnd: func(context.Context, string) (uint64, error) {
		if calls++; end == 0 {
			return 5, checkpoint.ErrUnavailable
		}
		return end, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	begins := func(id string, want uint64) {
		t.Helper()
		create(t, q, "t1", id, queue.Enqueue)
		if r, err := q.Get(t.Context(), "t1", id); err != nil || r.LogStart != want {
			t.Errorf("the log of %s begins at %d with error %v, want %d", id, r.LogStart, err, want)
		}
	}
	begins("new", 0) // the thread had no run
	finish(t, claim(t, q, 1, "new")[0])
	begins("second", 7)
	end = 9
	begins("third", 7)
	finish(t, claim(t, q, 1, "second")[0])
	begins("fourth", 7)
	finish(t, claim(t, q, 1, "third")[0])
	finish(t, claim(t, q, 1, "fourth")[0])
	begins("fifth", 9)
	finish(t, claim(t, q, 1, "fifth")[0])
	end = 0
	begins("sixth", 9) // the log cannot be asked
	if calls != 3 {
		t.Errorf("the log was asked %d times, want 3", calls)
	}
}

// A thread whose run is claimed while the threads are listed is listed, and once.
func TestActive_BesideClaims(t *testing.T) {
	q := inMemory().process(t)
	const n = 250 // more than a page
	for i := range n {
		id := fmt.Sprintf("t%03d", i)
		create(t, q, id, id, queue.Enqueue)
	}
	seen := map[string]int{}
	for r, err := range q.Active(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[r.ID]++; len(seen) == 1 {
			if claims, err := q.Claim(t.Context(), n); err != nil || len(claims) != n {
				t.Fatalf("%d claims with error %v, want %d", len(claims), err, n)
			}
		}
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("run %s is listed %d times", id, times)
		}
	}
	if len(seen) != n {
		t.Errorf("%d runs are listed, want %d", len(seen), n)
	}
}
