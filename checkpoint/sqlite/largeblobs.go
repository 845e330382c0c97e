package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint/blob"
)

//go:embed largeblobs.sql
var blobSchema string

// Blobs returns the blobs by hash in this file, for all processes that share it. It creates their
// tables if they are missing. It gives the guarantees of the Store, and is usable until the Store
// is closed. [checkpoint.WithBlobs] gives them to the threads.
func (s *Store) Blobs(ctx context.Context) (*blob.Store, error) {
	err := s.submit(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(context.Background(), blobSchema)
		return err
	})
	if err != nil {
		return nil, err
	}
	b := blob.Over(largeBlobs{s})
	b.Now = s.now
	return b, nil
}

// largeBlobs is a Store as a blob.Table.
type largeBlobs struct{ *Store }

var _ blob.Table = largeBlobs{}

// Stage implements blob.Table. The caller may use data again after its context has ended, so the
// writer gets a copy.
func (b largeBlobs) Stage(ctx context.Context, upload string, n int, data []byte) error {
	own := append([]byte{}, data...)
	return b.submit(ctx, func(w *writer) error {
		if err := w.run("INSERT INTO blob_uploads (name) VALUES (?) ON CONFLICT DO NOTHING", upload); err != nil {
			return err
		}
		return w.run(`INSERT INTO blob_chunks (upload, n, data) SELECT upload, ?2, ?3 FROM blob_uploads WHERE name = ?1
			ON CONFLICT DO UPDATE SET data = excluded.data`, upload, n, own)
	})
}

// Finish implements blob.Table.
func (b largeBlobs) Finish(ctx context.Context, upload string, st blob.Stat, c blob.Claim) error {
	var refusal error // the writer's until submit returns nil
	err := b.submit(ctx, func(w *writer) error {
		refusal = nil
		var stored bool
		var chunks int
		err := w.queryRow(`SELECT EXISTS (SELECT 1 FROM blob_uploads WHERE hash = ?1),
			(SELECT count(*) FROM blob_chunks c JOIN blob_uploads u USING (upload) WHERE u.name = ?2)`, st.Hash, upload).Scan(&stored, &chunks)
		if err != nil {
			return err
		}
		switch {
		case !stored && chunks != st.Chunks:
			refusal = fmt.Errorf("%w: the upload has %d chunks and not %d; it took longer than the grace of a sweep", blob.ErrNotFound, chunks, st.Chunks)
			return nil
		case !stored:
			err = w.run("UPDATE blob_uploads SET hash = ?, size = ?, chunks = ? WHERE name = ?", st.Hash, st.Size, st.Chunks, upload)
		}
		if err != nil {
			return err
		}
		return w.claimBlob(c.Owner, st.Hash, c.At)
	})
	if err := errors.Join(err, refusal); err != nil {
		return err
	}
	return b.Discard(ctx, upload) // does nothing if it is the blob
}

func (w *writer) claimBlob(owner, hash string, at time.Time) error {
	return w.run(`INSERT INTO blob_claims (owner, hash, at) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET at = excluded.at`, []byte(owner), hash, at.UnixMilli())
}

// chunksAtOnce is how many chunks one transaction removes.
const chunksAtOnce = 16

// Discard implements blob.Table.
func (b largeBlobs) Discard(ctx context.Context, upload string) error {
	var left bool // the writer's until submit returns nil
	for {
		err := b.submit(ctx, func(w *writer) error {
			err := w.run(`DELETE FROM blob_chunks WHERE rowid IN (SELECT c.rowid FROM blob_chunks c JOIN blob_uploads u USING (upload)
				WHERE u.name = ?1 AND u.hash IS NULL LIMIT ?2)`, upload, chunksAtOnce)
			if err != nil {
				return err
			}
			if err := w.queryRow(`SELECT EXISTS (SELECT 1 FROM blob_chunks c JOIN blob_uploads u USING (upload)
				WHERE u.name = ?1 AND u.hash IS NULL)`, upload).Scan(&left); err != nil || left {
				return err
			}
			return w.run("DELETE FROM blob_uploads WHERE name = ? AND hash IS NULL", upload)
		})
		if err != nil || !left {
			return err
		}
	}
}

