package server

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/wire"
)

func TestCrons_FireOnceOverAllProcesses(t *testing.T) {
	docs, c := &document.Map{}, &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	a, b := newCrons(docs, c.now), newCrons(docs, c.now)
	add := func(id string, change func(*cronRecord)) {
		r := cronRecord{Cron: wire.Cron{CronID: id, Schedule: "*/10 * * * *", Enabled: true}}
		change(&r)
		if err := r.plan(c.at); err != nil {
			t.Fatal(err)
		}
		if err := a.schedule(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if _, err := a.create(t.Context(), id, r, c.at); err != nil {
			t.Fatal(err)
		}
	}
	add("on", func(*cronRecord) {})
	add("off", func(r *cronRecord) { r.Enabled = false })
	add("ends", func(r *cronRecord) { r.EndTime = wire.At(c.at.Add(20 * time.Minute)) })
	add("removed", func(*cronRecord) {})
	if err := a.delete(t.Context(), "removed"); err != nil { // as a process that ended in between
		t.Fatal(err)
	}
	fired := map[string]int{}
	start := func(ctx context.Context, f firing) error { fired[f.Cron]++; return a.done(ctx, f) }
	fire := func(after time.Duration, want int) {
		t.Helper()
		c.at = c.at.Add(after)
		got := 0
		for _, s := range []crons{a, b} {
			n, err := s.fire(t.Context(), start)
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
		if got != want {
			t.Errorf("at %v %d crons were started, want %d", c.at, got, want)
		}
	}
	fire(5*time.Minute, 0)
	fire(time.Minute, 2)
	fire(time.Minute, 0)
	fire(3*time.Hour, 2) // each was due many times meanwhile
	fire(9*time.Minute, 1)
	if fired["on"] != 3 || fired["ends"] != 2 || fired["off"]+fired["removed"] != 0 {
		t.Errorf("the crons were started %v", fired)
	}
}

func TestCrons_FailuresKeepNoOtherWaiting(t *testing.T) {
	docs, c := &document.Map{}, &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	a := newCrons(docs, c.now)
	for i := range 120 {
		id := fmt.Sprintf("c%03d", i)
		r := cronRecord{Cron: wire.Cron{CronID: id, Schedule: "*/10 * * * *", Enabled: true}}
		if err := errors.Join(r.plan(c.at), a.schedule(t.Context(), r)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.create(t.Context(), id, r, c.at); err != nil {
			t.Fatal(err)
		}
	}
	c.at = c.at.Add(10 * time.Minute)
	tried := map[string]int{}
	full := errors.New("too many runs")
	fail := func(_ context.Context, f firing) error { tried[f.Cron]++; return full }
	if n, err := a.fire(t.Context(), fail); n != 120 || len(tried) != 120 || !errors.Is(err, full) {
		t.Errorf("%d crons were fired and %d tried, %v; want all 120", n, len(tried), err)
	}
	if n, _ := a.fire(t.Context(), fail); n != 0 || tried["c000"] != 1 {
		t.Errorf("%d crons were fired again, and one tried %d times at once", n, tried["c000"])
	}
	c.at = c.at.Add(firingRetry)
	if n, _ := a.fire(t.Context(), fail); n != 0 || tried["c000"] != 2 || tried["c119"] != 2 {
		t.Errorf("later %d crons were fired again, and tried %d and %d times; want 0, 2 and 2", n, tried["c000"], tried["c119"])
	}
}
