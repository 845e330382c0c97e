package wake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/wake"
)

// log is the state of the graphs: what happened.
type log struct {
	Log state.List[string] `json:"log"`
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = noon.Add(after)
}

// fixture is a graph of one node with timers, and a waker of it.
type fixture struct {
	t       *testing.T
	clock   *clock
	store   checkpoint.Store
	docs    document.Store
	graph   *graph.Graph[log]
	config  wake.Config
	mu      sync.Mutex // of notices: the waker sends several at once
	notices []string
}

func newFixture(t *testing.T, node func(context.Context, *log) error) *fixture {
	return newFixtureOf(t, node, graph.Retry{})
}

func newFixtureOf(t *testing.T, node func(context.Context, *log) error, again graph.Retry) *fixture {
	f := &fixture{t: t, clock: &clock{now: noon}, store: new(checkpoint.Memory), docs: new(document.Map)}
	f.config = wake.Config{Store: f.store, Timers: wake.Over(f.docs), Now: f.clock.read, Log: slog.New(slog.DiscardHandler)}
	f.compile(oneNode(node), again)
	f.config.Notify = func(_ context.Context, n wake.Notice) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.notices = append(f.notices, fmt.Sprintf("%s %s of %s at %v", n.Kind, n.To, n.Thread, n.At.Sub(noon)))
		return nil
	}
	return f
}

// oneNode is a graph of one node.
func oneNode(node func(context.Context, *log) error) *graph.Builder[log] {
	b := graph.New[log]("waits")
	b.Node("a", graph.Func(node))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	return b
}

// compile makes the graph that of the fixture.
func (f *fixture) compile(b *graph.Builder[log], again graph.Retry) {
	g, err := b.Compile(graph.Config{Store: f.store, Timers: f.config.Timers, Now: f.config.Now, RunRetry: again})
	if err != nil {
		f.t.Fatal(err)
	}
	f.graph, f.config.Resume = g, wake.Graphs(g.Untyped())
}

// fails runs a turn of a thread, which fails.
func (f *fixture) fails(thread string) {
	f.t.Helper()
	if _, err := f.graph.Invoke(f.t.Context(), log{}, graph.RunOptions{Thread: thread}); err == nil {
		f.t.Fatal("the turn did not fail")
	}
}

// onceFails does what is due some time after noon, of which runs fail if any are resumed.
func (f *fixture) onceFails(after time.Duration, want wake.Report) {
	f.t.Helper()
	f.clock.set(after)
	got, err := wake.Once(f.t.Context(), f.config)
	if got != want || (err == nil) != (want.Resumed == 0) {
		f.t.Errorf("after %v: got %+v, %v; want %+v", after, got, err, want)
	}
}

// begin runs a turn of a thread, which pauses.
func (f *fixture) begin(thread string) graph.Result[log] {
	f.t.Helper()
	res, err := f.graph.Invoke(f.t.Context(), log{}, graph.RunOptions{Thread: thread})
	if err != nil || res.Status != graph.Interrupted {
		f.t.Fatalf("the turn ended %s, %v", res.Status, err)
	}
	return res
}

// once does what is due some time after noon.
func (f *fixture) once(after time.Duration, want wake.Report) {
	f.t.Helper()
	f.clock.set(after)
	got, err := wake.Once(f.t.Context(), f.config)
	if err != nil || got != want {
		f.t.Errorf("after %v: got %+v, %v; want %+v", after, got, err, want)
	}
}

// timers returns when threads are due.
func (f *fixture) timers() string {
	f.t.Helper()
	all, err := f.config.Timers.List(f.t.Context(), 100)
	if err != nil {
		f.t.Fatal(err)
	}
	var lines []string
	for _, t := range all {
		lines = append(lines, fmt.Sprintf("%s %v", t.Thread, t.At.Sub(noon)))
	}
	return strings.Join(lines, ", ")
}

// log returns the log of a thread.
func (f *fixture) log(thread string) string {
	f.t.Helper()
	s, info, err := f.graph.Thread(thread).State(f.t.Context(), 0)
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Join(append(s.Log.Slice(), string(info.Status)), " ")
}

