package brief

import (
	"context"
	"sync/atomic"
	"time"
)

// Budget measures the time of one call of a public method, which may send several requests, in
// sequence and in parallel. Start begins it. The time of an uncounted [Wait] does not count.
type Budget struct {
	begin time.Time
	extra atomic.Int64 // nanoseconds that do not count
}

// Start begins the budget.
func (b *Budget) Start() { b.begin = time.Now() }

// Until returns the time at which a call with the time limit d ends.
func (b *Budget) Until(d time.Duration) time.Time {
	return b.begin.Add(d + time.Duration(b.extra.Load()))
}

// Wait begins a wait that may turn out not to count.
func (b *Budget) Wait() Wait { return Wait{b: b, from: time.Now(), extra: b.extra.Load()} }

// Wait is a part of the time of a Budget.
type Wait struct {
	b     *Budget
	from  time.Time
	extra int64 // of the budget when the wait began
}

// Uncount excludes the time from the beginning of the wait to t from the budget. The time of
// parallel waits is excluded once.
func (w Wait) Uncount(t time.Time) {
	for extra := w.extra + int64(t.Sub(w.from)); ; {
		old := w.b.extra.Load()
		if extra <= old || w.b.extra.CompareAndSwap(old, extra) {
			return
		}
	}
}

// Tries remembers how long the tries of a call took whose outcome is known.
type Tries struct{ longest time.Duration }

// Answered notes a try with a known outcome, and returns the time that another one needs in a call
// of at most limit: twice that of the longest, and at most an eighth of limit. A try with less
// would be cut off, and make the outcome unknown.
func (t *Tries) Answered(took, limit time.Duration) time.Duration {
	t.longest = max(t.longest, took)
	return min(2*t.longest, limit/8)
}

type budgetKey struct{}

// OneCall returns a context with a started Budget: all requests with this context are one call. A
// method that sends several requests calls it first. If ctx has a Budget already, the method is
// part of another call, and OneCall returns ctx.
func OneCall(ctx context.Context) context.Context {
	if BudgetOf(ctx) != nil {
		return ctx
	}
	b := new(Budget)
	b.Start()
	return context.WithValue(ctx, budgetKey{}, b)
}

// BudgetOf returns the Budget of a context, or nil.
func BudgetOf(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}
