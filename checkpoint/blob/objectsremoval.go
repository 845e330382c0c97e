package blob

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"
)

// Discard implements [Table].
func (o objects) Discard(ctx context.Context, upload string) error {
	hash, err := o.Get(ctx, "hashes/"+upload)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return o.remove(ctx, upload, string(hash))
}

// remove removes an upload, unless it is the blob with this hash; "" is none.
func (o objects) remove(ctx context.Context, upload, hash string) error {
	if hash != "" {
		list, err := o.names(ctx, hash)
		if err != nil {
			return err
		}
		if _, ok := nameOf(list, upload); ok {
			return nil
		}
	}
	return o.bury(ctx, "", upload)
}

// nameOf returns the name of an upload.
func nameOf(list []name, upload string) (name, bool) {
	i := slices.IndexFunc(list, func(n name) bool { return n.upload == upload })
	if i < 0 {
		return name{}, false
	}
	return list[i], true
}

// Release implements [Table]. It marks the blob before it deletes the claim: a Sweep then finds
// what a crash leaves.
func (o objects) Release(ctx context.Context, owner string, hashes []string, before, now time.Time) (freed Freed, err error) {
	id := ownerID(owner)
	for _, h := range hashes {
		own, err := o.claimsOf(ctx, h, id)
		if err != nil {
			return freed, err
		}
		if len(own) > 0 && !timeOf(own[len(own)-1]).Before(before) {
			continue
		}
		f, err := o.end(ctx, h, id, own, now)
		freed.Add(f)
		if err != nil {
			return freed, err
		}
	}
	return freed, o.forget(ctx, id, owner)
}

// end ends claims of an owner to a blob, and removes the blob unless others claim it.
func (o objects) end(ctx context.Context, hash, id string, own []string, now time.Time) (freed Freed, err error) {
	list, err := o.names(ctx, hash)
	if err != nil {
		return freed, err
	}
	// Each removal has marks of its own, so that no other takes them away.
	var marks []string
	for _, n := range list {
		mark := doomKey(n.upload, now)
		if err := o.Put(ctx, mark, nil); err != nil {
			return freed, err
		}
		marks = append(marks, mark)
	}
	if err := o.deleteKeys(ctx, own); err != nil {
		return freed, err
	}
	if err := o.unlist(ctx, id, hash); err != nil {
		return freed, err
	}
	claimed, err := o.has(ctx, "claims/"+hash+"/")
	if err != nil {
		return freed, err
	}
	if claimed {
		return freed, o.deleteKeys(ctx, marks)
	}
	for _, n := range list {
		if err := o.bury(ctx, n.key, n.upload); err != nil {
			return freed, err
		}
		freed.Add(Freed{Bytes: n.Size})
		freed.Blobs = 1 // also if a race has stored it twice
	}
	return freed, nil
}

// doomKey returns a new mark of an upload.
func doomKey(upload string, at time.Time) string {
	return fmt.Sprintf("doomed/%s/%s", upload, newUpload(at))
}

// unlist removes a blob from the list of an owner that has no claim to it.
func (o objects) unlist(ctx context.Context, id, hash string) error {
	key := "owned/" + id + "/" + hash
	if err := o.Delete(ctx, key); err != nil {
		return err
	}
	if again, err := o.claimsOf(ctx, hash, id); err != nil || len(again) == 0 {
		return err
	}
	return o.Put(ctx, key, nil)
}

// forget removes the name of an owner without claims.
func (o objects) forget(ctx context.Context, id, owner string) error {
	if owns, err := o.has(ctx, "owned/"+id+"/"); err != nil || owns {
		return err
	}
	if err := o.Delete(ctx, "owners/"+id); err != nil {
		return err
	}
	if owns, err := o.has(ctx, "owned/"+id+"/"); err != nil || !owns {
		return err
	}
	return o.Put(ctx, "owners/"+id, []byte(owner))
}

// bury removes an upload: its name first, and its mark last.
func (o objects) bury(ctx context.Context, name, upload string) error {
	if name != "" {
		if err := o.Delete(ctx, name); err != nil {
			return err
		}
	}
	if err := o.deleteAll(ctx, "data/"+upload+"/"); err != nil {
		return err
	}
	if err := o.deleteKeys(ctx, []string{"hashes/" + upload, "uploads/" + upload}); err != nil {
		return err
	}
	return o.deleteAll(ctx, "doomed/"+upload+"/")
}

// Sweep implements [Table].
func (o objects) Sweep(ctx context.Context, before time.Time) error {
	if err := o.sweepDoomed(ctx, before); err != nil {
		return err
	}
	keys, err := o.all(ctx, "uploads/")
	if err != nil {
		return err
	}
	for _, key := range keys {
		if upload := path.Base(key); Begun(upload, before) {
			if err := o.sweep(ctx, upload, before); err != nil {
				return err
			}
		}
	}
	return nil
}

// named returns the name of an upload that is a blob.
func (o objects) named(ctx context.Context, upload string) (n name, hash string, err error) {
	data, err := o.Get(ctx, "hashes/"+upload)
	if errors.Is(err, ErrNotFound) {
		return name{}, "", nil
	}
	if err != nil {
		return name{}, "", err
	}
	list, err := o.names(ctx, string(data))
	n, _ = nameOf(list, upload)
	return n, string(data), err
}

// sweep removes an upload that is not a blob.
func (o objects) sweep(ctx context.Context, upload string, before time.Time) error {
	n, _, err := o.named(ctx, upload)
	if err != nil {
		return err
	}
	if n.key != "" {
		return o.Delete(ctx, "uploads/"+upload)
	}
	mark := doomKey(upload, before) // a later Sweep ends this one if it is cut off
	if err := o.Put(ctx, mark, nil); err != nil {
		return err
	}
	if n, _, err = o.named(ctx, upload); err != nil || n.key != "" {
		return errors.Join(err, o.Delete(ctx, mark))
	}
	return o.bury(ctx, "", upload)
}

// sweepDoomed ends the removals that were cut off.
func (o objects) sweepDoomed(ctx context.Context, before time.Time) error {
	keys, err := o.all(ctx, "doomed/")
	if err != nil {
		return err
	}
	for _, mark := range keys {
		if !Begun(path.Base(mark), before) {
			continue // the removal may be under way
		}
		if err := o.sweepMark(ctx, mark); err != nil {
			return err
		}
	}
	return nil
}

func (o objects) sweepMark(ctx context.Context, mark string) error {
	upload := path.Base(path.Dir(mark))
	n, hash, err := o.named(ctx, upload)
	if err != nil {
		return err
	}
	if hash != "" {
		claimed, err := o.has(ctx, "claims/"+hash+"/")
		if err != nil {
			return err
		}
		if claimed && n.key != "" {
			return o.Delete(ctx, mark)
		}
	}
	return o.bury(ctx, n.key, upload)
}