// asks returns a node that asks a question and logs the answer.
func asks(q graph.Question) func(context.Context, *log) error {
	return func(ctx context.Context, s *log) error {
		v, err := graph.Ask[string](ctx, q)
		if err == nil {
			s.Log.Append(v)
		}
		return err
	}
}

func sleeps(ctx context.Context, s *log) error {
	for _, hours := range []time.Duration{2, 3} {
		if err := graph.Sleep(ctx, fmt.Sprint(int(hours)), hours*time.Hour); err != nil {
			return err
		}
	}
	s.Log.Append("woke")
	return nil
}

func TestOnce_EndsSleeps(t *testing.T) {
	f := newFixture(t, sleeps)
	f.begin("t1")
	f.once(time.Hour, wake.Report{})
	f.once(2*time.Hour, wake.Report{Resumed: 1})
	if got, want := f.timers(), "t1 5h0m0s"; got != want {
		t.Errorf("timers: got %q, want %q", got, want)
	}
	f.once(2*time.Hour, wake.Report{})
	f.once(-24*time.Hour, wake.Report{}) // the clock jumps back
	f.once(6*time.Hour, wake.Report{Resumed: 1})
	if got := f.log("t1"); got != "woke done" || f.timers() != "" {
		t.Errorf("got %q and the timers %q", got, f.timers())
	}
}

func TestOnce_ExpiresAQuestionWithItsDefault(t *testing.T) {
	f := newFixture(t, asks(graph.Question{Prompt: "pay?", Timeout: time.Hour, Default: "no"}))
	f.begin("t1")
	f.once(time.Hour, wake.Report{Resumed: 1})
	if got := f.log("t1"); got != "no done" {
		t.Errorf("got %q", got)
	}
}

// failsUntil returns a node that fails until the variable is true.
func failsUntil(works *bool) func(context.Context, *log) error {
	return func(_ context.Context, s *log) error {
		if !*works {
			return errors.New("no network")
		}
		s.Log.Append("worked")
		return nil
	}
}

func TestOnce_TriesAFailedRunAgain(t *testing.T) {
	works := false
	f := newFixtureOf(t, failsUntil(&works), graph.Retry{Attempts: 4, Initial: time.Hour, Max: 24 * time.Hour})
	f.fails("t1")
	if got, want := f.timers(), "t1 1h0m0s"; got != want {
		t.Errorf("timers: got %q, want %q", got, want)
	}
	f.once(59*time.Minute, wake.Report{})
	f.onceFails(time.Hour, wake.Report{Resumed: 1})
	if got, want := f.timers(), "t1 3h0m0s"; got != want { // it waits an hour, and then twice as long
		t.Errorf("timers: got %q, want %q", got, want)
	}
	f.onceFails(time.Hour, wake.Report{}) // nothing is due
	f.once(-24*time.Hour, wake.Report{})  // the clock jumps back
	works = true
	f.once(72*time.Hour, wake.Report{Resumed: 1})
	if got := f.log("t1"); got != "worked done" || f.timers() != "" {
		t.Errorf("got %q and the timers %q", got, f.timers())
	}
}

func TestOnce_GivesAFailedRunUp(t *testing.T) {
	works := false
	f := newFixtureOf(t, failsUntil(&works), graph.Retry{Attempts: 2, Initial: time.Hour})
	f.fails("t1")
	f.onceFails(time.Hour, wake.Report{Resumed: 1})
	if got := f.timers(); got != "" {
		t.Errorf("timers are left: %q", got)
	}
	works = true
	if _, err := f.graph.Resume(t.Context(), graph.Answers{}, graph.RunOptions{Thread: "t1"}); err != nil {
		t.Errorf("a person resumes it: %v", err)
	}
}

