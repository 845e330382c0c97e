package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
)

// admin runs statements beside the stores.
func admin(t testing.TB, s *server, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), s.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, text := range statements {
		if _, err := conn.Exec(context.Background(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// number returns what a query for one number does.
func number(t testing.TB, s *server, query string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), s.dsn())
	if err == nil {
		defer conn.Close(context.Background())
		err = conn.QueryRow(context.Background(), query).Scan(&n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// raise lets every insert of a commit fail with an SQLSTATE until it has failed so often.
func raise(t testing.TB, schema, code string, times int) {
	t.Helper()
	raiseAfter(t, schema, code, times, 0)
}

// raiseAfter is raise for a failure that takes a time.
func raiseAfter(t testing.TB, schema, code string, times int, d time.Duration) {
	t.Helper()
	admin(t, cluster,
		fmt.Sprintf(`CREATE SEQUENCE IF NOT EXISTS %s.tries`, schema),
		fmt.Sprintf(`SELECT setval('%s.tries', 1, false)`, schema),
		fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s.raise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('%[1]s.tries') <= %d THEN PERFORM pg_sleep(%f); RAISE EXCEPTION 'made up' USING ERRCODE = '%s'; END IF;
			RETURN NEW; END $$`, schema, times, d.Seconds(), code),
		fmt.Sprintf(`CREATE OR REPLACE TRIGGER raise BEFORE INSERT ON %s.commits FOR EACH ROW EXECUTE FUNCTION %[1]s.raise()`, schema))
}

// TestErrors_OfTheServerAreTyped gives each call so long that a busy machine answers it.
//
// Requirement: out of memory
// Requirement: the server refuses, or is not ready
// Requirement: the disk is full, or read-only
// Requirement: ErrFull: nothing was written, and reads still work
// Requirement: ErrUnavailable: nothing was written
func TestErrors_OfTheServerAreTyped(t *testing.T) {
	for code, want := range map[string]error{
		"53100": checkpoint.ErrFull, "53200": checkpoint.ErrFull, "57014": checkpoint.ErrBusy, "55P03": checkpoint.ErrBusy,
		"40001": checkpoint.ErrBusy, "40P01": checkpoint.ErrBusy, "57P03": checkpoint.ErrUnavailable, "53300": checkpoint.ErrUnavailable,
		"25006": checkpoint.ErrUnavailable, "42501": checkpoint.ErrUnavailable, "28000": checkpoint.ErrUnavailable,
		"58030": checkpoint.ErrUnavailable, "42P01": checkpoint.ErrUnavailable,
		"XX001": checkpoint.ErrCorrupt, "54000": checkpoint.ErrTooLarge, "08006": checkpoint.ErrUnknownOutcome, "57P01": checkpoint.ErrUnknownOutcome,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			schema := freshSchema()
			s := open(t, cluster.dsn("pool_max_conns=2"), postgres.Config{Schema: schema, RetryFor: 4 * time.Second})
			k := checkpoint.Key{Thread: "thread"}
			if err := s.Commit(t.Context(), link(k, 1)); err != nil {
				t.Fatal(err)
			}
			raise(t, schema, code, 1<<30)
			if err := s.Commit(t.Context(), link(k, 2)); !errors.Is(err, want) {
				t.Errorf("rule: SQLSTATE %s has a type\n got: %v\nwant: %v", code, err, want)
			}
			if snap, err := s.Load(t.Context(), k, 0); err != nil || snap.Seq != 1 {
				t.Errorf("rule: a commit that failed wrote nothing\n got: %d, %v", snap.Seq, err)
			}
		})
	}
}

// A call does not begin a try that its time would cut off, so what the server answered stays known.
// Without that, more than half of these commits would end in the middle of a try.
func TestErrors_OfALateServerAreKnown(t *testing.T) {
	t.Parallel()
	schema := freshSchema()
	s := open(t, cluster.dsn("pool_max_conns=8"), postgres.Config{Schema: schema, RetryFor: 12 * time.Second})
	if err := s.Commit(t.Context(), link(checkpoint.Key{Thread: "thread"}, 1)); err != nil {
		t.Fatal(err)
	}
	raiseAfter(t, schema, "40001", 1<<30, 700*time.Millisecond)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			err := s.Commit(t.Context(), link(checkpoint.Key{Thread: fmt.Sprint("thread ", i)}, 1))
			if !errors.Is(err, checkpoint.ErrBusy) || errors.Is(err, checkpoint.ErrUnknownOutcome) {
				t.Errorf("got %v, want an ErrBusy whose outcome is known", err)
			}
		})
	}
	wg.Wait()
}

// Requirement: the server refuses, or is not ready
func TestRetry_OfWhatTheServerUndid(t *testing.T) {
	schema := freshSchema()
	s := open(t, cluster.dsn(), postgres.Config{Schema: schema, RetryFor: time.Minute})
	k := checkpoint.Key{Thread: "thread"}
	for i, code := range []string{"40001", "40P01", "57P03", "57P01", "08006"} {
		raise(t, schema, code, 3)
		if err := s.Commit(t.Context(), link(k, uint64(i)+1)); err != nil {
			t.Errorf("rule: after SQLSTATE %s a call is made again\n got: %v", code, err)
		}
	}
}

// cutOnce is a way to connect. Once it is armed, the next request with a text is executed and its
// reply is lost with the connection. No connection is made after that until others have gone on.
type cutOnce struct {
	text   []byte
	armed  atomic.Bool
	cut    chan struct{} // closed when the request was executed and the connection has broken
	others chan struct{} // closed when others have gone on
}

func (o *cutOnce) dial(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case <-o.cut:
			<-o.others
		default:
		}
		conn, err := dial(ctx, network, addr)
		return &cuttable{Conn: conn, cutOnce: o}, err
	}
}

type cuttable struct {
	net.Conn
	*cutOnce
	last atomic.Bool // the reply to come is the one that is lost
}

func (c *cuttable) Write(b []byte) (int, error) {
	if bytes.Contains(b, c.text) && c.armed.CompareAndSwap(true, false) {
		c.last.Store(true)
	}
	return c.Conn.Write(b)
}

// Read loses a reply when it has come: the server sends it when the transaction has ended.
func (c *cuttable) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.last.CompareAndSwap(true, false) {
		c.Conn.Close()
		close(c.cut)
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// lostReply makes a commit on a store whose first attempt is executed and loses its reply, and lets
// others act before the next attempt. prepare is called before. It returns what Commit does.
func lostReply(t *testing.T, c checkpoint.Commit, prepare, others func(s *postgres.Store)) error {
	t.Helper()
	schema := freshSchema()
	cut := &cutOnce{text: []byte("commit_"), cut: make(chan struct{}), others: make(chan struct{})}
	goOn := sync.OnceFunc(func() { close(cut.others) })
	defer goOn()
	s := newOver(t, "pool_max_conns=1", cut.dial, postgres.Config{Schema: schema, RetryFor: time.Minute})
	// The first call on a connection asks how its statement is described; it is not the one to cut.
	if err := s.Commit(t.Context(), link(checkpoint.Key{Thread: "warm"}, 1)); err != nil {
		t.Fatal(err)
	}
	other := open(t, cluster.dsn(), postgres.Config{Schema: schema})
	prepare(other)
	cut.armed.Store(true)
	done := make(chan error, 1)
	go func() { done <- s.Commit(t.Context(), c) }()
	<-cut.cut
	others(other)
	goOn()
	return <-done
}

// commits makes commits of a thread without a lease.
func commits(t *testing.T, s *postgres.Store, k checkpoint.Key, from, to uint64) {
	t.Helper()
	for seq := from; seq <= to; seq++ {
		if err := s.Commit(t.Context(), link(k, seq)); err != nil {
			t.Fatal(err)
		}
	}
}

// take acquires a lease of a thread for another writer.
func take(t *testing.T, s *postgres.Store, k checkpoint.Key) {
	t.Helper()
	if _, err := s.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: k.Thread, Owner: "other", TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
}

// TestCommit_DoneIsFoundBehindTheHead loses the reply to commit 2, which was made. Before the next
// attempt another writer appends to it or takes the thread, or both.
//
// Requirement: the same commit twice is one commit, so a lost reply is safe to retry
func TestCommit_DoneIsFoundBehindTheHead(t *testing.T) {
	k := checkpoint.Key{Thread: "thread"}
	for _, c := range []struct {
		last  uint64
		takes bool
	}{{2, false}, {4, false}, {2, true}, {4, true}} {
		t.Run(fmt.Sprintf("head %d, taken %t", c.last, c.takes), func(t *testing.T) {
			err := lostReply(t, link(k, 2), func(s *postgres.Store) { commits(t, s, k, 1, 1) }, func(s *postgres.Store) {
				commits(t, s, k, 3, c.last)
				if c.takes {
					take(t, s, k)
				}
			})
			if err != nil {
				t.Errorf("rule: a call that has made its commit succeeds, when the reply was lost\n got: %v", err)
			}
		})
	}
}

// TestCommit_MadeByAnotherCall repeats a commit that an earlier call made, by a writer that has no
// lease or comes too late. The attempt is refused, and the reply with the refusal is lost.
//
// Requirement: the same commit twice is one commit, so a lost reply is safe to retry
func TestCommit_MadeByAnotherCall(t *testing.T) {
	k := checkpoint.Key{Thread: "thread"}
	none := func(*postgres.Store) {}
	for _, c := range []struct {
		name  string
		last  uint64
		takes bool
		want  error
	}{
		{"fenced at the head", 1, true, checkpoint.ErrFenced},
		{"fenced behind the head", 3, true, checkpoint.ErrFenced},
		{"behind the head", 3, false, checkpoint.ErrConflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := lostReply(t, link(k, 1), func(s *postgres.Store) {
				commits(t, s, k, 1, c.last)
				if c.takes {
					take(t, s, k)
				}
			}, none)
			if !errors.Is(err, c.want) {
				t.Errorf("rule: a commit of another call is not reported as done to a writer that may not write\n got: %v\nwant: %v", err, c.want)
			}
		})
	}
}

// Requirement: the store is slow, or silent
// Requirement: ErrBusy: nothing was written
func TestErrors_LocksAndTimeoutsAreBusy(t *testing.T) {
	for _, setting := range []string{"lock_timeout", "statement_timeout"} {
		schema := freshSchema()
		patient := open(t, cluster.dsn(), postgres.Config{Schema: schema})
		s := open(t, cluster.dsn("options='-c "+setting+"=500ms'"), postgres.Config{Schema: schema})
		k := checkpoint.Key{Thread: "thread"}
		for seq := uint64(1); seq <= 2; seq++ {
			if err := patient.Commit(t.Context(), link(k, seq)); err != nil {
				t.Fatal(err)
			}
		}
		conn, err := pgx.Connect(t.Context(), cluster.dsn())
		if err != nil {
			t.Fatal(err)
		}
		tx, err := conn.Begin(t.Context())
		if err == nil {
			_, err = tx.Exec(t.Context(), "SELECT FROM "+schema+".threads FOR UPDATE")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(t.Context(), link(k, 3)); !errors.Is(err, checkpoint.ErrBusy) {
			t.Errorf("rule: %s is ErrBusy\n got: %v", setting, err)
		}
		conn.Close(t.Context())
		err = s.Commit(t.Context(), link(k, 3))
		for range 20 { // a busy machine may need more than the timeout
			if !errors.Is(err, checkpoint.ErrBusy) {
				break
			}
			err = s.Commit(t.Context(), link(k, 3))
		}
		if err != nil {
			t.Errorf("rule: a store that was busy goes on\n got: %v", err)
		}
	}
}

// Requirement: ErrUnavailable: nothing was written
func TestOpen_ReportsWhatIsWrong(t *testing.T) {
	admin(t, cluster, "CREATE ROLE plain_role LOGIN")
	strict := extraServer(t, "fsync=off", "hba_file="+hbaFile(t, cluster, "local all all reject\n"))
	cfg := postgres.Config{Schema: freshSchema(), RetryFor: 2 * time.Second}
	for name, c := range map[string]struct {
		dsn    string
		cfg    postgres.Config
		want   error
		phrase string
	}{
		"no server":         {"host=" + t.TempDir() + " user=weft", cfg, checkpoint.ErrUnavailable, "is the server up"},
		"no database":       {strings.Replace(cluster.dsn(), "dbname=postgres", "dbname=nothing", 1), cfg, checkpoint.ErrUnavailable, "make the database"},
		"no permission":     {strict.dsn(), cfg, checkpoint.ErrUnavailable, "pg_hba.conf"},
		"no privilege":      {strings.Replace(cluster.dsn(), "user=weft", "user=plain_role", 1), cfg, checkpoint.ErrUnavailable, "privilege"},
		"no connection":     {"nonsense", cfg, checkpoint.ErrUnavailable, "parse"},
		"no schema, no way": {cluster.dsn(), postgres.Config{Schema: "missing", Migrate: postgres.MigrateNever}, checkpoint.ErrUnsupported, "MigrateUp"},
		"a bad name":        {cluster.dsn(), postgres.Config{Schema: strings.Repeat("x", 64)}, checkpoint.ErrUnsupported, "name of a schema"},
	} {
		s, err := postgres.Open(t.Context(), c.dsn, c.cfg)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.phrase) {
			t.Errorf("rule: Open names what is wrong: %s\n got: %v\nwant: %v, with %q", name, err, c.want, c.phrase)
		}
	}
}
