package budget_test

import (
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/checkpoint/document"
)

// Two processes whose clocks differ by a second make calls around the end of a period. What was
// spent in the new period still counts after a call by the clock that is late.
func TestPeriod_ClocksDiffer(t *testing.T) {
	docs := &document.Map{}
	end := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	late, early := &clock{now: end.Add(-time.Second / 2)}, &clock{now: end.Add(time.Second / 2)}
	limits := []budget.Limit{{Name: "month", Per: budget.Month, Most: budget.Amount{Money: 10 * budget.Unit}}}
	a := limiter(t, docs, budget.Config{Limits: limits, Now: early.read})
	b := limiter(t, docs, budget.Config{Limits: limits, Now: late.read})
	spend := func(l *budget.Limiter) error {
		r, err := l.Reserve(t.Context(), "m", six)
		if err != nil {
			return err
		}
		return r.Settle(t.Context(), budget.Spent{Money: 6 * budget.Unit})
	}
	if err := spend(a); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*budget.Limiter{b, a, b} {
		if e := refused(t, spend(l)); e.Spent.Money != 6*budget.Unit {
			t.Errorf("rule: what was spent in the new period counts\n got: %s spent, want 6", e.Spent.Money)
		}
	}
	early.pass(31 * 24 * time.Hour)
	if err := spend(a); err != nil {
		t.Errorf("rule: the next period begins at 0\n got: %v", err)
	}
}

// A process whose clock was far ahead does not keep a limit in a period to come.
func TestPeriod_ClockWasFarAhead(t *testing.T) {
	docs := &document.Map{}
	limits := []budget.Limit{{Name: "day", Per: budget.Day, Most: budget.Amount{Money: 10 * budget.Unit}}}
	ahead := &clock{now: noon.Add(1000 * time.Hour)}
	for _, now := range []*clock{ahead, {now: noon}} {
		r, err := limiter(t, docs, budget.Config{Limits: limits, Now: now.read}).Reserve(t.Context(), "m", six)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Settle(t.Context(), budget.Spent{Money: 6 * budget.Unit}); err != nil {
			t.Fatal(err)
		}
	}
}