// A failure beside a question: the failed task is tried again while the question stays open.
func TestOnce_TriesAFailureBesideAQuestionAgain(t *testing.T) {
	works, asked := false, make(chan struct{})
	ask, done := asks(graph.Question{Prompt: "pay?"}), sync.OnceFunc(func() { close(asked) })
	f := newFixture(t, sleeps)
	b := graph.New[log]("waits")
	b.Node("a", graph.Func(func(ctx context.Context, s *log) error {
		<-asked
		return failsUntil(&works)(ctx, s)
	}))
	b.Node("b", graph.Func(func(ctx context.Context, s *log) error {
		defer done()
		return ask(ctx, s)
	}))
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.Edge("a", graph.End)
	b.Edge("b", graph.End)
	f.compile(b, graph.Retry{Attempts: 3, Initial: time.Hour})
	res, err := f.graph.Invoke(t.Context(), log{}, graph.RunOptions{Thread: "t1"})
	if err == nil || len(res.Interrupts) != 1 {
		t.Fatalf("got %v and the questions %v", err, res.Interrupts)
	}
	works = true
	f.once(time.Hour, wake.Report{Resumed: 1})
	if f.timers() != "" {
		t.Errorf("timers are left: %q", f.timers())
	}
	if _, err := f.graph.Resume(t.Context(), graph.Reply("yes"), graph.RunOptions{Thread: "t1"}); err != nil {
		t.Fatal(err)
	}
	if got := f.log("t1"); got != "worked yes done" {
		t.Errorf("got %q", got)
	}
}

func TestOnce_LeavesAnsweredQuestionsAlone(t *testing.T) {
	f := newFixture(t, asks(graph.Question{Prompt: "pay?", Timeout: time.Hour}))
	f.begin("t1")
	if _, err := f.graph.Resume(t.Context(), graph.Reply("yes"), graph.RunOptions{Thread: "t1"}); err != nil {
		t.Fatal(err)
	}
	if err := f.config.Timers.Set(t.Context(), graph.Timer{Thread: "unknown", Graph: "waits", At: noon}); err != nil {
		t.Fatal(err)
	}
	f.once(2*time.Hour, wake.Report{})
	if f.timers() != "" {
		t.Errorf("timers are left: %q", f.timers())
	}
}

func TestOnce_RemindsAndEscalates(t *testing.T) {
	f := newFixture(t, asks(graph.Question{Prompt: "pay?", To: "ana", Timeout: 10 * time.Hour, Remind: 2 * time.Hour, Escalate: []graph.Escalation{{After: 3 * time.Hour, To: "ben"}}}))
	f.begin("t1")
	f.once(time.Hour, wake.Report{})
	f.once(2*time.Hour, wake.Report{Notified: 1})
	f.once(2*time.Hour, wake.Report{})
	fails := true
	notify := f.config.Notify
	f.config.Notify = func(ctx context.Context, n wake.Notice) error {
		if fails {
			return errors.New("no network")
		}
		return notify(ctx, n)
	}
	f.clock.set(3 * time.Hour)
	if got, err := wake.Once(t.Context(), f.config); err == nil || !strings.Contains(err.Error(), "no network") || got.Failed != 1 {
		t.Errorf("a notice that cannot be sent: got %+v, %v", got, err)
	}
	fails = false
	f.once(3*time.Hour, wake.Report{}) // not yet
	f.once(3*time.Hour+time.Second, wake.Report{Notified: 1})
	f.once(9*time.Hour, wake.Report{Notified: 1}) // the reminders in between are one
	want := []string{"reminder ana of t1 at 2h0m0s", "escalation ben of t1 at 3h0m0s", "reminder ben of t1 at 8h0m0s"}
	if !slices.Equal(f.notices, want) {
		t.Errorf("got %q, want %q", f.notices, want)
	}
	f.clock.set(10 * time.Hour)
	if _, err := wake.Once(t.Context(), f.config); err == nil || !errors.Is(err, graph.ErrExpired) {
		t.Errorf("a run that fails because its question expired: got %v", err)
	}
	if f.timers() != "" {
		t.Errorf("timers are left: %q", f.timers())
	}
}

