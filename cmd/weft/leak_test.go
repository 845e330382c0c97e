package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/internal/programtest"
)

// TestMain checks that no test leaves a goroutine.
func TestMain(m *testing.M) {
	programtest.Main(main)
	goleak.VerifyTestMain(m)
}
