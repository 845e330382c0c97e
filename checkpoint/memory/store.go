package memory

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Store stores items across threads and runs. It is safe for concurrent use. Every method checks
// its arguments before anything is sent, and returns an error that names the place. Failures of the
// storage are the errors of package checkpoint: ErrUnavailable, ErrBusy, ErrFull,
// ErrUnknownOutcome, ErrClosed.
type Store interface {
	// Put stores value under key, replaces an existing item, and returns the new item.
	Put(ctx context.Context, namespace []string, key string, value json.RawMessage, o Options) (Item, error)
	// Get returns an item, or ErrNotFound. It restarts the TTL of an item with Refresh.
	Get(ctx context.Context, namespace []string, key string) (Item, error)
	// Delete removes an item. A missing item is no error.
	Delete(ctx context.Context, namespace []string, key string) error
	// Batch makes all changes of ops atomically. It returns the new item for each, or the zero
	// Item for a deletion. A key must not appear twice. If the reply of the storage was lost,
	// another writer may have replaced an item before the batch was found to be made: then that
	// item comes as it now is, with Version 0.
	Batch(ctx context.Context, namespace []string, ops []Op) ([]Item, error)
	// Search returns the next page of the items that q selects.
	Search(ctx context.Context, q Query) (Page, error)
	// Namespaces returns the namespaces that have an item, in ascending order, label by label.
	Namespaces(ctx context.Context, q NamespaceQuery) ([][]string, error)
}

// Item is a value with its namespace, its key and its metadata. Times are those of the store's
// clock, in microseconds.
type Item struct {
	Namespace []string
	Key       string
	Value     json.RawMessage // as it was put, without insignificant white space
	Version   uint64          // greater than all that this key had before, also after a deletion
	Created   time.Time       // the first Put of the key since it was last missing
	Updated   time.Time       // the last Put
	Expires   time.Time       // the end of the item; the zero Time means never
	Refresh   time.Duration   // the TTL that each Get restarts; 0 if Get does not extend it
}

// Options are the settings of a Put. The zero value is valid.
type Options struct {
	// TTL is the time until the item expires, at least a millisecond; 0 means never. Another Put
	// replaces it.
	TTL time.Duration
	// Refresh makes each Get restart the TTL. Search does not restart it.
	Refresh bool
	// If, if it is not nil, is the version that the item must have, 0 for none at all.
	// Otherwise nothing is written and the error is a *ConflictError.
	If *uint64
}

// Op is one change of a Batch.
type Op struct {
	Key   string
	Value json.RawMessage // nil deletes; then Options are ignored, except If
	Options
}

// Query selects items. The zero Query selects all, in order of namespace and key.
type Query struct {
	// Prefix is the beginning of the namespace, in whole labels; empty means all.
	Prefix []string
	// Where are conditions that must all hold.
	Where Filter
	// Text has words that must all occur in the strings of the value; see [Words].
	Text string
	// Near sorts by similarity of meaning to this text. Only an [Index] supports it.
	Near string
	// Order is the order of the results; "" means ByRank with Text or Near, otherwise ByKey.
	Order Order
	// Limit is the greatest number of items, at most MaxLimit; 0 means 100.
	Limit int
	// Cursor is the Next of the previous page; "" is the first page. The rest of the query must
	// stay the same, except for the limit.
	Cursor string
}

// Order is how a search sorts. Items that are equal in this order are sorted by namespace and key.
type Order string

const (
	ByKey     Order = "key"     // by namespace, label by label, then by key; compared by bytes
	ByUpdated Order = "updated" // the newest update first
	ByCreated Order = "created" // the newest item first
	ByRank    Order = "rank"    // the greatest score first, then the newest update first
)

// Page is a page of the results of a search.
type Page struct {
	Items []Found
	// Next is the Cursor of the next page; "" if this is the last one. A page may have fewer
	// items than the limit, even none, and not be the last one.
	Next string
	// Unindexed is the number of items that a search with Near left out because they have no
	// vector yet; see [Index.Reindex]. It is -1 with Index.Vectors, which does not count them.
	Unindexed int
}

// Found is an item that was found.
type Found struct {
	Item
	// Score is how often the words of Text occur, or the cosine similarity to Near.
	Score float64
}

// NamespaceQuery selects namespaces.
type NamespaceQuery struct {
	Prefix, Suffix []string // the first and the last labels of a namespace
	Depth          int      // cut longer namespaces to this many labels, without duplicates; 0 means no cut
	After          []string // only namespaces after this one, compared as cut; nil means from the first
	Limit          int      // the greatest number of namespaces, at most MaxLimit; 0 means 100
}

// All yields all items that q selects, page by page, from q.Cursor on; q.Limit is the size of a
// page. It ends after the first error.
func All(ctx context.Context, s Store, q Query) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		for {
			page, err := s.Search(ctx, q)
			if err != nil {
				yield(Found{}, err)
				return
			}
			for _, f := range page.Items {
				if !yield(f, nil) {
					return
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return
			}
		}
	}
}