func TestOnce_TriesAgainLater(t *testing.T) {
	f := newFixture(t, sleeps)
	f.begin("t1")
	resume := f.config.Resume
	away := errors.New("the disk is full")
	f.config.Resume = func(context.Context, graph.Timer) error { return away }
	f.clock.set(2 * time.Hour)
	for range 2 { // the second finds nothing due
		_, err := wake.Once(t.Context(), f.config)
		if got := f.timers(); got != "t1 2h0m1s" {
			t.Errorf("timers: %q, %v", got, err)
		}
	}
	f.clock.set(2*time.Hour + time.Second)
	if _, err := wake.Once(t.Context(), f.config); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
	if got := f.timers(); got != "t1 2h0m3s" {
		t.Errorf("the wait must grow: %q", got)
	}
	f.config.Resume = resume
	f.once(3*time.Hour, wake.Report{Resumed: 1})
}

// A waker that does not have a graph leaves its threads to others, at once.
func TestWakers_OfOtherGraphs(t *testing.T) {
	f := newFixture(t, sleeps)
	f.begin("t1")
	resume := f.config.Resume
	f.config.Resume = wake.Graphs()
	f.clock.set(2 * time.Hour)
	for range 2 {
		report, err := wake.Once(t.Context(), f.config)
		if !errors.Is(err, wake.ErrGraph) || report.Failed != 1 || f.timers() != "t1 2h0m0s" {
			t.Errorf("got %+v, %v, timers %q", report, err, f.timers())
		}
	}
	f.config.Resume = resume
	f.once(2*time.Hour, wake.Report{Resumed: 1})
}

func TestRun_LooksRarelyAtThreadsOfOtherGraphs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBubbleFixture(t, sleeps)
		f.begin("t1")
		tries := 0
		f.config.Resume = func(ctx context.Context, timer graph.Timer) error {
			tries++
			return wake.Graphs()(ctx, timer)
		}
		stop := f.run(1)
		time.Sleep(3*time.Hour - 30*time.Second)
		stop()
		if tries < 10 || tries > 130 {
			t.Errorf("in some hours it looked %d times, want about one a minute", tries)
		}
	})
}

