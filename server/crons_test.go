package server

import (
	"context"
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
	start := func(_ context.Context, r cronRecord) error { fired[r.CronID]++; return nil }
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
	r, _, err := a.get(t.Context(), "on")
	if err != nil || !r.record.NextRunDate.After(c.at) {
		t.Errorf("the next time is %v and the error %v, want one after %v", r.record.NextRunDate, err, c.at)
	}
}
