package exprs

import (
	"errors"
	"fmt"
	"slices"
)

// loopFunction is a function whose second argument is a closure: an expression that is evaluated
// for each item of a list.
type loopFunction struct {
	least, most int  // arguments
	decides     bool // the closure is true or false
	example     string
	result      func(over, body Type) Type
	run         func(l *loop, r *run, items []any) (any, error)
}

// loops has the functions that take a closure.
var loops map[string]loopFunction

func init() {
	toBool := func(Type, Type) Type { return Bool }
	toInt := func(Type, Type) Type { return Int }
	toItem := func(over, _ Type) Type { return over.items() }
	sameList := func(over, _ Type) Type { return List(over.items()) }
	loops = map[string]loopFunction{
		"all":  {least: 2, most: 2, decides: true, example: "all(list, # > 0)", result: toBool, run: all},
		"any":  {least: 2, most: 2, decides: true, example: "any(list, # > 0)", result: toBool, run: anyOf},
		"none": {least: 2, most: 2, decides: true, example: "none(list, # > 0)", result: toBool, run: none},
		"one":  {least: 2, most: 2, decides: true, example: "one(list, # > 0)", result: toBool, run: one},
		"count": {least: 1, most: 2, decides: true, example: "count(list, # > 0)", result: toInt, run: func(l *loop, r *run, items []any) (any, error) {
			return l.count(r, items)
		}},
		"filter":        {least: 2, most: 2, decides: true, example: "filter(list, # > 0)", result: sameList, run: filter},
		"find":          {least: 2, most: 2, decides: true, example: "find(list, # > 0)", result: toItem, run: find(false, false)},
		"findIndex":     {least: 2, most: 2, decides: true, example: "findIndex(list, # > 0)", result: toInt, run: find(false, true)},
		"findLast":      {least: 2, most: 2, decides: true, example: "findLast(list, # > 0)", result: toItem, run: find(true, false)},
		"findLastIndex": {least: 2, most: 2, decides: true, example: "findLastIndex(list, # > 0)", result: toInt, run: find(true, true)},
		"map":           {least: 2, most: 2, example: "map(list, # + 1)", result: func(_, body Type) Type { return List(body) }, run: mapped},
		"sum":           {least: 1, most: 2, example: "sum(list, .size)", result: func(_, body Type) Type { return body }, run: sum},
		"groupBy":       {least: 2, most: 2, example: "groupBy(list, .kind)", result: func(over, _ Type) Type { return keyedMap(List(over.items())) }, run: groupBy},
		"sortBy":        {least: 2, most: 3, example: "sortBy(list, .size)", result: sameList, run: sortBy},
		"reduce":        {least: 2, most: 3, example: "reduce(list, #acc + #, 0)", result: func(_, body Type) Type { return body }, run: reduce},
	}
}

// loop is a call of a loopFunction.
type loop struct {
	node    *node
	depth   int
	body    evaluator // nil if there is no closure
	test    condition // nil if the closure need not be true or false
	lastArg any       // the third argument, if hasLast
	hasLast bool
}

func (n *node) loop() evaluator {
	f, over := loops[n.name], n.args[0].evaluator()
	var body, last evaluator
	var test condition
	if len(n.args) > 1 {
		if f.decides {
			test = n.args[1].condition()
		} else {
			body = n.args[1].evaluator()
		}
	}
	if len(n.args) > 2 {
		last = n.args[2].evaluator()
	}
	return func(r *run) (any, error) {
		list, err := over(r)
		if err != nil {
			return nil, err
		}
		items, ok := list.([]any)
		if !ok {
			return nil, n.errorf("%s wants a list, not %s", n.name, kindName(list))
		}
		l := loop{node: n, depth: n.slot, body: body, test: test}
		if last != nil {
			if l.lastArg, err = last(r); err != nil {
				return nil, err
			}
			l.hasLast = true
		}
		v, err := f.run(&l, r, items)
		r.loops[l.depth] = loopState{}
		return v, err
	}
}

// enter makes an item that of the loop.
func (l *loop) enter(r *run, items []any, i int) (any, error) {
	if err := r.meter.spend(1); err != nil {
		return nil, l.node.at(err)
	}
	item := items[i]
	if !isNormal(item) {
		var err error
		if item, err = r.meter.normal(item); err != nil {
			return nil, l.node.at(err)
		}
	}
	state := &r.loops[l.depth]
	state.item, state.index = item, i
	return item, nil
}

// value evaluates the closure for an item. Without a closure the value is the item.
func (l *loop) value(r *run, items []any, i int) (any, error) {
	item, err := l.enter(r, items, i)
	if err != nil || l.body == nil {
		return item, err
	}
	return l.body(r)
}

// holds evaluates a closure that is true or false.
func (l *loop) holds(r *run, items []any, i int) (bool, error) {
	item, err := l.enter(r, items, i)
	if err != nil {
		return false, err
	}
	if l.test != nil {
		return l.test(r)
	}
	yes, ok := item.(bool)
	if !ok {
		return false, l.node.errorf("%s wants items that are true or false, not %s", l.node.name, kindName(item))
	}
	return yes, nil
}

// count counts the items for which the closure is true.
func (l *loop) count(r *run, items []any) (int64, error) {
	count := int64(0)
	for i := range items {
		yes, err := l.holds(r, items, i)
		if err != nil {
			return 0, err
		}
		if yes {
			count++
		}
	}
	return count, nil
}

