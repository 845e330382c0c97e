//go:build unix

package servertest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// Empty deletes what stores have written to a server of Redis or Postgres, in their default schema.
// It takes milliseconds, where a new server takes a large part of a second.
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
	if _, err := conn.Exec(t.Context(), "DROP SCHEMA IF EXISTS weft CASCADE"); err != nil {
		t.Fatal(err)
	}
}
