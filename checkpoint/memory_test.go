package checkpoint_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
)

func BenchmarkMemory(b *testing.B) { checkpointtest.Bench(b, openMemory) }

func openMemory(testing.TB) checkpoint.Store { return new(checkpoint.Memory) }

// TestMemory_CommitCostsWhatItAdds compares bytes, not times: early commits of a
// long thread with late ones.
func TestMemory_CommitCostsWhatItAdds(t *testing.T) {
	var m checkpoint.Memory
	data := make([]byte, 1024)
	grow := func(from, to int) (allocated uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for n := from; n < to; n++ {
			err := m.Commit(t.Context(), checkpoint.Commit{
				Key: checkpoint.Key{Thread: "thread"}, ID: fmt.Sprint(n), Head: uint64(n),
				Refs:  []checkpoint.Ref{{Field: "log", Base: 1, Chunks: n}},
				Blobs: []checkpoint.Blob{{Field: "log", Base: 1, Chunk: n, Data: data}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	grow(0, 1000)
	early := grow(1000, 2000)
	grow(2000, 9000)
	if late := grow(9000, 10000); late > 3*early {
		t.Errorf("rule: a commit costs what it adds, whatever the age of the thread\n got: %d bytes for 1000 late commits\nwant: about %d, as for early ones", late, early)
	}
}
