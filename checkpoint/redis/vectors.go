package redis

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/internal/brief"
)

// VectorConfig describes the vectors of a memory.Index.
type VectorConfig struct {
	// Name is a part of the names of the vector sets, since each model needs sets of its own; "" is
	// "vectors". It has letters of a to z, digits, _ and -.
	Name string
	// Dims is the length of a vector.
	Dims int
	// Approximate searches by the graph of a vector set, which is fast for many items of one
	// namespace, and may leave out some that are similar. Otherwise the server compares all vectors
	// below the prefix.
	Approximate bool
}

// Vectors returns an index of the vectors of this prefix's memory, by the vector sets of Redis 8.
// The error is a memory.ErrNoVectors if the server does not have them: a memory.Index works
// without, and compares the vectors in this process.
//
// Each namespace has a vector set beside its items, in the same slot of a cluster. The vectors of
// an item are deleted with it, and expire with it. They are stored as 32-bit numbers. A search asks
// every namespace below its prefix, 16 at once. An Index must use them with the Store that Memory
// returns.
func (s *Store) Vectors(ctx context.Context, c VectorConfig) (memory.Vectors, error) {
	c.Name = cmp.Or(c.Name, "vectors")
	switch {
	case !vectorName.MatchString(c.Name):
		return nil, fmt.Errorf("%w: VectorConfig.Name must have 1 to 40 letters of a to z, digits, _ or - (got %.100q)", memory.ErrRequest, c.Name)
	case c.Dims < 1 || c.Dims > memory.MaxDims:
		return nil, fmt.Errorf("%w: VectorConfig.Dims must be between 1 and %d (got %d)", memory.ErrRequest, memory.MaxDims, c.Dims)
	}
	ctx = brief.OneCall(ctx)
	reply, err := s.ask(ctx, "", "command", "info", "vadd", "vrem", "vsim")
	if err != nil {
		return nil, err
	}
	if known, _ := reply.([]any); len(known) != 3 || slices.Contains(known, nil) {
		return nil, fmt.Errorf("redis: %w: the server has no vector sets; Redis has them from version 8 on", memory.ErrNoVectors)
	}
	v := &vectors{memories: s.memories("m"), cfg: c}
	reply, err = s.call(ctx, memoryDimsScript, v.listKey(), []any{c.Name, c.Dims})
	if err != nil {
		return nil, err
	}
	if dims := fmt.Sprint(reply); dims != strconv.Itoa(c.Dims) {
		return nil, fmt.Errorf("%w: the vectors %q have %.20s numbers, not %d; give the other model a VectorConfig.Name of its own", memory.ErrRequest, c.Name, dims, c.Dims)
	}
	return v, nil
}

var vectorName = regexp.MustCompile(`^[a-z0-9_-]{1,40}$`)

// vectors are the vector sets of a name as memory.Vectors.
type vectors struct {
	*memories
	cfg VectorConfig
}

var _ memory.Vectors = (*vectors)(nil)

// setKey returns the key of the vector set of a namespace.
func (v *vectors) setKey(namespace string) string { return v.memoryKey(namespace) + ":v:" + v.cfg.Name }

