package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// Objects is the interface of a backend that only stores small files by name: a folder, or a store
// with the interface of S3. [OverObjects] makes a Table of it. A key has the letters a to z,
// digits, A to Z, and -, . and /; it has at most 200 bytes. What a call has written is seen by
// every later call of any process.
type Objects interface {
	// Put stores an object, atomically.
	Put(ctx context.Context, key string, data []byte) error
	// Get returns an object, or an ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// List returns at most limit keys that begin with prefix, in ascending byte order, from the
	// first one after the given one. A prefix ends with a slash.
	List(ctx context.Context, prefix, after string, limit int) ([]string, error)
	// Delete removes an object. A missing one is no error.
	Delete(ctx context.Context, key string) error
}

// OverObjects returns a Table that uses Objects.
//
// Objects have no transactions, so a claim and a removal each write and then look: a claim writes
// its object and then looks for a mark that dooms the upload; a removal writes the mark and then
// looks for claims. At least one of them sees the other. A removal that finds a claim takes its
// mark away. A claim that finds a mark waits until the mark or the blob has gone. If neither goes,
// because the process of the removal has died, the content is stored once more.
func OverObjects(o Objects) Table { return objects{o} }

// The objects are:
//
//	uploads/UPLOAD            the upload was begun, and is not finished
//	data/UPLOAD/N             chunk N of an upload
//	hashes/UPLOAD             the hash for which the upload was finished
//	names/HASH/UPLOAD.SIZE.N  the upload is a blob with this hash, size and number of chunks
//	claims/HASH/OWNER.TIME    OWNER, the hash of the owner's name, claims the blob
//	owners/OWNER              the owner's name
//	owned/OWNER/HASH          the owner may have a claim
//	doomed/UPLOAD/TIME-MARK   the upload is removed unless it is claimed
type objects struct{ Objects }

const (
	pageOfKeys = 1000
	// doomWait is how long a claim waits for a removal, and doomPause how often it looks.
	doomWait  = 10 * time.Second
	doomPause = 5 * time.Millisecond
)

func dataKey(upload string, n int) string { return fmt.Sprintf("data/%s/%08d", upload, n) }

func ownerID(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:])
}

func claimPrefix(hash, id string) string { return "claims/" + hash + "/" + id + "." }

// all returns all keys with a prefix.
func (o objects) all(ctx context.Context, prefix string) (keys []string, err error) {
	after := ""
	for {
		page, err := o.List(ctx, prefix, after, pageOfKeys)
		if err != nil {
			return nil, err
		}
		keys = append(keys, page...)
		if len(page) < pageOfKeys {
			return keys, nil
		}
		after = page[len(page)-1]
	}
}

// has reports whether there is a key with a prefix.
func (o objects) has(ctx context.Context, prefix string) (bool, error) {
	keys, err := o.List(ctx, prefix, "", 1)
	return len(keys) > 0, err
}

// deleteAll removes all objects with a prefix.
func (o objects) deleteAll(ctx context.Context, prefix string) error {
	keys, err := o.all(ctx, prefix)
	return errors.Join(err, o.deleteKeys(ctx, keys))
}

func (o objects) deleteKeys(ctx context.Context, keys []string) error {
	for _, key := range keys {
		if err := o.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// name is an upload that is a blob.
type name struct {
	Stat
	key, upload string
}

// names returns the uploads with a hash.
func (o objects) names(ctx context.Context, hash string) (list []name, err error) {
	keys, err := o.all(ctx, "names/"+hash+"/")
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		part := strings.Split(path.Base(key), ".")
		if len(part) != 3 {
			return nil, fmt.Errorf("%w: object %q has no size", checkpoint.ErrCorrupt, key)
		}
		size, err := strconv.ParseInt(part[1], 10, 64)
		chunks, err2 := strconv.Atoi(part[2])
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("%w: object %q: %w", checkpoint.ErrCorrupt, key, err)
		}
		list = append(list, name{Stat{hash, size, chunks}, key, part[0]})
	}
	return list, nil
}

// Stage implements [Table].
func (o objects) Stage(ctx context.Context, upload string, n int, data []byte) error {
	if n == 0 {
		if err := o.Put(ctx, "uploads/"+upload, nil); err != nil {
			return err
		}
	}
	return o.Put(ctx, dataKey(upload, n), data)
}

// Finish implements [Table].
func (o objects) Finish(ctx context.Context, upload string, b Stat, c Claim) error {
	if err := o.write(ctx, c.Owner, b.Hash, c.At); err != nil {
		return err
	}
	other, err := o.firm(ctx, b.Hash, "", c.At)
	switch {
	case errors.Is(err, errDoomed): // this upload becomes the blob too
	case err != nil:
		return err
	case other != nil && other.upload != upload:
		return o.remove(ctx, upload, b.Hash)
	}
	return o.publish(ctx, upload, b, c.At)
}

// publish makes an upload a blob whose claim is written.
func (o objects) publish(ctx context.Context, upload string, b Stat, at time.Time) error {
	if err := o.complete(ctx, upload, b); err != nil {
		return err
	}
	if err := o.Put(ctx, "hashes/"+upload, []byte(b.Hash)); err != nil {
		return err
	}
	key := fmt.Sprintf("names/%s/%s.%d.%d", b.Hash, upload, b.Size, b.Chunks)
	if err := o.Put(ctx, key, nil); err != nil {
		return err
	}
	// A sweep that has marked the upload before it had the name removes it.
	_, err := o.firm(ctx, b.Hash, upload, at)
	if err == nil {
		err = o.complete(ctx, upload, b)
	}
	if errors.Is(err, ErrNotFound) {
		err = errors.Join(err, o.Delete(ctx, key))
	}
	if err != nil {
		return err
	}
	return o.Delete(ctx, "uploads/"+upload)
}

