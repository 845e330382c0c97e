package memory

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoVectors is returned when a database cannot compare vectors, because it lacks an extension or
// its version is too old. An [Index] whose Vectors is nil works with any database.
var ErrNoVectors = errors.New("memory: the database cannot compare vectors")

// Vectors keeps the vectors of an [Index] in a database that compares them itself. It is safe for
// concurrent use. Package memorytest tests implementations, as a part of its Index.
type Vectors interface {
	// Keep stores the vectors of items and replaces those of earlier versions. It skips an
	// item whose stored version has changed.
	Keep(ctx context.Context, list []Embedded) error
	// Versions returns, for each item, the version that its vectors were made from, or 0 if it has
	// none.
	Versions(ctx context.Context, items []Item) ([]uint64, error)
	// Remove removes the vectors of a deleted item, but not those of an item that was stored under
	// the same key since.
	Remove(ctx context.Context, namespace []string, key string) error
	// Prune removes the vectors of items that no longer exist, in all namespaces below a prefix.
	Prune(ctx context.Context, prefix []string) error
	// Nearest returns items whose vectors are similar to q.Vector, the most similar first. An item
	// appears once for each of its vectors. Expired items and vectors of other versions are left
	// out. next is the Skip of the next page; only next == 0 marks the last page, since any page
	// may be short or empty.
	Nearest(ctx context.Context, q Nearest) (list []Found, next int, err error)
}

// Embedded is an item with its vectors. An item without text has no vectors.
type Embedded struct {
	Item
	Vectors [][]float32
}

// Nearest asks for the items that are similar to a vector.
type Nearest struct {
	Range
	Vector   []float32
	Words    []string // items that do not contain all of these words may be left out
	Contains []byte   // items that do not contain this JSON may be left out, as in [Scan]
	Skip     int      // next of the previous call; 0 for the first page
	Limit    int
}

// nearest runs a search on x.Vectors.
func (x *Index) nearest(ctx context.Context, s *search, wanted []float32) (Page, error) {
	best := ranking{search: s}
	seen := map[Position]bool{}
	q := Nearest{Range: s.scan.Range, Vector: wanted, Words: s.scan.Words, Contains: s.scan.Contains, Limit: min(2*(s.limit+1), MaxLimit)}
	for {
		list, next, err := x.Vectors.Nearest(ctx, q)
		if err != nil {
			return Page{}, fmt.Errorf("memory: search: %w", err)
		}
		for _, f := range list {
			at := Position{Encode(f.Namespace), f.Key}
			if seen[at] {
				continue // found before, by a more similar vector
			}
			seen[at] = true
			judged, ok, err := s.judge(f.Item)
			if err != nil {
				return Page{}, err
			}
			if ok {
				judged.Score = f.Score
				best.add(judged)
			}
		}
		if next == 0 || len(list) > 0 && best.full(list[len(list)-1].Score) {
			break
		}
		if q.Skip, q.Limit = next, MaxLimit; q.Skip >= MaxScan {
			return Page{}, fmt.Errorf("%w: more than %d vectors to compare; give a longer Prefix", ErrTooMany, MaxScan)
		}
	}
	page := best.page()
	page.Unindexed = -1
	return page, nil
}

// full reports whether the page and the item after it are final, if all items to come score at most
// score.
func (r *ranking) full(score float64) bool {
	r.sort()
	return len(r.list) > r.limit && r.list[r.limit].Score > score
}
