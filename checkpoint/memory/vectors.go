package memory

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// record has the vectors of an item. A record without vectors belongs to an item without text.
type record struct {
	Of      uint64   `json:"of"` // the version of the item
	Packed  [][]byte `json:"vectors"`
	version uint64   // of the record itself
	vectors [][]float32
}

// ask calls the embedder and checks its result.
func (x *Index) ask(ctx context.Context, embed func(context.Context, []string) ([][]float32, error), texts []string) (vectors [][]float32, err error) {
	defer func() {
		if v := recover(); v != nil {
			vectors, err = nil, fmt.Errorf("the embedder panicked: %v", v)
		}
	}()
	if vectors, err = embed(ctx, texts); err != nil {
		return nil, fmt.Errorf("the embedder: %w", err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("the embedder returned %d vectors for %d texts", len(vectors), len(texts))
	}
	for _, v := range vectors {
		if len(v) != x.Dims {
			return nil, fmt.Errorf("the embedder returned a vector of %d numbers, not of %d", len(v), x.Dims)
		}
		for _, n := range v {
			if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
				return nil, fmt.Errorf("the embedder returned a vector with %v in it", n)
			}
		}
	}
	return vectors, nil
}

// embed computes and stores the vectors of items, with one call of the embedder. It returns the
// errors by the index of their items.
func (x *Index) embed(ctx context.Context, items []Item) map[int]error {
	failed := map[int]error{}
	var texts []string
	ends := make([]int, len(items))
	for i, item := range items {
		texts = append(texts, x.texts(item.Value)...)
		ends[i] = len(texts)
	}
	var vectors [][]float32
	var err error
	if len(texts) > 0 {
		vectors, err = x.ask(ctx, x.Embed, texts)
	}
	var list []Embedded
	var at []int // of items
	begin := 0
	for i, item := range items {
		if err != nil && ends[i] > begin {
			failed[i] = err
		} else {
			list, at = append(list, Embedded{item, part(vectors, begin, ends[i])}), append(at, i)
		}
		begin = ends[i]
	}
	for i, err := range x.store(ctx, list) {
		failed[at[i]] = err
	}
	return failed
}

// part returns some of the vectors, without those that are zero.
func part(vectors [][]float32, begin, end int) [][]float32 {
	if begin == end {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(vectors[begin:end]), isZero)
}

// isZero reports whether a vector has no direction.
func isZero(v []float32) bool {
	return !slices.ContainsFunc(v, func(n float32) bool { return n != 0 })
}

// store stores the vectors of items. It returns the errors by their index.
func (x *Index) store(ctx context.Context, list []Embedded) map[int]error {
	failed := map[int]error{}
	if x.Vectors == nil {
		for i, e := range list {
			if err := x.keep(ctx, e.Item, e.Vectors); err != nil {
				failed[i] = err
			}
		}
		return failed
	}
	if len(list) == 0 {
		return failed
	}
	if err := x.Vectors.Keep(ctx, list); err != nil {
		for i := range list {
			failed[i] = err
		}
	}
	return failed
}

