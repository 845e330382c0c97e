package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// maxGroup bounds how many requests share a transaction, and so the cost of a failure.
const maxGroup = 512

// submit makes the writer run apply, and waits for the outcome. When ctx ends first, apply may
// still run, so it must not read memory of the caller.
func (s *Store) submit(ctx context.Context, apply func(*writer) error) error {
	if err := ctx.Err(); err != nil {
		return s.typed(err)
	}
	r := newRequest(apply)
	if !s.queue.add(r) {
		return fmt.Errorf("%w: %s", checkpoint.ErrClosed, s.path)
	}
	select {
	case err := <-r.done:
		return s.typed(err)
	case <-ctx.Done():
	}
	if s.queue.withdraw(r) {
		return s.typed(ctx.Err())
	}
	select {
	case err := <-r.done:
		return s.typed(err)
	default:
		return fmt.Errorf("sqlite: %s: the context ended while the call was being written, so its outcome is unknown: %w: %w", s.path, checkpoint.ErrUnknownOutcome, ctx.Err())
	}
}

// write is the writer goroutine. It ends when the queue is closed and empty.
func (s *Store) write(w *writer) {
	defer w.close()
	for s.queue.wait() {
		w.group(&s.queue)
	}
}

const (
	// lockPause is the time between two tries to get the lock of the file. SQLite's own handler
	// waits up to 100 ms between them, and may miss every gap between the transactions of another
	// process.
	lockPause = time.Millisecond
	// freeTime is how long a writer leaves the lock free, so that another process can get it.
	freeTime = 2 * lockPause
	// freeEvery is how often a writer leaves the lock free at least. If it had to wait for the lock
	// within the last freeEvery, it does so before each transaction.
	freeEvery = 200 * time.Millisecond
)

// letOthersWrite waits before a transaction if other processes may want to write to the file. It
// does not wait if the lock was free for freeTime already.
func (w *writer) letOthersWrite() {
	now := time.Now()
	restless := now.Sub(w.free) >= freeEvery || now.Sub(w.waited) < freeEvery
	if rest := freeTime - now.Sub(w.ended); rest > 0 {
		if !restless {
			return
		}
		time.Sleep(rest)
	}
	w.free = time.Now()
}

// lock begins a transaction when no other process has the lock of the file. It gives up after
// w.waitFor.
func (w *writer) lock() error {
	began := time.Now()
	for {
		err := w.exec(w.begin)
		if !isBusy(err) || time.Since(began) >= w.waitFor {
			return err
		}
		time.Sleep(lockPause)
		w.waited = time.Now()
	}
}

// writer is the connection that writes, with its statements. Only the writer goroutine uses it.
type writer struct {
	conn      *sql.Conn
	path      string        // the file, as an absolute path
	file      os.FileInfo   // the file when it was opened
	waitFor   time.Duration // how long it waits for the lock of the file
	waited    time.Time     // when it last waited for that lock
	ended     time.Time     // when its last transaction ended
	free      time.Time     // when it last found or left the lock free for freeTime
	clock     func() time.Time
	now       int64       // of the transaction, in milliseconds
	nothingAt int64       // when there was nothing to sweep, in milliseconds; 0 if there may be
	texts     statements  // those that not every store needs
	stmts     []*sql.Stmt // all of the following, for close

	begin, commit, rollback         *sql.Stmt
	head, found, advance, follow    *sql.Stmt
	addCommit, addBlob, dropPending *sql.Stmt
	keepEntry, setEntry             *sql.Stmt
	dropCommit, dropBlob            *sql.Stmt
	setLease, setExpires, forget    *sql.Stmt
	waste, discard, buried, plain   *sql.Stmt
	erase, raze, clean              []*sql.Stmt
}

// group waits for the file's lock and only then takes requests, so that callers can withdraw while
// another process has the lock.
func (w *writer) group(q *queue) {
	if err := w.start(); err != nil {
		reply(q.take(maxGroup), nil, err)
		return
	}
	group := q.take(maxGroup)
	results, err := w.apply(group)
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		w.undo()
		if len(group) > 1 {
			w.oneByOne(group)
			return
		}
	}
	reply(group, results, err)
}

// apply runs the requests in order, after some sweeping. The results are refusals,
// which wrote nothing; the error means that the transaction must be rolled back.
func (w *writer) apply(group []*request) (results []error, err error) {
	if err := w.sweep(); err != nil {
		return nil, err
	}
	results = make([]error, len(group))
	for i, r := range group {
		err := r.apply(w)
		if err != nil && !isRefusal(err) {
			return nil, err
		}
		results[i] = err
	}
	return results, nil
}