// Stat implements blob.Table.
func (b largeBlobs) Stat(ctx context.Context, hash string) (st blob.Stat, err error) {
	err = blob.ErrNotFound
	failed := b.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		st.Hash = hash
		err = rows.Scan(&st.Size, &st.Chunks)
		return false, err
	}, "SELECT size, chunks FROM blob_uploads WHERE hash = ?", hash)
	return st, firstOf(failed, err)
}

// firstOf returns the error of a read, or else what it found.
func firstOf(failed, err error) error {
	if failed != nil {
		return failed
	}
	return err
}

// Read implements blob.Table.
func (b largeBlobs) Read(ctx context.Context, hash string, n int) (data []byte, err error) {
	err = blob.ErrNotFound
	failed := b.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		err = rows.Scan(&data)
		return false, err
	}, "SELECT c.data FROM blob_chunks c JOIN blob_uploads u USING (upload) WHERE u.hash = ? AND c.n = ?", hash, n)
	return data, firstOf(failed, err)
}

// Claim implements blob.Table.
func (b largeBlobs) Claim(ctx context.Context, owner string, hashes []string, at time.Time) ([]string, error) {
	hashes = append([]string{}, hashes...)
	var missing []string // the writer's until submit returns nil
	err := b.submit(ctx, func(w *writer) error {
		missing = nil
		for _, h := range hashes {
			var stored bool
			err := w.queryRow("SELECT EXISTS (SELECT 1 FROM blob_uploads WHERE hash = ?)", h).Scan(&stored)
			if err == nil && stored {
				err = w.claimBlob(owner, h, at)
			} else if err == nil {
				missing = append(missing, h)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return missing, nil
}

// Claims implements blob.Table.
func (b largeBlobs) Claims(ctx context.Context, owner, after string, limit int) (list []blob.Claim, err error) {
	err = b.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		c := blob.Claim{Owner: owner}
		var at int64
		err := rows.Scan(&c.Hash, &at, &c.Size)
		c.At = time.UnixMilli(at)
		list = append(list, c)
		return true, err
	}, `SELECT c.hash, c.at, ifnull(u.size, 0) FROM blob_claims c LEFT JOIN blob_uploads u USING (hash)
		WHERE c.owner = ? AND c.hash > ? ORDER BY c.hash LIMIT ?`, []byte(owner), after, limit)
	return list, err
}

// Owners implements blob.Table.
func (b largeBlobs) Owners(ctx context.Context, after string, limit int) (owners []string, err error) {
	err = b.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		var owner []byte
		err := rows.Scan(&owner)
		owners = append(owners, string(owner))
		return true, err
	}, "SELECT DISTINCT owner FROM blob_claims WHERE owner > ? ORDER BY owner LIMIT ?", []byte(after), limit)
	return owners, err
}

// Release implements blob.Table. A blob without claims loses its hash in the same transaction; its
// chunks follow.
func (b largeBlobs) Release(ctx context.Context, owner string, hashes []string, before, _ time.Time) (blob.Freed, error) {
	hashes = append([]string{}, hashes...)
	var freed blob.Freed // the writer's until submit returns nil, as uploads is
	var uploads []string
	err := b.submit(ctx, func(w *writer) error {
		freed, uploads = blob.Freed{}, nil
		for _, h := range hashes {
			if err := w.run("DELETE FROM blob_claims WHERE owner = ? AND hash = ? AND at < ?", []byte(owner), h, before.UnixMilli()); err != nil {
				return err
			}
			var name string
			var size int64
			err := w.queryRow(`SELECT name, size FROM blob_uploads u WHERE hash = ?1
				AND NOT EXISTS (SELECT 1 FROM blob_claims c WHERE c.hash = ?1)`, h).Scan(&name, &size)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err == nil {
				err = w.run("UPDATE blob_uploads SET hash = NULL WHERE hash = ?", h)
			}
			if err != nil {
				return err
			}
			freed.Add(blob.Freed{Blobs: 1, Bytes: size})
			uploads = append(uploads, name)
		}
		return nil
	})
	if err != nil {
		return blob.Freed{}, err
	}
	for _, upload := range uploads {
		if err := b.Discard(ctx, upload); err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// Sweep implements blob.Table.
func (b largeBlobs) Sweep(ctx context.Context, before time.Time) error {
	var names []string
	err := b.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		var name string
		err := rows.Scan(&name)
		if blob.Begun(name, before) {
			names = append(names, name)
		}
		return true, err
	}, "SELECT name FROM blob_uploads WHERE hash IS NULL ORDER BY name")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := b.Discard(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
