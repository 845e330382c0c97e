package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/postgres"
)

// With -short, no suite is behind PgBouncer but a part of TestStore_OverConnectionsThatAreCut.
//
// Requirement: many processes may use it at once
func TestStore(t *testing.T) {
	checkpointtest.RunFull(t, func(t testing.TB) checkpoint.Store { return openWatched(t, cluster.dsn(), postgres.Config{}) })
	if !testing.Short() {
		t.Run("BehindPgBouncer", storeBehindPgBouncer)
	}
}

func storeBehindPgBouncer(t *testing.T) {
	dsn, _ := pooler(t, cluster)
	checkpointtest.RunFull(t, func(t testing.TB) checkpoint.Store { return openWatched(t, dsn, postgres.Config{}) })
}

func TestStore_RowsStayWhenItIsClosed(t *testing.T) {
	checkpointtest.RunDurable(t, func(t testing.TB, dir string) checkpoint.Store {
		// A name has 63 bytes, and dir ends in one that is this test's alone.
		schema := filepath.Base(filepath.Dir(dir)) + filepath.Base(dir)
		return open(t, cluster.dsn(), postgres.Config{Schema: schema[max(0, len(schema)-60):]})
	})
}

// openAddress opens "SCHEMA DSN".
func openAddress(ctx context.Context, address string) (checkpoint.Store, error) {
	schema, dsn, _ := strings.Cut(address, " ")
	return postgres.Open(ctx, dsn, postgres.Config{Schema: schema, RetryFor: time.Minute})
}

// Requirement: a commit is atomic and moves the head by compare-and-set
// Requirement: what was acknowledged survives the death of the process
// Requirement: many processes may use it at once
// Requirement: a worker is killed
// Requirement: two processes want one thread
func TestProcesses(t *testing.T) {
	checkpointtest.RunProcesses(t, freshSchema()+" "+cluster.dsn("pool_max_conns=4"), openAddress)
}

// watched is a store whose clock and bytes the suite can change, from beside it.
type watched struct {
	*postgres.Store
	t      testing.TB
	schema string
}

var (
	_ checkpointtest.Clock   = watched{}
	_ checkpointtest.Damager = watched{}
)

func openWatched(t testing.TB, dsn string, cfg postgres.Config) checkpoint.Store {
	cfg.Schema = freshSchema()
	return watched{open(t, dsn, cfg), t, cfg.Schema}
}

// Advance implements checkpointtest.Clock. The clock is the server's, so all that is
// written of time moves instead.
func (w watched) Advance(d time.Duration) {
	w.t.Helper()
	move := fmt.Sprintf("UPDATE %s.threads SET leased = leased - interval '%d us', expires = expires - interval '%[2]d us'", w.schema, d.Microseconds())
	if _, err := beside.Exec(context.Background(), move); err != nil {
		w.t.Fatal(err)
	}
}

