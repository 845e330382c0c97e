package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// mostStatements bounds the prepared statements of a connection: the texts of queries with lists
// and conditions have many forms.
const mostStatements = 128

// statements prepares each text once, since that takes longer than most statements run. It is safe
// for concurrent use.
type statements struct {
	on interface { // a *sql.DB or a *sql.Conn
		PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
	}

	mu     sync.RWMutex
	byText map[string]*sql.Stmt
}

// of returns the statement of a text. It is nil if there are too many: the caller then runs the
// text as it is.
func (s *statements) of(ctx context.Context, text string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt, full := s.byText[text], len(s.byText) >= mostStatements
	s.mu.RUnlock()
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := s.on.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.byText[text]; first != nil { // another goroutine was faster
		_ = stmt.Close()
		return first, nil
	}
	if s.byText == nil {
		s.byText = map[string]*sql.Stmt{}
	}
	s.byText[text] = stmt
	return stmt, nil
}

// close closes the statements, which must not be used any more.
func (s *statements) close() {
	for _, stmt := range s.byText {
		_ = stmt.Close()
	}
}
