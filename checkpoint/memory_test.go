package checkpoint_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
)

func TestMemory(t *testing.T) { checkpointtest.Run(t, openMemory) }

func BenchmarkMemory(b *testing.B) { checkpointtest.Bench(b, openMemory) }

func openMemory(testing.TB) checkpoint.Store { return new(checkpoint.Memory) }
