package brief_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/internal/brief"
)

func TestOneCall_KeepsTheBudgetOfTheCall(t *testing.T) {
	if b := brief.BudgetOf(t.Context()); b != nil {
		t.Errorf("got %v from a context without a budget", b)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx := brief.OneCall(t.Context())
		end := time.Now().Add(time.Minute)
		time.Sleep(time.Second)
		if got := brief.BudgetOf(brief.OneCall(ctx)).Until(time.Minute); !got.Equal(end) {
			t.Errorf("rule: a method that is part of a call does not begin a budget\n got: %v\nwant: %v", got, end)
		}
	})
}

func TestWait_UncountsParallelWaitsOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		waits [][2]int // from and to in seconds, in order of their ends
		want  int
	}{
		{"one", [][2]int{{1, 4}}, 3},
		{"one after the other", [][2]int{{1, 4}, {6, 8}}, 5},
		{"at the same time", [][2]int{{1, 4}, {1, 4}}, 3},
		{"one within the other", [][2]int{{5, 6}, {0, 10}}, 10},
		{"after a shorter one that began with it", [][2]int{{0, 2}, {0, 5}}, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b brief.Budget
			b.Start()
			begin := time.Now()
			waits := map[int]brief.Wait{}
			for now := range 20 {
				for i, w := range c.waits {
					if w[1] == now {
						waits[i].Uncount(time.Now())
					}
				}
				for i, w := range c.waits {
					if w[0] == now {
						waits[i] = b.Wait()
					}
				}
				time.Sleep(time.Second)
			}
			if got := b.Until(0).Sub(begin); got != time.Duration(c.want)*time.Second {
				t.Errorf("rule: time that was waited does not count, and is taken out once\n got: %v for waits %s, %v\nwant: %ds", got, c.name, c.waits, c.want)
			}
		})
	}
}

func TestTries_NeedTwiceTheLongest(t *testing.T) {
	var tries brief.Tries
	for i, c := range []struct{ took, want time.Duration }{
		{10 * time.Millisecond, 20 * time.Millisecond},
		{time.Millisecond, 20 * time.Millisecond},
		{40 * time.Millisecond, 80 * time.Millisecond},
		{time.Second, 125 * time.Millisecond}, // an eighth of the limit
	} {
		if got := tries.Answered(c.took, time.Second); got != c.want {
			t.Errorf("after try %d, of %v, another one needs %v, want %v", i+1, c.took, got, c.want)
		}
	}
}
