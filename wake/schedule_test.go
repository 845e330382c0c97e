package wake_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/wake"
)

// newScheduleFixture has a graph that logs the thread of each run in ran.
func newScheduleFixture(t *testing.T) (f *fixture, ran *[]string) {
	ran = new([]string)
	f = newFixture(t, func(ctx context.Context, s *log) error {
		*ran = append(*ran, graph.Thread(ctx)+" "+strings.Join(s.Log.Slice(), " "))
		return nil
	})
	f.config.Start = wake.Starts(f.graph.Untyped())
	return f, ran
}

// schedule stores a schedule some time after noon.
func (f *fixture) schedule(after time.Duration, s wake.Schedule) {
	f.t.Helper()
	if err := f.config.Timers.Schedule(f.t.Context(), s, noon.Add(after)); err != nil {
		f.t.Fatal(err)
	}
}

func TestSchedule_RepeatsInItsZone(t *testing.T) {
	f, ran := newScheduleFixture(t)
	daily := wake.Schedule{Name: "daily", Graph: "waits", Input: []byte(`{"log":["tea"]}`), Cron: "30 9 * * *", Zone: "Europe/Berlin"}
	f.schedule(0, daily) // 07:30 UTC
	f.once(19*time.Hour, wake.Report{})
	f.once(20*time.Hour, wake.Report{Started: 1})
	f.once(20*time.Hour, wake.Report{})
	f.schedule(21*time.Hour, daily)      // the program begins again
	f.once(-48*time.Hour, wake.Report{}) // the clock jumps back
	f.once(43*time.Hour, wake.Report{})
	f.schedule(96*time.Hour, daily) // what was missed stays due
	f.once(97*time.Hour, wake.Report{Started: 1})
	f.once(98*time.Hour, wake.Report{})
	if want := []string{"daily/2026-05-02T07:30:00Z tea", "daily/2026-05-03T07:30:00Z tea"}; !slices.Equal(*ran, want) {
		t.Errorf("got %q, want %q", *ran, want)
	}
	all, err := f.config.Timers.List(t.Context(), 10)
	if err != nil || len(all) != 1 || all[0].Schedule == nil || !all[0].At.Equal(noon.Add(115*time.Hour+30*time.Minute)) {
		t.Errorf("got %+v, %v; want the schedule, due on the sixth", all, err)
	}
	if err := f.config.Timers.Unschedule(t.Context(), "daily"); err != nil || f.timers() != "" {
		t.Errorf("timers are left: %q, %v", f.timers(), err)
	}
}

func TestSchedule_RunsOnce(t *testing.T) {
	f, ran := newScheduleFixture(t)
	s := wake.Schedule{Name: "later", Graph: "waits", At: noon.Add(time.Hour)}
	f.schedule(0, s)
	f.once(time.Hour, wake.Report{Started: 1})
	f.schedule(2*time.Hour, s) // again: its thread is there
	f.once(2*time.Hour, wake.Report{})
	if want := []string{"later/2026-05-01T13:00:00Z "}; !slices.Equal(*ran, want) || f.timers() != "" {
		t.Errorf("got %q and the timers %q, want %q", *ran, f.timers(), want)
	}
}

func TestSchedule_EndsAndIsReplaced(t *testing.T) {
	f, ran := newScheduleFixture(t)
	s := wake.Schedule{Name: "s", Graph: "waits", Cron: "0 * * * *", Until: noon.Add(2 * time.Hour)}
	f.schedule(0, s)
	s.Cron = "30 * * * *"
	f.schedule(0, s)
	for minutes := range 600 {
		f.clock.set(time.Duration(minutes) * time.Minute)
		if _, err := wake.Once(t.Context(), f.config); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"s/2026-05-01T12:30:00Z ", "s/2026-05-01T13:30:00Z "}; !slices.Equal(*ran, want) || f.timers() != "" {
		t.Errorf("got %q and the timers %q, want %q", *ran, f.timers(), want)
	}
}

// A thread of a schedule that waits is resumed like any other, also while the schedule goes on.
func TestSchedule_ItsThreadsWait(t *testing.T) {
	f := newFixture(t, asks(graph.Question{Prompt: "pay?", Timeout: 2 * time.Hour, Default: "no"}))
	f.config.Start = wake.Starts(f.graph.Untyped())
	s := wake.Schedule{Name: "s", Graph: "waits", At: noon.Add(time.Hour)}
	f.schedule(0, s)
	f.once(time.Hour, wake.Report{Started: 1})
	f.schedule(0, s)
	f.once(time.Hour, wake.Report{}) // its thread is there, and waits
	f.once(3*time.Hour, wake.Report{Resumed: 1})
	if got := f.log("s/2026-05-01T13:00:00Z"); got != "no done" || f.timers() != "" {
		t.Errorf("got %q and the timers %q", got, f.timers())
	}
}

func TestSchedule_FailsUntilItsGraphIsKnown(t *testing.T) {
	f, ran := newScheduleFixture(t)
	start := f.config.Start
	f.config.Start = nil
	f.schedule(0, wake.Schedule{Name: "s", Graph: "waits", At: noon})
	if _, err := wake.Once(t.Context(), f.config); !errors.Is(err, wake.ErrConfig) {
		t.Errorf("without Start: got %v", err)
	}
	f.config.Start = wake.Starts()
	f.clock.set(time.Minute)
	if _, err := wake.Once(t.Context(), f.config); !errors.Is(err, wake.ErrGraph) {
		t.Errorf("without the graph: got %v", err)
	}
	f.config.Start = start
	f.once(time.Hour, wake.Report{Started: 1})
	if want := []string{"s/2026-05-01T12:00:00Z "}; !slices.Equal(*ran, want) {
		t.Errorf("got %q, want %q", *ran, want)
	}
}

