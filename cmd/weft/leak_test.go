package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asProgram is the environment variable that makes the test binary the command weft.
const asProgram = "WEFT_TEST_AS_PROGRAM"

// TestMain checks that no test leaves a goroutine.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main() // does not return
	}
	goleak.VerifyTestMain(m)
}
