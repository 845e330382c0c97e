package conversation_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

func TestMain(m *testing.M) {
	race.Worker(openPath)
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
