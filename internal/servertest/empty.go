//go:build unix

package servertest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// Empty deletes what stores have written to a server of Redis or Postgres, in their default schema.
// Connections of processes that were killed are closed before. It takes milliseconds, where a new
// server takes a large part of a second.
func Empty(t testing.TB, address string) {
	t.Helper()
	if strings.HasPrefix(address, "redis:") {
		options, err := redis.ParseURL(address)
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(options)
		defer client.Close()
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		return
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range []string{
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
		"DROP SCHEMA IF EXISTS weft CASCADE",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}
