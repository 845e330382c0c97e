package postgres_test

import (
	"context"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/internal/golden"
)

// goldenSchema is the schema in a golden dump.
const goldenSchema = "golden"

// openGolden opens the schema of a golden dump, which is dropped with the test.
func openGolden(t *testing.T) golden.Stored {
	t.Helper()
	s := open(t, cluster.dsn(), postgres.Config{Schema: goldenSchema})
	items, err := s.Memory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return golden.Stored{Threads: s, Documents: documentsOf(t, s), Memory: items}
}

// TestGolden_DumpOfAnEarlierReleaseOpens checks everything that earlier releases stored. It
// loads their dump into this package's server.
//
// Requirement: data of an older release opens, and its threads continue
func TestGolden_DumpOfAnEarlierReleaseOpens(t *testing.T) {
	t.Cleanup(func() { runSQL(t, "DROP SCHEMA IF EXISTS "+goldenSchema+" CASCADE") })
	golden.Test(t, "sql", func(t *testing.T, dump []byte) golden.Stored {
		runSQL(t, "DROP SCHEMA IF EXISTS "+goldenSchema+" CASCADE")
		runSQL(t, string(dump))
		return openGolden(t)
	}, writeGolden)
}

// runSQL runs statements over a connection of their own.
func runSQL(t *testing.T, script string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), cluster.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.PgConn().Exec(context.Background(), script).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// commands matches the lines of a dump that only psql understands.
var commands = regexp.MustCompile(`(?m)^\\.*\n`)

func writeGolden(t *testing.T) []byte {
	if err := golden.Write(t.Context(), openGolden(t)); err != nil {
		t.Fatal(err)
	}
	dump := cluster.command("pg_dump", "-h", cluster.dir, "-U", "weft", "--schema", goldenSchema, "--inserts", "--no-owner", "--no-privileges", "postgres")
	out, err := dump.Output()
	if err != nil {
		t.Fatal(err)
	}
	return commands.ReplaceAll(out, nil)
}
