package postgres_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint/conversation/conversationtest"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/postgres"
)

func documentStore(t testing.TB) document.Store {
	t.Helper()
	return documentsOf(t, open(t, cluster.dsn(), postgres.Config{Schema: freshSchema()}))
}

func TestConversations(t *testing.T) { conversationtest.Run(t, documentStore) }

func BenchmarkConversations(b *testing.B) { conversationtest.Benchmark(b, documentStore) }
