package graph

import (
	linked "container/list"
	"context"
	"strings"
	"sync"
	"time"
)

// MemoryCache is a [CacheStore] in memory, for one process. The zero MemoryCache is
// ready. When it is full it drops what was not used for longest.
type MemoryCache struct {
	// Entries is the maximum number of results; 0 means 10,000.
	Entries int
	// Now gives the time by which entries expire; nil means time.Now.
	Now func() time.Time

	mu    sync.Mutex
	byKey map[string]*linked.Element
	order linked.List // of *cacheEntry, the last used first
}

var _ CacheStore = (*MemoryCache)(nil)

type cacheEntry struct {
	key     string
	data    []byte
	expires time.Time // zero: never
}

// Get implements [CacheStore].
func (c *MemoryCache) Get(_ context.Context, key string) (data []byte, ok bool, err error) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byKey[key]
	if at == nil {
		return nil, false, nil
	}
	e := at.Value.(*cacheEntry)
	if !e.expires.IsZero() && !now.Before(e.expires) {
		c.drop(at)
		return nil, false, nil
	}
	c.order.MoveToFront(at)
	return e.data, true, nil
}

// Put implements [CacheStore].
func (c *MemoryCache) Put(_ context.Context, key string, data []byte, ttl time.Duration) error {
	e := &cacheEntry{key: key, data: data}
	if ttl > 0 {
		e.expires = c.now().Add(ttl)
	}
	limit := c.Entries
	if limit <= 0 {
		limit = 10_000
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[string]*linked.Element{}
	}
	if at := c.byKey[key]; at != nil {
		c.drop(at)
	}
	c.byKey[key] = c.order.PushFront(e)
	for c.order.Len() > limit {
		c.drop(c.order.Back())
	}
	return nil
}

// Clear implements [CacheStore].
func (c *MemoryCache) Clear(_ context.Context, prefix string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, at := range c.byKey {
		if strings.HasPrefix(key, prefix) {
			c.drop(at)
		}
	}
	return nil
}

func (c *MemoryCache) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// drop removes an entry. The caller holds mu.
func (c *MemoryCache) drop(at *linked.Element) {
	delete(c.byKey, at.Value.(*cacheEntry).key)
	c.order.Remove(at)
}

// CacheStore keeps the results of nodes for other runs; see [Cache]. It is safe for
// concurrent use. [MemoryCache] is one.
type CacheStore interface {
	// Get returns what was put under key last; ok is false if there is nothing, or no
	// longer. The caller must not change data.
	Get(ctx context.Context, key string) (data []byte, ok bool, err error)
	// Put keeps data under key, for ttl, or, if that is 0, for as long as the store
	// likes. It may drop any entry at any time. data belongs to the store.
	Put(ctx context.Context, key string, data []byte, ttl time.Duration) error
	// Clear drops every entry whose key begins with prefix.
	Clear(ctx context.Context, prefix string) error
}
