package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/internal/values"
)

// Query selects documents. Its steps are, in this order: Where, the sort, Skip, Limit. An unknown
// collection is empty.
type Query struct {
	// Place is a partition, or with Partition "" the whole collection.
	Place
	// Where are conditions that must all hold.
	Where Filter
	// From and Until bound the Order: at least From, and less than Until unless that is "".
	// The store reads nothing outside of them.
	From, Until string
	// Sort are the sort keys, the most significant first. Documents with equal keys, or all
	// documents if there are no keys, are in the order of partition, Order and Seq.
	Sort []Sort
	// Reverse reverses the order of partition, Order and Seq. With a Limit and without a Sort,
	// the store reads only the last documents.
	Reverse bool
	// After continues after a document of an earlier result, in the direction of the query: with
	// Reverse, before it in the order. Get it from [Doc.Position]; in a partition its Partition
	// may be "". The document need not exist any more. After with a Sort is an ErrQuery.
	After *Position
	// Skip is the number of documents to leave out first.
	Skip int
	// Limit is the greatest number of documents: nil for all, 0 for none.
	Limit *int
}

// Filter are conditions that must all hold. A filter may come from untrusted input: every store
// compares paths and values and never executes them.
type Filter []Condition

// Condition compares a field of a value.
type Condition struct {
	// Path names the field in the syntax of gjson: names separated by dots, with numbers for the
	// indexes of arrays. A backslash escapes a dot in a name.
	Path string
	Op   Operator // "" means Eq
	// Value is any value that marshals to JSON; for In, to an array.
	Value any
}

// Operator is how a Condition compares. The set is closed.
//
// Numbers are compared by their exact value, strings by bytes, arrays by element, objects
// by field. Values of different types are not equal; null is a type of its own. Only two numbers or
// two strings can be less or greater. A missing field is not equal to any value, so only Ne holds.
type Operator string

const (
	Eq  Operator = "$eq"
	Ne  Operator = "$ne"
	In  Operator = "$in" // equal to an element of an array
	Gt  Operator = "$gt"
	Gte Operator = "$gte"
	Lt  Operator = "$lt"
	Lte Operator = "$lte"
)

var operators = []Operator{Eq, Ne, In, Gt, Gte, Lt, Lte}

// Sort is one sort key. The ascending order is: a missing field, null, false, true, numbers by
// value, strings by bytes, and last arrays and objects, which are equal to each other.
type Sort struct {
	Path string // as in Condition
	Desc bool
}

// search is a checked query.
type search struct {
	where []condition
	sort  []Sort
	scan  Scan
	skip  int
	limit int // -1 for all
}

type condition struct {
	path  string
	op    Operator
	value any
}

func (q Query) compile() (*search, error) {
	if err := q.Place.check(true); err != nil {
		return nil, err
	}
	s := &search{sort: q.Sort, skip: q.Skip, limit: -1, scan: Scan{Place: q.Place, From: q.From, Until: q.Until, Reverse: q.Reverse}}
	if q.Limit != nil {
		s.limit = *q.Limit
	}
	switch {
	case q.Limit != nil && s.limit < 0:
		return nil, fmt.Errorf("%w: %d", ErrInvalidLimit, s.limit)
	case q.Skip < 0:
		return nil, fmt.Errorf("%w: a skip of %d", ErrQuery, q.Skip)
	case len(q.Where) > MaxFilter:
		return nil, fmt.Errorf("%w: the filter has %d conditions, the limit is %d", ErrQuery, len(q.Where), MaxFilter)
	case len(q.Sort) > MaxSort:
		return nil, fmt.Errorf("%w: the sort has %d keys, the limit is %d", ErrQuery, len(q.Sort), MaxSort)
	}
	for i, c := range q.Where {
		compiled, err := c.compile()
		if err != nil {
			return nil, fmt.Errorf("%w: condition %d on %.100q: %w", ErrQuery, i+1, c.Path, err)
		}
		s.where = append(s.where, compiled)
	}
	for i, key := range q.Sort {
		if err := checkName("path", key.Path, MaxName, false); err != nil {
			return nil, fmt.Errorf("%w: sort %d: %w", ErrQuery, i+1, err)
		}
	}
	if err := s.checkBounds(); err != nil {
		return nil, err
	}
	return s, s.after(q.After)
}

