package message_test

import (
	"fmt"
	"testing"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// grown returns a log of n messages, committed.
func grown(b *testing.B, n int) (run message.Log) {
	b.Helper()
	ms := make([]message.Message, n)
	for i := range ms {
		ms[i] = user(fmt.Sprint("m", i), "what was said")
	}
	mustFold(b, &run, add(ms...))
	return run
}

// BenchmarkLogStep adds one message to a log of n, beside state.List as the floor.
func BenchmarkLogStep(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		past := grown(b, n)
		writes := make([]state.Channel, 1)
		b.Run(fmt.Sprintf("add/len=%d", n), func(b *testing.B) {
			run, i := past, 0
			b.ReportAllocs()
			for b.Loop() {
				if i++; i%1000 == 0 {
					run = past
				}
				view := run
				_ = view.Add(user(fmt.Sprint("n", i), "x"))
				writes[0] = view.Channel()
				_ = run.Channel().Fold(writes)
			}
		})
		b.Run(fmt.Sprintf("edit last/len=%d", n), func(b *testing.B) {
			run := past
			last, _ := run.Last()
			b.ReportAllocs()
			for b.Loop() {
				view := run
				_ = view.Add(last)
				writes[0] = view.Channel()
				_ = run.Channel().Fold(writes)
			}
		})
		b.Run(fmt.Sprintf("since/len=%d", n), func(b *testing.B) {
			run := past
			mustFold(b, &run, add(user("new", "x")))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := run.Channel().(state.Delta).Since(past.Channel()); !ok {
					b.Fatal("no difference")
				}
			}
		})
		b.Run(fmt.Sprintf("list/len=%d", n), func(b *testing.B) {
			in := state.ListOf(past.Slice()...)
			var run, fresh state.List[message.Message]
			_ = fresh.Channel().Fold([]state.Channel{in.Channel()})
			run = fresh
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if run.Len() > 2*n+1024 {
					b.StopTimer()
					run = fresh
					b.StartTimer()
				}
				view := run
				view.Append(user(fmt.Sprint("n", i), "x"))
				writes[0] = view.Channel()
				_ = run.Channel().Fold(writes)
			}
		})
	}
}

func BenchmarkWindow(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		past := grown(b, n)
		ms := past.Slice()
		b.Run(fmt.Sprintf("len=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (message.Window{MaxTokens: 500}).Fit(ms); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