// Values implements checkpointtest.Spoiler.
func (w watched) Values(string) (list []checkpointtest.Value, err error) {
	ctx := context.Background()
	for _, at := range [][2]string{{"commits", "header"}, {"blobs", "data"}, {"pending", "data"}} {
		rows, err := beside.Query(ctx, fmt.Sprintf("SELECT row_number() OVER (ORDER BY ctid), %s FROM %s.%s ORDER BY ctid", at[1], w.schema, at[0]))
		if err != nil {
			return nil, err
		}
		var datas [][]byte
		for rows.Next() {
			var n int64
			var data []byte
			if err := rows.Scan(&n, &data); err != nil {
				return nil, err
			}
			datas = append(datas, data)
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
		for i, data := range datas {
			now := data // what is there; no two values are the same
			list = append(list, checkpointtest.Value{Name: fmt.Sprint(at, " ", i), Data: data, Set: func(data []byte) error {
				tag, err := beside.Exec(ctx, fmt.Sprintf("UPDATE %s.%s SET %s = $1 WHERE %[3]s = $2", w.schema, at[0], at[1]), append([]byte{}, data...), now)
				if err == nil && tag.RowsAffected() != 1 {
					err = fmt.Errorf("%d rows have the value", tag.RowsAffected())
				}
				now = append([]byte{}, data...)
				return err
			}})
		}
	}
	return list, nil
}

// Damage implements checkpointtest.Damager.
func (w watched) Damage(k checkpoint.Key, b checkpoint.Blob, change func([]byte) []byte) error {
	ctx := context.Background()
	var chain int64
	var data []byte
	find := fmt.Sprintf("SELECT chain FROM %s.heads WHERE thread = $1 AND ns = $2", w.schema)
	if err := beside.QueryRow(ctx, find, []byte(k.Thread), []byte(k.Namespace)).Scan(&chain); err != nil {
		return err
	}
	at := []any{chain, []byte(b.Field), int64(b.Base), b.Chunk}
	take := fmt.Sprintf("DELETE FROM %s.blobs WHERE chain = $1 AND field = $2 AND base = $3 AND chunk = $4 RETURNING data", w.schema)
	if err := beside.QueryRow(ctx, take, at...).Scan(&data); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if data = change(data); data == nil {
		return nil
	}
	_, err := beside.Exec(ctx, fmt.Sprintf("INSERT INTO %s.blobs VALUES ($1, $2, $3, $4, $5)", w.schema), append(at, data)...)
	return err
}

// Requirement: a release is rolled out
func TestOpen_ManyAtOnce(t *testing.T) {
	schema := freshSchema()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := postgres.Open(context.Background(), cluster.dsn("pool_max_conns=2"), postgres.Config{Schema: schema, RetryFor: time.Minute})
			if err != nil {
				t.Errorf("rule: many may open a new schema at once\n got: %v", err)
				return
			}
			defer s.Close()
			k := checkpoint.Key{Thread: fmt.Sprint("thread ", i)}
			if err := s.Commit(context.Background(), link(k, 1)); err != nil {
				t.Errorf("rule: a store is ready when it is open\n got: %v", err)
			}
		})
	}
	wg.Wait()
	if n := number(t, cluster, "SELECT count(*) FROM "+schema+".layout"); n != 1 {
		t.Errorf("rule: a schema has one layout\n got: %d", n)
	}
}

// Requirement: data of an older release opens, and its threads continue
// Requirement: another version wrote it
func TestSchema_OthersAreLeftAlone(t *testing.T) {
	newer := freshSchema()
	open(t, cluster.dsn(), postgres.Config{Schema: newer})
	foreign, named := freshSchema(), freshSchema()
	admin(t, cluster, "UPDATE "+newer+".layout SET version = 1000",
		"CREATE SCHEMA "+foreign, "CREATE TABLE "+foreign+".threads (mine int)",
		"CREATE SCHEMA "+named, "CREATE TABLE "+named+".layout (mine int)")
	for _, schema := range []string{newer, foreign, named} {
		_, err := postgres.Open(t.Context(), cluster.dsn(), postgres.Config{Schema: schema, RetryFor: time.Minute})
		if !errors.Is(err, checkpoint.ErrUnsupported) {
			t.Errorf("rule: a schema that is newer, or not ours, is refused\n got: %v\nwant: ErrUnsupported", err)
		}
	}
	for _, schema := range []string{foreign, named} {
		if n := number(t, cluster, "SELECT count(*) FROM pg_tables WHERE schemaname = '"+schema+"'"); n != 1 {
			t.Errorf("rule: a schema that is not ours is not changed\n got: %d tables\nwant: 1", n)
		}
	}
}

