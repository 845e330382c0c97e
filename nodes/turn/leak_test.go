package turn_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/internal/racescale"
)

// TestMain checks that no test leaves a goroutine.
func TestMain(m *testing.M) {
	racescale.Tries(100, 20)
	goleak.VerifyTestMain(m)
}