// after sets the position at which the scan begins. The position is within the range of the scan.
func (s *search) after(p *Position) error {
	if p == nil {
		return nil
	}
	at := *p
	if at.Partition == "" {
		at.Partition = s.scan.Partition
	}
	if err := checkName("partition", at.Partition, MaxID, false); err != nil {
		return fmt.Errorf("%w: after: %w", ErrQuery, err)
	}
	if err := checkName("order", at.Order, MaxName, true); err != nil {
		return fmt.Errorf("%w: after: %w", ErrQuery, err)
	}
	switch {
	case len(s.sort) > 0:
		return fmt.Errorf("%w: After needs the order of the store, and there is a sort", ErrQuery)
	case s.scan.Partition != "" && at.Partition != s.scan.Partition:
		return fmt.Errorf("%w: After is in partition %.100q, the query is about %.100q", ErrQuery, at.Partition, s.scan.Partition)
	case !s.scan.Reverse && at.Order < s.scan.From:
		at.Order, at.Seq = s.scan.From, 0
	case s.scan.Reverse && s.scan.Until != "" && at.Order >= s.scan.Until:
		at.Order, at.Seq = s.scan.Until, 0
	}
	s.scan.After = &at
	return nil
}

func (s *search) checkBounds() error {
	if err := checkName("order", s.scan.From, MaxName, true); err != nil {
		return fmt.Errorf("%w: %w", ErrQuery, err)
	}
	if err := checkName("order", s.scan.Until, MaxName, true); err != nil {
		return fmt.Errorf("%w: %w", ErrQuery, err)
	}
	return nil
}

func (c Condition) compile() (condition, error) {
	if err := checkName("path", c.Path, MaxName, false); err != nil {
		return condition{}, err
	}
	op := cmp.Or(c.Op, Eq)
	if !slices.Contains(operators, op) {
		return condition{}, fmt.Errorf("the operator %.32q is none of %q", op, operators)
	}
	data, err := json.Marshal(c.Value)
	if err != nil {
		return condition{}, err
	}
	if data, err = checkValue(data); err != nil {
		return condition{}, err
	}
	tree, err := values.Decode(data)
	if err != nil {
		return condition{}, err
	}
	switch op {
	case Eq, Ne:
	case In:
		if _, ok := tree.([]any); !ok && !bytes.Equal(data, []byte("null")) {
			return condition{}, fmt.Errorf("%s compares with an array, not with %.32s", op, data)
		}
	default:
		if _, ordered := values.Compare(tree, tree); !ordered {
			return condition{}, fmt.Errorf("%s compares numbers or strings, not %.32s", op, data)
		}
	}
	return condition{c.Path, op, tree}, nil
}

// lookUp returns the value at a path.
func lookUp(value []byte, path string) (v any, found bool, err error) {
	r := gjson.GetBytes(value, path)
	if !r.Exists() {
		return nil, false, nil
	}
	v, err = values.Decode([]byte(r.Raw))
	return v, true, err
}

// hold reports whether all conditions hold for a document.
func (s *search) hold(d Doc) (bool, error) {
	for _, c := range s.where {
		v, found, err := lookUp(d.Value, c.path)
		if err != nil {
			return false, place(d.Place, d.ID, fmt.Errorf("%w: path %.100q: %w", ErrValue, c.path, err))
		}
		if !c.holds(v, found) {
			return false, nil
		}
	}
	return true, nil
}

func (c condition) holds(v any, found bool) bool {
	if c.op == Ne {
		return !found || !values.Equal(v, c.value)
	}
	if !found {
		return false
	}
	switch c.op {
	case Eq:
		return values.Equal(v, c.value)
	case In:
		list, _ := c.value.([]any)
		return slices.ContainsFunc(list, func(e any) bool { return values.Equal(v, e) })
	}
	order, ordered := values.Compare(v, c.value)
	return ordered && c.op.holds(order)
}

func (op Operator) holds(order int) bool {
	switch op {
	case Gt:
		return order > 0
	case Gte:
		return order >= 0
	case Lt:
		return order < 0
	}
	return order <= 0
}
