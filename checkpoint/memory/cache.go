package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cache keeps bytes in a Store for a while. It is a graph.CacheStore: with the same Store
// in every process, nodes that one of them ran need not run in another. It differs from
// graph.MemoryCache in that nothing is dropped before its time: give cached nodes a TTL.
type Cache struct {
	Store Store
	// Namespace is where the entries are kept; nil means "cache".
	Namespace []string
}

// Get returns what was put under key last; ok is false if there is nothing, or no longer.
func (c Cache) Get(ctx context.Context, key string) (data []byte, ok bool, err error) {
	namespace, last := c.address(key)
	item, err := c.Store.Get(ctx, namespace, last)
	if errors.Is(err, ErrNotFound) {
		return nil, false, nil
	}
	if err == nil {
		err = json.Unmarshal(item.Value, &data)
	}
	if err != nil {
		return nil, false, fmt.Errorf("memory: cache: %w", err)
	}
	return data, true, nil
}

// Put keeps data under key, for ttl, or, if that is 0, until it is cleared. In base64, data
// must be no larger than MaxValue.
func (c Cache) Put(ctx context.Context, key string, data []byte, ttl time.Duration) error {
	value, err := json.Marshal(append([]byte{}, data...))
	if err != nil {
		return err
	}
	if ttl > 0 {
		ttl = max(ttl, minTTL)
	}
	namespace, last := c.address(key)
	if _, err = c.Store.Put(ctx, namespace, last, value, Options{TTL: ttl}); err != nil {
		return fmt.Errorf("memory: cache: %w", err)
	}
	return nil
}

// Clear drops every entry whose key begins with prefix.
func (c Cache) Clear(ctx context.Context, prefix string) error {
	// Only the part before the last slash is whole labels; what follows may be half of one.
	namespace, _ := c.address(prefix)
	for f, err := range All(ctx, c.Store, Query{Prefix: namespace}) {
		if err == nil && strings.HasPrefix(c.key(f.Item), prefix) {
			err = c.Store.Delete(ctx, f.Namespace, f.Key)
		}
		if err != nil {
			return fmt.Errorf("memory: cache: %w", err)
		}
	}
	return nil
}

func (c Cache) base() []string {
	if c.Namespace == nil {
		return []string{"cache"}
	}
	return c.Namespace
}

// address makes labels of what stands between the slashes of a key. Each begins with a
// sign, since a label is not empty.
func (c Cache) address(key string) (namespace []string, last string) {
	labels := strings.Split(key, "/")
	for i := range labels {
		labels[i] = "=" + labels[i]
	}
	n := len(labels) - 1
	return slices.Concat(c.base(), labels[:n]), labels[n]
}

// key undoes address.
func (c Cache) key(i Item) string {
	var b strings.Builder
	for _, l := range i.Namespace[len(c.base()):] {
		b.WriteString(strings.TrimPrefix(l, "="))
		b.WriteByte('/')
	}
	return b.String() + strings.TrimPrefix(i.Key, "=")
}
