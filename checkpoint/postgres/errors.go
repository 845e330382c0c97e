package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/weftrun/weft/checkpoint"
)

// fate is the meaning of an error for a call.
type fate int

const (
	final   fate = iota // an answer, or an error that a retry cannot change
	refused             // the server rolled back, and a retry may succeed
	away                // the server could not be reached, so nothing happened
	lost                // the connection broke, so the outcome is unknown
)

// fateOf sorts an error of pgx, or of this package.
func fateOf(err error) fate {
	var pg *pgconn.PgError
	var dead *deadConnError
	switch {
	case errors.As(err, &pg):
		return fateOfCode(pg.Code)
	case errors.As(err, &dead):
		return away
	case isOurs(err), errors.Is(err, puddle.ErrClosedPool):
		return final
	case isConnect(err), noConnection(err), pgconn.SafeToRetry(err):
		return away
	}
	return lost
}

// silentError is the error of an attempt that ran out of time.
type silentError struct {
	sent    bool // it had a connection
	address string
	after   time.Duration
	err     error
}

func (e *silentError) Error() string {
	what := "no connection could be had"
	if e.sent {
		what = "the server did not answer"
	}
	return fmt.Sprintf("%s: %s within %v (%v)", e.address, what, e.after.Round(time.Millisecond), e.err)
}

func (e *silentError) Unwrap() error { return e.err }

// Is reports that the error is that of a deadline.
func (e *silentError) Is(target error) bool { return target == context.DeadlineExceeded }

// noConnection reports whether an attempt ran out of time before it had a connection.
func noConnection(err error) bool {
	var s *silentError
	return errors.As(err, &s) && !s.sent
}

// deadConnError is the error of a connection that had ended before it was used.
type deadConnError struct{ err error }

func (e *deadConnError) Error() string { return "the connection has ended: " + e.err.Error() }
func (e *deadConnError) Unwrap() error { return e.err }

// fateOfCode sorts an SQLSTATE.
func fateOfCode(code string) fate {
	switch code {
	case "40001", "40P01": // serialization failure, deadlock
		return refused
	case "57P03", "53300", "25006": // starting up, too many connections, read only since a failover
		return away
	case "57P01", "57P02", "57P05": // shut down, crashed, idle for too long
		return lost
	}
	if strings.HasPrefix(code, "08") { // a connection error; PgBouncer uses it for all its errors
		return lost
	}
	return final
}

func isConnect(err error) bool {
	var c *pgconn.ConnectError
	return errors.As(err, &c)
}

// isOurs reports whether err was made by this package and not by pgx.
func isOurs(err error) bool {
	for _, kind := range []error{
		checkpoint.ErrConflict, checkpoint.ErrFenced, checkpoint.ErrOwned, checkpoint.ErrNotFound, checkpoint.ErrCorrupt,
		checkpoint.ErrThreadID, checkpoint.ErrRequest, checkpoint.ErrTooLarge, checkpoint.ErrUnsupported, checkpoint.ErrClosed,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// typed is the border: every error of pgx passes it once and leaves as one of package
// checkpoint's. An error that is typed already stays as it is.
func (s *Store) typed(err error) error {
	switch {
	case err == nil:
		return nil
	case isOurs(err):
		return err
	case errors.Is(err, puddle.ErrClosedPool):
		return checkpoint.ErrClosed
	case err == context.Canceled, err == context.DeadlineExceeded: // the caller's
		return fmt.Errorf("postgres: %w", err)
	}
	var silent *silentError
	if errors.As(err, &silent) {
		return fmt.Errorf("%w: postgres: is the server up, the network in order, and Config.RetryFor (%v) enough? (%w)",
			checkpoint.ErrUnavailable, s.retryFor, err)
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return fmt.Errorf("%w: postgres: is the server up, and the address right? (%w)", checkpoint.ErrUnavailable, err)
	}
	advice, kind := kindOf(pg.Code)
	if kind == nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return fmt.Errorf("%w: postgres: %s (%w)", kind, advice, err)
}

// kindOf returns what to do about an SQLSTATE, and its sentinel or nil.
func kindOf(code string) (advice string, kind error) {
	switch code {
	case "53100", "53200":
		return "free some room and try again", checkpoint.ErrFull
	case "40001", "40P01", "55P03":
		return "others held a lock for too long; try again", checkpoint.ErrBusy
	case "57014":
		return "the server stopped the statement: statement_timeout is too short, or a user cancelled it", checkpoint.ErrBusy
	case "54000", "54023":
		return "a name of a namespace, field, task or slot is longer than an index can hold, about 2,600 bytes", checkpoint.ErrTooLarge
	case "XX001", "XX002":
		return "PostgreSQL finds its files damaged; look at its log, put back a copy", checkpoint.ErrCorrupt
	case "3D000":
		return "make the database first", checkpoint.ErrUnavailable
	case "42P01", "42883", "3F000":
		return "the tables are gone or of another version; open the store again", checkpoint.ErrUnavailable
	case "42501":
		return "the role lacks a privilege; see Config.Migrate", checkpoint.ErrUnavailable
	case "25006":
		return "this server only reads; connect to the primary (target_session_attrs=read-write)", checkpoint.ErrUnavailable
	}
	switch code[:min(2, len(code))] {
	case "08", "53", "57", "58":
		return "the server does not serve at present; look at its log", checkpoint.ErrUnavailable
	case "28":
		return "check the role, its password and pg_hba.conf", checkpoint.ErrUnavailable
	}
	return "", nil
}

// isUniqueBlob reports whether a commit brought a blob that is there already.
func isUniqueBlob(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505" && pg.ConstraintName == "blobs_pkey"
}
