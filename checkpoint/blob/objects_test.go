package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/blob/blobtest"
)

// heap is Objects in memory, for a process that may die at a write.
type heap struct {
	mu      *sync.Mutex
	objects map[string][]byte
	left    int // writes until the process dies; negative for never
}

var errDied = errors.New("the process has died")

func (h *heap) write(f func()) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left == 0 {
		return errDied
	}
	h.left--
	f()
	return nil
}

func (h *heap) Put(ctx context.Context, key string, data []byte) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return h.write(func() { h.objects[key] = bytes.Clone(data) })
}

func (h *heap) Get(ctx context.Context, key string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, ok := h.objects[key]
	if !ok {
		return nil, errors.Join(blob.ErrNotFound, ctx.Err())
	}
	return bytes.Clone(data), ctx.Err()
}

func (h *heap) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(h.objects)) {
		if strings.HasPrefix(key, prefix) && key > after && len(keys) < limit {
			keys = append(keys, key)
		}
	}
	return keys, ctx.Err()
}

func (h *heap) Delete(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return h.write(func() { delete(h.objects, key) })
}

func newHeap() *heap {
	return &heap{mu: new(sync.Mutex), objects: map[string][]byte{}, left: -1}
}

func TestObjects(t *testing.T) {
	blobtest.Run(t, func(testing.TB) blob.Table { return blob.OverObjects(newHeap()) })
}

// forgets is a heap from which the first owner goes between a listing and the read that follows.
type forgets struct{ *heap }

func (f forgets) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	keys, err := f.heap.List(ctx, prefix, after, limit)
	if prefix == "owners/" && after == "" && len(keys) > 0 {
		err = errors.Join(err, f.heap.Delete(ctx, keys[0]))
	}
	return keys, err
}

func TestObjects_PageOfOwnersIsFull(t *testing.T) {
	table := blob.OverObjects(forgets{newHeap()})
	for n := range 5 {
		if _, err := blob.Over(table).Put(t.Context(), fmt.Sprint("owner ", n), strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := table.Owners(t.Context(), "", 2); err != nil || len(page) != 2 {
		t.Errorf("rule: only the last page of owners is not full\n got: %q, %v\nwant: two of the four that are left", page, err)
	}
}

// TestObjects_KilledAtEachWrite lets a process die at each single object that it writes. The next
// process finds what is claimed, and in the end removes every object.
//
// Requirement: blobs survive a crash at any write
func TestObjects_KilledAtEachWrite(t *testing.T) {
	ctx, deaths := t.Context(), 0
	for n := 0; ; n++ {
		h := newHeap()
		now := time.UnixMilli(1_800_000_000_000)
		over := func() *blob.Store {
			s := blob.Over(blob.OverObjects(h))
			s.Now = func() time.Time { return now }
			return s
		}
		put := func(owner, content string) (blob.Ref, error) {
			return over().Put(ctx, owner, strings.NewReader(content))
		}
		others, err := put("others", "others")
		_, err2 := put("owner", "old")
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		now = now.Add(48 * time.Hour)
		work := func() error {
			if _, err := put("owner", "new"); err != nil {
				return err
			}
			if err := over().Claim(ctx, "owner", []string{others.Hash}); err != nil {
				return err
			}
			if _, err := over().Release(ctx, "owner", time.Hour, unused); err != nil {
				return err
			}
			return over().Sweep(ctx, time.Hour)
		}
		h.left = n
		err = work()
		died := h.left == 0 && err != nil
		h.left = -1
		if err != nil && !errors.Is(err, errDied) {
			t.Fatalf("write %d: %v", n, err)
		}
		wantContent(t, over(), others, "others")
		// The mark of a removal that died does not make others wait.
		now = now.Add(time.Minute)
		if err := over().Claim(ctx, "others", []string{others.Hash}); err != nil {
			t.Fatalf("write %d: another owner: %v", n, err)
		}
		for _, content := range []string{"others", "old", "new"} {
			ref, err := put("third", content)
			if err != nil {
				t.Fatalf("write %d: another owner puts %q: %v", n, content, err)
			}
			wantContent(t, over(), ref, content)
		}
		now = now.Add(48 * time.Hour)
		if err := over().Sweep(ctx, time.Hour); err != nil {
			t.Fatalf("write %d: sweep: %v", n, err)
		}
		if err := work(); err != nil {
			t.Fatalf("write %d: the next process: %v", n, err)
		}
		wantContent(t, over(), others, "others")
		now = now.Add(48 * time.Hour)
		for _, owner := range []string{"owner", "others", "third"} {
			if _, err := over().Release(ctx, owner, time.Hour, unused); err != nil {
				t.Fatal(err)
			}
		}
		if err := over().Sweep(ctx, time.Hour); err != nil {
			t.Fatal(err)
		}
		if len(h.objects) != 0 {
			t.Errorf("rule: at the end no object is left\n got: after a death at write %d: %q", n, slices.Sorted(maps.Keys(h.objects)))
		}
		if !died {
			break
		}
		deaths++
	}
	if deaths < 20 {
		t.Errorf("rule: the test kills at each write\n got: %d deaths", deaths)
	}
}

func unused(context.Context) (map[string]bool, error) { return nil, nil }

func wantContent(t testing.TB, s *blob.Store, ref blob.Ref, want string) {
	t.Helper()
	r, err := s.Open(t.Context(), ref)
	if err != nil {
		t.Errorf("rule: what is claimed is stored\n got: %v", err)
		return
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != want {
		t.Errorf("rule: what is claimed is read\n got: %q, %v\nwant: %q", got, err, want)
	}
}

// TestObjects_ClaimRacesRelease claims and releases one blob from several processes. A claim that
// succeeded always has its blob.
func TestObjects_ClaimRacesRelease(t *testing.T) {
	h, ctx := newHeap(), t.Context()
	now := time.UnixMilli(1_800_000_000_000)
	table := blob.OverObjects(h)
	s := blob.Over(table)
	s.Now = func() time.Time { return now }
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			owner := fmt.Sprint("owner ", w)
			for range 50 {
				ref, err := s.Put(ctx, owner, strings.NewReader("content"))
				if err != nil {
					t.Errorf("rule: Put succeeds\n got: %v", err)
					return
				}
				wantContent(t, s, ref, "content")
				if _, err := table.Release(ctx, owner, []string{ref.Hash}, now.Add(time.Hour), now); err != nil {
					t.Errorf("rule: Release succeeds\n got: %v", err)
				}
				if s.Claim(ctx, owner, []string{ref.Hash}) == nil { // another owner has it
					wantContent(t, s, ref, "content")
				}
				if _, err := table.Release(ctx, owner, []string{ref.Hash}, now.Add(time.Hour), now); err != nil {
					t.Errorf("rule: Release succeeds\n got: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if len(h.objects) != 0 {
		t.Errorf("rule: at the end no object is left\n got: %q", slices.Sorted(maps.Keys(h.objects)))
	}
}
