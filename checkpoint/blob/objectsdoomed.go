package blob

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// errDoomed is returned when all uploads of a blob have marks of removals that do not end.
var errDoomed = fmt.Errorf("%w: a removal of the blob does not end; call Sweep", checkpoint.ErrBusy)

// firm returns a name of a blob that no removal has doomed, or nil when there is none. It waits for
// removals to end, but not for those that began long before at. With an upload it looks at the name
// of that one only, and waits for each removal: the mark of a sweep has an older time.
func (o objects) firm(ctx context.Context, hash, upload string, at time.Time) (*name, error) {
	deadline := time.NewTimer(doomWait)
	defer deadline.Stop()
	for {
		list, err := o.names(ctx, hash)
		if upload != "" {
			list = slices.DeleteFunc(list, func(n name) bool { return n.upload != upload })
		}
		if err != nil || len(list) == 0 {
			return nil, err
		}
		dead := upload == "" // the removals began long ago
		for i := range list {
			marks, err := o.all(ctx, "doomed/"+list[i].upload+"/")
			if err != nil {
				return nil, err
			}
			if len(marks) > 0 {
				dead = dead && !slices.ContainsFunc(marks, func(m string) bool { return !Begun(path.Base(m), at.Add(-doomWait)) })
				continue
			}
			// The mark may have gone because the blob has: look again.
			if _, err := o.Get(ctx, list[i].key); !errors.Is(err, ErrNotFound) {
				return &list[i], err
			}
			dead = false
		}
		if dead {
			return nil, errDoomed
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, errDoomed
		case <-time.After(doomPause):
		}
	}
}

// again stores the content of a doomed blob as another upload, whose claim is written. It returns
// false if the content has gone.
func (o objects) again(ctx context.Context, hash string, at time.Time) (bool, error) {
	list, err := o.names(ctx, hash)
	if err != nil {
		return false, err
	}
	for _, from := range list {
		upload := newUpload(at)
		err := o.copyChunks(ctx, from, upload)
		if err == nil {
			err = o.publish(ctx, upload, from.Stat, at)
		}
		if err == nil {
			return true, nil
		}
		if err := errors.Join(err, o.remove(context.WithoutCancel(ctx), upload, hash)); !errors.Is(err, ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}

func (o objects) copyChunks(ctx context.Context, from name, upload string) error {
	for n := range from.Chunks {
		data, err := o.Get(ctx, dataKey(from.upload, n))
		if err == nil {
			err = o.Stage(ctx, upload, n, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
