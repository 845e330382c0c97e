package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// Limit bounds what the nodes that name it do together, whatever their graphs, runs
// and threads. At least one of Concurrency and Rate must be set.
type Limit struct {
	// Concurrency is how many attempts may run at once; 0 means no bound.
	Concurrency int
	// Rate is how many attempts may begin each second, on average; 0 means no bound.
	Rate float64
	// Burst is how many attempts may begin at once after a rest; 0 means 1. It needs a
	// Rate.
	Burst int
}

func (l Limit) check() error {
	switch {
	case l.Concurrency < 0 || l.Burst < 0 || !(l.Rate >= 0) || math.IsInf(l.Rate, 0):
		return fmt.Errorf("%d at once, %v a second in bursts of %d: each must be a number from 0 up", l.Concurrency, l.Rate, l.Burst)
	case l.Concurrency == 0 && l.Rate == 0:
		return errors.New("it bounds nothing; set Concurrency or Rate")
	case l.Burst > 0 && l.Rate == 0:
		return errors.New("a Burst needs a Rate")
	}
	return nil
}

// Limits are bounds by name, for Policy.Limit. One Limits may be given to many graphs:
// all their runs share it. It is safe for concurrent use. It holds for one process.
type Limits struct{ gates map[string]*gate }

// NewLimits returns these limits, or an error that names all that cannot hold.
func NewLimits(limits map[string]Limit) (*Limits, error) {
	l := &Limits{map[string]*gate{}}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if err := limits[name].check(); err != nil {
			errs = append(errs, fmt.Errorf("graph: limit %q: %w", name, err))
		} else if name == "" {
			errs = append(errs, errors.New("graph: a limit needs a name"))
		}
		l.gates[name] = newGate(limits[name])
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return l, nil
}

// Or returns the limits of l, and those of other that l has no limit of that name for. The
// places are shared with both. Either may be nil.
func (l *Limits) Or(other *Limits) *Limits {
	if other == nil || l == nil {
		return cmp.Or(l, other)
	}
	both := &Limits{maps.Clone(other.gates)}
	maps.Copy(both.gates, l.gates)
	return both
}

// find returns the gate of a limit, or nil.
func (l *Limits) find(name string) *gate {
	if l == nil {
		return nil
	}
	return l.gates[name]
}

// names returns the names of the limits; a nil Limits has none.
func (l *Limits) names() []string {
	if l == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(l.gates))
}

// gate is what the attempts under one Limit pass.
type gate struct {
	size   int                 // the number of places; 0: any number at once
	places *semaphore.Weighted // nil where size is 0
	pace   *rate.Limiter       // nil: as fast as they come
}

func newGate(l Limit) *gate {
	g := &gate{size: l.Concurrency}
	if l.Concurrency > 0 {
		g.places = semaphore.NewWeighted(int64(l.Concurrency))
	}
	if l.Rate > 0 {
		g.pace = rate.NewLimiter(rate.Limit(l.Rate), max(1, l.Burst))
	}
	return g
}

// enter waits for a turn. After it, leave must be called once; after an error, which
// is that of ctx, it must not.
func (g *gate) enter(ctx context.Context) error {
	if g.places != nil {
		if err := g.places.Acquire(ctx, 1); err != nil {
			return err
		}
	}
	if err := g.keepPace(ctx); err != nil {
		g.leave()
		return err
	}
	return nil
}

// keepPace waits as long as the rate demands. It waits even where ctx will end before,
// so that what the run is told is why it ended.
func (g *gate) keepPace(ctx context.Context) error {
	if g.pace == nil {
		return ctx.Err()
	}
	turn := g.pace.Reserve()
	if turn.Delay() <= 0 {
		return nil
	}
	timer := time.NewTimer(turn.Delay())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return ctx.Err()
	}
}

func (g *gate) leave() {
	if g.places != nil {
		g.places.Release(1)
	}
}

// enter lets t wait for its turn at the gate of its job, if it has one. leave is nil
// where there is nothing to give back.
func (t *task) enter() (leave func(), err error) {
	g := t.job.gate
	if g == nil || t.around().holds(g) {
		return nil, nil
	}
	if g.pace == nil && g.places.TryAcquire(1) {
		return g.leave, nil
	}
	if err := t.waits(g.enter); err != nil {
		return nil, err
	}
	return g.leave, nil
}

// waits lets t wait for its turn. It is not idle meanwhile, and leaves its slot to the others: who
// has the turn may be waiting for one.
func (t *task) waits(turn func(context.Context) error) error {
	t.hold(1)
	defer t.hold(-1)
	t.seat.rise()
	defer t.seat.sit(t.run.ctx)
	return turn(t.run.ctx)
}

// lane is where the attempts of a job of a node queue: the node itself, or its handler.
type lane struct {
	node *node
	job  *job
}

// takeLane lets t wait until fewer than Policy.Parallel attempts of its job run in r. leave is nil
// where there is nothing to give back; else it must be called once.
func (r *run) takeLane(t *task) (leave func(), err error) {
	if t.job.parallel == 0 {
		return nil, nil
	}
	at := lane{t.node, t.job}
	v, ok := r.lanes.Load(at)
	if !ok {
		v, _ = r.lanes.LoadOrStore(at, semaphore.NewWeighted(int64(t.job.parallel)))
	}
	places := v.(*semaphore.Weighted)
	leave = func() { places.Release(1) }
	if places.TryAcquire(1) {
		return leave, nil
	}
	if err := t.waits(func(ctx context.Context) error { return places.Acquire(ctx, 1) }); err != nil {
		return nil, err
	}
	return leave, nil
}

// takePlaces lets t wait for its lane and then at its gate. leave is nil where there is nothing to give back.
func (r *run) takePlaces(t *task) (leave func(), err error) {
	lane, err := r.takeLane(t)
	if err != nil {
		return nil, err
	}
	gate, err := t.enter()
	switch {
	case lane == nil:
		return gate, err
	case err != nil:
		lane()
		return nil, err
	case gate == nil:
		return lane, nil
	}
	return func() { gate(); lane() }, nil
}

// holds reports whether t, or a task around it, has passed g and is still under way: it
// would wait here for itself.
func (t *task) holds(g *gate) bool {
	for ; t != nil; t = t.around() {
		if t.passed(g) {
			return true
		}
	}
	return false
}

func (t *task) passed(g *gate) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.job.gate == g && !t.over
}

// around returns the task that the run of t is part of, or from whose node it was begun; nil
// if there is none.
func (t *task) around() *task {
	if t.run.inside != nil {
		return t.run.inside
	}
	return taskOf(t.run.ctx)
}
