package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/record"
)

// The endings of the graph nodes that do a part of one node of the file. A
// name in a file has no dot, so they are free.
const (
	each = ".each"
	run  = ".run"
	exit = ".next"
)

// NodeOf returns the node of a file that a node of its graph belongs to. Chooses reports whether
// the graph node does nothing but choose what follows. The name of a node of any other graph is
// returned as it is, unless it ends with .each, .run or .next.
func NodeOf(name string) (node string, chooses bool) {
	for _, ending := range []string{each, run, exit} {
		if node, ok := strings.CutSuffix(name, ending); ok {
			return node, ending == exit
		}
	}
	return name, false
}

// item is what a task of a for_each gets. Its JSON has the index and the item.
type item struct {
	index  int
	data   json.RawMessage // the item as JSON; nil where simple is set
	simple any             // an item that is a string, an int64 or a bool; nil for any other
}

// newItem returns the item at an index of a list.
func newItem(index int, v any) (item, error) {
	switch v := v.(type) {
	case string:
		if utf8.ValidString(v) {
			return item{index: index, simple: v}, nil
		}
	case int64, bool:
		return item{index: index, simple: v}, nil
	}
	data, err := record.Type{}.Encode(v)
	return item{index: index, data: data}, err
}

// value returns the item, which belongs to the caller.
func (it item) value() (any, error) {
	if it.simple != nil {
		return it.simple, nil
	}
	return record.Type{}.Convert(it.data)
}

// encoded returns the item as JSON.
func (it item) encoded() (json.RawMessage, error) {
	if it.simple == nil {
		return it.data, nil
	}
	return record.Type{}.Encode(it.simple)
}

// storedItem is the JSON of an item.
type storedItem struct {
	Index int             `json:"index"`
	Item  json.RawMessage `json:"item"`
}

// MarshalJSON implements [json.Marshaler].
func (it item) MarshalJSON() ([]byte, error) {
	data, err := it.encoded()
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedItem{it.index, data})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (it *item) UnmarshalJSON(data []byte) error {
	var s storedItem
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*it = item{index: s.Index, data: s.Item}
	return nil
}

// Label returns the item: a string as it is, any other value as JSON.
func (it item) Label() string {
	if text, ok := it.simple.(string); ok {
		return text
	}
	data, _ := it.encoded() // cannot fail: an int64 and a bool have JSON
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	return string(data)
}

// splits reports whether n becomes several nodes of the graph.
func (n *node) splits() bool {
	_, sub := n.work.(inner)
	return n.each != nil || sub && n.cond != nil
}

// addEach adds a node that does its work once for each item.
func (b *builder) addEach(n *node) error {
	draw := func(g graph.Node[record.Record]) graph.Node[record.Record] { return g }
	if w, ok := n.work.(inner); ok && b.graphs != nil {
		own := *n
		c, err := w.each(b)
		if err != nil {
			return err
		}
		own.work, draw = c, c.draw
		own.Timeout = w.timeout(own.Timeout)
		n = &own
	}
	policy := b.policy(n)
	policy.Parallel = n.each.parallel
	ways := b.split(n, n.name+each)
	limit := n.each.max
	fill(&limit, b.limited(b.cfg).MaxTasks)
	b.at(n.ref).Node(n.name, graph.Router(func(ctx context.Context, rec *record.Record) (graph.Command, error) {
		return b.dispatch(ctx, n, rec, limit, ways)
	}, append(ways, n.name+each)...))
	b.onFailure(n, n.name+each, false)
	b.at(n.ref).Node(n.name+each, b.cached(n, draw(graph.Worker(func(ctx context.Context, rec *record.Record, it item) error {
		v, err := it.value()
		if err != nil {
			return err
		}
		vars, err := b.vars(ctx, n, rec)
		if err != nil {
			return err
		}
		defer release(vars)
		vars[n.each.alias.name] = v
		if b.test {
			ctx = context.WithValue(ctx, itemKey{}, it.index)
		}
		_, err = b.perform(ctx, n, vars, rec)
		if err != nil && !errors.Is(err, graph.ErrInterrupted) {
			return fmt.Errorf("item %d: %w", it.index+1, err)
		}
		return err
	}))).With(policy))
	return nil
}

