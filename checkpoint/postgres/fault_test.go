package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	admin(t, cluster,
		fmt.Sprintf(`CREATE SEQUENCE IF NOT EXISTS %s.tries`, schema),
		fmt.Sprintf(`SELECT setval('%s.tries', 1, false)`, schema),
		fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s.raise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('%[1]s.tries') <= %d THEN RAISE EXCEPTION 'made up' USING ERRCODE = '%s'; END IF;
			RETURN NEW; END $$`, schema, times, code),
		fmt.Sprintf(`CREATE OR REPLACE TRIGGER raise BEFORE INSERT ON %s.commits FOR EACH ROW EXECUTE FUNCTION %[1]s.raise()`, schema))
}

// TestErrorsOfTheServerAreTyped gives each call so long that a busy machine answers it.
func TestErrorsOfTheServerAreTyped(t *testing.T) {
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

func TestWhatTheServerUndidIsTriedAgain(t *testing.T) {
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

// cutOnce is a way to connect whose connection breaks at the first request with a text once it is
// armed. No connection is made after that until others have gone on.
type cutOnce struct {
	text   []byte
	armed  atomic.Bool
	cut    chan struct{} // closed when the connection has broken
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
		return cuttable{conn, o}, err
	}
}

type cuttable struct {
	net.Conn
	*cutOnce
}

func (c cuttable) Write(b []byte) (int, error) {
	if bytes.Contains(b, c.text) && c.armed.CompareAndSwap(true, false) {
		close(c.cut)
		c.Conn.Close()
		return len(b), nil // as if it had been sent
	}
	return c.Conn.Write(b)
}

// TestDoneIsFoundBehindTheHead repeats a commit whose outcome is not known after another
// writer went on from it: the first try of commit 2 is lost with its connection, and the second
// one waits until another writer has made that commit and two more, and may have taken the thread.
func TestDoneIsFoundBehindTheHead(t *testing.T) {
	for _, takes := range []bool{false, true} {
		doneBehindTheHead(t, takes)
	}
}

func doneBehindTheHead(t *testing.T, takes bool) {
	t.Helper()
	schema := freshSchema()
	cut := &cutOnce{text: []byte(schema), cut: make(chan struct{}), others: make(chan struct{})}
	goOn := sync.OnceFunc(func() { close(cut.others) })
	defer goOn()
	s := newOver(t, "pool_max_conns=1", cut.dial, postgres.Config{Schema: schema, RetryFor: time.Minute})
	k := checkpoint.Key{Thread: "thread"}
	if err := s.Commit(t.Context(), link(k, 1)); err != nil {
		t.Fatal(err)
	}
	cut.armed.Store(true)
	done := make(chan error, 1)
	go func() { done <- s.Commit(t.Context(), link(k, 2)) }()
	<-cut.cut
	other := open(t, cluster.dsn(), postgres.Config{Schema: schema})
	for seq := uint64(2); seq <= 4; seq++ {
		if err := other.Commit(t.Context(), link(k, seq)); err != nil {
			t.Fatal(err)
		}
	}
	if takes {
		if _, err := other.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: k.Thread, Owner: "other", TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	goOn()
	if err := <-done; err != nil {
		t.Errorf("rule: a commit that is in the chain was done, when its own reply was lost\n got: %v", err)
	}
}

func TestLocksAndTimeoutsAreBusy(t *testing.T) {
	for _, setting := range []string{"lock_timeout", "statement_timeout"} {
		schema := freshSchema()
		open(t, cluster.dsn(), postgres.Config{Schema: schema})
		s := open(t, cluster.dsn("options='-c "+setting+"=100ms'"), postgres.Config{Schema: schema})
		k := checkpoint.Key{Thread: "thread"}
		for seq := uint64(1); seq <= 2; seq++ {
			if err := s.Commit(t.Context(), link(k, seq)); err != nil {
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
		if err := s.Commit(t.Context(), link(k, 3)); err != nil {
			t.Errorf("rule: a store that was busy goes on\n got: %v", err)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	admin(t, cluster, "CREATE ROLE nobody_special LOGIN")
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
		"no privilege":      {strings.Replace(cluster.dsn(), "user=weft", "user=nobody_special", 1), cfg, checkpoint.ErrUnavailable, "privilege"},
		"no connection":     {"nonsense", cfg, checkpoint.ErrUnavailable, "parse"},
		"no schema, no way": {cluster.dsn(), postgres.Config{Schema: "missing", Migrate: postgres.MigrateNever}, checkpoint.ErrUnsupported, "MigrateUp"},
		"a bad name":        {cluster.dsn(), postgres.Config{Schema: strings.Repeat("x", 64)}, checkpoint.ErrUnsupported, "name of a schema"},
	} {
		s, err := postgres.Open(t.Context(), c.dsn, c.cfg)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.phrase) {
			t.Errorf("rule: Open says what is wrong: %s\n got: %v\nwant: %v, with %q", name, err, c.want, c.phrase)
		}
	}
}
