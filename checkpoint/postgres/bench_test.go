package postgres_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/postgres"
)

func BenchmarkStore(b *testing.B) {
	s := extraServer(b)
	checkpointtest.Bench(b, func(t testing.TB) checkpoint.Store { return open(t, s.dsn("pool_max_conns=16"), postgres.Config{}) })
}

// BenchmarkCommitBesideInsert compares a commit with a plain INSERT of the same bytes, on one
// server that syncs its log.
func BenchmarkCommitBesideInsert(b *testing.B) {
	s := extraServer(b)
	admin(b, s, "CREATE TABLE plain (id bigserial PRIMARY KEY, data bytea)")
	pool, err := pgxpool.New(context.Background(), s.dsn("pool_max_conns=16"))
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	checkpointtest.BenchBeside(b, func(t testing.TB) checkpoint.Store { return open(t, s.dsn("pool_max_conns=16"), postgres.Config{}) },
		func(_ int, data []byte) error {
			_, err := pool.Exec(context.Background(), "INSERT INTO plain (data) VALUES ($1)", data)
			return err
		})
}

// kilobyte is link with a header of 400 bytes and a chunk of 1 KiB.
func kilobyte(k checkpoint.Key, seq uint64) checkpoint.Commit {
	c := link(k, seq)
	c.Header = []byte(strings.Repeat("h", 400))
	c.Blobs[0].Data = bytes.Repeat([]byte("b"), 1024)
	return c
}

// TestStep_BytesDoNotGrow counts what goes over the wire for one step of a thread that
// adds 1 KiB in each.
func TestStep_BytesDoNotGrow(t *testing.T) {
	p := newProxy(t, cluster)
	s := open(t, p.dsn("pool_max_conns=1"), postgres.Config{})
	k := checkpoint.Key{Thread: "thread"}
	var early, late int64
	for seq := uint64(1); seq <= 1000; seq++ {
		before := p.bytes.Load()
		if err := s.Commit(t.Context(), kilobyte(k, seq)); err != nil {
			t.Fatal(err)
		}
		switch n := p.bytes.Load() - before; {
		case seq >= 90 && seq < 100:
			early += n
		case seq >= 990:
			late += n
		}
	}
	t.Logf("bytes of a step: %d before step 100, %d before step 1000", early/10, late/11)
	if late/11 > early/10*105/100 {
		t.Errorf("rule: a step costs what it adds, whatever the age of the thread\n got: %d bytes\nwant: about %d", late/11, early/10)
	}
}
