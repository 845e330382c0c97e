package conversationtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation"
)

// Benchmark measures what the last 20 messages cost in threads of 100 and of 10,000: the same,
// on a store that keeps the promises of package document.
func Benchmark(b *testing.B, open Open) {
	repo, err := conversation.NewRepository(open(b))
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{100, 10_000} {
		thread := fmt.Sprint("of", n)
		Fill(b, repo, thread, n)
		b.Run(fmt.Sprintf("last 20 of %d", n), func(b *testing.B) {
			for b.Loop() {
				ms, err := repo.Get(b.Context(), thread, conversation.Options{Limit: new(20)})
				if err != nil || len(ms) != 20 {
					b.Fatalf("got %d messages, %v", len(ms), err)
				}
			}
		})
	}
}

// Fill adds n messages to a thread, with the ids 0 to n-1, one a millisecond.
func Fill(t testing.TB, k conversation.MessageStore, thread string, n int) {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	sent := 0
	for part := range slices.Chunk(ids, document.MaxBatch) {
		ms := sequence(part)
		for i := range ms {
			ms[i].Created = at("", sent+i).Created
		}
		sent += len(ms)
		if _, err := k.Add(t.Context(), thread, ms...); err != nil {
			t.Fatal(err)
		}
	}
}
