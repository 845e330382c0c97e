package postgres_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
)

// oldSchema makes a schema as the release with layout 1 did, with one thread of one commit,
// which that release has leased.
func oldSchema(t *testing.T) (schema string) {
	t.Helper()
	text, err := os.ReadFile("sql/0001.sql")
	if err != nil {
		t.Fatal(err)
	}
	schema = freshSchema()
	conn, err := pgx.Connect(t.Context(), cluster.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	script := `CREATE SCHEMA {schema}; CREATE TABLE {schema}.layout (version integer NOT NULL); INSERT INTO {schema}.layout VALUES (1);` + string(text) + `
		SELECT {schema}.commit_1('old', '', '', 0, 1, 'id of 1', false, 0, '{}', 'header', '{}', '{}', '{}', 0, '{}', '{}', '{}', '{}', '{}', '{}', '{}');
		SELECT {schema}.acquire_1('old', 'fence', false, 'ann', 3600000000, false, '');`
	if _, err := conn.PgConn().Exec(t.Context(), strings.ReplaceAll(script, "{schema}", schema)).ReadAll(); err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestSchema_OfAnOlderLayoutOpens, keeps its threads and their leases, and learns what is new.
//
// Requirement: data of an older release opens, and its threads continue
func TestSchema_OfAnOlderLayoutOpens(t *testing.T) {
	schema := oldSchema(t)
	if _, err := postgres.Open(t.Context(), cluster.dsn(), postgres.Config{Schema: schema, Migrate: postgres.MigrateNever}); !errors.Is(err, checkpoint.ErrUnsupported) {
		t.Errorf("rule: MigrateNever changes no schema\n got: %v\nwant: %v", err, checkpoint.ErrUnsupported)
	}
	for range 2 { // when it is brought up to date, and when it is
		s := open(t, cluster.dsn(), postgres.Config{Schema: schema})
		snap, err := s.Load(t.Context(), checkpoint.Key{Thread: "old"}, 0)
		if err != nil || snap.ID != "id of 1" || string(snap.Header) != "header" {
			t.Fatalf("rule: what an older release stored can be read\n got: %q, %q, %v", snap.ID, snap.Header, err)
		}
	}
	s := open(t, cluster.dsn(), postgres.Config{Schema: schema})
	r := checkpoint.LeaseRequest{Thread: "old", Owner: "bob", TTL: time.Minute, ID: "first"}
	if _, err := s.Acquire(t.Context(), r); !errors.Is(err, checkpoint.ErrOwned) {
		t.Errorf("rule: an older lease goes on\n got: %v\nwant: %v", err, checkpoint.ErrOwned)
	}
	r.Force = true
	for _, r.ID = range []string{"first", "second"} {
		if _, err := s.Acquire(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	r.ID = "first"
	if _, err := s.Acquire(t.Context(), r); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("rule: a thread of an older schema remembers its leases\n got: %v\nwant: %v", err, checkpoint.ErrFenced)
	}
	if err := s.Commit(t.Context(), checkpoint.Commit{Key: checkpoint.Key{Thread: "old"}, ID: "id of 2", Head: 1, Fence: "second"}); err != nil {
		t.Errorf("rule: a thread of an older schema goes on\n got: %v", err)
	}
}

// TestSchema_ManyUpgradeItAtOnce at once.
//
// Requirement: a release is rolled out
func TestSchema_ManyUpgradeItAtOnce(t *testing.T) {
	schema := oldSchema(t)
	errs := make(chan error)
	for range 8 {
		go func() {
			s, err := postgres.Open(t.Context(), cluster.dsn(), postgres.Config{Schema: schema, RetryFor: time.Minute})
			if err == nil {
				s.Close()
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Errorf("rule: a schema may be brought up to date by many at once\n got: %v", err)
		}
	}
}

// TestSchema_ProcessOfAnOlderRelease keeps a connection of an older release open, with its plans,
// while the schema is brought up to date. Both releases then append to one thread.
//
// Requirement: a release is rolled out
func TestSchema_ProcessOfAnOlderRelease(t *testing.T) {
	schema := oldSchema(t)
	conn, err := pgx.Connect(t.Context(), cluster.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	commit := func(function string, seq int) {
		t.Helper()
		var verdict string
		err := conn.QueryRow(t.Context(), "SELECT verdict FROM "+schema+"."+function+`('shared', '', '', $1::int, $1::int + 1, 'id', false,
			0, '{}', 'header', '{}', '{}', '{}', 0, '{}', '{}', '{}', '{}', '{}', '{}', '{}')`, seq-1).Scan(&verdict)
		if err != nil || verdict != "done" {
			t.Errorf("rule: a process of an older release goes on\n got: commit %d, %q, %v", seq, verdict, err)
		}
	}
	commit("commit_1", 1)
	s := open(t, cluster.dsn(), postgres.Config{Schema: schema})
	k := checkpoint.Key{Thread: "shared"}
	commit("commit_1", 2)
	commit("commit_2", 3)
	if err := s.Commit(t.Context(), checkpoint.Commit{Key: k, ID: "new", Head: 3}); err != nil {
		t.Errorf("rule: a new process goes on from a commit of an older one\n got: %v", err)
	}
	commit("commit_2", 5)
	if snap, err := s.Load(t.Context(), k, 0); err != nil || snap.Seq != 5 || string(snap.Header) != "header" {
		t.Errorf("rule: a new process reads what an older one commits\n got: commit %d, %q, %v", snap.Seq, snap.Header, err)
	}
}