// keep stores the vectors of an item, unless those of a later version are there. They end
// with their item; where reading lets it live on, Reindex removes them.
func (x *Index) keep(ctx context.Context, item Item, vectors [][]float32) error {
	r := record{Of: item.Version, Packed: [][]byte{}}
	for _, v := range vectors {
		r.Packed = append(r.Packed, pack(v))
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var o Options
	if item.Refresh == 0 && !item.Expires.IsZero() {
		o.TTL = max(item.Expires.Sub(item.Updated), minTTL)
	}
	for {
		old, err := x.record(ctx, item.Namespace, item.Key)
		if err != nil || old.Of >= item.Version {
			return err
		}
		o.If = &old.version
		if _, err = x.Store.Put(ctx, vectorsOf(item.Namespace), item.Key, data, o); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// record reads the record of an item, or returns the zero record if there is none.
func (x *Index) record(ctx context.Context, namespace []string, key string) (record, error) {
	item, err := x.Store.Get(ctx, vectorsOf(namespace), key)
	if errors.Is(err, ErrNotFound) {
		return record{}, nil
	}
	if err != nil {
		return record{}, err
	}
	return x.read(item), nil
}

// read unpacks a record. What cannot be read counts for no version, and is made again.
func (x *Index) read(item Item) record {
	r := record{version: item.Version}
	if err := json.Unmarshal(item.Value, &r); err != nil {
		return record{version: item.Version}
	}
	for _, p := range r.Packed {
		if len(p) != 4*x.Dims {
			return record{version: item.Version} // of an Index with other dimensions
		}
		r.vectors = append(r.vectors, unpack(p))
	}
	return r
}

// vectors returns all records below a prefix.
func (x *Index) vectors(ctx context.Context, prefix []string) (map[Position]record, error) {
	known := map[Position]record{}
	for f, err := range All(ctx, x.Store, Query{Prefix: vectorsOf(prefix), Order: ByKey, Limit: MaxLimit}) {
		if err != nil {
			return nil, err
		}
		if len(known) == MaxScan {
			return nil, fmt.Errorf("%w: more than %d vectors to compare; give a longer Prefix", ErrTooMany, MaxScan)
		}
		known[Position{Encode(f.Namespace[1:]), f.Key}] = x.read(f.Item)
	}
	return known, nil
}

// Reindex stores the missing vectors of items below a prefix and removes those of deleted items. It
// returns the number of items that got a vector. If the embedder fails for a page of items, each is
// tried alone. An item for which it fails again has no vector, and the error names the first. After
// three such items in turn Reindex stops; the vectors stored so far remain.
func (x *Index) Reindex(ctx context.Context, prefix []string) (made int, err error) {
	if err := errors.Join(x.check(), checkPart(prefix)); err != nil {
		return 0, err
	}
	var refused error
	q := Query{Prefix: prefix, Order: ByKey, Limit: 64}
	for {
		page, err := x.Store.Search(ctx, q)
		if err != nil {
			return made, err
		}
		n, one, err := x.reindex(ctx, page.Items)
		made += n
		if err != nil {
			return made, err
		}
		refused = cmp.Or(refused, one)
		if q.Cursor = page.Next; q.Cursor == "" {
			return made, errors.Join(refused, x.prune(ctx, prefix))
		}
	}
}

// reindex stores the missing vectors of some items. refused names the first item for which that
// failed. It is err if the rest was not tried.
func (x *Index) reindex(ctx context.Context, items []Found) (made int, refused, err error) {
	var own, lack []Item
	for _, f := range items {
		if f.Namespace[0] != vectorLabel {
			own = append(own, f.Item)
		}
	}
	versions, err := x.versions(ctx, own)
	if err != nil {
		return 0, nil, err
	}
	for i, v := range versions {
		if v != own[i].Version {
			lack = append(lack, own[i])
		}
	}
	failed := x.embed(ctx, lack)
	made = len(lack) - len(failed)
	inTurn := 0
	for i, item := range lack {
		if failed[i] == nil {
			continue
		}
		err := x.embed(ctx, lack[i:i+1])[0]
		if err == nil {
			made, inTurn = made+1, 0
			continue
		}
		refused = cmp.Or(refused, place(item.Namespace, item.Key, err))
		if inTurn++; inTurn == mostRefused {
			return made, refused, refused
		}
	}
	return made, refused, nil
}

// mostRefused is after how many items in turn for which the embedder failed Reindex stops.
const mostRefused = 3

// versions returns the versions that the vectors of items were made from.
func (x *Index) versions(ctx context.Context, items []Item) (list []uint64, err error) {
	if len(items) == 0 {
		return nil, nil
	}
	if x.Vectors != nil {
		return x.Vectors.Versions(ctx, items)
	}
	for _, i := range items {
		r, err := x.record(ctx, i.Namespace, i.Key)
		if err != nil {
			return nil, err
		}
		list = append(list, r.Of)
	}
	return list, nil
}

// prune removes the vectors of deleted items, but not of items that are put meanwhile.
func (x *Index) prune(ctx context.Context, prefix []string) error {
	if x.Vectors != nil {
		return x.Vectors.Prune(ctx, prefix)
	}
	known, err := x.vectors(ctx, prefix) // first: what comes later has another version
	if err != nil {
		return err
	}
	there := map[Position]bool{}
	err = x.each(ctx, Query{Prefix: prefix, Order: ByKey, Limit: MaxLimit}, func(f Found) error {
		there[Position{Encode(f.Namespace), f.Key}] = true
		return nil
	})
	if err != nil {
		return err
	}
	for at, r := range known {
		if there[at] {
			continue
		}
		if err := x.removeRecord(ctx, Decode(at.Namespace), at.Key, r); err != nil {
			return err
		}
	}
	return nil
}

// removeRecord removes a record that was read, unless another has replaced it.
func (x *Index) removeRecord(ctx context.Context, namespace []string, key string, r record) error {
	_, err := x.Store.Batch(ctx, vectorsOf(namespace), []Op{{Key: key, Options: Options{If: &r.version}}})
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

func pack(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, n := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(n))
	}
	return b
}

func unpack(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// mostAlike returns the cosine of the most similar vector.
func mostAlike(vectors [][]float32, wanted []float32) float64 {
	scores := make([]float64, len(vectors))
	for i, v := range vectors {
		scores[i] = cosine(v, wanted)
	}
	return slices.Max(scores)
}

// cosine is 0 for a vector without length.
func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / (math.Sqrt(aa) * math.Sqrt(bb))
}
