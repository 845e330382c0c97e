package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	longterm "github.com/weftrun/weft/checkpoint/memory"
)

// Recalled is a fact that matches a query.
type Recalled struct {
	Fact
	// Score orders the results of one Recall, the greatest first. Scores of two calls cannot be
	// compared.
	Score float64
}

// maxAsked is how many words of a query are searched for, the longest ones.
const maxAsked = 16

var facts = longterm.Filter{{Path: "kind", Op: longterm.Eq, Value: kindFact}}

// Recall returns the facts of a user that match a query best, at most limit; 0 means 10, and the
// most is longterm.MaxLimit. An Index is searched by words and by meaning; if one of them fails,
// Recall returns what the other finds.
func (e *Engine) Recall(ctx context.Context, user, query string, limit int) ([]Recalled, error) {
	if limit < 0 {
		return nil, fmt.Errorf("%w: the limit must not be negative (got %d)", longterm.ErrQuery, limit)
	}
	limit = min(cmp.Or(limit, 10), longterm.MaxLimit)
	ns, best := e.Namespace(user), ranking{}
	err := e.byWords(ctx, ns, query, &best)
	if _, ok := e.cfg.Store.(*longterm.Index); ok && strings.TrimSpace(query) != "" {
		if err2 := e.byMeaning(ctx, ns, query, limit, &best); err2 == nil || err == nil {
			err = nil // one successful search is enough
		} else {
			err = errors.Join(err, err2)
		}
	}
	if err != nil {
		return nil, err
	}
	return best.first(limit)
}

// byWords searches for each word separately. A rare word counts more.
func (e *Engine) byWords(ctx context.Context, ns []string, query string, best *ranking) error {
	for _, word := range longterm.LongestWords(query, maxAsked) {
		page, err := e.cfg.Store.Search(ctx, longterm.Query{Prefix: ns, Where: facts, Text: word, Limit: longterm.MaxLimit})
		if err != nil {
			return err
		}
		for _, f := range page.Items {
			best.add(f.Item, 1/float64(len(page.Items)))
		}
	}
	return nil
}

// byMeaning adds facts that are similar to the query. Similarity counts more than words.
func (e *Engine) byMeaning(ctx context.Context, ns []string, query string, limit int, best *ranking) error {
	page, err := e.cfg.Store.Search(ctx, longterm.Query{Prefix: ns, Where: facts, Near: query, Limit: limit})
	if err != nil {
		return err
	}
	for _, f := range page.Items {
		best.add(f.Item, 10*f.Score)
	}
	return nil
}

// ranking sums the scores of items by key.
type ranking struct {
	items []longterm.Item
	score map[string]float64
}

func (r *ranking) add(i longterm.Item, score float64) {
	if r.score == nil {
		r.score = map[string]float64{}
	}
	if _, ok := r.score[i.Key]; !ok {
		r.items = append(r.items, i)
	}
	r.score[i.Key] += score
}

// first returns the limit best items; of those with one score, the latest first.
func (r *ranking) first(limit int) ([]Recalled, error) {
	slices.SortStableFunc(r.items, func(a, b longterm.Item) int {
		if n := cmp.Or(cmp.Compare(r.score[b.Key], r.score[a.Key]), b.Updated.Compare(a.Updated)); n != 0 {
			return n
		}
		return newer(a, b)
	})
	list := []Recalled{}
	for _, i := range r.items[:min(limit, len(r.items))] {
		f, err := read(i)
		if err != nil {
			return nil, err
		}
		list = append(list, Recalled{f, r.score[i.Key]})
	}
	return list, nil
}

// newer compares facts that were stored at the same time by the time of their last source.
func newer(a, b longterm.Item) int {
	at := func(i longterm.Item) (t time.Time) {
		if f, err := read(i); err == nil {
			t = f.Sources[len(f.Sources)-1].At
		}
		return t
	}
	return cmp.Or(at(b).Compare(at(a)), cmp.Compare(a.Key, b.Key))
}

// Bootstrap implements session.Engine: it returns the latest facts, with their dates; "" if there
// are none.
func (e *Engine) Bootstrap(ctx context.Context, user string) (string, error) {
	if user == "" {
		return "", nil
	}
	page, err := e.cfg.Store.Search(ctx, longterm.Query{Prefix: e.Namespace(user), Where: facts, Order: longterm.ByUpdated, Limit: max(e.cfg.Known, MaxFacts)})
	if err != nil || len(page.Items) == 0 {
		return "", err
	}
	var b strings.Builder
	b.WriteString("From earlier conversations:")
	slices.SortStableFunc(page.Items, func(a, b longterm.Found) int {
		return cmp.Or(b.Updated.Compare(a.Updated), newer(a.Item, b.Item))
	})
	for _, found := range page.Items[:min(e.cfg.Known, len(page.Items))] {
		f, err := read(found.Item)
		if err != nil {
			return "", err
		}
		last := f.Sources[len(f.Sources)-1]
		fmt.Fprintf(&b, "\n- %s (%s)", strings.Join(strings.Fields(f.Text), " "), last.At.Format("2006-01-02"))
	}
	return b.String(), nil
}
