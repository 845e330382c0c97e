package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// search is a checked query.
type search struct {
	where  conditions
	words  []string
	order  Order
	limit  int
	scan   Scan
	after  *sortKey // of the cursor
	digest string   // of the query
}

// compile checks a query.
func (q Query) compile() (*search, error) {
	if err := checkLabels(q.Prefix); err != nil {
		return nil, err
	}
	limit, err := checkLimit(q.Limit)
	if err != nil {
		return nil, err
	}
	s := &search{order: q.Order, limit: limit, scan: Scan{Range: rangeOf(q.Prefix)}}
	if s.where, err = q.Where.compile(); err != nil {
		return nil, err
	}
	if s.words, err = checkText(q.Text); err != nil {
		return nil, err
	}
	if s.order == "" {
		s.order = ByKey
		if q.Text != "" || q.Near != "" {
			s.order = ByRank
		}
	}
	if !slices.Contains([]Order{ByKey, ByUpdated, ByCreated, ByRank}, s.order) {
		return nil, fmt.Errorf("%w: unknown order %.32q", ErrQuery, s.order)
	}
	s.scan.Words, s.scan.Contains = s.words, s.where.contained()
	s.digest = q.digest(s)
	s.after, err = readCursor(q.Cursor, s.digest)
	return s, err
}

func checkLimit(limit int) (int, error) {
	if limit < 0 || limit > MaxLimit {
		return 0, fmt.Errorf("%w: limit must be between 0 and %d (got %d)", ErrQuery, MaxLimit, limit)
	}
	return cmp.Or(limit, 100), nil
}

// checkText returns the words of a text, sorted, each once.
func checkText(text string) ([]string, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("%w: the text has %d bytes, the limit is %d", ErrQuery, len(text), MaxText)
	}
	words := Words(text)
	slices.Sort(words)
	words = slices.Compact(words)
	switch {
	case text != "" && len(words) == 0:
		return nil, fmt.Errorf("%w: the text %.64q has no word", ErrQuery, text)
	case len(words) > MaxWords:
		return nil, fmt.Errorf("%w: the text has %d different words, the limit is %d", ErrQuery, len(words), MaxWords)
	}
	return words, nil
}

func (o over) Search(ctx context.Context, q Query) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, fmt.Errorf("memory: %w", err)
	}
	s, err := q.compile()
	if err != nil {
		return Page{}, err
	}
	if q.Near != "" {
		return Page{}, fmt.Errorf("%w: Near needs an Index", ErrQuery)
	}
	if s.order == ByKey {
		return o.inOrder(ctx, s)
	}
	best := ranking{search: s}
	err = o.each(ctx, s, Position{}, func(f Found) bool { best.add(f); return true })
	if err != nil {
		return Page{}, err
	}
	return best.page(), nil
}

// inOrder reads a page in the order of the table. It stops when the page is full or after MaxScan
// rows.
func (o over) inOrder(ctx context.Context, s *search) (Page, error) {
	var from Position
	if s.after != nil {
		from = s.after.position()
	}
	var list []Found
	err := o.each(ctx, s, from, func(f Found) bool {
		list = append(list, f)
		return len(list) <= s.limit
	})
	if full, ok := err.(*scanned); ok {
		return Page{Items: list, Next: s.cursor(sortKey{Namespace: full.last.Namespace, Key: full.last.Key})}, nil
	}
	if err != nil {
		return Page{}, err
	}
	return s.cut(list), nil
}

// scanned is the error of a scan that has read MaxScan rows.
type scanned struct{ last Position }

func (*scanned) Error() string {
	return fmt.Sprintf("%v: more than %d items to sort; give a longer Prefix, or sort by key", ErrTooMany, MaxScan)
}

func (*scanned) Is(target error) bool { return target == ErrTooMany }