// complete returns an ErrNotFound if chunks of an upload are missing.
func (o objects) complete(ctx context.Context, upload string, b Stat) error {
	chunks, err := o.all(ctx, "data/"+upload+"/")
	if err == nil && len(chunks) != b.Chunks {
		err = fmt.Errorf("%w: the upload has %d chunks and not %d; it took longer than the grace of a sweep", ErrNotFound, len(chunks), b.Chunks)
	}
	return err
}

// write writes the claim of an owner, whether or not there is a blob. The list of the owner is
// written before the claim, so that no claim is unlisted after a crash, and after it, because a
// Release may have removed it.
func (o objects) write(ctx context.Context, owner, hash string, at time.Time) error {
	id := ownerID(owner)
	list := func() error {
		if err := o.Put(ctx, "owners/"+id, []byte(owner)); err != nil {
			return err
		}
		return o.Put(ctx, "owned/"+id+"/"+hash, nil)
	}
	if err := list(); err != nil {
		return err
	}
	older, err := o.claimsOf(ctx, hash, id)
	if err != nil {
		return err
	}
	key := claimPrefix(hash, id) + fmt.Sprintf("%013d", at.UnixMilli())
	if err := o.Put(ctx, key, nil); err != nil {
		return err
	}
	if err := list(); err != nil {
		return err
	}
	for _, k := range older {
		if k < key {
			if err := o.Delete(ctx, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// claimsOf returns the keys of the claims of an owner to a blob, the newest last.
func (o objects) claimsOf(ctx context.Context, hash, id string) (own []string, err error) {
	after := strings.TrimSuffix(claimPrefix(hash, id), ".") // "." and digits are greater
	page, err := o.List(ctx, "claims/"+hash+"/", after, 16)
	for _, key := range page {
		if strings.HasPrefix(key, claimPrefix(hash, id)) {
			own = append(own, key)
		}
	}
	return own, err
}

func timeOf(key string) time.Time {
	ms, _ := strconv.ParseInt(strings.TrimPrefix(path.Ext(key), "."), 10, 64)
	return time.UnixMilli(ms)
}

// Stat implements [Table].
func (o objects) Stat(ctx context.Context, hash string) (Stat, error) {
	list, err := o.names(ctx, hash)
	if err != nil {
		return Stat{}, err
	}
	if len(list) == 0 {
		return Stat{}, ErrNotFound
	}
	return list[0].Stat, nil
}

// Read implements [Table].
func (o objects) Read(ctx context.Context, hash string, n int) ([]byte, error) {
	list, err := o.names(ctx, hash)
	if err != nil {
		return nil, err
	}
	err = ErrNotFound
	for _, name := range list {
		var data []byte
		if data, err = o.Get(ctx, dataKey(name.upload, n)); !errors.Is(err, ErrNotFound) {
			return data, err
		}
	}
	return nil, err
}

// Claim implements [Table].
func (o objects) Claim(ctx context.Context, owner string, hashes []string, at time.Time) (missing []string, err error) {
	for _, h := range hashes {
		// A content that is not stored needs no claim.
		if _, err := o.Stat(ctx, h); errors.Is(err, ErrNotFound) {
			missing = append(missing, h)
			continue
		} else if err != nil {
			return nil, err
		}
		if err := o.write(ctx, owner, h, at); err != nil {
			return nil, err
		}
		n, err := o.firm(ctx, h, "", at)
		there := n != nil
		if errors.Is(err, errDoomed) {
			there, err = o.again(ctx, h, at)
		}
		if err != nil {
			return nil, err
		}
		if !there { // removed before the claim was seen
			missing = append(missing, h)
		}
	}
	return missing, nil
}

// Claims implements [Table].
func (o objects) Claims(ctx context.Context, owner, after string, limit int) (list []Claim, err error) {
	id := ownerID(owner)
	prefix := "owned/" + id + "/"
	if after != "" {
		after = prefix + after
	}
	for len(list) < limit {
		keys, err := o.List(ctx, prefix, after, limit)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			hash := path.Base(key)
			own, err := o.claimsOf(ctx, hash, id)
			if err != nil {
				return nil, err
			}
			if len(list) == limit {
				return list, nil
			}
			at := time.UnixMilli(0) // a Release was cut off, and is to be repeated
			if len(own) > 0 {
				at = timeOf(own[len(own)-1])
			}
			b, err := o.Stat(ctx, hash)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return nil, err
			}
			list = append(list, Claim{owner, hash, b.Size, at})
		}
		if len(keys) < limit {
			break
		}
		after = keys[len(keys)-1]
	}
	return list, nil
}

// Owners implements [Table].
func (o objects) Owners(ctx context.Context, after string, limit int) (owners []string, err error) {
	if after != "" {
		after = "owners/" + ownerID(after)
	}
	for more := true; more && len(owners) < limit; {
		left := limit - len(owners)
		keys, err := o.List(ctx, "owners/", after, left)
		if err != nil {
			return nil, err
		}
		for _, after = range keys {
			data, err := o.Get(ctx, after)
			if errors.Is(err, ErrNotFound) {
				continue // a Release has removed it since
			}
			if err != nil {
				return nil, err
			}
			owners = append(owners, string(data))
		}
		more = len(keys) == left
	}
	return owners, nil
}
