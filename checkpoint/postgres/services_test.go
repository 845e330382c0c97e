package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/conversation/conversationtest"
	"github.com/weftrun/weft/conversation/session/sessiontest"
	"github.com/weftrun/weft/conversation/tasks/taskstest"
	"github.com/weftrun/weft/conversation/thread/threadtest"
)

func documentStore(t testing.TB) document.Store {
	t.Helper()
	return documentsOf(t, open(t, cluster.dsn(), postgres.Config{Schema: freshSchema()}))
}

func TestSessions(t *testing.T) { sessiontest.Run(t, documentStore) }

func openDocuments(ctx context.Context, address string) (document.Store, func(), error) {
	schema, dsn, _ := strings.Cut(address, " ")
	s, err := postgres.Open(ctx, dsn, postgres.Config{Schema: schema, RetryFor: time.Minute})
	if err != nil {
		return nil, nil, err
	}
	d, err := s.Documents(ctx)
	return d, func() { s.Close() }, err
}

func TestTwoProcessesLoseNoUpdateOfAThread(t *testing.T) {
	threadtest.RunProcesses(t, freshSchema()+" "+cluster.dsn("pool_max_conns=4"), openDocuments)
}

// Requirement: two processes lose nothing of a conversation or a session
func TestTwoProcessesLoseNothingOfAConversation(t *testing.T) {
	conversationtest.RunProcesses(t, freshSchema()+" "+cluster.dsn("pool_max_conns=4"), openDocuments)
}

// Requirement: two processes lose nothing of a conversation or a session
func TestTwoProcessesLoseNothingOfASession(t *testing.T) {
	sessiontest.RunProcesses(t, freshSchema()+" "+cluster.dsn("pool_max_conns=4"), openDocuments)
}

func TestTasks(t *testing.T) { taskstest.Run(t, documentStore) }

func TestConversations(t *testing.T) { conversationtest.Run(t, documentStore) }

func BenchmarkConversations(b *testing.B) { conversationtest.Benchmark(b, documentStore) }