func TestOnce_WaitsForTheRunThatHasTheThread(t *testing.T) {
	f := newFixture(t, sleeps)
	f.begin("t1")
	held, err := checkpoint.Hold(t.Context(), f.store, "t1", checkpoint.HoldOptions{Owner: "test"})
	if err != nil {
		t.Fatal(err)
	}
	f.once(2*time.Hour, wake.Report{})
	if got := f.timers(); got != "t1 2h0m1s" {
		t.Errorf("timers: %q", got)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.once(2*time.Hour+time.Second, wake.Report{Resumed: 1})
}

func TestTimers_SetKeepsTheEarlierTime(t *testing.T) {
	f := newFixture(t, sleeps)
	long := strings.Repeat("é", 500) // longer than the id of a document
	for _, timer := range []graph.Timer{{Thread: "a", At: noon.Add(3)}, {Thread: long, At: noon.Add(2)}, {Thread: "a", At: noon.Add(5)}, {Thread: "b", At: noon.Add(4)}, {Thread: "b", At: noon.Add(1)}} {
		if err := f.config.Timers.Set(t.Context(), timer); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := f.timers(), "b 1ns, "+long+" 2ns, a 3ns"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRun_RefusesWhatCannotWork(t *testing.T) {
	f := newFixture(t, sleeps)
	for name, c := range map[string]wake.Config{
		"nothing":  {},
		"no graph": {Store: f.store, Timers: f.config.Timers},
		"poll":     {Store: f.store, Timers: f.config.Timers, Resume: f.config.Resume, Poll: -1},
	} {
		if err := wake.Run(t.Context(), c); !errors.Is(err, wake.ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := wake.Open(f.store); !errors.Is(err, wake.ErrConfig) {
		t.Errorf("a store without documents: got %v", err)
	}
}

// newBubbleFixture is a fixture with the clock of a synctest bubble.
func newBubbleFixture(t *testing.T, node func(context.Context, *log) error) *fixture {
	f := newFixture(t, node)
	f.config.Now = time.Now
	f.compile(oneNode(node), graph.Retry{})
	return f
}

// run runs n wakers until stop is called, which waits for their end.
func (f *fixture) run(n int) (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if err := wake.Run(ctx, f.config); err != nil {
				f.t.Error(err)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

func TestRun_SeveralWakersWakeEachThreadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		ran := map[string]int{}
		f := newBubbleFixture(t, func(ctx context.Context, s *log) error {
			if err := graph.Sleep(ctx, "", time.Hour); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			ran[graph.Thread(ctx)]++
			s.Log.Append("woke")
			return nil
		})
		const threads = 300
		for i := range threads {
			f.begin(fmt.Sprint("t", i))
		}
		stop := f.run(3)
		// Wakers that look at a thread in the same moment look at it again a second later.
		time.Sleep(time.Hour + time.Minute)
		stop()
		for i := range threads {
			if id := fmt.Sprint("t", i); ran[id] != 1 || f.log(id) != "woke done" {
				t.Errorf("thread %s: woken %d times, log %q", id, ran[id], f.log(id))
			}
		}
		if f.timers() != "" {
			t.Errorf("timers are left: %q", f.timers())
		}
	})
}

// A thread whose run takes long keeps no other waiting.
func TestRun_BeginsOthersDuringALongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		var woke []string
		f := newBubbleFixture(t, func(ctx context.Context, _ *log) error {
			d := time.Hour
			if graph.Thread(ctx) == "later" {
				d += time.Minute
			}
			err := graph.Sleep(ctx, "", d)
			if err != nil {
				return err
			}
			mu.Lock()
			woke = append(woke, graph.Thread(ctx))
			mu.Unlock()
			if graph.Thread(ctx) == "long" {
				<-release
			}
			return nil
		})
		f.begin("long")
		f.begin("later")
		stop := f.run(1)
		time.Sleep(time.Hour + 2*time.Minute)
		mu.Lock()
		if !slices.Equal(woke, []string{"long", "later"}) {
			t.Errorf("during a long run %v woke, want both once", woke)
		}
		mu.Unlock()
		close(release)
		synctest.Wait()
		stop()
		if f.timers() != "" {
			t.Errorf("timers are left: %q", f.timers())
		}
	})
}

// The runs of a schedule that take longer than the time between them go on beside each other.
func TestRun_LongRunsOfASchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		var began []string
		f := newBubbleFixture(t, func(ctx context.Context, _ *log) error {
			mu.Lock()
			began = append(began, graph.Thread(ctx))
			mu.Unlock()
			<-release
			return nil
		})
		f.config.Start = wake.Starts(f.graph.Untyped())
		if err := f.config.Timers.Schedule(t.Context(), wake.Schedule{Name: "often", Graph: "waits", Cron: "* * * * *"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		stop := f.run(2)
		time.Sleep(5*time.Minute + 2*time.Second)
		mu.Lock()
		slices.Sort(began)
		if len(began) != 5 || len(slices.Compact(began)) != 5 {
			t.Errorf("in 5 minutes %v began, want 5 threads", began)
		}
		mu.Unlock()
		close(release)
		synctest.Wait()
		stop()
	})
}

// A process that dies while it has a thread leaves its lease behind.
func TestRun_TakesOverFromADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var woke time.Time
		f := newBubbleFixture(t, func(ctx context.Context, _ *log) error {
			err := graph.Sleep(ctx, "", time.Hour)
			if err == nil {
				woke = time.Now()
			}
			return err
		})
		f.begin("t1")
		due := time.Now().Add(time.Hour)
		dying := f.config
		dying.Resume = func(ctx context.Context, timer graph.Timer) error {
			held, err := checkpoint.Hold(ctx, f.store, timer.Thread, checkpoint.HoldOptions{TTL: 1500 * time.Millisecond, ID: checkpoint.NewFence()})
			if err != nil {
				return err
			}
			held.Leave()
			return ctx.Err()
		}
		time.Sleep(time.Until(due))
		died := time.Now()
		if _, err := wake.Once(t.Context(), dying); err != nil {
			t.Errorf("the dying process: %v", err)
		}
		stop := f.run(1)
		time.Sleep(10 * time.Second)
		stop()
		if took := woke.Sub(died); woke.IsZero() || took > 2*time.Second {
			t.Errorf("another process took over after %v", took)
		}
	})
}
