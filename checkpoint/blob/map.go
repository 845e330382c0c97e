package blob

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Map is a [Table] in the memory of this process, for tests and examples. The zero value is ready
// for use. A Map must not be copied after first use.
type Map struct {
	mu      sync.Mutex
	uploads map[string][][]byte // not finished
	blobs   map[string][][]byte // by hash
	claims  map[string]map[string]time.Time
}

var _ Table = (*Map)(nil)

// lock locks m, unless the context has ended.
func (m *Map) lock(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	if m.uploads == nil {
		m.uploads, m.blobs, m.claims = map[string][][]byte{}, map[string][][]byte{}, map[string]map[string]time.Time{}
	}
	return m.mu.Unlock, nil
}

// Stage implements [Table].
func (m *Map) Stage(ctx context.Context, upload string, n int, data []byte) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	chunks := m.uploads[upload]
	if n < len(chunks) {
		chunks[n] = bytes.Clone(data)
		return nil
	}
	m.uploads[upload] = append(chunks, append([]byte{}, data...))
	return nil
}

// Finish implements [Table].
func (m *Map) Finish(ctx context.Context, upload string, b Stat, c Claim) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	chunks := m.uploads[upload]
	if m.blobs[b.Hash] == nil {
		if len(chunks) != b.Chunks {
			return ErrNotFound
		}
		m.blobs[b.Hash] = chunks
	}
	delete(m.uploads, upload)
	m.claim(c.Owner, b.Hash, c.At)
	return nil
}

func (m *Map) claim(owner, hash string, at time.Time) {
	if m.claims[owner] == nil {
		m.claims[owner] = map[string]time.Time{}
	}
	m.claims[owner][hash] = at.Truncate(time.Millisecond)
}

// Discard implements [Table].
func (m *Map) Discard(ctx context.Context, upload string) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	delete(m.uploads, upload)
	return nil
}

// Stat implements [Table].
func (m *Map) Stat(ctx context.Context, hash string) (Stat, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return Stat{}, err
	}
	defer unlock()
	return m.stat(hash)
}

func (m *Map) stat(hash string) (Stat, error) {
	chunks := m.blobs[hash]
	if chunks == nil {
		return Stat{}, ErrNotFound
	}
	b := Stat{Hash: hash, Chunks: len(chunks)}
	for _, c := range chunks {
		b.Size += int64(len(c))
	}
	return b, nil
}

// Read implements [Table].
func (m *Map) Read(ctx context.Context, hash string, n int) ([]byte, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	chunks := m.blobs[hash]
	if n < 0 || n >= len(chunks) {
		return nil, ErrNotFound
	}
	return bytes.Clone(chunks[n]), nil
}

// Claim implements [Table].
func (m *Map) Claim(ctx context.Context, owner string, hashes []string, at time.Time) (missing []string, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, h := range hashes {
		if m.blobs[h] == nil {
			missing = append(missing, h)
			continue
		}
		m.claim(owner, h, at)
	}
	return missing, nil
}

// Claims implements [Table].
func (m *Map) Claims(ctx context.Context, owner, after string, limit int) (list []Claim, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, h := range slices.Sorted(maps.Keys(m.claims[owner])) {
		if h <= after {
			continue
		}
		if len(list) == limit {
			break
		}
		b, _ := m.stat(h)
		list = append(list, Claim{owner, h, b.Size, m.claims[owner][h]})
	}
	return list, nil
}

// Owners implements [Table].
func (m *Map) Owners(ctx context.Context, after string, limit int) ([]string, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	all := slices.Sorted(maps.Keys(m.claims))
	from, found := slices.BinarySearch(all, after)
	if found {
		from++
	}
	return all[from:min(len(all), from+limit)], nil
}

// Release implements [Table].
func (m *Map) Release(ctx context.Context, owner string, hashes []string, before, _ time.Time) (freed Freed, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return Freed{}, err
	}
	defer unlock()
	for _, h := range hashes {
		at, claimed := m.claims[owner][h]
		if !claimed || !at.Before(before) {
			continue
		}
		delete(m.claims[owner], h)
		if !m.isClaimed(h) {
			b, _ := m.stat(h)
			freed.Add(Freed{Blobs: 1, Bytes: b.Size})
			delete(m.blobs, h)
		}
	}
	if len(m.claims[owner]) == 0 {
		delete(m.claims, owner)
	}
	return freed, nil
}

func (m *Map) isClaimed(hash string) bool {
	for _, claims := range m.claims {
		if _, ok := claims[hash]; ok {
			return true
		}
	}
	return false
}

// Sweep implements [Table].
func (m *Map) Sweep(ctx context.Context, before time.Time) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	maps.DeleteFunc(m.uploads, func(upload string, _ [][]byte) bool { return Begun(upload, before) })
	return nil
}
