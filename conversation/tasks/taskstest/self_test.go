package taskstest

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/complaints"
)

func TestMap(t *testing.T) {
	Run(t, func(testing.TB) document.Store { return new(document.Map) })
}

// careless is a store that breaks one promise.
type careless struct {
	*document.Map
	change func(c *document.Change)
	query  func(q *document.Query)
	get    func(d *document.Doc)
	drop   bool // deletes nothing
}

func (c careless) Set(ctx context.Context, p document.Place, d document.Change) (document.Doc, error) {
	if c.change != nil {
		c.change(&d)
		runtime.Gosched()
	}
	return c.Map.Set(ctx, p, d)
}

func (c careless) Batch(ctx context.Context, p document.Place, list []document.Change) ([]document.Doc, error) {
	if c.drop {
		return nil, nil
	}
	return c.Map.Batch(ctx, p, list)
}

func (c careless) Query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	if c.query != nil {
		c.query(&q)
	}
	return c.Map.Query(ctx, q)
}

func (c careless) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	d, err := c.Map.Get(ctx, p, id)
	if c.get != nil {
		c.get(&d)
	}
	return d, err
}

func TestBrokenStoresAreCaught(t *testing.T) {
	caught := map[string]bool{}
	for name, b := range map[string]struct {
		store careless
		rules []string
	}{
		"has no conditions":       {careless{change: func(c *document.Change) { c.If = nil }}, []string{"an id is taken once", "of many processes one does"}},
		"ignores filters":         {careless{query: func(q *document.Query) { q.Where = nil }}, []string{"tasks are listed"}},
		"answers oldest first":    {careless{query: func(q *document.Query) { q.Reverse = false }}, []string{"tasks are listed"}},
		"deletes nothing":         {careless{drop: true}, []string{"a task that was deleted"}},
		"loses what is kept last": {careless{change: lose("result", "reason", "question")}, []string{"a status changes", "a task that waits", "a task that was cancelled", "what a dead process", "a worker behind HTTP works", "a cancel that comes", "a newer attempt"}},
		"forgets who cancelled":   {careless{change: undo}, []string{"a worker behind HTTP is told"}},
		"answers from the past":   {careless{get: older}, []string{"a worker is told"}},
		"cuts what is large":      {careless{change: cut}, []string{"what cannot be kept"}},
		"spoils numbers": {careless{get: func(d *document.Doc) {
			d.Value = []byte(strings.Replace(string(d.Value), `"priority":-3`, `"priority":3`, 1))
		}}, []string{"a task is kept"}},
	} {
		for _, r := range Rules {
			for _, want := range b.rules {
				if !strings.HasPrefix(r.Name, want) {
					continue
				}
				caught[r.Name] = true
				silent := true
				for range 200 { // a race may end well now and then
					s := b.store
					s.Map = new(document.Map)
					if complaints.Of(t, func(tb testing.TB) { r.Test(tb, s) }) != "" {
						silent = false
						break
					}
				}
				if silent {
					t.Errorf("rule: a store that %s is caught by %q\n got: silence", name, r.Name)
				}
			}
		}
	}
	for _, r := range Rules {
		if !caught[r.Name] {
			t.Errorf("rule: each rule can fail\n got: no broken store for %q", r.Name)
		}
	}
}

// lose renames fields, so that nobody finds them.
func lose(fields ...string) func(c *document.Change) {
	return func(c *document.Change) {
		for _, f := range fields {
			c.Value = []byte(strings.Replace(string(c.Value), `"`+f+`":`, `"lost_`+f+`":`, 1))
		}
	}
}

// undo lets a task that was cancelled go on.
func undo(c *document.Change) {
	c.Value = []byte(strings.Replace(string(c.Value), `"status":"cancelled"`, `"status":"in_progress"`, 1))
}

// older answers with a task as it was before it was cancelled.
func older(d *document.Doc) {
	d.Value = []byte(strings.Replace(string(d.Value), `"status":"cancelled"`, `"status":"in_progress"`, 1))
}

// cut keeps of what is too much to be kept that it is done.
func cut(c *document.Change) {
	if len(c.Value) > document.MaxValue {
		c.Value = []byte(`{"id":"large","status":"completed"}`)
	}
}
