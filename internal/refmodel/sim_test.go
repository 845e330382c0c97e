package refmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// sim runs the turns of one Spec in simulated time. The seed determines everything that can vary:
// the duration of each task, and so their order; the duration and the failures of store calls; the
// time when a call is cancelled; and the actions of a second worker on the thread.
type sim struct {
	wide bool // no limits: every task has a worker, and no call is cancelled
	checkpoint.Store
	seed    uint64
	born    time.Time
	sp      *Spec
	workers int
	shop    *Workshop

	mu      sync.Mutex
	rolls   map[string]int    // how often chance was asked for each name
	events  int               // counts what is in the trace
	stored  map[string]int    // tasks with a stored result, with the event that stored it
	invalid bool              // the results of the step do not count
	commits map[string]string // by namespace and number: the id
	trace   []string
	wrong   []string
	wakes   map[time.Duration]bool
	calls   map[string]int // by worker
}

var errDisk = errors.New("refmodel: the disk fails")

// call is one call of a worker, as the tasks and the store see it in their context.
type call struct {
	worker string
	began  int  // the events before it
	rough  bool // things go wrong; in the end they must not, so that runs end
}

type callKey struct{}

func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}

func newSim(sp *Spec, seed uint64) *sim {
	s := &sim{Store: new(checkpoint.Memory), seed: seed, born: time.Now(), sp: sp, workers: 1 + int(seed%2),
		rolls: map[string]int{}, stored: map[string]int{}, commits: map[string]string{}, wakes: map[time.Duration]bool{}, calls: map[string]int{}}
	s.shop = &Workshop{Spec: sp, Enter: s.enter}
	return s
}

// chance returns a number below n, by the name of what asks and how often it did: not by the
// order in which goroutines come.
func (s *sim) chance(n int, name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rolls[name]++
	return int(hash(s.seed, s.rolls[name], name) % uint64(n))
}

// note adds to the trace and returns how many events there were before.
func (s *sim) note(format string, args ...any) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, fmt.Sprintf("%013d ", time.Since(s.born))+fmt.Sprintf(format, args...))
	s.events++
	return s.events
}

func (s *sim) fault(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// take lets simulated time pass. When ctx ends first it returns an error, a moment later.
func (s *sim) take(ctx context.Context, name string, most time.Duration) error {
	moment := s.moment(name, most)
	select {
	case <-time.After(moment):
		return nil
	case <-ctx.Done():
		time.Sleep(s.moment(name+" stops", time.Millisecond))
		return context.Cause(ctx)
	}
}

// moment returns a time from now at which nothing else happens: what happens at one moment
// has no order.
func (s *sim) moment(name string, most time.Duration) time.Duration {
	d := 1 + time.Duration(s.chance(int(most), name))
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.born)
	for s.wakes[now+d] {
		d++
	}
	s.wakes[now+d] = true
	return d
}

// enter is the beginning of a task: it takes its time, and some do not heed their context.
func (s *sim) enter(ctx context.Context, task, node string) error {
	at := s.note("%s runs %.8s", node, task)
	s.mu.Lock()
	stored, invalid := s.stored[task], s.invalid
	s.mu.Unlock()
	// Of two workers, one may have looked before the other stored the result.
	who := callOf(ctx)
	if stored > 0 && !invalid && (s.workers == 1 || stored < who.began) {
		s.fault("event %d: node %s ran again although its result was stored", at, node)
	}
	if s.chance(2, who.worker+" heeds "+task) == 0 {
		ctx = context.WithoutCancel(ctx)
	}
	return s.take(ctx, who.worker+" runs "+task, 10*time.Millisecond)
}

// access is one call of the store: do is done, or not, in time or late, with an answer or
// without.
func (s *sim) access(ctx context.Context, name string, do func() error) error {
	name = callOf(ctx).worker + " " + name
	roll, most := 99, 3*time.Millisecond
	if callOf(ctx).rough {
		roll = s.chance(40, "fault "+name)
	}
	if roll == 2 {
		most = 14 * time.Second // a cancelled run waits for five
	}
	if err := s.take(ctx, name, most); err != nil {
		return err
	}
	if roll == 0 {
		return errDisk
	}
	if err := do(); err != nil || roll != 1 {
		return err
	}
	return errDisk
}

