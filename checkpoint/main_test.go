package checkpoint_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(holderVariable); path != "" {
		runHolder(path)
		return
	}
	goleak.VerifyTestMain(m)
}
