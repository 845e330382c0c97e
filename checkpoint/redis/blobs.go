package redis

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/internal/brief"
)

// Blobs returns the blobs by hash under this prefix, for all processes that share it. It is usable
// until the Store is closed. It asks the server nothing, and returns an error only if ctx has
// ended. [checkpoint.WithBlobs] gives them to the threads.
//
// A chunk of 1 MiB is a key of its own, and all of them are in the memory of the server. The names
// and claims are six keys in one slot of a cluster.
func (s *Store) Blobs(ctx context.Context) (*blob.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return blob.Over(largeBlobs{s}), nil
}

// largeBlobs is a Store as a blob.Table. blob_common.lua describes its keys.
type largeBlobs struct{ *Store }

var _ blob.Table = largeBlobs{}

// key returns the first key of the names and claims.
func (b largeBlobs) key() string { return b.cfg.Prefix + ":b:{@}" }

// chunkKey returns the key of a chunk.
func (b largeBlobs) chunkKey(upload string, n int) string {
	return b.cfg.Prefix + ":b:{" + encode(upload) + "}:" + strconv.Itoa(n)
}

func (b largeBlobs) script(ctx context.Context, sc *script, args ...any) (any, error) {
	return b.call(ctx, sc, b.key(), args)
}

func unexpected(what string, reply any) error {
	return fmt.Errorf("%w: redis: %s is answered by %.100v", checkpoint.ErrCorrupt, what, reply)
}

// Stage implements blob.Table. The number of chunks is noted before the chunk is stored, so that a
// sweep finds it.
func (b largeBlobs) Stage(ctx context.Context, upload string, n int, data []byte) error {
	ctx = brief.OneCall(ctx)
	reply, err := b.script(ctx, blobStageScript, upload, n)
	if err != nil {
		return err
	}
	if reply == "N" {
		return fmt.Errorf("%w: the upload was removed by a sweep; it took longer than the grace", blob.ErrNotFound)
	}
	if data == nil {
		data = []byte{}
	}
	key := b.chunkKey(upload, n)
	_, err = b.notify(ctx, key, "set", key, data)
	return err
}

// Finish implements blob.Table.
func (b largeBlobs) Finish(ctx context.Context, upload string, st blob.Stat, c blob.Claim) error {
	reply, err := b.script(ctx, blobFinishScript, upload, st.Hash, st.Size, st.Chunks, ownerText(c.Owner), c.At.UnixMilli())
	if err != nil {
		return err
	}
	switch reply {
	case "K":
		return nil
	case "O": // another upload is the blob
		return b.Discard(ctx, upload)
	case "N":
		return fmt.Errorf("%w: the upload does not have %d chunks; it took longer than the grace of a sweep", blob.ErrNotFound, st.Chunks)
	}
	return unexpected("the end of an upload", reply)
}

func ownerText(owner string) string { return hex.EncodeToString([]byte(owner)) }

// Discard implements blob.Table.
func (b largeBlobs) Discard(ctx context.Context, upload string) error {
	reply, err := b.script(ctx, blobDiscardScript, upload)
	if err != nil {
		return err
	}
	n, ok := reply.(int64)
	if !ok {
		return unexpected("the removal of an upload", reply)
	}
	return b.bury(ctx, upload, int(n))
}

// bury removes the chunks of an upload that is on the list of garbage, and then takes it off.
func (b largeBlobs) bury(ctx context.Context, upload string, chunks int) error {
	if chunks == 0 {
		return nil
	}
	for n := range chunks {
		key := b.chunkKey(upload, n)
		if _, err := b.notify(ctx, key, "unlink", key); err != nil {
			return err
		}
	}
	_, err := b.notify(ctx, b.key(), "zrem", b.key()+":g", upload)
	return err
}

// stat returns a blob with the name of its upload.
func (b largeBlobs) stat(ctx context.Context, hash string) (st blob.Stat, upload string, err error) {
	reply, err := b.ask(ctx, b.key(), "hget", b.key()+":h", hash)
	if err != nil {
		return st, "", err
	}
	text, found := reply.(string)
	if !found {
		return st, "", blob.ErrNotFound
	}
	part := strings.Split(text, " ")
	if len(part) != 3 {
		return st, "", unexpected("a blob", reply)
	}
	st.Hash = hash
	st.Size, err = strconv.ParseInt(part[1], 10, 64)
	if err == nil {
		st.Chunks, err = strconv.Atoi(part[2])
	}
	if err != nil {
		return st, "", unexpected("a blob", reply)
	}
	return st, part[0], nil
}

// Stat implements blob.Table.
func (b largeBlobs) Stat(ctx context.Context, hash string) (blob.Stat, error) {
	st, _, err := b.stat(ctx, hash)
	return st, err
}

