package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// A file of ours has this application_id, "weft" in ASCII, and the version of its
// layout as user_version.
const (
	applicationID = 0x77656674
	layout        = 1
)

//go:embed schema.sql
var schema string

// prepareFile makes a new file ours, or makes sure that it is. Several processes may
// do so at once. A file that is not ours is not changed.
func prepareFile(ctx context.Context, c *sql.Conn) error {
	fresh, err := inspect(ctx, c)
	if err == nil && fresh {
		err = create(ctx, c)
	}
	if err != nil {
		return err
	}
	return useWAL(ctx, c)
}

// inspect reports whether the file is still empty. It returns an ErrUnsupported
// when the file is neither empty nor ours.
func inspect(ctx context.Context, c *sql.Conn) (fresh bool, err error) {
	var id, version, tables int64
	const q = `SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id a, pragma_user_version v`
	if err := c.QueryRowContext(ctx, q).Scan(&id, &version, &tables); err != nil {
		return false, err
	}
	switch {
	case id == 0 && version == 0 && tables == 0:
		return true, nil
	case id != applicationID:
		return false, fmt.Errorf("%w: this SQLite file belongs to another program (application_id %#x)", checkpoint.ErrUnsupported, id)
	case version > layout:
		return false, fmt.Errorf("%w: the file has layout %d, this version knows up to %d; use a newer version of the program", checkpoint.ErrUnsupported, version, layout)
	case version < 1:
		return false, fmt.Errorf("%w: the file has layout %d, which never was", checkpoint.ErrUnsupported, version)
	}
	return false, nil
}

// create makes the tables, unless another process was faster.
func create(ctx context.Context, c *sql.Conn) error {
	if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // does nothing after COMMIT
	if fresh, err := inspect(ctx, c); err != nil || !fresh {
		return err
	}
	for _, stmt := range []string{
		schema,
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", layout),
		"COMMIT",
	} {
		if _, err := c.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

// useWAL switches the file to write-ahead logging, which it then stays in.
func useWAL(ctx context.Context, c *sql.Conn) error {
	var mode string
	if err := c.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("%w: the file cannot use write-ahead logging (journal_mode stays %q); is it on a network file system?", checkpoint.ErrUnavailable, mode)
	}
	return nil
}

// untilFree calls f again while the file is locked, for as long as wait. SQLite's own
// waiting does not cover the switch to WAL, nor the recovery after a crash.
func untilFree(ctx context.Context, wait time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, checkpoint.ErrBusy)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := f()
		if !isBusy(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), checkpoint.ErrBusy) {
				return err
			}
			return ctx.Err()
		}
	}
}
