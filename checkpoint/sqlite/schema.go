package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// A file of this package has applicationID, "weft" in ASCII, as its application_id, and the version
// of its tables as its user_version. layout is the newest such version.
const (
	applicationID = 0x77656674
	layout        = 3
)

// newPageSize is the page size of a new file, in bytes. An older file keeps its size. A step of 1
// KiB leaves less of such a page unused than of SQLite's usual 4 KiB.
const newPageSize = 8192

//go:embed schema.sql
var schema string

//go:embed layout2.sql
var layout2 string

//go:embed layout3.sql
var layout3 string

// upgrades are the scripts from each layout to the next: upgrades[0] leads from 1 to 2.
var upgrades = []string{
	layout2 + "; ALTER TABLE commits ADD COLUMN labels BLOB NOT NULL DEFAULT x''",
	layout3,
}

// prepareFile creates the tables of a new file, or brings an older file to the newest layout.
// Several processes may call it at once. It returns an error, and changes nothing, for a file of
// another program or of a newer version.
func prepareFile(ctx context.Context, c *sql.Conn) error {
	version, err := inspect(ctx, c)
	if err == nil && version < layout {
		err = create(ctx, c)
	}
	if err != nil {
		return err
	}
	return useWAL(ctx, c)
}

// inspect returns the layout of the file, 0 if it is still empty. It returns ErrUnsupported if
// another program or a newer version of this package wrote the file.
func inspect(ctx context.Context, c *sql.Conn) (version int, err error) {
	var id, tables int64
	const q = `SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id a, pragma_user_version v`
	if err := c.QueryRowContext(ctx, q).Scan(&id, &version, &tables); err != nil {
		return 0, err
	}
	switch {
	case id == 0 && version == 0 && tables == 0:
		return 0, nil
	case id != applicationID:
		return 0, fmt.Errorf("%w: this SQLite file belongs to another program (application_id %#x)", checkpoint.ErrUnsupported, id)
	case version > layout:
		return 0, fmt.Errorf("%w: the file has layout %d, this version knows up to %d; use a newer version of the program", checkpoint.ErrUnsupported, version, layout)
	case version < 1:
		return 0, fmt.Errorf("%w: the file has layout %d, which never was", checkpoint.ErrUnsupported, version)
	}
	return version, nil
}

// create creates the tables that the layout of the file lacks, unless another process already has.
func create(ctx context.Context, c *sql.Conn) error {
	if _, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA page_size = %d; BEGIN IMMEDIATE", newPageSize)); err != nil {
		return err
	}
	defer c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // does nothing after COMMIT
	version, err := inspect(ctx, c)
	if err != nil || version == layout {
		return err
	}
	changes := []string{schema, layout2, layout3}
	if version > 0 {
		changes = upgrades[version-1:]
	}
	for _, stmt := range append(slices.Clone(changes),
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", layout),
		"COMMIT",
	) {
		if _, err := c.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

// useWAL switches the file to write-ahead logging for good.
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

// untilFree calls f again while the file is locked, until wait has passed. SQLite's own busy
// timeout covers neither the switch to WAL nor the recovery after a crash.
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
