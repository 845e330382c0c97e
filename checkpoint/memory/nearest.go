package memory

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoVectors is returned by a database that cannot compare vectors, because it lacks an extension
// or its version is too old. An [Index] without Vectors needs neither.
var ErrNoVectors = errors.New("memory: the database has no index of vectors")

// Vectors keeps the vectors of an [Index] in a database that compares them itself. It is safe for
// concurrent use. Package memorytest tests it as a part of its Index.
type Vectors interface {
	// Keep stores the vectors of items and replaces those of earlier versions. It leaves out an
	// item that has another version by now.
	Keep(ctx context.Context, list []Embedded) error
	// Versions returns the version that the vectors of each item were made from; 0 is none.
	Versions(ctx context.Context, items []Item) ([]uint64, error)
	// Remove removes the vectors of a deleted item, but not those of an item that was put at its
	// place since.
	Remove(ctx context.Context, namespace []string, key string) error
	// Prune removes the vectors of all items below a prefix that no longer exist.
	Prune(ctx context.Context, prefix []string) error
	// Nearest returns items whose vectors are similar to one, the most similar first. An item comes
	// once for each of its vectors. The vectors must be those of the item's version, and the item
	// must not have expired. next is the Skip of the next page, 0 if there is none. A page may be
	// shorter than Limit, or empty, and not be the last one.
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
	Words    []string // items without one of these words may be left out
	Contains []byte   // items that do not contain this JSON may be left out, as in [Scan]
	Skip     int      // the next of the page before, 0 for the first one
	Limit    int
}

// nearest finds the items of a search by Vectors.
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
				continue // by a vector that is less similar
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

// full reports whether no item with a score of at most next can be a part of the page, or follow it
// directly.
func (r *ranking) full(next float64) bool {
	r.sort()
	return len(r.list) > r.limit && r.list[r.limit].Score > next
}
