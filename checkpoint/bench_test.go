package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// BenchmarkChainCommit appends 1 KiB a step and commits it to memory.
func BenchmarkChainCommit(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchChain(b, new(checkpoint.Memory)) })
}

func benchChain(b *testing.B, store checkpoint.Store) {
	w := open[notes](b, store)
	line := strings.Repeat("a line of text, ", 64)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		step(w, func(s *notes) { s.Lines.Append(line) })
	}
}
