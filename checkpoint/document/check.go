package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/internal/values"
)

// Limits, the same on every store.
const (
	MaxName      = 512      // bytes of a collection or an Order
	MaxID        = 1024     // bytes of a partition or an id: those of a thread
	MaxValue     = 4 << 20  // bytes of a value, without insignificant white space
	MaxDepth     = 100      // arrays and objects of a value, inside each other
	MaxNumber    = 1000     // bytes of a number in a value, and its exponent either way
	MaxBatch     = 1000     // changes of a batch
	MaxBatchSize = 16 << 20 // bytes of a batch
	MaxFilter    = 64       // conditions of a filter
	MaxSort      = 16       // keys of a sort
)

func (p Place) check(whole bool) error {
	if err := checkName("collection", p.Collection, MaxName, false); err != nil {
		return err
	}
	return checkName("partition", p.Partition, MaxID, whole)
}

// checkName returns an ErrName if a name is not valid. A name is any UTF-8 without a zero byte.
func checkName(what, name string, most int, mayBeEmpty bool) error {
	why := ""
	switch {
	case name == "" && !mayBeEmpty:
		why = "must not be empty"
	case len(name) > most:
		why = fmt.Sprintf("must have at most %d bytes (got %d)", most, len(name))
	case !utf8.ValidString(name):
		why = "must be valid UTF-8"
	case strings.IndexByte(name, 0) >= 0:
		why = "must not have a zero byte"
	default:
		return nil
	}
	return fmt.Errorf("%w: the %s %.100q %s", ErrName, what, name, why)
}

// check returns a checked copy of the change for a table.
func (c Change) check() (Change, error) {
	if err := checkName("id", c.ID, MaxID, false); err != nil {
		return c, err
	}
	if err := checkName("order", c.Order, MaxName, true); err != nil {
		return c, err
	}
	c.ID, c.Order = strings.Clone(c.ID), strings.Clone(c.Order)
	if c.If != nil {
		c.If = new(*c.If)
	}
	if c.Value == nil {
		return c, nil
	}
	var err error
	c.Value, err = checkValue(c.Value)
	return c, err
}

// checkValue returns the stored form of a value.
func checkValue(value []byte) ([]byte, error) {
	if !utf8.Valid(value) {
		return nil, fmt.Errorf("%w: it is not valid UTF-8", ErrValue)
	}
	if d := values.Depth(value); d > MaxDepth {
		return nil, fmt.Errorf("%w: it is nested %d deep, the limit is %d", ErrValue, d, MaxDepth)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrValue, err)
	}
	if b.Len() > MaxValue {
		return nil, fmt.Errorf("%w: the value has %d bytes, the limit is %d", ErrTooLarge, b.Len(), MaxValue)
	}
	tree, err := values.Decode(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrValue, err)
	}
	if n, costly := values.Costly(tree, MaxNumber); costly {
		return nil, fmt.Errorf("%w: the number %.32s… is longer, or has a greater exponent, than %d", ErrValue, n, MaxNumber)
	}
	return b.Bytes(), nil
}