func isRefusal(err error) bool {
	return errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, checkpoint.ErrNotFound) ||
		errors.Is(err, checkpoint.ErrFenced) || errors.Is(err, checkpoint.ErrOwned)
}

// oneByOne runs each request of a failed group in its own transaction, so that only the request
// that caused the error fails.
func (w *writer) oneByOne(group []*request) {
	for i, r := range group {
		err := w.alone(r)
		if isBusy(err) {
			reply(group[i:], nil, err) // the others would only wait as long again
			return
		}
		reply(group[i:i+1], nil, err)
	}
}

func (w *writer) alone(r *request) error {
	if err := w.start(); err != nil {
		return err
	}
	result := r.apply(w)
	err := result
	if err == nil || isRefusal(err) {
		err = w.finish()
	}
	if err != nil {
		w.undo()
		return err
	}
	return result
}

// start begins a transaction, and reads the clock once for all of it.
func (w *writer) start() error {
	w.letOthersWrite()
	if err := w.lock(); err != nil {
		return err
	}
	w.now = w.clock().UnixMilli()
	return nil
}

// finish commits. It fails when the file was deleted or replaced: SQLite still writes to the old
// file, but no process can open it again.
func (w *writer) finish() error {
	defer func() { w.ended = time.Now() }()
	if err := w.exec(w.commit); err != nil {
		return err
	}
	now, err := os.Stat(w.path)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the file is missing: %w", checkpoint.ErrUnavailable, err)
	case !os.SameFile(now, w.file):
		return fmt.Errorf("%w: the file was replaced after it was opened", checkpoint.ErrUnavailable)
	}
	return nil
}

// undo rolls the transaction back, unless SQLite has done so itself.
func (w *writer) undo() {
	w.exec(w.rollback)
	w.ended = time.Now()
}

// reply gives each request its result, or err when there are none.
func reply(group []*request, results []error, err error) {
	for i, r := range group {
		if err == nil && results != nil {
			r.done <- results[i]
			continue
		}
		r.done <- err
	}
}

// exec runs a statement. It has no context, since no caller may cancel the group of others.
func (w *writer) exec(stmt *sql.Stmt, args ...any) error {
	_, err := stmt.ExecContext(context.Background(), args...)
	return err
}

// execAll runs statements that have the same argument.
func (w *writer) execAll(stmts []*sql.Stmt, arg any) error {
	for _, stmt := range stmts {
		if err := w.exec(stmt, arg); err != nil {
			return err
		}
	}
	return nil
}

// prepare prepares the statements. The caller must call close, even after an error.
func (w *writer) prepare(ctx context.Context) error {
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.head, `SELECT ifnull(h.chain, 0), ifnull(h.seq, 0), ifnull(h.id, ''),
				ifnull(t.fence, ''), ifnull(t.owner, ''), ifnull(t.until, 0), ifnull(t.expires, 0), ifnull(t.log, '')
			FROM (SELECT ?1 AS thread, ?2 AS ns) k
			LEFT JOIN head h ON h.thread = k.thread AND h.ns = k.ns LEFT JOIN threads t ON t.thread = k.thread`},
		{&w.found, "INSERT INTO head (thread, ns, seq, id) VALUES (?, ?, ?, ?) RETURNING chain"},
		{&w.advance, "UPDATE head SET seq = ?, id = ? WHERE chain = ?"},
		{&w.follow, `UPDATE head SET seq = ?1, id = ?2 WHERE thread = ?3 AND ns = ?4 AND seq = ?5
			AND ifnull((SELECT iif(t.expires > 0 AND t.expires <= ?6, '', 'f' || t.fence) FROM threads t WHERE t.thread = ?3), 'f') = 'f' || ?7
			RETURNING chain, EXISTS (SELECT 1 FROM pending p WHERE p.chain = head.chain)`},
		{&w.addCommit, "INSERT INTO commits (chain, seq, id, labels, header, refs) VALUES (?, ?, ?, ?, ?, ?)"},
		{&w.addBlob, "INSERT INTO blobs (chain, field, base, chunk, data) VALUES (?, ?, ?, ?, ?)"},
		{&w.dropPending, "DELETE FROM pending WHERE chain = ?"},
		{&w.keepEntry, "INSERT INTO pending (chain, task, slot, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"},
		{&w.setEntry, "INSERT INTO pending (chain, task, slot, data) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data"},
		{&w.dropCommit, "DELETE FROM commits WHERE chain = ? AND seq = ?"},
		{&w.dropBlob, "DELETE FROM blobs WHERE chain = ? AND field = ? AND base = ? AND chunk = ?"},
		{&w.setLease, `INSERT INTO threads (thread, fence, owner, until, log) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET fence = excluded.fence, owner = excluded.owner, until = excluded.until, log = excluded.log`},
		{&w.setExpires, "INSERT INTO threads (thread, expires) VALUES (?, ?) ON CONFLICT DO UPDATE SET expires = excluded.expires"},
		{&w.forget, "DELETE FROM threads WHERE thread = ? AND fence = '' AND expires = 0 AND log = ''"},
		{&w.plain, "SELECT EXISTS (SELECT 1 FROM head WHERE thread = ?)"},
		{&w.waste, `SELECT ifnull((SELECT chain FROM garbage LIMIT 1), 0),
			(SELECT thread FROM threads WHERE expires > 0 AND expires <= ? ORDER BY expires LIMIT 1)`},
		{&w.discard, "INSERT INTO garbage (chain) SELECT chain FROM head WHERE thread = ?"},
		{&w.buried, "DELETE FROM garbage WHERE chain = ?"},
	} {
		if err := w.prepareOne(ctx, p.stmt, p.text); err != nil {
			return err
		}
	}
	return w.prepareLists(ctx)
}

