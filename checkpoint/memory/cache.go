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

// Cache stores bytes in a Store for a limited time. It is a graph.CacheStore: processes with the
// same Store share the results of nodes. Unlike graph.MemoryCache it drops no entry before the
// entry expires, so give cached nodes a TTL.
type Cache struct {
	Store Store
	// Namespace is the namespace of the entries; nil means "cache".
	Namespace []string
}

// Get returns the newest data of key; ok is false if there is none or it has expired.
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

// Put stores data under key, for ttl, or until it is cleared if ttl is 0. In base64, data must be
// no larger than MaxValue.
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
	// Only the part before the last slash has complete labels; the rest may be part of a label.
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

// address splits a key at its slashes into labels. Each label gets a leading sign, since a label
// must not be empty.
func (c Cache) address(key string) (namespace []string, last string) {
	labels := strings.Split(key, "/")
	for i := range labels {
		labels[i] = "=" + labels[i]
	}
	n := len(labels) - 1
	return slices.Concat(c.base(), labels[:n]), labels[n]
}

// key is the inverse of address.
func (c Cache) key(i Item) string {
	var b strings.Builder
	for _, l := range i.Namespace[len(c.base()):] {
		b.WriteString(strings.TrimPrefix(l, "="))
		b.WriteByte('/')
	}
	return b.String() + strings.TrimPrefix(i.Key, "=")
}
