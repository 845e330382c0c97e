package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// sql writes the store's schema into a text.
func (s *Store) sql(text string) string {
	return strings.ReplaceAll(text, "{schema}", quote(s.schema))
}

// rowsQuerier is a connection or a transaction.
type rowsQuerier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// forRows runs f for the value that scan returns for each row, until f returns false.
func forRows[T any](ctx context.Context, s *Store, q rowsQuerier, scan func(pgx.Rows) (T, error), f func(T) bool, text string, args ...any) error {
	rows, err := q.Query(ctx, s.sql(text), append([]any{s.mode}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return err
		}
		if !f(v) {
			break
		}
	}
	rows.Close()
	return rows.Err()
}
