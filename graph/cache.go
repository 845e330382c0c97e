package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// Caching describes what a cached node depends on. The zero Caching is usable: the whole
// state and the payload, for ever.
type Caching[S any] struct {
	// Key returns what the result depends on; nil means the whole state, as JSON. The
	// payload of a Worker counts in any case. It must only read s. An error fails the
	// node.
	Key func(s *S) (string, error)
	// TTL is how long a result holds; 0 means as long as the store keeps it.
	TTL time.Duration
	// Version identifies the code of the node: change it when the node does something else.
	Version string
}

// Cache makes n a node whose result is stored in Config.Cache, for all runs and threads
// of the graph: for an input that was seen before, the node does not run, and what it wrote and
// where it went is taken from the cache. Without a Config.Cache n just runs.
//
// Failures are not stored, nor is the work of a handler, or what may depend on a person:
// the result of a node that asked anything. A result that wrote a field which is never
// stored in checkpoints is not cached either. Where the cache fails the node runs all the same; the
// failure is an event of the phase [Uncached].
func Cache[S any](n Node[S], c Caching[S]) Node[S] {
	if n.cache != nil {
		n.faults = append(n.faults, "it is cached twice")
	}
	if c.TTL < 0 {
		n.faults = append(n.faults, fmt.Sprintf("its TTL must not be negative (got %v)", c.TTL))
	}
	n.cache = &caching{ttl: c.TTL, version: c.Version}
	if c.Key != nil {
		n.cache.key = func(s any) (string, error) { return c.Key(s.(*S)) }
	}
	return n
}

func cachePrefix(graph, node string) string {
	return url.PathEscape(graph) + "/" + url.PathEscape(node) + "/"
}

// cacheUse is the use of the cache by one task: it looks for the result before the node runs,
// and puts there what the node did.
type cacheUse struct {
	store CacheStore
	key   string
}

// cacheFor returns the use of the cache by t, or nil if it uses none: its node is not cached, it
// runs its handler, or it resumes a subgraph at an older commit.
func cacheFor(t *task) *cacheUse {
	store := t.run.cfg.Cache
	if t.node.cache == nil || store == nil || t.failure != nil || t.rewound() != nil {
		return nil
	}
	return &cacheUse{store: store}
}

// recall looks for the result of t in the cache. True means that there is nothing to run: it was
// found, or the user's key is an error.
func (c *cacheUse) recall(t *task) bool {
	key, err := t.node.cache.keyOf(t)
	if err != nil {
		t.err = t.fail(fmt.Errorf("its cache key: %w", err))
		return true
	}
	c.key = key
	data, ok, err := c.get(t.run.ctx)
	if err == nil && ok {
		err = t.restoreResult(data)
		t.settled = false // it is stored with the step, as what the node did
	}
	switch {
	case err != nil:
		t.reset()
		c.failed(t, fmt.Errorf("graph: reading the cache: %w", err))
		return false
	case ok:
		t.cached = true
	}
	return ok
}

// get is Get of the cache, with a panic as its error.
func (c *cacheUse) get(ctx context.Context) (data []byte, ok bool, err error) {
	defer recovered(&err)
	return c.store.Get(ctx, c.key)
}

// memoize puts what t has done into the cache, if it depends on nothing but its input.
func (c *cacheUse) memoize(t *task) {
	if t.isFound() && t.dependsOnAnswers() {
		return
	}
	if err := c.put(t); err != nil {
		c.failed(t, fmt.Errorf("graph: writing to the cache: %w", err))
	}
}

func (c *cacheUse) put(t *task) (err error) {
	defer recovered(&err)
	for i, f := range t.view.Channels {
		if f.Wrote() && f.Writes().Value == nil {
			return fmt.Errorf("field %q is never stored", t.run.schema.Fields()[i].Name)
		}
	}
	res, err := t.result()
	if err != nil {
		return err
	}
	data, err := json.Marshal(res)
	if err != nil {
		return err
	}
	return c.store.Put(t.run.ctx, c.key, data, t.node.cache.ttl)
}

// failed notifies the readers that the cache failed. The node runs all the same.
func (c *cacheUse) failed(t *task, err error) {
	t.run.session.events.task(t, Uncached, err)
}

// keyOf returns the key of the result of t: graph and node in clear, so that they can be
// cleared, then a hash of the version, the fields of the state and the input.
func (c *caching) keyOf(t *task) (key string, err error) {
	defer recovered(&err)
	var input string
	if c.key != nil {
		input, err = c.key(t.view.State)
	} else {
		var data []byte
		data, err = t.run.schema.Encode(t.view)
		input = string(data)
	}
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(t.payload)
	if err != nil {
		return "", fmt.Errorf("its payload: %w", err)
	}
	var fields string
	for _, f := range t.run.schema.Fields() {
		fields += fmt.Sprintf("%q %s;", f.Name, f.Type)
	}
	return cachePrefix(t.run.name, t.node.name) + longHash("cache", c.version, fields, input, string(payload)), nil
}
