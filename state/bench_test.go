package state_test

import (
	"fmt"
	"testing"

	"github.com/weftrun/weft/state"
)

// step is what the runtime does for one task: a view, a node, a merge.
func step[C any, P pointer[C]](run *C, view *C, writes []state.Channel, node func(*C)) {
	*view = *run
	node(view)
	writes[0] = P(view).Channel()
	if err := P(run).Channel().Fold(writes[:1]); err != nil {
		panic(err)
	}
}

func TestScalars_StepsDoNotAllocate(t *testing.T) {
	writes := make([]state.Channel, 1)
	var sum, sumView state.Sum[int]
	zero(t, "Sum", func() { step(&sum, &sumView, writes, func(s *state.Sum[int]) { s.Add(1) }) })
	var value, valueView state.Value[string]
	zero(t, "Value", func() { step(&value, &valueView, writes, func(v *state.Value[string]) { v.Set("x") }) })
	var top, topView state.Max[float64]
	zero(t, "Max", func() { step(&top, &topView, writes, func(m *state.Max[float64]) { m.Offer(1) }) })
	var last, lastView state.Latest[int]
	zero(t, "Latest", func() { step(&last, &lastView, writes, func(v *state.Latest[int]) { v.Set(1) }) })
	var m state.Map[string, int]
	zero(t, "Wrote", func() {
		_ = m.Channel().Wrote() || last.Channel().Wrote() || top.Channel().Wrote() || sum.Channel().Wrote()
	})
	s := mustSchema[report](t)
	a, b := s.New(), s.New()
	zero(t, "Assign", func() { s.Assign(a, b) })
	zero(t, "Reset", func() { s.Reset(a, 2) })
}

func zero(t *testing.T, what string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%s: got %v allocations, want 0", what, n)
	}
}

func BenchmarkSumStep(b *testing.B) {
	var run, view state.Sum[int]
	writes := make([]state.Channel, 1)
	b.ReportAllocs()
	for b.Loop() {
		step(&run, &view, writes, func(s *state.Sum[int]) { s.Add(1) })
	}
}

// BenchmarkListStep appends one element to a list of n; the list is cut back to n
// now and then, outside the clock of the claim that a step is flat.
func BenchmarkListStep(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("len=%d", n), func(b *testing.B) {
			view, writes := state.List[int]{}, make([]state.Channel, 1)
			run := listOf(n)
			b.ReportAllocs()
			for b.Loop() {
				if run.Len() > 2*n+1024 {
					b.StopTimer()
					run = listOf(n)
					b.StartTimer()
				}
				step(&run, &view, writes, func(l *state.List[int]) { l.Append(1) })
			}
		})
	}
}

func listOf(n int) (run state.List[int]) {
	in := state.ListOf(make([]int, n)...)
	_ = run.Channel().Fold([]state.Channel{in.Channel()})
	return run
}

func BenchmarkMapStep(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		run, view, writes := mapOf(n), state.Map[string, int]{}, make([]state.Channel, 1)
		b.Run(fmt.Sprintf("one task/len=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				step(&run, &view, writes, func(m *state.Map[string, int]) { m.Put("key7", 1) })
			}
		})
		b.Run(fmt.Sprintf("two tasks/len=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				one, two := run, run
				one.Put("key3", 1)
				two.Put("key7", 1)
				if err := run.Channel().Fold([]state.Channel{one.Channel(), two.Channel()}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("since/len=%d", n), func(b *testing.B) {
			prev := run
			step(&run, &view, writes, func(m *state.Map[string, int]) { m.Put("new", 1) })
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := run.Channel().(state.Delta).Since(prev.Channel()); !ok {
					b.Fatal("no difference")
				}
			}
		})
	}
}

func mapOf(n int) (run state.Map[string, int]) {
	entries := map[string]int{}
	for i := range n {
		entries[fmt.Sprint("key", i)] = i
	}
	in := state.MapOf(entries)
	_ = run.Channel().Fold([]state.Channel{in.Channel()})
	return run
}
