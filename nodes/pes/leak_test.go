package pes_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/internal/racescale"
)

func TestMain(m *testing.M) {
	racescale.Tries(100, 20)
	goleak.VerifyTestMain(m)
}
