package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint/memory"
)

// DefaultK is the constant of reciprocal rank fusion that is used if none is given. The greater it
// is, the less the first places count.
const DefaultK = 60

// Fused is an element of several lists.
type Fused[T comparable] struct {
	Value T
	Score float64
	// Places are those in each list, from 1; 0 is not there.
	Places []int
}

// Fuse joins ordered lists by reciprocal rank fusion: an element has the sum of 1/(k+place) over
// the lists. Elements with equal scores have the order of the lists. k of 0 is [DefaultK].
func Fuse[T comparable](k float64, lists ...[]T) []Fused[T] {
	k = cmp.Or(k, DefaultK)
	at := map[T]int{}
	var all []Fused[T]
	for n, list := range lists {
		for i, v := range list {
			p, ok := at[v]
			if !ok {
				p = len(all)
				at[v], all = p, append(all, Fused[T]{Value: v, Places: make([]int, len(lists))})
			}
			if all[p].Places[n] == 0 {
				all[p].Places[n] = i + 1
				all[p].Score += 1 / (k + float64(i+1))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Fused[T]) int { return cmp.Compare(b.Score, a.Score) })
	return all
}

// Query asks for the items of a store that answer a question.
type Query struct {
	Prefix []string      // of the namespaces
	Where  memory.Filter // conditions that must hold
	Text   string        // the question
	Limit  int           // the greatest number of hits; 0 is 10
}

// Hit is an item that was found.
type Hit struct {
	memory.Item
	Score float64 // of the fusion
	// ByWords and ByMeaning are the places in the two lists, from 1; 0 is not there.
	ByWords, ByMeaning int
}

// Result is what a search has found.
type Result struct {
	Hits []Hit
	// Missing is why one of the two lists is missing, such as the failure of a model; nil if both
	// are there, or the store is no memory.Index.
	Missing error
}

// maxWords limits the words of a question that are looked for.
const maxWords = 16

// depth is how many items of each list are joined, for each hit that is wanted.
const depth = 4

// Search finds the items that have words of a question, and those that are similar to its meaning
// if the store is a *memory.Index. It fails only if neither can be found.
func Search(ctx context.Context, s memory.Store, q Query) (Result, error) {
	if q.Limit < 0 {
		return Result{}, fmt.Errorf("%w: the limit must not be negative (got %d)", memory.ErrQuery, q.Limit)
	}
	q.Limit = min(cmp.Or(q.Limit, 10), memory.MaxLimit)
	found := map[memory.Position]memory.Item{}
	words, err := q.byWords(ctx, s, found)
	var meaning []memory.Position
	if _, ok := s.(*memory.Index); ok && strings.TrimSpace(q.Text) != "" {
		var near error
		if meaning, near = q.byMeaning(ctx, s, found); near != nil && err != nil {
			return Result{}, errors.Join(err, near)
		}
		err = cmp.Or(err, near)
	} else if err != nil {
		return Result{}, err
	}
	r := Result{Missing: err}
	for _, f := range Fuse(DefaultK, words, meaning) {
		if len(r.Hits) == q.Limit {
			break
		}
		r.Hits = append(r.Hits, Hit{Item: found[f.Value], Score: f.Score, ByWords: f.Places[0], ByMeaning: f.Places[1]})
	}
	return r, nil
}

func note(found map[memory.Position]memory.Item, i memory.Item) memory.Position {
	at := memory.Position{Namespace: memory.Encode(i.Namespace), Key: i.Key}
	found[at] = i
	return at
}

// byWords looks for each word. An item counts more the rarer its words are, and the more often it
// has them.
func (q Query) byWords(ctx context.Context, s memory.Store, found map[memory.Position]memory.Item) ([]memory.Position, error) {
	score := map[memory.Position]float64{}
	var list []memory.Position
	for _, word := range memory.LongestWords(q.Text, maxWords) {
		page, err := s.Search(ctx, memory.Query{Prefix: q.Prefix, Where: q.Where, Text: word, Limit: memory.MaxLimit})
		if err != nil {
			return nil, err
		}
		for _, f := range page.Items {
			at := note(found, f.Item)
			if _, ok := score[at]; !ok {
				list = append(list, at)
			}
			score[at] += f.Score / (f.Score + 1) / float64(len(page.Items))
		}
	}
	slices.SortStableFunc(list, func(a, b memory.Position) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(len(list), depth*q.Limit)], nil
}

func (q Query) byMeaning(ctx context.Context, s memory.Store, found map[memory.Position]memory.Item) (list []memory.Position, err error) {
	page, err := s.Search(ctx, memory.Query{Prefix: q.Prefix, Where: q.Where, Near: q.Text, Limit: min(depth*q.Limit, memory.MaxLimit)})
	for _, f := range page.Items {
		list = append(list, note(found, f.Item))
	}
	return list, err
}
