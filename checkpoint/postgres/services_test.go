package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/internal/servicetest"
)

func documentStore(t testing.TB) document.Store {
	t.Helper()
	return documentsOf(t, open(t, cluster.dsn(), postgres.Config{Schema: freshSchema()}))
}

func TestServices(t *testing.T) { servicetest.Run(t, documentStore(t)) }

func openDocuments(ctx context.Context, address string) (document.Store, func(), error) {
	schema, dsn, _ := strings.Cut(address, " ")
	s, err := postgres.Open(ctx, dsn, postgres.Config{Schema: schema, RetryFor: time.Minute})
	if err != nil {
		return nil, nil, err
	}
	d, err := s.Documents(ctx)
	return d, func() { s.Close() }, err
}

// Requirement: two processes lose nothing of a conversation or a session
func TestServices_TwoProcesses(t *testing.T) {
	servicetest.RunProcesses(t, freshSchema()+" "+cluster.dsn("pool_max_conns=4"), openDocuments)
}

func BenchmarkConversations(b *testing.B) { servicetest.Benchmark(b, documentStore(b)) }
