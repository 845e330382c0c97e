package checkpoint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// codecs are the codecs that are measured.
func codecs() map[string]checkpoint.Codec {
	keys := &checkpoint.Keys{Current: "k", Ring: map[string][]byte{"k": checkpoint.NewKey()}}
	return map[string]checkpoint.Codec{
		"plain": {NoCompression: true}, "zstd": {}, "aes": {NoCompression: true, Keys: keys}, "zstd+aes": {Keys: keys},
	}
}

// BenchmarkChainCommit appends 1 KiB a step and commits it to memory.
func BenchmarkChainCommit(b *testing.B) {
	b.Run("store=plain", func(b *testing.B) { benchChain(b, new(checkpoint.Memory)) })
	for name, c := range codecs() {
		b.Run("codec="+name, func(b *testing.B) { benchChain(b, sealedStore(b, new(checkpoint.Memory), c)) })
	}
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

// BenchmarkCodec seals and unseals a text of 1 and of 64 KiB, in memory.
func BenchmarkCodec(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		text := prose(size)
		for name, codec := range codecs() {
			c := checkpoint.NewTexts(codec)
			b.Run(fmt.Sprintf("seal/size=%d/codec=%s", size, name), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(size))
				for b.Loop() {
					if _, err := c.Seal(text); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("unseal/size=%d/codec=%s", size, name), func(b *testing.B) {
				data, err := c.Seal(text)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.SetBytes(int64(size))
				for b.Loop() {
					if _, err := c.Unseal(data); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(data)), "stored-B")
			})
		}
	}
}

// prose returns a text of n bytes in which words come again, as in a conversation.
func prose(n int) string {
	words := strings.Fields("the agent reads a report and asks who wrote this message before it answers the question of its user about prices")
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%s %d ", words[i*i*7%len(words)], i*i%9973)
	}
	return b.String()[:n]
}
