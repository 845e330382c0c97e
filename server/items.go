package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/server/wire"
)

func wireItem(i memory.Item) wire.Item {
	return wire.Item{Namespace: i.Namespace, Key: i.Key, Value: i.Value, CreatedAt: wire.At(i.Created), UpdatedAt: wire.At(i.Updated)}
}

// checkNamespace returns the fault of a namespace of an item.
func checkNamespace(namespace []string) error {
	if len(namespace) == 0 {
		return &wire.Error{Code: wire.CodeInvalidRequest, Detail: "namespace must not be empty", Status: http.StatusBadRequest}
	}
	return checkLabels("namespace", namespace)
}

func checkLabels(name string, labels []string) error {
	for _, label := range labels {
		if label == "" || strings.Contains(label, ".") {
			return invalid("the labels of %s must not be empty or have a dot (got %.100q)", name, label)
		}
	}
	return nil
}

// allowItems asks the rules about an action on a namespace, or on all below a prefix. The result
// reports whether the caller may see the items of a namespace.
func (c *call) allowItems(action string, namespace []string) (visible func([]string) bool, err error) {
	filter, err := c.ask(&Access{Resource: "store", Action: action, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	return func(namespace []string) bool {
		return len(filter) == 0 || filter.accepts(tree{"namespace": plain(namespace)})
	}, nil
}

func putItem(c *call) error {
	var q struct {
		Namespace []string        `json:"namespace"`
		Key       string          `json:"key"`
		Value     json.RawMessage `json:"value"`
		TTL       *float64        `json:"ttl"`
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	if err := checkNamespace(q.Namespace); err != nil {
		return err
	}
	if q.Key == "" {
		return invalid("key must not be empty")
	}
	if absent(q.Value) || q.Value[0] != '{' {
		return invalid("value must be an object")
	}
	var o memory.Options
	if q.TTL != nil {
		if !(*q.TTL > 0 && *q.TTL < 1e9) {
			return invalid("ttl must be a number of minutes that is greater than 0")
		}
		o.TTL = max(time.Duration(*q.TTL*float64(time.Minute)), time.Millisecond)
	}
	visible, err := c.allowItems("put", q.Namespace)
	if err != nil {
		return err
	}
	if !visible(q.Namespace) {
		return ErrForbidden
	}
	if _, err := c.server.memory.Put(c.Context(), q.Namespace, q.Key, q.Value, o); err != nil {
		return err
	}
	return c.noContent()
}

func getItem(c *call) error {
	var namespace []string
	for _, text := range c.URL.Query()["namespace"] {
		if text != "" {
			namespace = append(namespace, strings.Split(text, ".")...)
		}
	}
	if err := checkNamespace(namespace); err != nil {
		return err
	}
	visible, err := c.allowItems("get", namespace)
	if err != nil {
		return err
	}
	i, err := c.server.memory.Get(c.Context(), namespace, c.URL.Query().Get("key"))
	if errors.Is(err, memory.ErrNotFound) || err == nil && !visible(namespace) {
		return c.answer(nil)
	}
	if err != nil {
		return err
	}
	return c.answer(wireItem(i))
}

func deleteItem(c *call) error {
	var q struct {
		Namespace []string `json:"namespace"`
		Key       string   `json:"key"`
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	if err := checkNamespace(q.Namespace); err != nil {
		return err
	}
	visible, err := c.allowItems("delete", q.Namespace)
	if err != nil {
		return err
	}
	if visible(q.Namespace) {
		err = c.server.memory.Delete(c.Context(), q.Namespace, q.Key)
	}
	if err != nil {
		return err
	}
	return c.noContent()
}

func searchItems(c *call) error {
	var q struct {
		Prefix []string        `json:"namespace_prefix"`
		Filter json.RawMessage `json:"filter"`
		Query  string          `json:"query"`
		page
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	limit, offset, err := q.check(c.server.limits.Page)
	if err != nil {
		return err
	}
	if err := checkLabels("namespace_prefix", q.Prefix); err != nil {
		return err
	}
	search := memory.Query{Prefix: q.Prefix, Limit: memory.MaxLimit}
	if !absent(q.Filter) {
		if search.Where, err = memory.ParseFilter(q.Filter); err != nil {
			return invalid("filter must be an object of values, or of objects of operators")
		}
	}
	if _, byMeaning := c.server.memory.(*memory.Index); byMeaning {
		search.Near = q.Query
	} else {
		search.Text = q.Query
	}
	visible, err := c.allowItems("search", q.Prefix)
	if err != nil {
		return err
	}
	list := []wire.FoundItem{}
	for f, err := range memory.All(c.Context(), c.server.memory, search) {
		if err != nil {
			return err
		}
		if !visible(f.Namespace) {
			continue
		}
		if offset > 0 {
			offset--
			continue
		}
		found := wire.FoundItem{Item: wireItem(f.Item)}
		if q.Query != "" {
			found.Score = &f.Score
		}
		if list = append(list, found); len(list) == limit {
			break
		}
	}
	return c.answer(struct {
		Items []wire.FoundItem `json:"items"`
	}{list})
}

// defaultNamespaces is the number of namespaces of a listing without a limit.
const defaultNamespaces = 100

func listNamespaces(c *call) error {
	var q struct {
		Prefix []string `json:"prefix"`
		Suffix []string `json:"suffix"`
		Depth  int      `json:"max_depth"`
		page
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	if q.Limit == nil {
		q.Limit = new(min(defaultNamespaces, c.server.limits.Page))
	}
	limit, offset, err := q.check(c.server.limits.Page)
	switch {
	case err != nil:
		return err
	case q.Depth < 0:
		return invalid("max_depth must not be negative (got %d)", q.Depth)
	}
	if err := cmp.Or(checkLabels("prefix", q.Prefix), checkLabels("suffix", q.Suffix)); err != nil {
		return err
	}
	visible, err := c.allowItems("list_namespaces", q.Prefix)
	if err != nil {
		return err
	}
	list, err := c.namespaces(memory.NamespaceQuery{Prefix: q.Prefix, Suffix: q.Suffix, Limit: memory.MaxLimit}, q.Depth, visible, offset+limit)
	if err != nil {
		return err
	}
	return c.answer(struct {
		Namespaces [][]string `json:"namespaces"`
	}{list[min(offset, len(list)):]})
}

// namespaces returns the first visible namespaces, cut to a depth. It looks at them whole, since
// the part that is cut may be what makes them visible.
func (c *call) namespaces(q memory.NamespaceQuery, depth int, visible func([]string) bool, most int) ([][]string, error) {
	list := [][]string{}
	for {
		part, err := c.server.memory.Namespaces(c.Context(), q)
		if err != nil {
			return nil, err
		}
		for _, namespace := range part {
			shown := namespace
			if depth > 0 && len(shown) > depth {
				shown = shown[:depth]
			}
			if visible(namespace) && (len(list) == 0 || !slices.Equal(list[len(list)-1], shown)) {
				list = append(list, shown)
			}
			if len(list) == most {
				return list, nil
			}
		}
		if len(part) < q.Limit {
			return list, nil
		}
		q.After = part[len(part)-1]
	}
}
