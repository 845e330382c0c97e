package session_test

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/conversation/session/sessiontest"
)

func TestMain(m *testing.M) {
	sessiontest.Worker(openPath)
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
func TestTwoProcessesLoseNothingOfASession(t *testing.T) {
	sessiontest.RunProcesses(t, filepath.Join(t.TempDir(), "threads.db"), openPath)
}
