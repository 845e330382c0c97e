package checkpointtest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// Bench measures a store: commits by 1, 16 and 64 writers, each with a thread of its
// own, puts, and loads of short and of long threads. A step is a header of 400 bytes
// and a chunk of 1 KiB. Each benchmark opens a store and closes it.
func Bench(b *testing.B, open func(t testing.TB) checkpoint.Store) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("Commit/writers=%d", writers), func(b *testing.B) { benchCommit(b, open(b), writers) })
	}
	b.Run("Put", func(b *testing.B) { benchPut(b, open(b)) })
	for _, chunks := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("Load/chunks=%d", chunks), func(b *testing.B) { benchLoad(b, open(b), chunks) })
	}
}

// growing returns commit seq of a thread that adds 1 KiB to its log in each step.
func growing(k checkpoint.Key, seq int) checkpoint.Commit {
	return checkpoint.Commit{
		Key: k, ID: fmt.Sprint(seq), Head: uint64(seq - 1), Header: bytes.Repeat([]byte("h"), 400),
		Refs:  []checkpoint.Ref{{Field: "log", Base: 1, Chunks: seq - 1}},
		Blobs: []checkpoint.Blob{{Field: "log", Base: 1, Chunk: seq - 1, Data: bytes.Repeat([]byte("b"), 1024)}},
	}
}

func benchCommit(b *testing.B, s checkpoint.Store, writers int) {
	defer s.Close()
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			k := key(fmt.Sprint("thread ", w))
			for seq := 1; seq <= share(b.N, writers, w); seq++ {
				if err := s.Commit(context.Background(), growing(k, seq)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer() // without Close
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// share returns how many of n commits writer w makes.
func share(n, writers, w int) int {
	if w < n%writers {
		return n/writers + 1
	}
	return n / writers
}

func benchPut(b *testing.B, s checkpoint.Store) {
	defer s.Close()
	k := key("thread")
	if err := s.Commit(context.Background(), growing(k, 1)); err != nil {
		b.Fatal(err)
	}
	entries := []checkpoint.Entry{{Task: "task", Slot: "writes", Data: bytes.Repeat([]byte("e"), 1024)}}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		entries[0].Data[n%1024]++ // a store may notice that nothing changed
		if err := s.Put(context.Background(), beside(k, 1, entries...)); err != nil {
			b.Fatal(err)
		}
	}
}

func benchLoad(b *testing.B, s checkpoint.Store, chunks int) {
	defer s.Close()
	k := key("thread")
	for seq := 1; seq <= chunks; seq++ {
		if err := s.Commit(context.Background(), growing(k, seq)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		snap, err := s.Load(context.Background(), k, 0)
		if err != nil || len(snap.Blobs) != chunks {
			b.Fatalf("got %d blobs, error %v; want %d blobs", len(snap.Blobs), err, chunks)
		}
	}
}
