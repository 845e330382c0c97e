package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/weftrun/weft/checkpoint"
)

// maxGroup bounds how many requests share a transaction, and so what one failure
// costs.
const maxGroup = 512

// submit has apply run by the writer and waits for the outcome. When ctx ends
// first, apply must not read anything of the caller's: it may still run.
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
		return fmt.Errorf("sqlite: %s: the context ended while the call was being written, so its outcome is unknown: %w", s.path, ctx.Err())
	}
}

// write is the writer goroutine. It ends when the queue is closed and empty.
func (s *Store) write(w *writer) {
	defer w.close()
	for s.queue.wait() {
		w.group(&s.queue)
	}
}

// writer is the one connection that writes, with its statements. Only the writer
// goroutine uses it.
type writer struct {
	conn  *sql.Conn
	path  string      // the file, as an absolute path
	file  os.FileInfo // and what lay there when it was opened
	stmts []*sql.Stmt // all of the following, for close

	begin, commit, rollback         *sql.Stmt
	head, start, advance            *sql.Stmt
	addCommit, addBlob, dropPending *sql.Stmt
	keepEntry, setEntry             *sql.Stmt
	erase                           []*sql.Stmt
}

// group waits for the file's lock and only then picks requests up, so that a
// caller can withdraw for as long as another process has the lock.
func (w *writer) group(q *queue) {
	if err := w.exec(w.begin); err != nil {
		reply(q.take(maxGroup), nil, err)
		return
	}
	group := q.take(maxGroup)
	results, err := w.apply(group)
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		w.exec(w.rollback) // SQLite may have done so itself
		if len(group) > 1 {
			w.oneByOne(group)
			return
		}
	}
	reply(group, results, err)
}

// apply runs the requests in order. The results are refusals, which wrote nothing;
// the error means that the transaction must be rolled back.
func (w *writer) apply(group []*request) (results []error, err error) {
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
	return errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, checkpoint.ErrNotFound)
}

// oneByOne gives each request of a failed group a transaction of its own, so that
// only the culprit fails.
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
	if err := w.exec(w.begin); err != nil {
		return err
	}
	err := r.apply(w)
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		w.exec(w.rollback)
	}
	return err
}

// finish commits. In a file that was deleted, or that another one has replaced, SQLite
// goes on writing, but nobody will ever find what is in it.
func (w *writer) finish() error {
	if err := w.exec(w.commit); err != nil {
		return err
	}
	now, err := os.Stat(w.path)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the file is gone: %w", checkpoint.ErrUnavailable, err)
	case !os.SameFile(now, w.file):
		return fmt.Errorf("%w: another file has taken the place of the one that was opened", checkpoint.ErrUnavailable)
	}
	return nil
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

// exec runs a statement. It has no context: a group is not one caller's to cancel.
func (w *writer) exec(stmt *sql.Stmt, args ...any) error {
	_, err := stmt.ExecContext(context.Background(), args...)
	return err
}

// prepare makes the statements. close must follow, whatever it returns.
func (w *writer) prepare(ctx context.Context) error {
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.head, "SELECT chain, seq, id FROM head WHERE thread = ? AND ns = ?"},
		{&w.start, "INSERT INTO head (thread, ns, seq, id) VALUES (?, ?, 1, ?) RETURNING chain"},
		{&w.advance, "UPDATE head SET seq = ?, id = ? WHERE chain = ?"},
		{&w.addCommit, "INSERT INTO commits (chain, seq, id, header, refs) VALUES (?, ?, ?, ?, ?)"},
		{&w.addBlob, "INSERT INTO blobs (chain, field, base, chunk, data) VALUES (?, ?, ?, ?, ?)"},
		{&w.dropPending, "DELETE FROM pending WHERE chain = ?"},
		{&w.keepEntry, "INSERT INTO pending (chain, task, slot, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"},
		{&w.setEntry, "INSERT INTO pending (chain, task, slot, data) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data"},
	} {
		if err := w.prepareOne(ctx, p.stmt, p.text); err != nil {
			return err
		}
	}
	return w.prepareErase(ctx)
}

func (w *writer) prepareOne(ctx context.Context, stmt **sql.Stmt, text string) (err error) {
	if *stmt, err = w.conn.PrepareContext(ctx, text); err == nil {
		w.stmts = append(w.stmts, *stmt)
	}
	return err
}

// prepareErase makes the statements that remove a thread; the heads go last, since
// the others find the chains through them.
func (w *writer) prepareErase(ctx context.Context) error {
	const where = " WHERE chain IN (SELECT chain FROM head WHERE thread = ?)"
	for _, table := range []string{"pending", "blobs", "commits", "head"} {
		var stmt *sql.Stmt
		if err := w.prepareOne(ctx, &stmt, "DELETE FROM "+table+where); err != nil {
			return err
		}
		w.erase = append(w.erase, stmt)
	}
	return nil
}

// close releases the statements before the connection: SQLite keeps a connection
// with statements half open, and then the log is not folded into the file.
func (w *writer) close() {
	for _, stmt := range w.stmts {
		stmt.Close()
	}
	w.conn.Close()
}