// dispatch starts a task for each item, or goes on when there is none.
func (b *builder) dispatch(ctx context.Context, n *node, rec *record.Record, limit int, ways []string) (cmd graph.Command, err error) {
	vars, err := b.vars(ctx, n, rec)
	if err != nil {
		return cmd, err
	}
	skip, err := n.skips(vars)
	if err != nil {
		return cmd, err
	}
	var items []any
	if !skip {
		if items, err = n.each.items(vars); err != nil {
			return cmd, err
		}
	}
	t := n.each.list
	switch {
	case len(items) == 0:
		return graph.Goto(ways...), nil
	case limit > 0 && len(items) > limit:
		return cmd, fmt.Errorf("%s: %w: there are %d items, the limit is %d", t.src.at(t.at), graph.ErrFanOut, len(items), limit)
	}
	worker := n.name + each
	for i, v := range items {
		it, err := newItem(i, v)
		if err != nil {
			return cmd, t.runError(err)
		}
		cmd = cmd.Send(worker, it)
	}
	return cmd, nil
}

func (e *forEach) items(vars map[string]any) ([]any, error) {
	v, err := e.list.eval(vars)
	if err != nil {
		return nil, err
	}
	items, ok := v.([]any)
	switch {
	case v == nil:
		return nil, e.list.runError(errors.New("for_each requires a list, not null; guard the expression (EXPR ?? [])"))
	case !ok:
		return nil, e.list.runError(fmt.Errorf("for_each requires a list, not %s", kindOf(v)))
	}
	return items, nil
}

// kindOf names the type of a value that is not a list.
func kindOf(v any) string {
	switch v.(type) {
	case bool:
		return "a bool"
	case string:
		return "a text"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// policy returns the policy of a node. Before the other graphs are there, another node is in their
// place, and cannot be a child.
func (b *builder) policy(n *node) graph.Policy {
	p := n.Policy
	p.Child = p.Child && b.graphs != nil
	return p
}

// addInner adds another graph as a node.
func (b *builder) addInner(n *node) error {
	w := n.work.(inner)
	child := graph.Func(func(context.Context, *record.Record) error { return nil })
	if b.graphs != nil {
		var err error
		if child, err = w.node(b, n); err != nil {
			return err
		}
	}
	policy := b.policy(n)
	policy.Timeout = w.timeout(policy.Timeout)
	child = b.cached(n, child)
	if n.cond == nil {
		b.at(n.ref).Node(n.name, child.With(policy))
		b.onFailure(n, n.name, false)
		b.leaveCached(n)
		return nil
	}
	ways := b.split(n, n.name+run)
	b.at(n.ref).Node(n.name, graph.Router(func(ctx context.Context, rec *record.Record) (graph.Command, error) {
		vars, err := b.vars(ctx, n, rec)
		if err != nil {
			return graph.Command{}, err
		}
		if skip, err := n.skips(vars); err != nil || skip {
			return graph.Goto(ways...), err
		}
		return graph.Goto(n.name + run), nil
	}, append(ways, n.name+run)...))
	b.at(n.ref).Node(n.name+run, child.With(policy))
	b.onFailure(n, n.name+run, false)
	return nil
}

// split adds what follows body, the part of n that may be skipped, and returns where
// to go when it is. What waits for n to end, such as a join or a pause, waits for the exit.
func (b *builder) split(n *node, body string) (ways []string) {
	if !n.next.conditional() && !b.isArm(n) && !pauses(b.plan.after, n) {
		b.lead(n, body)
		if n.next == nil {
			return []string{graph.End}
		}
		return names(n.next.targets())
	}
	b.at(n.ref).Node(n.name+exit, graph.Func(func(context.Context, *record.Record) error { return nil }))
	b.at(n.ref).Edge(body, n.name+exit)
	b.leave(n, n.name+exit)
	return []string{n.name + exit}
}

// leave adds the next of n behind a node that does not choose itself.
func (b *builder) leave(n *node, from string) {
	if !n.next.conditional() {
		b.lead(n, from)
		return
	}
	b.at(n.ref).Branch(from, func(ctx context.Context, rec *record.Record) (graph.Command, error) {
		return b.choose(ctx, n, rec, nil)
	}, names(n.next.targets())...)
	b.label(n, from)
}