func (s *sim) Commit(ctx context.Context, c checkpoint.Commit) error {
	name := fmt.Sprint("commit ", c.Namespace, " ", c.ID) // subgraphs of a run number theirs alike
	return s.access(ctx, name, func() error {
		err := s.Store.Commit(ctx, c)
		at := fmt.Sprint(c.Namespace, " ", c.Seq())
		s.note("commit %s %s %v", at, c.ID, err)
		s.mu.Lock()
		defer s.mu.Unlock()
		if id, done := s.commits[at]; err == nil && done && id != c.ID {
			s.wrong = append(s.wrong, fmt.Sprintf("commit %s was made by %s and by %s", at, id, c.ID))
		}
		if err == nil {
			s.commits[at] = c.ID
		}
		return err
	})
}

func (s *sim) Put(ctx context.Context, p checkpoint.Pending) error {
	name := fmt.Sprint("put ", p.Namespace, p.Head)
	for _, e := range p.Entries {
		name += fmt.Sprintf(" %.8s %s", e.Task, e.Slot)
	}
	return s.access(ctx, name, func() error {
		err := s.Store.Put(ctx, p)
		at := s.note("%s %v", name, err)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range p.Entries {
			if err == nil && e.Slot == slotInvalid {
				s.invalid = true
			}
			if err == nil && e.Slot == "result" && s.stored[e.Task] == 0 {
				s.stored[e.Task] = at
			}
		}
		return err
	})
}

func (s *sim) Load(ctx context.Context, k checkpoint.Key, seq uint64) (snap checkpoint.Snapshot, err error) {
	err = s.access(ctx, fmt.Sprint("load ", k.Namespace), func() (err error) {
		snap, err = s.Store.Load(ctx, k, seq)
		return err
	})
	return snap, err
}

// graph returns a graph that a worker compiled for itself.
func (s *sim) graph(worker string) (*graph.Graph[State], error) {
	ids := 0
	return s.shop.Compile(graph.Config{
		Store: s, Concurrency: s.atOnce(worker),
		Now: func() time.Time { return time.Unix(1e9, 0) },
		NewID: func() string {
			ids++
			return fmt.Sprint(worker, "/", ids)
		},
	})
}

// durability is that of all runs of the seed. It may cost work in a crash, never the way.
func (s *sim) durability() graph.Durability {
	return []graph.Durability{graph.Sync, graph.Sync, graph.Async}[s.seed/2%3]
}

// call makes a context for one call, which may end at any moment.
func (s *sim) call(worker string) (context.Context, context.CancelFunc) {
	s.mu.Lock()
	s.calls[worker]++
	c := call{worker, s.events, s.calls[worker] < 8}
	s.mu.Unlock()
	ctx := context.WithValue(context.Background(), callKey{}, c)
	if !s.wide && c.rough && s.chance(2, "cancel "+worker) == 0 {
		return context.WithTimeout(ctx, time.Duration(s.chance(60e6, "cancelled "+worker)))
	}
	return context.WithCancel(ctx)
}

// play runs all turns and returns how they ended.
func (s *sim) play() (seen []Outcome) {
	for turn, input := range s.sp.Turns {
		results := make([]Outcome, s.workers)
		if results[0] = s.begin(turn+1, input); results[0].Status == "begun" {
			var group sync.WaitGroup
			for w := range s.workers {
				group.Go(func() { results[w] = s.work(fmt.Sprint("turn", turn+1, "worker", w)) })
			}
			group.Wait()
		}
		for _, o := range results[1:] {
			if fmt.Sprint(o) != fmt.Sprint(results[0]) {
				s.fault("turn %d: one worker saw %v, another %v", turn+1, results[0], o)
			}
		}
		seen = append(seen, results[0])
	}
	time.Sleep(time.Minute) // what was given up ends by itself, or else is a goroutine that is left
	return seen
}

