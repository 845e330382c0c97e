package memory

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Store keeps items across threads and runs. It is safe for concurrent use. Every method
// checks what it is given before anything is sent, and returns an error that names the
// place. What can go wrong with the storage itself are the errors of package checkpoint:
// ErrUnavailable, ErrBusy, ErrFull, ErrUnknownOutcome, ErrClosed.
type Store interface {
	// Put stores value under key, in place of what was there, and returns the item as it
	// now is.
	Put(ctx context.Context, namespace []string, key string, value json.RawMessage, o Options) (Item, error)
	// Get returns an item, or ErrNotFound. An item with Refresh lives on from now.
	Get(ctx context.Context, namespace []string, key string) (Item, error)
	// Delete removes an item. One that is not there is no error.
	Delete(ctx context.Context, namespace []string, key string) error
	// Batch does all of ops or none of them. It returns an item for each: as it now is, or
	// the zero Item where it was deleted. A key comes once at most.
	Batch(ctx context.Context, namespace []string, ops []Op) ([]Item, error)
	// Search returns the next page of the items that q selects.
	Search(ctx context.Context, q Query) (Page, error)
	// Namespaces returns the namespaces that hold an item, in ascending order, label by
	// label.
	Namespaces(ctx context.Context, q NamespaceQuery) ([][]string, error)
}

// Item is a value with its address and what the store knows of it. Times have
// microseconds and are the store's.
type Item struct {
	Namespace []string
	Key       string
	Value     json.RawMessage // as it was put, without insignificant white space
	Version   uint64          // greater than all that this key had before, also after a deletion
	Created   time.Time       // when the key was put first, since it was last missing
	Updated   time.Time       // when it was put last
	Expires   time.Time       // when it ends; the zero Time for never
	Refresh   time.Duration   // how long it lives from each Get on; 0 if reading does not matter
}

// Options say more about a Put. The zero Options are usual.
type Options struct {
	// TTL is how long the item lives, at least a millisecond; 0 means for ever. Another Put
	// starts anew.
	TTL time.Duration
	// Refresh lets each Get start the TTL anew. Search does not.
	Refresh bool
	// If, if it is not nil, is the version that the item must have, 0 for none at all.
	// Otherwise nothing is written and the error is a *ConflictError.
	If *uint64
}

// Op is one change of a Batch.
type Op struct {
	Key   string
	Value json.RawMessage // nil deletes; of Options then only If matters
	Options
}

// Query selects items. The zero Query selects all, in order of namespace and key.
type Query struct {
	// Prefix is what the namespace begins with, label by label; empty means all.
	Prefix []string
	// Where are conditions that all hold.
	Where Filter
	// Text are words that all occur in the strings of the value; see [Words].
	Text string
	// Near orders by likeness of meaning to this text. Only an [Index] can.
	Near string
	// Order is how to sort; "" means ByRank with Text or Near, and else ByKey.
	Order Order
	// Limit is how many items at most; 0 means 100, and MaxLimit is the most.
	Limit int
	// Cursor is the Next of the page before; "" is the first page. Nothing else of the
	// query may change, except for the limit.
	Cursor string
}

// Order is how a search sorts. Items that are equal in it are sorted by namespace and key.
type Order string

const (
	ByKey     Order = "key"     // by namespace, label by label, then by key; in bytes
	ByUpdated Order = "updated" // put last first
	ByCreated Order = "created" // created last first
	ByRank    Order = "rank"    // the greatest score first, then put last first
)

// Page is a part of what a search finds.
type Page struct {
	Items []Found
	// Next is the Cursor of the next page; "" if this was the last one. A page may have
	// fewer items than the limit, even none, and still a next one.
	Next string
	// Unindexed is how many items a search with Near passed over since they have no vector
	// of their own yet; see [Index.Reindex].
	Unindexed int
}

// Found is an item that was found.
type Found struct {
	Item
	// Score is how often the words of Text occur, or the cosine of the likeness to Near.
	Score float64
}

// NamespaceQuery selects namespaces.
type NamespaceQuery struct {
	Prefix, Suffix []string // what they begin and end with
	Depth          int      // cut what is longer to so many labels, and name it once; 0 cuts nothing
	After          []string // only those that come after, as they are cut; nil means from the first
	Limit          int      // at most so many; 0 means 100, and MaxLimit is the most
}

// All yields everything that q selects, page by page, from q.Cursor on; q.Limit is the
// size of a page. After an error it ends.
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
