package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/brief"
)

// attempt is one try of a call. It may be repeated after an error, even after one with an unknown
// outcome.
type attempt func(ctx context.Context, conn *pgxpool.Conn) error

// call makes attempts until one succeeds, an error is final, or the time is over. write means that
// an attempt changes data. All methods of a Store use call. Calls with one context of
// [brief.OneCall] share one time limit.
func (s *Store) call(ctx context.Context, write bool, try attempt) error {
	if err := ctx.Err(); err != nil {
		return s.typed(err)
	}
	if s.closed.Load() {
		return s.typed(checkpoint.ErrClosed)
	}
	var own brief.Budget
	budget := brief.BudgetOf(ctx)
	if budget == nil {
		budget = &own
		own.Start()
	} else if !time.Now().Before(budget.Until(s.retryFor)) {
		return s.typed(&silentError{sent: true, address: s.address(), after: s.retryFor, err: brief.ErrTimeout})
	}
	unknown := false // whether an attempt was cut off that may have had its effect
	var tries brief.Tries
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		took, sent, err := s.once(ctx, budget, try)
		if err == nil {
			return nil
		}
		fate := fateOf(err)
		unknown = unknown || write && sent && fate == lost
		needed := pause
		if fate != lost {
			needed += tries.Answered(took, s.retryFor)
		}
		if ctx.Err() != nil || fate == final || !time.Now().Add(needed).Before(budget.Until(s.retryFor)) || !sleep(ctx, pause) {
			return s.verdict(ctx, err, unknown, fate)
		}
	}
}

// once makes one attempt, which gets half of RetryFor and ends no later than the budget. It returns
// how long the server took, and whether anything was sent to it.
func (s *Store) once(ctx context.Context, budget *brief.Budget, try attempt) (took time.Duration, sent bool, err error) {
	conn, err := s.acquire(ctx, budget)
	if err != nil {
		return 0, false, err
	}
	begin := s.clock()
	share := min(s.retryFor/2, time.Until(budget.Until(s.retryFor)))
	pg := conn.Conn().PgConn()
	if err := pg.Conn().SetDeadline(time.Now().Add(share)); err != nil {
		conn.Release()
		return 0, false, &deadConnError{err}
	}
	err = try(ctx, conn)
	took, sent = time.Duration(s.clock()-begin), !pgconn.SafeToRetry(err)
	if !pg.IsClosed() {
		s.answered.Store(s.clock())
		pg.Conn().SetDeadline(time.Time{})
		conn.Release()
		return took, sent, err
	}
	if ctx.Err() == nil && pgconn.Timeout(err) {
		err = &silentError{true, s.address(), share, err}
		s.abandon(conn, begin)
		return took, sent, err
	}
	s.bury(pg)
	conn.Release()
	return took, sent, err
}

// quick is within what time a pool mostly has a connection, and how late the end of a context may
// be noticed meanwhile.
const quick = 5 * time.Millisecond

// timeless is a context without a deadline: a pool would give it to the ping of a connection.
type timeless struct{ *brief.Context }

func (timeless) Deadline() (time.Time, bool) { return time.Time{}, false }

// acquire waits for a connection until the end of a budget. Waiting for a connection while the
// server answers other calls is no silence, and does not count.
func (s *Store) acquire(ctx context.Context, budget *brief.Budget) (*pgxpool.Conn, error) {
	short := s.briefs.New(ctx, quick)
	conn, err := s.pool.Acquire(timeless{short})
	short.End()
	if err == nil || !errors.Is(err, brief.ErrTimeout) {
		return conn, err
	}
	return s.acquireLate(ctx, budget)
}

// acquireLate is acquire for a connection that takes its time.
func (s *Store) acquireLate(ctx context.Context, budget *brief.Budget) (*pgxpool.Conn, error) {
	waiting, begin := budget.Wait(), s.clock()
	for last := budget.Until(s.retryFor); ; {
		wait, cancel := context.WithDeadline(ctx, last)
		conn, err := s.pool.Acquire(wait)
		late := wait.Err() != nil && ctx.Err() == nil
		cancel()
		answered := s.answered.Load()
		switch {
		case err == nil:
			if answered > begin {
				waiting.Uncount(time.Now())
			}
			return conn, nil
		case !late:
			return nil, err
		}
		last = time.Now().Add(s.retryFor - time.Duration(s.clock()-answered))
		if answered < begin || !time.Now().Before(last) {
			return nil, &silentError{false, s.address(), time.Duration(s.clock() - begin), err}
		}
	}
}

// clock is a time for comparing, in nanoseconds.
func (s *Store) clock() int64 { return int64(time.Since(s.opened)) }

// abandon takes a connection whose server was silent out of the pool, so that its place is free
// at once. When the server has answered no other call since begin, the connections that lie idle
// in the pool are as dead as this one.
func (s *Store) abandon(conn *pgxpool.Conn, begin int64) {
	s.ending.Add(1) // while Close still waits for the pool to have the connection back
	gone := conn.Hijack().PgConn()
	s.bury(gone)
	go func() {
		defer s.ending.Done()
		<-gone.CleanupDone()
	}()
	if s.answered.Load() < begin {
		s.pool.Reset()
	}
}

// bury bounds what pgx still does for a connection that has ended: it asks the server to cancel
// what the connection was used for.
func (s *Store) bury(conn *pgconn.PgConn) {
	if w := wireOf(conn); w != nil {
		w.giveUp(time.Now().Add(s.retryFor / 2))
	}
}

// verdict returns the error of a call after its last attempt. A conflict stays a conflict even
// after an attempt with an unknown outcome: it proves that the attempt wrote nothing.
func (s *Store) verdict(ctx context.Context, err error, unknown bool, fate fate) error {
	if end := brief.Ended(ctx); end != nil && fate != final {
		err = end // instead of what its end did to the connection
	}
	if err = s.typed(err); !unknown || errors.Is(err, checkpoint.ErrConflict) {
		return err
	}
	return fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, err)
}

// sleep reports false when the context ended first. It sleeps for half of d to d, so
// that those who failed together do not come back together.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d/2 + rand.N(d/2)):
		return true
	case <-ctx.Done():
		return false
	}
}
