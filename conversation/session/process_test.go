package session_test

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/servicetest"
)

func TestMain(m *testing.M) {
	servicetest.Worker(openPath)
	goleak.VerifyTestMain(m)
}

func openPath(ctx context.Context, path string) (document.Store, func(), error) {
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	d, err := s.Documents(ctx)
	return d, func() { s.Close() }, err
}

// Requirement: two processes lose nothing of a conversation or a session
func TestRace_TwoProcesses(t *testing.T) {
	servicetest.RunProcesses(t, filepath.Join(t.TempDir(), "sessions.db"), openPath)
}
