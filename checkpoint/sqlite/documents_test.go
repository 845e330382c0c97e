package sqlite_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/document/documenttest"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

func TestDocuments(t *testing.T) {
	documenttest.Run(t, func(t testing.TB) document.Store {
		return documentsOf(t, openAt(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Config{}))
	})
}

func BenchmarkDocuments(b *testing.B) {
	documenttest.Benchmark(b, documentsOf(b, openAt(b, filepath.Join(b.TempDir(), "threads.db"), sqlite.Config{})))
}

func documentsOf(t testing.TB, s *sqlite.Store) document.Store {
	t.Helper()
	d, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDocuments_OutliveTheirStoreAndAreShared(t *testing.T) {
	path, at := filepath.Join(t.TempDir(), "threads.db"), document.At("c", "p")
	s := openAt(t, path, sqlite.Config{})
	other := documentsOf(t, openAt(t, path, sqlite.Config{}))
	first, err := documentsOf(t, s).Set(t.Context(), at, document.Change{ID: "id", Value: json.RawMessage(`1`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Delete(t.Context(), at, "id"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d := documentsOf(t, openAt(t, path, sqlite.Config{}))
	second, err := d.Set(t.Context(), at, document.Change{ID: "id", Value: json.RawMessage(`2`)})
	if err != nil || second.Version <= first.Version || second.Seq <= first.Seq {
		t.Errorf("rule: numbers go on after the file was opened again\n got: %+v after %+v, %v", second, first, err)
	}
	if got, err := other.Get(t.Context(), at, "id"); err != nil || string(got.Value) != "2" {
		t.Errorf("rule: another store of the file sees what was set\n got: %s, %v", got.Value, err)
	}
}

func TestDocuments_ClosedStore(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Config{})
	d, at := documentsOf(t, s), document.At("c", "p")
	s.Close()
	_, err := d.Set(t.Context(), at, document.Change{ID: "id", Value: json.RawMessage(`1`)})
	wantClosed(t, err)
	_, err = d.Get(t.Context(), at, "id")
	wantClosed(t, err)
	_, err = d.Query(t.Context(), document.Query{Place: at})
	wantClosed(t, err)
	_, err = s.Documents(t.Context())
	wantClosed(t, err)
}
