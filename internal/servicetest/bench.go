package servicetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/state/message"
)

// Benchmark measures reading the last 20 messages of threads with 100 and with 10,000 messages.
func Benchmark(b *testing.B, docs document.Store) {
	repo, err := conversation.NewRepository(docs)
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

// Fill adds n messages to a thread, with the ids 0 to n-1 and a millisecond between their times.
func Fill(t testing.TB, repo conversation.MessageStore, thread string, n int) {
	t.Helper()
	first := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for from := 0; from < n; from += document.MaxBatch {
		var batch []message.Message
		for i := from; i < min(n, from+document.MaxBatch); i++ {
			m := message.User(fmt.Sprint("text of ", i))
			m.ID, m.Created = fmt.Sprint(i), first.Add(time.Duration(i)*time.Millisecond)
			batch = append(batch, m)
		}
		if _, err := repo.Add(t.Context(), thread, batch...); err != nil {
			t.Fatal(err)
		}
	}
}
