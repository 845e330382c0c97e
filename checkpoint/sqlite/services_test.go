package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/servicetest"
)

func documentStore(t testing.TB) document.Store {
	t.Helper()
	return documentsOf(t, openAt(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Config{}))
}

func TestServices(t *testing.T) { servicetest.Run(t, documentStore(t)) }

func BenchmarkConversations(b *testing.B) { servicetest.Benchmark(b, documentStore(b)) }