func (w *writer) prepareOne(ctx context.Context, stmt **sql.Stmt, text string) (err error) {
	if *stmt, err = w.conn.PrepareContext(ctx, text); err == nil {
		w.stmts = append(w.stmts, *stmt)
	}
	return err
}

// prepareLists prepares the lists of statements. erase removes a thread; the heads go last, since
// the other statements find the chains through them. raze removes a chain. clean removes a few rows
// of a chain without a head.
func (w *writer) prepareLists(ctx context.Context) error {
	const byThread = " WHERE chain IN (SELECT chain FROM head WHERE thread = ?)"
	const few = " WHERE chain = ?1 LIMIT 64)"
	for _, l := range []struct {
		stmts *[]*sql.Stmt
		texts []string
	}{
		{&w.erase, []string{
			"DELETE FROM pending" + byThread, "DELETE FROM blobs" + byThread, "DELETE FROM commits" + byThread,
			"DELETE FROM head WHERE thread = ?", "DELETE FROM threads WHERE thread = ?",
		}},
		{&w.raze, []string{
			"DELETE FROM pending WHERE chain = ?", "DELETE FROM blobs WHERE chain = ?", "DELETE FROM commits WHERE chain = ?", "DELETE FROM head WHERE chain = ?",
		}},
		{&w.clean, []string{
			"DELETE FROM blobs WHERE rowid IN (SELECT rowid FROM blobs" + few, "DELETE FROM commits WHERE rowid IN (SELECT rowid FROM commits" + few,
			"DELETE FROM pending WHERE chain = ?1",
		}},
	} {
		for _, text := range l.texts {
			var stmt *sql.Stmt
			if err := w.prepareOne(ctx, &stmt, text); err != nil {
				return err
			}
			*l.stmts = append(*l.stmts, stmt)
		}
	}
	return nil
}

// close closes the statements before the connection. Otherwise SQLite keeps the connection half
// open, and does not copy the log into the file.
func (w *writer) close() {
	for _, stmt := range w.stmts {
		stmt.Close()
	}
	w.texts.close()
	w.conn.Close()
}

// run runs a statement without rows.
func (w *writer) run(text string, args ...any) error {
	stmt, err := w.texts.of(context.Background(), text)
	switch {
	case err != nil:
	case stmt != nil:
		_, err = stmt.ExecContext(context.Background(), args...)
	default:
		_, err = w.conn.ExecContext(context.Background(), text, args...)
	}
	return err
}

// query runs a statement. Its rows must be closed before the next one.
func (w *writer) query(text string, args ...any) (*sql.Rows, error) {
	stmt, err := w.texts.of(context.Background(), text)
	switch {
	case err != nil:
		return nil, err
	case stmt != nil:
		return stmt.QueryContext(context.Background(), args...)
	}
	return w.conn.QueryContext(context.Background(), text, args...)
}

// queryRow runs a statement with one row.
func (w *writer) queryRow(text string, args ...any) *sql.Row {
	if stmt, _ := w.texts.of(context.Background(), text); stmt != nil {
		return stmt.QueryRowContext(context.Background(), args...)
	}
	return w.conn.QueryRowContext(context.Background(), text, args...) // which has the error again
}
