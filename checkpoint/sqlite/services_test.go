package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/conversation/conversationtest"
	"github.com/weftrun/weft/conversation/session/sessiontest"
	"github.com/weftrun/weft/conversation/tasks/taskstest"
	"github.com/weftrun/weft/conversation/thread/threadtest"
)

func documentStore(t testing.TB) document.Store {
	t.Helper()
	return documentsOf(t, openAt(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Config{}))
}

func TestSessions(t *testing.T) { sessiontest.Run(t, documentStore) }

func TestThreads(t *testing.T) { threadtest.Run(t, documentStore) }

func TestTasks(t *testing.T) { taskstest.Run(t, documentStore) }

func TestConversations(t *testing.T) { conversationtest.Run(t, documentStore) }

func BenchmarkConversations(b *testing.B) { conversationtest.Benchmark(b, documentStore) }
