package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint/blob"
)

//go:embed sql/blobs.sql
var blobSchema string

// Blobs returns the blobs by hash in this schema, for all processes that share it. It creates their
// tables if they are missing, unless Config.Migrate forbids it. It is usable until the Store is
// closed. [checkpoint.WithBlobs] gives them to the threads.
//
// A chunk of 1 MiB is one round trip, both ways. The claims are by the clock of this process.
func (s *Store) Blobs(ctx context.Context) (*blob.Store, error) {
	if err := s.ensure(ctx, "blob_uploads", blobSchema); err != nil {
		return nil, err
	}
	return blob.Over(largeBlobs{s}), nil
}

// largeBlobs is a Store as a blob.Table.
type largeBlobs struct{ *Store }

var _ blob.Table = largeBlobs{}

// exec runs a statement that may be repeated.
func (b largeBlobs) exec(ctx context.Context, text string, args ...any) error {
	return b.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, b.sql(text), append([]any{b.mode}, args...)...)
		return err
	})
}

// inTx runs f in a transaction, which may be repeated.
func (b largeBlobs) inTx(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	return b.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return f(ctx, tx) })
	})
}

func (b largeBlobs) execIn(ctx context.Context, tx pgx.Tx, text string, args ...any) error {
	_, err := tx.Exec(ctx, b.sql(text), append([]any{b.mode}, args...)...)
	return err
}

// Stage implements blob.Table.
func (b largeBlobs) Stage(ctx context.Context, upload string, n int, data []byte) error {
	if data == nil {
		data = []byte{}
	}
	return b.exec(ctx, `WITH u AS (INSERT INTO {schema}.blob_uploads (name) VALUES ($1::text)
			ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING upload)
		INSERT INTO {schema}.blob_chunks (upload, n, data) SELECT upload, $2::int, $3::bytea FROM u
		ON CONFLICT (upload, n) DO UPDATE SET data = excluded.data`, upload, n, data)
}

// Finish implements blob.Table. Two that finish the same content wait for one another.
func (b largeBlobs) Finish(ctx context.Context, upload string, st blob.Stat, c blob.Claim) error {
	var refusal error
	err := b.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		refusal = nil
		if err := lock(ctx, tx, "blob "+b.schema+" "+st.Hash); err != nil {
			return err
		}
		stored, err := b.held(ctx, tx, []string{st.Hash}, "FOR SHARE")
		if err != nil {
			return err
		}
		if len(stored) == 0 {
			if refusal, err = b.name(ctx, tx, upload, st); err != nil || refusal != nil {
				return err
			}
		}
		return b.claim(ctx, tx, c.Owner, []string{st.Hash}, c.At)
	})
	if err := errors.Join(err, refusal); err != nil {
		return err
	}
	return b.Discard(ctx, upload) // does nothing if it is the blob
}

// held locks the blobs with these hashes, in order, and returns the hashes of those that are
// stored.
func (b largeBlobs) held(ctx context.Context, tx pgx.Tx, hashes []string, how string) (stored []string, err error) {
	err = forRows(ctx, b.Store, tx, scanText, func(h string) bool { stored = append(stored, h); return true },
		"SELECT hash FROM {schema}.blob_uploads WHERE hash = ANY($1::text[]) ORDER BY hash "+how, hashes)
	return stored, err
}

func scanText(rows pgx.Rows) (s string, err error) {
	err = rows.Scan(&s)
	return s, err
}

// name gives an upload its hash if it has all chunks.
func (b largeBlobs) name(ctx context.Context, tx pgx.Tx, upload string, st blob.Stat) (refusal, err error) {
	var id int64
	err = tx.QueryRow(ctx, b.sql("SELECT upload FROM {schema}.blob_uploads WHERE name = $1::text FOR UPDATE"), b.mode, upload).Scan(&id)
	chunks := 0
	if err == nil {
		err = tx.QueryRow(ctx, b.sql("SELECT count(*) FROM {schema}.blob_chunks WHERE upload = $1::bigint"), b.mode, id).Scan(&chunks)
	} else if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	if err == nil && chunks != st.Chunks {
		return fmt.Errorf("%w: the upload has %d chunks and not %d; it took longer than the grace of a sweep", blob.ErrNotFound, chunks, st.Chunks), nil
	}
	if err != nil {
		return nil, err
	}
	return nil, b.execIn(ctx, tx, "UPDATE {schema}.blob_uploads SET hash = $2::text, size = $3::bigint, chunks = $4::int WHERE upload = $1::bigint",
		id, st.Hash, st.Size, st.Chunks)
}

func (b largeBlobs) claim(ctx context.Context, tx pgx.Tx, owner string, hashes []string, at time.Time) error {
	return b.execIn(ctx, tx, `INSERT INTO {schema}.blob_claims (owner, hash, at) SELECT $1::bytea, h, $3::bigint FROM unnest($2::text[]) h ORDER BY h
		ON CONFLICT (owner, hash) DO UPDATE SET at = excluded.at`, []byte(owner), hashes, at.UnixMilli())
}

// chunksAtOnce is how many chunks one transaction removes.
const chunksAtOnce = 16

// Discard implements blob.Table. It locks the upload, so that a Finish waits for it or it does
// nothing.
func (b largeBlobs) Discard(ctx context.Context, upload string) error {
	for {
		left := false
		err := b.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			left = false
			var id int64
			err := tx.QueryRow(ctx, b.sql("SELECT upload FROM {schema}.blob_uploads WHERE name = $1::text AND hash IS NULL FOR UPDATE"), b.mode, upload).Scan(&id)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, b.sql(`DELETE FROM {schema}.blob_chunks WHERE upload = $1::bigint AND n IN
				(SELECT n FROM {schema}.blob_chunks WHERE upload = $1::bigint ORDER BY n LIMIT $2::int)`), b.mode, id, chunksAtOnce)
			if err != nil {
				return err
			}
			if left = tag.RowsAffected() == chunksAtOnce; left {
				return nil
			}
			return b.execIn(ctx, tx, "DELETE FROM {schema}.blob_uploads WHERE upload = $1::bigint", id)
		})
		if err != nil || !left {
			return err
		}
	}
}

