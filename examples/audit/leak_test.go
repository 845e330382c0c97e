package main

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no test leaves a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