// Keep implements memory.Vectors. Each item is one script, so the server is not busy for long.
func (v *vectors) Keep(ctx context.Context, list []memory.Embedded) error {
	for part := range slices.Chunk(list, atOnce) {
		one := brief.OneCall(ctx)
		err := inParallel(len(part), func(i int) error { return v.keep(one, part[i]) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *vectors) keep(ctx context.Context, e memory.Embedded) error {
	args := []any{v.cfg.Name, e.Key, decimal(e.Version)}
	for _, vector := range e.Vectors {
		if len(vector) != v.cfg.Dims {
			return fmt.Errorf("%w: a vector must have %d numbers (got %d)", memory.ErrRequest, v.cfg.Dims, len(vector))
		}
		args = append(args, float32s(vector))
	}
	if size := sizeOf(args); size > v.Store.cfg.MaxBytes {
		return fmt.Errorf("%w: redis: the vectors have %d bytes, Config.MaxBytes is %d", memory.ErrTooLarge, size, v.Store.cfg.MaxBytes)
	}
	_, err := v.call(ctx, memoryKeepScript, v.memoryKey(memory.Encode(e.Namespace)), args)
	return err
}

// float32s writes a vector as VADD and VSIM read it.
func float32s(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, n := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(n))
	}
	return b
}

// Versions implements memory.Vectors.
func (v *vectors) Versions(ctx context.Context, items []memory.Item) ([]uint64, error) {
	list := make([]uint64, len(items))
	places := map[string][]int{}
	for i, item := range items {
		ns := memory.Encode(item.Namespace)
		places[ns] = append(places[ns], i)
	}
	for part := range slices.Chunk(slices.Collect(maps.Keys(places)), atOnce) {
		one := brief.OneCall(ctx)
		err := inParallel(len(part), func(n int) error {
			key, at := v.setKey(part[n])+":of", places[part[n]]
			args := []any{"hmget", key}
			for _, i := range at {
				args = append(args, items[i].Key)
			}
			reply, err := v.ask(one, key, args...)
			if err != nil {
				return err
			}
			texts, _ := reply.([]any)
			if len(texts) != len(at) {
				return fmt.Errorf("%w: redis: the versions of vectors are answered by %.100v", checkpoint.ErrCorrupt, reply)
			}
			for n, i := range at {
				text, _ := texts[n].(string)
				version, _, _ := strings.Cut(text, " ")
				list[i], _ = strconv.ParseUint(version, 10, 64) // what cannot be read is made again
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Remove implements memory.Vectors. The vectors of an item go with its record.
func (v *vectors) Remove(context.Context, []string, string) error { return nil }

// Prune implements memory.Vectors. The vectors of an item go with its record.
func (v *vectors) Prune(context.Context, []string) error { return nil }

// hit is a vector that a search found.
type hit struct {
	namespace, key string
	version        uint64
	part           int
	score          float64
}

func (h hit) compare(o hit) int {
	return cmp.Or(cmp.Compare(o.score, h.score), cmp.Compare(h.namespace, o.namespace), cmp.Compare(h.key, o.key), cmp.Compare(h.part, o.part))
}

// maxHits is how many vectors are taken from a set at most; a search that needs more fails before.
const maxHits = 2 * memory.MaxScan

// Nearest implements memory.Vectors. Vectors with equal scores are sorted here, so that pages fit
// together: the order of the server is its own.
func (v *vectors) Nearest(ctx context.Context, q memory.Nearest) ([]memory.Found, int, error) {
	for limit := q.Skip + q.Limit + 1; ; limit *= 2 {
		limit = min(limit, maxHits)
		hits, least, err := v.hits(ctx, q, limit)
		if err != nil {
			return nil, 0, err
		}
		if limit < maxHits {
			n, _ := slices.BinarySearchFunc(hits, least, func(h hit, least float64) int { return cmp.Compare(least, h.score) })
			hits = hits[:n]
			if n <= q.Skip && !math.IsInf(least, -1) {
				continue // the page begins among vectors with equal scores
			}
		}
		page := hits[min(q.Skip, len(hits)):min(q.Skip+q.Limit, len(hits))]
		found, seen, err := v.read(ctx, page)
		next := q.Skip + seen
		if next == len(hits) && math.IsInf(least, -1) || seen == 0 {
			next = 0
		}
		return found, next, err
	}
}

// hits returns the most similar vectors of a range, sorted. Of those with a score of least or less
// some may be missing; least is -Inf if there are no others.
func (v *vectors) hits(ctx context.Context, q memory.Nearest, limit int) (all []hit, least float64, err error) {
	least = math.Inf(-1)
	for after := ""; ; {
		one := brief.OneCall(ctx)
		names, others, err := v.names(one, q.Range, after, atOnce)
		if err != nil {
			return nil, 0, err
		}
		lists := make([][]hit, len(names))
		err = inParallel(len(names), func(i int) (err error) {
			lists[i], err = v.similar(one, names[i], q.Vector, limit)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		for _, list := range lists {
			if len(list) == limit {
				least = max(least, list[len(list)-1].score)
			}
			all = append(all, list...)
		}
		slices.SortFunc(all, hit.compare)
		if len(all) > limit {
			least = max(least, all[limit].score)
			all = slices.Delete(all, limit, len(all))
		}
		if !others {
			return all, least, nil
		}
		after = names[len(names)-1]
	}
}

// minBreadth is how many vectors an approximate search considers at least.
const minBreadth = 200

// similar asks the vector set of a namespace.
func (v *vectors) similar(ctx context.Context, namespace string, vector []float32, limit int) ([]hit, error) {
	key := v.setKey(namespace)
	args := []any{"vsim", key, "fp32", float32s(vector), "withscores", "count", limit}
	if v.cfg.Approximate {
		args = append(args, "ef", max(minBreadth, limit))
	} else {
		args = append(args, "truth")
	}
	reply, err := v.ask(ctx, key, args...)
	if err != nil {
		return nil, err
	}
	var list []hit
	add := func(element, score any) error {
		h, ok := readHit(element, score)
		if !ok {
			return fmt.Errorf("%w: redis: namespace %q: a search by vector is answered by %.100v: %.100v", checkpoint.ErrCorrupt, memory.Decode(namespace), element, score)
		}
		h.namespace = namespace
		list = append(list, h)
		return nil
	}
	switch reply := reply.(type) {
	case map[any]any: // by the third version of the protocol
		for element, score := range reply {
			if err := add(element, score); err != nil {
				return nil, err
			}
		}
	case []any:
		for pair := range slices.Chunk(reply, 2) {
			if err := add(pair[0], pair[len(pair)-1]); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(list, hit.compare)
	return list, nil
}

// readHit reads an element, "version part key", and its score. The server's scores go from 0 to 1.
func readHit(element, score any) (h hit, ok bool) {
	name, _ := element.(string)
	version, rest, _ := strings.Cut(name, " ")
	part, key, ok := strings.Cut(rest, " ")
	n, err1 := strconv.ParseUint(version, 10, 64)
	p, err2 := strconv.Atoi(part)
	s, err3 := strconv.ParseFloat(fmt.Sprint(score), 64) // a text, or a number by the newer protocol
	return hit{key: key, version: n, part: p, score: 2*s - 1}, ok && cmp.Or(err1, err2, err3) == nil
}

// read returns the items of hits that still have their version, and how many hits it looked at.
func (v *vectors) read(ctx context.Context, hits []hit) (found []memory.Found, seen int, err error) {
	places := map[string][]int{}
	for i, h := range hits {
		places[h.namespace] = append(places[h.namespace], i)
	}
	texts := make([]string, len(hits))
	looked := make([]bool, len(hits))
	for part := range slices.Chunk(slices.Collect(maps.Keys(places)), atOnce) {
		one := brief.OneCall(ctx)
		err := inParallel(len(part), func(n int) error {
			at := places[part[n]]
			args := []any{memory.MaxPage}
			for _, i := range at {
				args = append(args, decimal(hits[i].version), hits[i].key)
			}
			reply, err := v.call(one, memoryNearScript, v.memoryKey(part[n]), args)
			if err != nil {
				return err
			}
			list, _ := reply.([]any)
			if len(list) == 0 || len(list) > len(at) {
				return fmt.Errorf("%w: redis: the items of vectors are answered by %.100v", checkpoint.ErrCorrupt, reply)
			}
			for n, text := range list {
				texts[at[n]], _ = text.(string)
				looked[at[n]] = true
			}
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
	}
	for size := 0; seen < len(hits) && looked[seen] && size <= memory.MaxPage; seen++ {
		if texts[seen] == "" {
			continue // it was replaced or has expired
		}
		h := hits[seen]
		item, err := readMemory(memory.Decode(h.namespace), h.key, texts[seen])
		if err != nil {
			return nil, 0, err
		}
		found, size = append(found, memory.Found{Item: item, Score: h.score}), size+len(item.Value)
	}
	return found, seen, nil
}
