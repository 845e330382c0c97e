package documenttest

import (
	"fmt"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
)

// Benchmark reads the last 20 documents of a partition of 100, and of one of 10,000. Both
// should take the same time.
func Benchmark(b *testing.B, store document.Store) {
	for _, n := range []int{100, 10_000} {
		at := document.At("conversations", fmt.Sprint("thread-", n))
		Fill(b, store, at, n)
		b.Run(fmt.Sprint("Last20Of", n), func(b *testing.B) {
			for b.Loop() {
				if docs, err := store.Query(b.Context(), document.Query{Place: at, Reverse: true, Limit: new(20)}); err != nil || len(docs) != 20 {
					b.Fatal(len(docs), err)
				}
			}
		})
	}
}

// Fill sets n documents of some 200 bytes.
func Fill(t testing.TB, store document.Store, at document.Place, n int) {
	t.Helper()
	for i := 0; i < n; {
		var batch []document.Change
		for ; i < n && len(batch) < document.MaxBatch; i++ {
			value := fmt.Appendf(nil, `{"role": "user", "content": "%0150d"}`, i)
			batch = append(batch, document.Change{ID: fmt.Sprint(i), Value: value, Order: fmt.Sprintf("%08d", i)})
		}
		if _, err := store.Batch(t.Context(), at, batch); err != nil {
			t.Fatal(err)
		}
	}
}
