package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// sortKey is the position of a row in the order of a search. A cursor holds the sortKey of the last
// item of its page, or of the last row read.
type sortKey struct {
	Score     float64 `json:"s,omitempty"`
	Time      int64   `json:"t,omitempty"` // microseconds
	Namespace string  `json:"n"`           // encoded
	Key       string  `json:"k"`
	Query     string  `json:"q"` // the digest of the query; set only in a cursor
}

func (k sortKey) position() Position { return Position{k.Namespace, k.Key} }

// sortKeyOf returns the sort key of an item in the order of s.
func (s *search) sortKeyOf(f Found) sortKey {
	k := sortKey{Namespace: Encode(f.Namespace), Key: f.Key}
	switch s.order {
	case ByUpdated:
		k.Time = f.Updated.UnixMicro()
	case ByCreated:
		k.Time = f.Created.UnixMicro()
	case ByRank:
		k.Score, k.Time = f.Score, f.Updated.UnixMicro()
	}
	return k
}

func compareSortKeys(a, b sortKey) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Time, a.Time),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Key, b.Key))
}

func (s *search) cursor(k sortKey) string {
	k.Query = s.digest
	data, _ := json.Marshal(k) // cannot fail: it has only text and finite numbers
	return base64.RawURLEncoding.EncodeToString(data)
}

// readCursor returns the sort key in a cursor of the query with this digest, or nil for the
// cursor "".
func readCursor(cursor, digest string) (*sortKey, error) {
	if cursor == "" {
		return nil, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, fmt.Errorf("%w: the cursor must be the Next of a page (got %.32q)", ErrCursor, cursor)
	}
	var k sortKey
	if err := json.Unmarshal(data, &k); err != nil || k.Key == "" || k.Namespace == "" {
		return nil, fmt.Errorf("%w: the cursor must be the Next of a page (got %.32q)", ErrCursor, cursor)
	}
	if k.Query != digest {
		return nil, fmt.Errorf("%w: it belongs to another query", ErrCursor)
	}
	return &k, nil
}

// digest returns a digest of a query without its limit and cursor.
func (q Query) digest(s *search) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q", q.Prefix, s.words, q.Near, s.order)
	for _, c := range s.where {
		value, _ := json.Marshal(c.value) // cannot fail: it was decoded from JSON
		fmt.Fprintf(h, " %q %q %q", c.path, c.op, value)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:9])
}
