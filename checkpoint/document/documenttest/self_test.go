package documenttest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint/document"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMap(t *testing.T) {
	Run(t, func(testing.TB) document.Store { return &document.Map{} })
}

func BenchmarkMap(b *testing.B) { Benchmark(b, &document.Map{}) }
