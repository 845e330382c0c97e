package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/weftrun/weft/checkpoint"
)

// typed turns an error of SQLite into one of package checkpoint, with the file's path. Every error
// passes it once. An error that already has a type keeps it.
func (s *Store) typed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("sqlite: %s: %w", s.path, err)
	}
	advice, kind := kindOf(err)
	switch {
	case kind == nil:
		return fmt.Errorf("sqlite: %s: %w", s.path, err)
	case code(err) == codes.SQLITE_NOTADB && hasMagic(s.path):
		kind, advice = checkpoint.ErrCorrupt, "the file's header is damaged; put back a copy"
	}
	return fmt.Errorf("%w: %s: %s (%w)", kind, s.path, advice, err)
}

// kindOf returns what to do about an error of SQLite, and its sentinel or nil.
func kindOf(err error) (advice string, kind error) {
	if code(err) == codes.SQLITE_IOERR_SHMSIZE { // no room for the file beside the write-ahead log
		return "free some space and try again", checkpoint.ErrFull
	}
	switch code(err) & 0xff {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_PROTOCOL:
		return "another program holds the file's lock; end it, or try again, or set a greater Config.BusyTimeout", checkpoint.ErrBusy
	case codes.SQLITE_CORRUPT:
		return "SQLite finds the file damaged; put back a copy, or save what can be read with sqlite3's .recover", checkpoint.ErrCorrupt
	case codes.SQLITE_NOTADB:
		return "this is not an SQLite file, or its header is damaged", checkpoint.ErrUnsupported
	case codes.SQLITE_FULL:
		return "free some space and try again", checkpoint.ErrFull
	case codes.SQLITE_CANTOPEN, codes.SQLITE_PERM, codes.SQLITE_READONLY, codes.SQLITE_AUTH:
		return "this program must be able to write the file and its directory", checkpoint.ErrUnavailable
	case codes.SQLITE_IOERR, codes.SQLITE_NOMEM, codes.SQLITE_NOLFS:
		return "the system refused a read or a write", checkpoint.ErrUnavailable
	}
	return "", nil
}

// hasMagic reports whether a file begins as SQLite's do. Closing it takes away the
// locks that this process has on it, so it is only for a file that cannot be used.
func hasMagic(path string) bool {
	const magic = "SQLite format 3\x00"
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(magic))
	_, err = io.ReadFull(f, b)
	return err == nil && string(b) == magic
}

// code returns SQLite's result code, 0 when err is not SQLite's.
func code(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func isBusy(err error) bool {
	_, kind := kindOf(err)
	return kind == checkpoint.ErrBusy
}

// notFound makes sql.ErrNoRows an ErrNotFound.
func notFound(err error, k checkpoint.Key, seq uint64) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: thread %q, namespace %q, commit %d", checkpoint.ErrNotFound, k.Thread, k.Namespace, seq)
	}
	return err
}