// until returns the index of the first item whose closure is wanted, or -1.
func (l *loop) until(r *run, items []any, wanted, backward bool) (int, error) {
	for i := range items {
		if backward {
			i = len(items) - 1 - i
		}
		yes, err := l.holds(r, items, i)
		if err != nil {
			return 0, err
		}
		if yes == wanted {
			return i, nil
		}
	}
	return -1, nil
}

func all(l *loop, r *run, items []any) (any, error) {
	i, err := l.until(r, items, false, false)
	return i < 0, err
}

func anyOf(l *loop, r *run, items []any) (any, error) {
	i, err := l.until(r, items, true, false)
	return i >= 0, err
}

func none(l *loop, r *run, items []any) (any, error) {
	i, err := l.until(r, items, true, false)
	return i < 0, err
}

func one(l *loop, r *run, items []any) (any, error) {
	count, err := l.count(r, items)
	return count == 1, err
}

func filter(l *loop, r *run, items []any) (any, error) {
	found := []any{}
	for i := range items {
		yes, err := l.holds(r, items, i)
		if err != nil {
			return nil, err
		}
		if yes {
			found = append(found, r.loops[l.depth].item)
		}
	}
	return found, nil
}

func find(backward, index bool) func(l *loop, r *run, items []any) (any, error) {
	return func(l *loop, r *run, items []any) (any, error) {
		i, err := l.until(r, items, true, backward)
		switch {
		case err != nil || i < 0:
			return nil, err
		case index:
			return int64(i), nil
		}
		return r.loops[l.depth].item, nil
	}
}

func mapped(l *loop, r *run, items []any) (any, error) {
	out := make([]any, len(items))
	for i := range items {
		v, err := l.value(r, items, i)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func sum(l *loop, r *run, items []any) (any, error) {
	var total any = int64(0)
	for i := range items {
		v, err := l.value(r, items, i)
		if err != nil {
			return nil, err
		}
		if _, ok := asFloat(v); !ok {
			return nil, l.node.errorf("sum wants numbers, not %s", kindName(v))
		}
		if total, err = add(&r.meter, v, total); err != nil {
			return nil, l.node.at(err)
		}
	}
	return total, nil
}

func groupBy(l *loop, r *run, items []any) (any, error) {
	groups := map[any]any{}
	for i := range items {
		v, err := l.value(r, items, i)
		if err != nil {
			return nil, err
		}
		key, err := keyOf(v)
		if err = errors.Join(err, r.meter.charge(key)); err != nil {
			return nil, l.node.at(err)
		}
		group, _ := groups[key].([]any)
		groups[key] = append(group, r.loops[l.depth].item)
	}
	return groups, nil
}

// reduce folds the items into #acc, which begins with the third argument or the first item.
func reduce(l *loop, r *run, items []any) (any, error) {
	acc, first := l.lastArg, 0
	if !l.hasLast {
		if len(items) == 0 {
			return nil, l.node.errorf("reduce of an empty list needs a third argument, the first value of #acc")
		}
		var err error
		if acc, err = r.meter.normal(items[0]); err != nil {
			return nil, l.node.at(err)
		}
		first = 1
	}
	for i := first; i < len(items); i++ {
		r.loops[l.depth].acc = acc
		v, err := l.value(r, items, i)
		if err != nil {
			return nil, err
		}
		acc = v
	}
	return acc, nil
}

// sortBy sorts the items by the values of the closure. The sort is stable.
func sortBy(l *loop, r *run, items []any) (any, error) {
	down := false
	if l.hasLast {
		var err error
		if down, err = descending(l.lastArg); err != nil {
			return nil, l.node.at(err)
		}
	}
	list := make([]keyed, len(items))
	for i := range items {
		key, err := l.value(r, items, i)
		if err != nil {
			return nil, err
		}
		list[i] = keyed{key: key, item: r.loops[l.depth].item}
	}
	sorted, err := r.meter.sort(list, down)
	return sorted, l.node.at(err)
}

// keyed is an item and what it is sorted by.
type keyed struct{ key, item any }

// sort returns the items in the order of their keys: numbers, or texts.
func (m *meter) sort(list []keyed, down bool) (any, error) {
	for _, k := range list {
		if err := m.spend(20); err != nil { // an item is compared about log2(n) times
			return nil, err
		}
		if err := m.charge(k.key); err != nil {
			return nil, err
		}
	}
	var failed error
	slices.SortStableFunc(list, func(a, b keyed) int {
		if down {
			a, b = b, a
		}
		order, err := m.compare(a.key, b.key)
		if errors.Is(err, errOperands) {
			err = fmt.Errorf("cannot sort %s and %s", kindName(a.key), kindName(b.key))
		}
		if err != nil && failed == nil {
			failed = err
		}
		if order == unordered {
			return 0
		}
		return order
	})
	if failed != nil {
		return nil, failed
	}
	out := make([]any, len(list))
	for i, k := range list {
		out[i] = k.item
	}
	return out, nil
}

func descending(order any) (bool, error) {
	switch order {
	case "asc":
		return false, nil
	case "desc":
		return true, nil
	}
	return false, fmt.Errorf(`order is %v; it may be "asc" or "desc"`, order)
}