// begin starts a turn, however often that must be tried.
func (s *sim) begin(turn int, input []Op) Outcome {
	name := fmt.Sprint("turn", turn)
	g, err := s.graph(name)
	if err != nil {
		return Outcome{Status: err.Error()}
	}
	var in State
	if _, err := run(input, &visit{State: &in}, "", 0); err != nil {
		panic(err)
	}
	e := NewEngine(context.Background(), g, s)
	for e.turn() < turn {
		ctx, cancel := s.call(name)
		s.invalid = false
		_, err := g.Invoke(ctx, in, graph.RunOptions{Thread: e.Thread, OnOpenQuestions: graph.Discard, Durability: s.durability()})
		s.note("invoke %v", err)
		cancel()
	}
	return Outcome{Status: "begun"}
}

// work goes on with the thread until the turn has ended.
func (s *sim) work(name string) Outcome {
	g, err := s.graph(name)
	if err != nil {
		return Outcome{Status: err.Error()}
	}
	e := NewEngine(context.Background(), g, s)
	var res graph.Result[State]
	for calls := 0; calls < 400; calls++ {
		var a graph.Answers
		for _, in := range e.last {
			if s.chance(3, "answer "+name) != 0 {
				a = a.Answer(in.ID, int(hash(0, 0, "question "+in.Node+": "+in.Prompt)%50))
			}
		}
		ctx, cancel := s.call(name)
		res, err = g.Resume(ctx, a, graph.RunOptions{Thread: e.Thread, Durability: s.durability()})
		cancel()
		s.note("%s resumed: %s %v", name, res.Status, err)
		if errors.Is(err, errDisk) || errors.Is(err, context.Canceled) {
			continue // what else went wrong may have come after what is stored
		}
		switch o := e.outcome(res, err); o.Status {
		case "done", "broken", "conflict", "fanout":
			o.Steps = 0
			return o
		}
	}
	return Outcome{Status: "the turn does not end"}
}

// check runs a seed and compares with the interpreter.
func (s *sim) check() error {
	in := NewInterpreter(s.sp)
	want := ends(Play(s.sp, in, s.seed, true))
	got := Trace(s.play())
	if len(s.wrong) > 0 {
		return errors.New(strings.Join(s.wrong, "\n") + "\n" + strings.Join(s.trace, "\n"))
	}
	if err := differ("the ends of the turns", got, want); err != nil || s.seed%4 != 0 {
		return err
	}
	g, err := s.shop.Compile(graph.Config{Store: s.Store})
	if err != nil {
		return err
	}
	e := NewEngine(context.Background(), g, s.Store)
	return differ("history", strings.Join(e.History(), "\n"), strings.Join(in.History(), "\n"))
}

// Whatever finishes first, whatever fails and whenever a call is cancelled, with one worker
// on the thread or two, the thread comes to the same end by the same way. Each commit is made
// once, no stored work is done again, and no goroutine is left.
func TestSimulation(t *testing.T) {
	atRandom(t, 10_000, func(t *testing.T, sp *Spec, seed uint64) (err error) {
		defer func() {
			if v := recover(); v != nil { // a goroutine that never ends, for one
				err = fmt.Errorf("seed %d: %v", seed, v)
			}
		}()
		synctest.Test(t, func(*testing.T) { err = newSim(sp, seed).check() })
		return err
	})
}

// atOnce returns how many tasks a worker runs at once. Where there are fewer places than
// tasks, and two wait for one from the same moment on, either may get it; and a call that
// is cancelled may end just then.
func (s *sim) atOnce(worker string) int {
	if s.wide {
		return 64
	}
	return 1 + s.chance(4, worker+" at once")
}

// What a seed does is the same each time: that is what makes it worth printing.
func TestSimulation_IsDeterministic(t *testing.T) {
	atRandom(t, 100, func(t *testing.T, sp *Spec, seed uint64) error {
		var traces [2][]string
		for i := range traces {
			synctest.Test(t, func(*testing.T) {
				s := newSim(sp, seed)
				s.wide = true
				s.play()
				slices.Sort(s.trace) // what happens at one moment has no order
				traces[i] = s.trace
			})
		}
		if !slices.Equal(traces[0], traces[1]) {
			return differ("two runs of one seed", strings.Join(traces[0], "\n"), strings.Join(traces[1], "\n"))
		}
		return nil
	})
}