// Read implements blob.Table.
func (b largeBlobs) Read(ctx context.Context, hash string, n int) ([]byte, error) {
	ctx = brief.OneCall(ctx)
	st, upload, err := b.stat(ctx, hash)
	if err != nil {
		return nil, err
	}
	if n < 0 || n >= st.Chunks {
		return nil, blob.ErrNotFound
	}
	key := b.chunkKey(upload, n)
	reply, err := b.ask(ctx, key, "get", key)
	if err != nil {
		return nil, err
	}
	text, found := reply.(string)
	if !found {
		return nil, fmt.Errorf("%w: chunk %d is not stored", blob.ErrNotFound, n)
	}
	return []byte(text), nil
}

// Claim implements blob.Table.
func (b largeBlobs) Claim(ctx context.Context, owner string, hashes []string, at time.Time) (missing []string, err error) {
	args := []any{ownerText(owner), at.UnixMilli()}
	for _, h := range hashes {
		args = append(args, h)
	}
	reply, err := b.script(ctx, blobClaimScript, args...)
	if err != nil {
		return nil, err
	}
	return texts("a claim", reply)
}

func texts(what string, reply any) (list []string, err error) {
	all, ok := reply.([]any)
	if !ok {
		return nil, unexpected(what, reply)
	}
	for _, v := range all {
		s, ok := v.(string)
		if !ok {
			return nil, unexpected(what, reply)
		}
		list = append(list, s)
	}
	return list, nil
}

// Claims implements blob.Table.
func (b largeBlobs) Claims(ctx context.Context, owner, after string, limit int) (claims []blob.Claim, err error) {
	reply, err := b.script(ctx, blobClaimsScript, ownerText(owner), after, limit)
	if err != nil {
		return nil, err
	}
	list, err := texts("a list of claims", reply)
	if err != nil || len(list)%3 != 0 {
		return nil, unexpected("a list of claims", reply)
	}
	for i := 0; i < len(list); i += 3 {
		at, err := strconv.ParseInt(list[i+1], 10, 64)
		size := int64(0)
		if part := strings.Split(list[i+2], " "); err == nil && len(part) == 3 {
			size, err = strconv.ParseInt(part[1], 10, 64)
		}
		if err != nil {
			return nil, unexpected("a list of claims", reply)
		}
		claims = append(claims, blob.Claim{Owner: owner, Hash: list[i], At: time.UnixMilli(at), Size: size})
	}
	return claims, nil
}

// Owners implements blob.Table.
func (b largeBlobs) Owners(ctx context.Context, after string, limit int) (owners []string, err error) {
	reply, err := b.script(ctx, blobOwnersScript, ownerText(after), limit)
	if err != nil {
		return nil, err
	}
	list, err := texts("a list of owners", reply)
	for _, text := range list {
		owner, err := hex.DecodeString(text)
		if err != nil {
			return nil, unexpected("a list of owners", reply)
		}
		owners = append(owners, string(owner))
	}
	return owners, err
}

// Release implements blob.Table. A blob without claims goes on the list of garbage in the same
// script; its chunks follow.
func (b largeBlobs) Release(ctx context.Context, owner string, hashes []string, before, _ time.Time) (freed blob.Freed, err error) {
	args := []any{ownerText(owner), before.UnixMilli()}
	for _, h := range hashes {
		args = append(args, h)
	}
	reply, err := b.script(ctx, blobReleaseScript, args...)
	if err != nil {
		return freed, err
	}
	list, err := texts("a release", reply)
	if err != nil {
		return freed, err
	}
	for _, text := range list {
		part := strings.Split(text, " ")
		if len(part) != 3 {
			return freed, unexpected("a release", reply)
		}
		size, err := strconv.ParseInt(part[1], 10, 64)
		chunks, err2 := strconv.Atoi(part[2])
		if err != nil || err2 != nil {
			return freed, unexpected("a release", reply)
		}
		freed.Add(blob.Freed{Blobs: 1, Bytes: size})
		if err := b.bury(ctx, part[0], chunks); err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// Sweep implements blob.Table. It goes on with the garbage of all that were cut off.
func (b largeBlobs) Sweep(ctx context.Context, before time.Time) error {
	reply, err := b.ask(ctx, b.key(), "zrange", b.key()+":u", 0, -1)
	if err != nil {
		return err
	}
	uploads, err := texts("a list of uploads", reply)
	if err != nil {
		return err
	}
	reply, err = b.ask(ctx, b.key(), "zrange", b.key()+":g", 0, -1)
	if err != nil {
		return err
	}
	garbage, err := texts("a list of uploads", reply)
	if err != nil {
		return err
	}
	for _, upload := range uploads {
		if blob.Begun(upload, before) {
			garbage = append(garbage, upload)
		}
	}
	for _, upload := range garbage {
		if err := b.Discard(ctx, upload); err != nil {
			return err
		}
	}
	return nil
}
