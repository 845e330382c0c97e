package postgres_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint/conversation/conversationtest"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/session/sessiontest"
	"github.com/weftrun/weft/checkpoint/tasks/taskstest"
)

func documentStore(t testing.TB) document.Store {
	t.Helper()
	return documentsOf(t, open(t, cluster.dsn(), postgres.Config{Schema: freshSchema()}))
}

func TestSessions(t *testing.T) { sessiontest.Run(t, documentStore) }

func TestTasks(t *testing.T) { taskstest.Run(t, documentStore) }

func TestConversations(t *testing.T) { conversationtest.Run(t, documentStore) }

func BenchmarkConversations(b *testing.B) { conversationtest.Benchmark(b, documentStore) }