// each yields the rows that s finds after a position, in the order of the table, until yield
// returns false.
func (o over) each(ctx context.Context, s *search, after Position, yield func(Found) bool) error {
	scan, seen := s.scan, 0
	scan.After = after
	for {
		scan.Limit = min(256, MaxScan-seen)
		rows, more, err := o.table.Scan(ctx, scan)
		if err != nil {
			return fmt.Errorf("memory: search: %w", err)
		}
		for _, row := range rows {
			found, ok, err := s.judge(row)
			if err != nil {
				return err
			}
			if ok && !yield(found) {
				return nil
			}
		}
		if !more || len(rows) == 0 {
			return nil
		}
		last := rows[len(rows)-1]
		scan.After = Position{Encode(last.Namespace), last.Key}
		if seen += len(rows); seen >= MaxScan {
			return &scanned{scan.After}
		}
	}
}

// judge decides whether a row matches. The table returns candidates only.
func (s *search) judge(row Item) (f Found, ok bool, err error) {
	f.Item = row
	if len(s.where) == 0 && len(s.words) == 0 {
		return f, true, nil
	}
	tree, err := decode(row.Value)
	if err != nil {
		return f, false, place(row.Namespace, row.Key, err)
	}
	if !s.where.hold(tree) {
		return f, false, nil
	}
	f.Score = float64(hits(tree, s.words))
	return f, len(s.words) == 0 || f.Score > 0, nil
}

// ranking collects the best rows: one more than a page has.
type ranking struct {
	*search
	list []Found
}

func (r *ranking) add(f Found) {
	if r.after != nil && compareSortKeys(r.sortKeyOf(f), *r.after) <= 0 {
		return
	}
	if r.list = append(r.list, f); len(r.list) >= 2*(r.limit+1) {
		r.sort()
	}
}

func (r *ranking) sort() {
	slices.SortFunc(r.list, func(a, b Found) int { return compareSortKeys(r.sortKeyOf(a), r.sortKeyOf(b)) })
	r.list = r.list[:min(len(r.list), r.limit+1)]
}

func (r *ranking) page() Page {
	r.sort()
	return r.cut(r.list)
}

// cut makes a page of a list that may have one item more than a page. The size of a page is about
// MaxPage bytes at most.
func (s *search) cut(list []Found) Page {
	size, n := 0, 0
	for n < min(len(list), s.limit) && (n == 0 || size+len(list[n].Value) <= MaxPage) {
		size += len(list[n].Value)
		n++
	}
	p := Page{Items: list[:n:n]}
	if n < len(list) {
		p.Next = s.cursor(s.sortKeyOf(list[n-1]))
	}
	return p
}

func (o over) Namespaces(ctx context.Context, q NamespaceQuery) (list [][]string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	limit, err := q.check()
	if err != nil {
		return nil, err
	}
	after, seen := Encode(q.After), 0
	for {
		page, more, err := o.table.Namespaces(ctx, rangeOf(q.Prefix), after, 1000)
		if err != nil {
			return nil, fmt.Errorf("memory: namespaces: %w", err)
		}
		for _, encoded := range page {
			if ns, ok := q.takes(Decode(encoded), list); ok {
				list = append(list, ns)
			}
			after = encoded
			if len(list) == limit {
				return list, nil
			}
		}
		if !more || len(page) == 0 {
			return list, nil
		}
		if seen += len(page); seen >= MaxScan {
			return nil, fmt.Errorf("%w: more than %d namespaces; give a longer Prefix", ErrTooMany, MaxScan)
		}
	}
}

func (q NamespaceQuery) check() (limit int, err error) {
	for _, labels := range [][]string{q.Prefix, q.Suffix, q.After} {
		if err := checkLabels(labels); err != nil {
			return 0, err
		}
	}
	if q.Depth < 0 {
		return 0, fmt.Errorf("%w: depth must not be negative (got %d)", ErrQuery, q.Depth)
	}
	return checkLimit(q.Limit)
}

// takes cuts a namespace to the depth and reports whether it is new in the list.
func (q NamespaceQuery) takes(ns []string, list [][]string) ([]string, bool) {
	if n := len(ns) - len(q.Suffix); n < 0 || !slices.Equal(ns[n:], q.Suffix) {
		return nil, false
	}
	if q.Depth > 0 && len(ns) > q.Depth {
		ns = ns[:q.Depth:q.Depth]
	}
	if len(list) > 0 && slices.Equal(ns, list[len(list)-1]) || slices.Equal(ns, q.After) {
		return nil, false
	}
	return ns, true
}
