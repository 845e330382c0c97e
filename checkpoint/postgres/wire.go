package postgres

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A deadline on the connection bounds an attempt, and not a context: pgx ends what waits for a
// dead connection at its deadline, without a timer and without a goroutine.

// slowest is how many bytes a second a connection must move to count as alive. A deadline moves
// on by the time that the bytes may take.
const slowest = 1 << 20

// piecesOf bytes are written at once, and are then seen to have moved.
const piecesOf = 256 << 10

// wire is a connection of a pool that Open has made. Bytes that move put off its deadline, so
// that a bound on silence is no bound on size.
type wire struct {
	net.Conn

	mu    sync.Mutex
	until time.Time // the deadline; zero means none
	limit time.Time // no deadline is later; zero means none
	moved int       // bytes that have not put off the deadline yet
}

// SetDeadline implements net.Conn.
func (w *wire) SetDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.limit.IsZero() && (t.IsZero() || t.After(w.limit)) {
		t = w.limit
	}
	w.until, w.moved = t, 0
	return w.Conn.SetDeadline(t)
}

// giveUp lets no deadline be later than t any more.
func (w *wire) giveUp(t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = t
	if w.until.IsZero() || w.until.After(t) {
		w.until = t
		w.Conn.SetDeadline(t)
	}
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.passed(n)
	return n, err
}

func (w *wire) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = w.Conn.Write(b[n:min(len(b), n+piecesOf)])
		n += m
		w.passed(m)
	}
	return n, err
}

// passed counts bytes, and puts off the deadline once they are many.
func (w *wire) passed(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.moved += n; w.moved < piecesOf || w.until.IsZero() || !w.limit.IsZero() {
		return
	}
	w.until = w.until.Add(time.Duration(w.moved) * time.Second / slowest)
	w.moved = 0
	w.Conn.SetDeadline(w.until)
}

// bounded gives the connections of a pool that is to be made their deadlines: for connecting, for
// the sign of life that a pool asks an idle connection for, and for cancelling what a connection
// that was given up still does in the server.
func bounded(cfg *pgxpool.Config, retryFor time.Duration) {
	hosts := map[string]bool{fmt.Sprint(cfg.ConnConfig.Host, cfg.ConnConfig.Port): true}
	for _, f := range cfg.ConnConfig.Fallbacks {
		hosts[fmt.Sprint(f.Host, f.Port)] = true
	}
	each := retryFor / time.Duration(max(2, len(hosts)))
	if t := cfg.ConnConfig.ConnectTimeout; t <= 0 || t > each {
		cfg.ConnConfig.ConnectTimeout = each
	}
	cfg.PingTimeout = retryFor / 8
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		until := time.Now().Add(each)
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := &wire{Conn: conn}
		return w, w.SetDeadline(until)
	}
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		return conn.PgConn().Conn().SetDeadline(time.Time{})
	}
}

// wireOf returns the connection of a pool that Open has made, or nil.
func wireOf(conn *pgconn.PgConn) *wire {
	c := conn.Conn()
	if over, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = over.NetConn()
	}
	w, _ := c.(*wire)
	return w
}
