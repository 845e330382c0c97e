package graph

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weftrun/weft/internal/schedule"
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
type Limits struct{ gates map[string]*schedule.Gate }

// NewLimits returns these limits, or an error that names all that cannot hold.
func NewLimits(limits map[string]Limit) (*Limits, error) {
	l := &Limits{map[string]*schedule.Gate{}}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if err := limits[name].check(); err != nil {
			errs = append(errs, fmt.Errorf("graph: limit %q: %w", name, err))
		} else if name == "" {
			errs = append(errs, errors.New("graph: a limit needs a name"))
		}
		l.gates[name] = schedule.NewGate(limits[name].Concurrency, limits[name].Rate, limits[name].Burst)
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
func (l *Limits) find(name string) *schedule.Gate {
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

// runner is what a Policy.Parallel holds for: the attempts of a job of a node, which is the
// node's own or that of its handler.
type runner struct {
	node *node
	job  *job
}