func TestOpen_OtherIsolationLevels(t *testing.T) {
	schema := freshSchema()
	for _, level := range []string{"repeatable read", "serializable", "read committed"} {
		s, err := postgres.Open(t.Context(), cluster.dsn("default_transaction_isolation='"+level+"'"),
			postgres.Config{Schema: schema, RetryFor: time.Minute})
		if err == nil {
			defer s.Close()
		}
		if level == "read committed" {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !errors.Is(err, checkpoint.ErrUnsupported) || !strings.Contains(err.Error(), level) {
			t.Errorf("got %v for the level %q; want an ErrUnsupported that names it", err, level)
		}
		if n := number(t, cluster, "SELECT count(*) FROM pg_tables WHERE schemaname = '"+schema+"'"); n != 0 {
			t.Errorf("the refused Open has made %d tables", n)
		}
	}
}

func TestSchema_ReadyNeedsNoRights(t *testing.T) {
	schema := `it's a "strange" näme`
	open(t, cluster.dsn(), postgres.Config{Schema: schema})
	quoted := pgx.Identifier{schema}.Sanitize()
	admin(t, cluster, "CREATE ROLE worker LOGIN", "GRANT USAGE ON SCHEMA "+quoted+" TO worker",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+quoted+" TO worker",
		"GRANT USAGE ON ALL SEQUENCES IN SCHEMA "+quoted+" TO worker")
	s := open(t, "host="+cluster.dir+" user=worker dbname=postgres sslmode=disable", postgres.Config{Schema: schema, Migrate: postgres.MigrateNever})
	for _, c := range calls(t, s, "thread") {
		c.do()
	}
	if _, err := s.Doctor(t.Context()); err != nil {
		t.Errorf("rule: Doctor asks what any role may ask\n got: %v", err)
	}
}

// TestPools_RaceForEveryCommit is two processes as the server sees them.
func TestPools_RaceForEveryCommit(t *testing.T) {
	schema := freshSchema()
	k := checkpoint.Key{Thread: "contested"}
	var mu sync.Mutex
	won := map[uint64]string{}
	var wg sync.WaitGroup
	for p := range 2 {
		s := open(t, cluster.dsn("pool_max_conns=4"), postgres.Config{Schema: schema})
		for w := range 4 {
			wg.Go(func() {
				for head := uint64(0); head < 50; {
					c := checkpoint.Commit{Key: k, ID: fmt.Sprint(p, w, head), Head: head}
					err := s.Commit(context.Background(), c)
					var lost *checkpoint.ConflictError
					switch {
					case err == nil:
						head++
						mu.Lock()
						if other, twice := won[head]; twice {
							t.Errorf("rule: a number has one winner\n got: %q and %q for %d", other, c.ID, head)
						}
						won[head] = c.ID
						mu.Unlock()
					case errors.As(err, &lost) && lost.Head > head:
						head = lost.Head
					default:
						t.Errorf("rule: a writer loses only to another one\n got: %v", err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	s := open(t, cluster.dsn(), postgres.Config{Schema: schema})
	for snap, err := range s.History(t.Context(), k, checkpoint.Query{}) {
		if err != nil || won[snap.Seq] != snap.ID {
			t.Fatalf("rule: the chain is what was acknowledged\n got: %d %q, %v\nwant: %q", snap.Seq, snap.ID, err, won[snap.Seq])
		}
	}
}

// TestTakeover_NothingIsWrittenAfterIt takes a thread from a writer in full flight: what is
// the head when Acquire returns stays the head.
//
// Requirement: two processes want one thread
// Requirement: ErrFenced: nothing was written
func TestTakeover_NothingIsWrittenAfterIt(t *testing.T) {
	s := open(t, cluster.dsn("pool_max_conns=8"), postgres.Config{})
	for round := range 20 {
		k := checkpoint.Key{Thread: fmt.Sprint("thread ", round)}
		lease, err := s.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: k.Thread, Owner: "old", TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var taken atomic.Bool
		under := make(chan struct{})
		for ns := range 3 {
			wg.Go(func() {
				k := checkpoint.Key{Thread: k.Thread, Namespace: fmt.Sprint(ns)}
				for seq := uint64(1); ; seq++ {
					c := link(k, seq)
					c.Fence = lease.Fence
					late := taken.Load()
					err := s.Commit(context.Background(), c)
					if err == nil && late {
						t.Errorf("rule: after a takeover the old writer writes nothing\n got: commit %d of %q", seq, k)
						return
					}
					if err != nil {
						if !errors.Is(err, checkpoint.ErrFenced) {
							t.Errorf("rule: a writer that was overtaken is fenced\n got: %v", err)
						}
						return
					}
					if ns == 0 && seq == 3 {
						close(under)
					}
				}
			})
		}
		<-under
		if _, err := s.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: k.Thread, Owner: "new", TTL: time.Hour, Force: true}); err != nil {
			t.Fatal(err)
		}
		taken.Store(true)
		before := heads(t, s, k.Thread)
		wg.Wait()
		if after := heads(t, s, k.Thread); after != before {
			t.Errorf("rule: after a takeover the old writer writes nothing\n got: %s\nwant: %s", after, before)
		}
	}
}

// heads shows the head of every namespace of a thread.
func heads(t testing.TB, s *postgres.Store, thread string) (text string) {
	t.Helper()
	list, err := s.Namespaces(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range list {
		snap, err := s.Load(t.Context(), checkpoint.Key{Thread: thread, Namespace: ns}, 0)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%q %d ", ns, snap.Seq)
	}
	return text
}

// Requirement: a thread can expire, as a whole
func TestDelete_LeavesNoRows(t *testing.T) {
	schema := freshSchema()
	s := open(t, cluster.dsn(), postgres.Config{Schema: schema})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, thread := range []string{"deleted", "expired 1", "expired 2"} {
		for _, ns := range []string{"", "sub"} {
			k := checkpoint.Key{Thread: thread, Namespace: ns}
			must(s.Commit(t.Context(), link(k, 1)))
			must(s.Commit(t.Context(), link(k, 2)))
			must(s.Put(t.Context(), checkpoint.Pending{Key: k, Head: 2, Entries: []checkpoint.Entry{{Task: "t"}}}))
		}
	}
	must(s.Delete(t.Context(), "deleted"))
	must(s.Expire(t.Context(), "expired 1", time.Microsecond))
	must(s.Expire(t.Context(), "expired 2", time.Microsecond))
	lease, err := s.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: "only leased", TTL: time.Hour})
	must(err)
	must(s.Release(t.Context(), "only leased", lease.Fence))

	started := link(checkpoint.Key{Thread: "started"}, 1)
	started.TTL = time.Hour
	must(s.Commit(t.Context(), started)) // which removes what has expired
	// The thread that was only leased is remembered for an hour, lest its request is granted twice.
	for table, want := range map[string]int64{"threads": 2, "heads": 1, "commits": 1, "blobs": 1, "pending": 0} {
		if n := number(t, cluster, "SELECT count(*) FROM "+schema+"."+table); n != want {
			t.Errorf("rule: what is gone leaves no rows\n got: %d rows in %s\nwant: %d", n, table, want)
		}
	}
}

// The number of the first commit leaves a gap, and all its values are empty.
func TestCommit_FirstWithGapAndNoData(t *testing.T) {
	s := open(t, cluster.dsn(), postgres.Config{Schema: freshSchema()})
	c := checkpoint.Commit{
		Key: checkpoint.Key{Thread: "a"}, ID: "id 1", Number: 3, Header: []byte{},
		Refs:  []checkpoint.Ref{{Field: "y", Base: 3}, {Field: "x", Base: 3}},
		Blobs: []checkpoint.Blob{{Field: "y", Base: 3, Data: []byte{}}, {Field: "x", Base: 3, Data: []byte{}}},
	}
	if err := s.Commit(t.Context(), c); err != nil {
		t.Fatalf("rule: a first commit may have any number\n got: %v\nwant: no error", err)
	}
	snap, err := s.Load(t.Context(), c.Key, 0)
	if err != nil || snap.Seq != 3 || snap.Head != 3 || len(snap.Header) != 0 || len(snap.Refs) != 2 || len(snap.Blobs) != 2 {
		t.Errorf("rule: a commit is stored as it was given\n got: %+v, error %v\nwant: commit 3 with 2 empty fields", snap, err)
	}
}

// Requirement: listings are searched by label
func TestLabels_AreNeverPartOfAQuery(t *testing.T) {
	s := open(t, cluster.dsn(), postgres.Config{})
	k := checkpoint.Key{Thread: "thread"}
	c := link(k, 1)
	c.Labels = map[string]string{"kind": "real", `"}'; DROP TABLE x; --`: `{"kind":"fake"}`}
	if err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		where map[string]string
		want  int
	}{
		{map[string]string{"kind": "real"}, 1},
		{map[string]string{`"}'; DROP TABLE x; --`: `{"kind":"fake"}`}, 1},
		{map[string]string{"kind": "fake"}, 0},
		{map[string]string{"kind": `real" || true || "`}, 0},
		{map[string]string{"kind' OR '1'='1": "x"}, 0},
		{map[string]string{`kind" ? (true) || "`: "x"}, 0},
		{map[string]string{"kind": "real\x00"}, 0},
		{map[string]string{"kind": "real\xff"}, 0},
		{map[string]string{"\\u0000": "\\u0000"}, 0},
		{map[string]string{"$1": "$.kind"}, 0},
		{map[string]string{"kind": "%"}, 0},
		{map[string]string{"": ""}, 0},
	} {
		threads, history := 0, 0
		for _, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Where: q.where}) {
			if threads++; err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range s.History(t.Context(), k, checkpoint.Query{Where: q.where}) {
			if history++; err != nil {
				t.Fatal(err)
			}
		}
		if threads != q.want || history != q.want {
			t.Errorf("rule: labels are compared, never run\n got: %d threads, %d commits with %q\nwant: %d", threads, history, q.where, q.want)
		}
	}
}
