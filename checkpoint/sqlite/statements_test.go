package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

func TestStatements_EachTextIsPreparedOnce(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "threads.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := make([]*sql.Stmt, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], _ = s.texts.of(t.Context(), "SELECT 1") })
	}
	wg.Wait()
	for _, stmt := range got {
		if stmt == nil || stmt != got[0] {
			t.Fatalf("the statements of one text are %v", got)
		}
	}
}

func TestStatements_AreBounded(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "threads.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 2 * mostStatements { // those beyond the bound run too
		var got int
		err := s.forRows(t.Context(), func(rows *sql.Rows) (bool, error) { return true, rows.Scan(&got) }, fmt.Sprint("SELECT ", i))
		if err != nil || got != i {
			t.Fatalf("SELECT %d: got %d, %v", i, got, err)
		}
	}
	if n := len(s.texts.byText); n != mostStatements {
		t.Errorf("%d statements are prepared, want %d", n, mostStatements)
	}
}

// TestStatements_FailureIsTriedAgain prepares a statement for a table that is made later.
func TestStatements_FailureIsTriedAgain(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "threads.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	count := func() error {
		return s.forRows(t.Context(), func(*sql.Rows) (bool, error) { return true, nil }, "SELECT count(*) FROM documents")
	}
	if err := count(); err == nil {
		t.Error("there is a table of documents in a new file")
	}
	if _, err := s.Documents(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := count(); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.texts.of(ended, "SELECT 2"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v for a context that has ended", err)
	}
	if _, err := s.texts.of(t.Context(), "SELECT 2"); err != nil {
		t.Errorf("the end of one context keeps others from the statement: %v", err)
	}
}