func TestSchedule_RefusesWhatCannotBe(t *testing.T) {
	f, _ := newScheduleFixture(t)
	for name, s := range map[string]wake.Schedule{
		"no name":   {Graph: "g", At: noon},
		"long name": {Name: strings.Repeat("x", 101), Graph: "g", At: noon},
		"no graph":  {Name: "s", At: noon},
		"no time":   {Name: "s", Graph: "g"},
		"two times": {Name: "s", Graph: "g", At: noon, Cron: "* * * * *"},
		"zone":      {Name: "s", Graph: "g", At: noon, Zone: "UTC"},
		"input":     {Name: "s", Graph: "g", At: noon, Input: []byte("{")},
	} {
		if err := f.config.Timers.Schedule(t.Context(), s, noon); !errors.Is(err, wake.ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := f.config.Timers.Schedule(t.Context(), wake.Schedule{Name: "s", Graph: "g", Cron: "60 * * * *"}, noon); !errors.Is(err, wake.ErrCron) {
		t.Errorf("got %v, want an ErrCron", err)
	}
}

// A thread may have the name that the entry of a schedule has.
func TestTimers_NamesOfThreadsAreNoSchedules(t *testing.T) {
	f, _ := newScheduleFixture(t)
	f.schedule(0, wake.Schedule{Name: "s", Graph: "waits", At: noon.Add(time.Hour)})
	for i, thread := range []string{"schedule:s", "sha256:0"} {
		if err := f.config.Timers.Set(t.Context(), graph.Timer{Thread: thread, Graph: "waits", At: noon.Add(time.Duration(i))}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := f.timers(), "schedule:s 0s, sha256:0 1ns,  1h0m0s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDeclare_ReplacesWhatTheSourceHadBefore(t *testing.T) {
	f, ran := newScheduleFixture(t)
	declare := func(after time.Duration, schedules ...wake.Schedule) {
		t.Helper()
		if err := f.config.Timers.Declare(t.Context(), "file/", schedules, noon.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	hourly := wake.Schedule{Name: "file/hourly", Graph: "waits", Input: []byte(`{"log":["a"]}`), Cron: "0 * * * *"}
	late := wake.Schedule{Name: "file/late", Graph: "waits", At: noon.Add(9 * time.Hour)}
	f.schedule(0, wake.Schedule{Name: "filed", Graph: "waits", At: noon.Add(9 * time.Hour)})
	declare(0, hourly, late)
	f.once(30*time.Minute, wake.Report{})
	declare(90*time.Minute, hourly, late) // the program begins again: what is due stays so
	f.once(91*time.Minute, wake.Report{Started: 1})
	hourly.Input = []byte(`{"log":["b"]}`)
	declare(92*time.Minute, hourly)
	f.once(2*time.Hour, wake.Report{Started: 1})
	all, err := f.config.Timers.Schedules(t.Context())
	if err != nil || len(all) != 2 || all[0].Schedule.Name != "file/hourly" || !all[0].At.Equal(noon.Add(3*time.Hour)) || all[1].Schedule.Name != "filed" {
		t.Errorf("got %+v, %v; want file/hourly and filed", all, err)
	}
	ended := hourly
	ended.Until = noon.Add(time.Hour)
	declare(2*time.Hour+time.Minute, ended)
	declare(3 * time.Hour)
	f.once(9*time.Hour, wake.Report{Started: 1})
	if want := []string{"file/hourly/2026-05-01T13:00:00Z a", "file/hourly/2026-05-01T14:00:00Z b", "filed/2026-05-01T21:00:00Z "}; !slices.Equal(*ran, want) {
		t.Errorf("got %q, want %q", *ran, want)
	}
	if err := f.config.Timers.Declare(t.Context(), "file/", []wake.Schedule{{Name: "x", Graph: "waits", Cron: "0 * * * *"}}, noon); !errors.Is(err, wake.ErrConfig) {
		t.Errorf("got %v for another name, want ErrConfig", err)
	}
	if err := f.config.Timers.Declare(t.Context(), "file/", []wake.Schedule{{Name: "file/x", Graph: "waits", Cron: "x"}}, noon); !errors.Is(err, wake.ErrCron) {
		t.Errorf("got %v for five fields that cannot be read, want ErrCron", err)
	}
}

func TestDeclare_BeginsNothingAgain(t *testing.T) {
	f, ran := newScheduleFixture(t)
	declare := func(after time.Duration, schedules ...wake.Schedule) {
		t.Helper()
		if err := f.config.Timers.Declare(t.Context(), "file/", schedules, noon.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	once := wake.Schedule{Name: "file/once", Graph: "waits", At: noon.Add(time.Hour)}
	declare(0, once)
	f.once(time.Hour, wake.Report{Started: 1})
	if err := f.store.Delete(t.Context(), (*ran)[0][:strings.Index((*ran)[0], " ")]); err != nil {
		t.Fatal(err)
	}
	declare(2*time.Hour, once)
	f.once(2*time.Hour, wake.Report{})
	all, err := f.config.Timers.Schedules(t.Context())
	if err != nil || len(all) != 1 || !all[0].At.IsZero() {
		t.Errorf("got %+v, %v; want one that has ended", all, err)
	}
	once.At = noon.Add(3 * time.Hour)
	declare(2*time.Hour, once)
	f.once(3*time.Hour, wake.Report{Started: 1})
	declare(4 * time.Hour)
	if got := f.timers(); got != "" {
		t.Errorf("timers are left: %s", got)
	}
}
