package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weftrun/weft/internal/values"
)

// Limits, the same on every store.
const (
	MaxLabels    = 32       // labels of a namespace
	MaxLabel     = 256      // bytes of a label
	MaxNamespace = 1024     // bytes of a namespace, with one between two labels
	MaxKey       = 1024     // bytes of a key
	MaxValue     = 1 << 20  // bytes of a value, without insignificant white space
	MaxDepth     = 100      // arrays and objects of a value, inside each other
	MaxNumber    = 1000     // bytes of a number in a value, and its exponent either way
	MaxBatch     = 1000     // changes of a batch
	MaxBatchSize = 16 << 20 // bytes of a batch
	MaxFilter    = 64       // conditions of a filter
	MaxWords     = 64       // different words of a query
	MaxText      = 64 << 10 // bytes of a query's text
	MaxLimit     = 1000     // items of a page
	MaxScan      = 100_000  // items that one search looks at
)

// CheckNamespace returns an ErrNamespace if a namespace of items is not valid. A label is any UTF-8
// without a zero byte.
func CheckNamespace(namespace []string) error {
	if len(namespace) == 0 {
		return fmt.Errorf("%w: it has no labels", ErrNamespace)
	}
	return checkLabels(namespace)
}

// checkLabels is like CheckNamespace, for a part of a namespace, which may be empty.
func checkLabels(labels []string) error {
	if len(labels) > MaxLabels {
		return fmt.Errorf("%w: it has %d labels, the limit is %d", ErrNamespace, len(labels), MaxLabels)
	}
	size := len(labels) - 1
	for i, l := range labels {
		if why := notText(l, MaxLabel); why != "" {
			return fmt.Errorf("%w: label %d %s", ErrNamespace, i+1, why)
		}
		size += len(l)
	}
	if size > MaxNamespace {
		return fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrNamespace, size, MaxNamespace)
	}
	return nil
}

// CheckKey returns an ErrKey if a key is not valid.
func CheckKey(key string) error {
	if why := notText(key, MaxKey); why != "" {
		return fmt.Errorf("%w: it %s", ErrKey, why)
	}
	return nil
}

func notText(s string, limit int) (why string) {
	switch {
	case s == "":
		return "is empty"
	case len(s) > limit:
		return fmt.Sprintf("has %d bytes, the limit is %d", len(s), limit)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "has a zero byte"
	}
	return ""
}

// checkValue returns the stored form of a value, and the decoded value.
func checkValue(value json.RawMessage) (data []byte, tree any, err error) {
	if !utf8.Valid(value) {
		return nil, nil, fmt.Errorf("%w: it is not valid UTF-8", ErrValue)
	}
	if d := values.Depth(value); d > MaxDepth {
		return nil, nil, fmt.Errorf("%w: it is nested %d deep, the limit is %d", ErrValue, d, MaxDepth)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrValue, err)
	}
	if b.Len() > MaxValue {
		return nil, nil, fmt.Errorf("%w: the value has %d bytes, the limit is %d", ErrTooLarge, b.Len(), MaxValue)
	}
	if tree, err = decode(b.Bytes()); err == nil {
		err = checkNumbers(tree)
	}
	return b.Bytes(), tree, err
}

// decode is values.Decode with this package's error.
func decode(data []byte) (any, error) {
	tree, err := values.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrValue, err)
	}
	return tree, nil
}

// checkNumbers rejects numbers that would need more memory than their text.
func checkNumbers(tree any) error {
	if n, ok := values.Costly(tree, MaxNumber); ok {
		return fmt.Errorf("%w: the number %.32s… is longer, or has a greater exponent, than %d", ErrValue, n, MaxNumber)
	}
	return nil
}

// minTTL is the shortest TTL of an item.
const minTTL = time.Millisecond

func checkTTL(o Options) error {
	switch {
	case o.TTL < 0 || o.TTL > 0 && o.TTL < minTTL:
		return fmt.Errorf("%w: TTL must be 0 or at least a millisecond (got %v)", ErrRequest, o.TTL)
	case o.Refresh && o.TTL == 0:
		return fmt.Errorf("%w: Refresh must have a TTL", ErrRequest)
	}
	return nil
}
