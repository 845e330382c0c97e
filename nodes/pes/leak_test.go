package pes_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/internal/pace"
)

func TestMain(m *testing.M) {
	pace.Tries(100, 20)
	goleak.VerifyTestMain(m)
}
