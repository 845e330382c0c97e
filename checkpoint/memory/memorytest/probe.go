package memorytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/internal/testreport"
)

// probe asks a store and complains in one form: the rule, got, want.
type probe struct {
	testreport.Probe
	store memory.Store
}

var home = []string{"users", "ada"}

func (p *probe) advance(d time.Duration) { p.store.(Clock).Advance(d) }

// put stores JSON.
func (p *probe) put(ns []string, key, value string, o ...memory.Options) memory.Item {
	p.Helper()
	item, err := p.store.Put(p.Context(), ns, key, json.RawMessage(value), append(o, memory.Options{})[0])
	p.Done(fmt.Sprintf("%.80q can be put at %q in %q", value, key, ns), err)
	return item
}

func (p *probe) get(ns []string, key string) memory.Item {
	p.Helper()
	item, err := p.store.Get(p.Context(), ns, key)
	p.Done(fmt.Sprintf("what was put at %q in %q can be got", key, ns), err)
	return item
}

// gone demands that nothing is at a key.
func (p *probe) gone(rule string, ns []string, key string) {
	p.Helper()
	_, err := p.store.Get(p.Context(), ns, key)
	p.Fails(rule, err, memory.ErrNotFound)
}

func (p *probe) delete(ns []string, key string) {
	p.Helper()
	p.Done(fmt.Sprintf("%q in %q can be deleted", key, ns), p.store.Delete(p.Context(), ns, key))
}

// search returns everything that q selects, page by page.
func (p *probe) search(q memory.Query) (list []memory.Found) {
	p.Helper()
	for f, err := range memory.All(p.Context(), p.store, q) {
		p.Done(fmt.Sprintf("%+v can be searched", q), err)
		if list = append(list, f); len(list) > 100_000 {
			p.Fatalf("rule: a search ends\n got: 100,000 items of %+v", q)
		}
	}
	return list
}

// keys returns the keys that q selects, in their order.
func (p *probe) keys(q memory.Query) string {
	p.Helper()
	return keysOf(p.search(q))
}

func (p *probe) page(q memory.Query) memory.Page {
	p.Helper()
	page, err := p.store.Search(p.Context(), q)
	p.Done(fmt.Sprintf("%+v can be searched", q), err)
	return page
}

func (p *probe) namespaces(q memory.NamespaceQuery) string {
	p.Helper()
	list, err := p.store.Namespaces(p.Context(), q)
	p.Done(fmt.Sprintf("%+v can be listed", q), err)
	return fmt.Sprintf("%q", list)
}

func keysOf(list []memory.Found) string {
	keys := []string{}
	for _, f := range list {
		keys = append(keys, f.Key)
	}
	return strings.Join(keys, " ")
}

// show writes an item so that equal ones look the same.
func show(i memory.Item) string {
	return fmt.Sprintf("%q %q %s v%d %v %v %v %v", i.Namespace, i.Key, i.Value, i.Version, i.Created, i.Updated, i.Expires, i.Refresh)
}

// hostile are texts with a special meaning in some backend.
var hostile = slices.Concat([]string{
	"*", "?", "[a-z]*", "%", "_", ".", "..", "/", `\`, ":", "{x}", "}{", "'", `"`, "`", "''; DROP TABLE memories; --",
	"' OR '1'='1", "$eq", "$1", "?1", ":a", "@", "-", "+", "(", "[", "=", "~", " ", "  ", " a", "a ", "\t", "\n", "\r\n", "\x01", "\x7f",
	"é", "e\u0301", "日本語", "😀", "\u202e", "\ufeff", "null", "NULL", "true", "0", "A", "a", "aa", "a.b", "a:b", "a/b",
	"users", "weft", "__proto__", "constructor", "@t", "%00", `\u0000`, "{{.}}", "${x}", "$(x)", "-inf", "+inf",
}, []string{strings.Repeat("x", 200), strings.Repeat("é", 100)})

// conflict checks that err is a ConflictError with this item and these versions.
func (p *probe) conflict(err error, ns []string, key string, want, version uint64) {
	p.Helper()
	p.Fails("a version that is no longer current is a conflict", err, memory.ErrConflict)
	var c *memory.ConflictError
	if !errors.As(err, &c) {
		p.Errorf("rule: a conflict is a *ConflictError\n got: %T", err)
		return
	}
	p.Same("a conflict names the item, the version that was wanted and the real one",
		fmt.Sprintf("%q %q want %d is %d", c.Namespace, c.Key, c.Want, c.Version), fmt.Sprintf("%q %q want %d is %d", ns, key, want, version))
}