// Stat implements blob.Table.
func (b largeBlobs) Stat(ctx context.Context, hash string) (st blob.Stat, err error) {
	found := false
	err = b.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		st, found = blob.Stat{Hash: hash}, true
		err := conn.QueryRow(ctx, b.sql("SELECT size, chunks FROM {schema}.blob_uploads WHERE hash = $1::text"), b.mode, hash).Scan(&st.Size, &st.Chunks)
		if errors.Is(err, pgx.ErrNoRows) {
			found, err = false, nil
		}
		return err
	})
	if err == nil && !found {
		err = blob.ErrNotFound
	}
	return st, err
}

// Read implements blob.Table.
func (b largeBlobs) Read(ctx context.Context, hash string, n int) (data []byte, err error) {
	found := false
	err = b.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		found = true
		err := conn.QueryRow(ctx, b.sql(`SELECT c.data FROM {schema}.blob_chunks c JOIN {schema}.blob_uploads u USING (upload)
			WHERE u.hash = $1::text AND c.n = $2::int`), b.mode, hash, n).Scan(&data)
		if errors.Is(err, pgx.ErrNoRows) {
			found, err = false, nil
		}
		return err
	})
	if err == nil && !found {
		err = blob.ErrNotFound
	}
	return data, err
}

// Claim implements blob.Table. It waits for a Release of the same blobs.
func (b largeBlobs) Claim(ctx context.Context, owner string, hashes []string, at time.Time) (missing []string, err error) {
	err = b.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		missing = nil
		stored, err := b.held(ctx, tx, hashes, "FOR SHARE")
		if err != nil {
			return err
		}
		for _, h := range hashes {
			if _, found := slices.BinarySearch(stored, h); !found {
				missing = append(missing, h)
			}
		}
		return b.claim(ctx, tx, owner, stored, at)
	})
	if err != nil {
		return nil, err
	}
	return missing, nil
}

// Claims implements blob.Table.
func (b largeBlobs) Claims(ctx context.Context, owner, after string, limit int) (list []blob.Claim, err error) {
	scan := func(rows pgx.Rows) (c blob.Claim, err error) {
		var at int64
		c.Owner = owner
		err = rows.Scan(&c.Hash, &at, &c.Size)
		c.At = time.UnixMilli(at)
		return c, err
	}
	err = b.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		list = nil
		return forRows(ctx, b.Store, conn, scan, func(c blob.Claim) bool { list = append(list, c); return true },
			`SELECT c.hash, c.at, coalesce(u.size, 0) FROM {schema}.blob_claims c LEFT JOIN {schema}.blob_uploads u USING (hash)
			WHERE c.owner = $1::bytea AND c.hash > $2::text ORDER BY c.hash LIMIT $3::int`, []byte(owner), after, limit)
	})
	return list, err
}

// Owners implements blob.Table.
func (b largeBlobs) Owners(ctx context.Context, after string, limit int) (owners []string, err error) {
	scan := func(rows pgx.Rows) (owner []byte, err error) { err = rows.Scan(&owner); return owner, err }
	err = b.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		owners = nil
		return forRows(ctx, b.Store, conn, scan, func(owner []byte) bool { owners = append(owners, string(owner)); return true },
			"SELECT DISTINCT owner FROM {schema}.blob_claims WHERE owner > $1::bytea ORDER BY owner LIMIT $2::int", []byte(after), limit)
	})
	return owners, err
}

// Release implements blob.Table. A blob without claims loses its hash in the same transaction; its
// chunks follow.
func (b largeBlobs) Release(ctx context.Context, owner string, hashes []string, before, _ time.Time) (freed blob.Freed, err error) {
	type removed struct {
		name string
		size int64
	}
	var list []removed
	scan := func(rows pgx.Rows) (r removed, err error) { err = rows.Scan(&r.name, &r.size); return r, err }
	err = b.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		list = nil
		if _, err := b.held(ctx, tx, hashes, "FOR UPDATE"); err != nil {
			return err
		}
		err := b.execIn(ctx, tx, "DELETE FROM {schema}.blob_claims WHERE owner = $1::bytea AND hash = ANY($2::text[]) AND at < $3::bigint",
			[]byte(owner), hashes, before.UnixMilli())
		if err != nil {
			return err
		}
		return forRows(ctx, b.Store, tx, scan, func(r removed) bool { list = append(list, r); return true },
			`UPDATE {schema}.blob_uploads u SET hash = NULL WHERE u.hash = ANY($1::text[])
			AND NOT EXISTS (SELECT FROM {schema}.blob_claims c WHERE c.hash = u.hash) RETURNING u.name, u.size`, hashes)
	})
	if err != nil {
		return freed, err
	}
	for _, r := range list {
		freed.Add(blob.Freed{Blobs: 1, Bytes: r.size})
		if err := b.Discard(ctx, r.name); err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// Sweep implements blob.Table.
func (b largeBlobs) Sweep(ctx context.Context, before time.Time) error {
	var names []string
	err := b.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		names = nil
		return forRows(ctx, b.Store, conn, scanText, func(name string) bool { names = append(names, name); return true },
			"SELECT name FROM {schema}.blob_uploads WHERE hash IS NULL ORDER BY name")
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		if !blob.Begun(name, before) {
			continue
		}
		if err := b.Discard(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
