package memory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/values"
)

// Filter are conditions that must all hold. A filter may come from untrusted input: every store
// compares paths and values and never executes them.
type Filter []Condition

// Condition compares a field of a value.
type Condition struct {
	// Path names the field: names of objects, separated by dots. A backslash escapes a dot or a
	// backslash in a name. "profile.age" is the age of the profile. A path cannot lead into an
	// array.
	Path string
	Op   Operator
	// Value is anything that marshals to JSON.
	Value any
}

// Operator is how a Condition compares. The set is closed.
//
// Numbers are compared by their exact value, strings by bytes, arrays by element, objects
// by field. Values of different types are not equal; null is a type of its own. Only two numbers or
// two strings can be less or greater. A missing field is not equal to any value, so only Ne holds.
type Operator string

const (
	Eq  Operator = "$eq"
	Ne  Operator = "$ne"
	Gt  Operator = "$gt"
	Gte Operator = "$gte"
	Lt  Operator = "$lt"
	Lte Operator = "$lte"
)

var operators = []Operator{Eq, Ne, Gt, Gte, Lt, Lte}

// ParseFilter reads a filter as JSON: an object of paths, each with a value to be equal to,
// or an object of operators: {"color": "red", "profile.age": {"$gte": 18, "$lt": 65}}.
func ParseFilter(data []byte) (Filter, error) {
	_, tree, err := checkValue(data)
	if err != nil {
		return nil, fmt.Errorf("%w: filter: %w", ErrQuery, err)
	}
	fields, ok := tree.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%w: a filter is an object of paths", ErrQuery)
	}
	var f Filter
	for path, v := range fields {
		f = append(f, conditionsOf(path, v)...)
	}
	slices.SortFunc(f, func(a, b Condition) int {
		return strings.Compare(a.Path+"\x00"+string(a.Op), b.Path+"\x00"+string(b.Op))
	})
	_, err = f.compile()
	return f, err
}

// conditionsOf reads one field of a filter. An object with a name that begins with $ holds
// operators; compile rejects unknown ones.
func conditionsOf(path string, v any) (list []Condition) {
	object, _ := v.(map[string]any)
	for name := range object {
		if strings.HasPrefix(name, "$") {
			for op, operand := range object {
				list = append(list, Condition{path, Operator(op), operand})
			}
			return list
		}
	}
	return []Condition{{path, Eq, v}}
}

// conditions are a checked filter.
type conditions []condition

type condition struct {
	path  []string
	op    Operator
	value any
}

func (f Filter) compile() (conditions, error) {
	if len(f) > MaxFilter {
		return nil, fmt.Errorf("%w: the filter has %d conditions, the limit is %d", ErrQuery, len(f), MaxFilter)
	}
	var list conditions
	for i, c := range f {
		compiled, err := c.compile()
		if err != nil {
			return nil, fmt.Errorf("%w: condition %d on %.100q: %w", ErrQuery, i+1, c.Path, err)
		}
		list = append(list, compiled)
	}
	return list, nil
}

func (c Condition) compile() (condition, error) {
	path, err := splitPath(c.Path)
	if err != nil {
		return condition{}, err
	}
	if !slices.Contains(operators, c.Op) {
		return condition{}, fmt.Errorf("the operator %.32q is none of %q", c.Op, operators)
	}
	data, err := json.Marshal(c.Value)
	if err != nil {
		return condition{}, err
	}
	_, tree, err := checkValue(data)
	if err != nil {
		return condition{}, err
	}
	if _, ordered := values.Compare(tree, tree); !ordered && c.Op != Eq && c.Op != Ne {
		return condition{}, fmt.Errorf("%s compares numbers or strings, not %.32s", c.Op, data)
	}
	return condition{path, c.Op, tree}, nil
}

// splitPath returns the names of a path.
func splitPath(path string) (names []string, err error) {
	if why := notText(path, MaxNamespace); why != "" {
		return nil, fmt.Errorf("the path %s", why)
	}
	var name strings.Builder
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '.':
			names = append(names, name.String())
			name.Reset()
			continue
		case c == '\\':
			i++
			if i == len(path) || path[i] != '.' && path[i] != '\\' {
				return nil, fmt.Errorf(`a backslash must be followed by a dot or a backslash`)
			}
		}
		name.WriteByte(path[i])
	}
	names = append(names, name.String())
	if slices.Contains(names, "") || len(names) > MaxLabels {
		return nil, fmt.Errorf("the path has an empty name, or more than %d", MaxLabels)
	}
	return names, nil
}

// lookUp follows a path into a value.
func lookUp(tree any, path []string) (any, bool) {
	for _, name := range path {
		object, ok := tree.(map[string]any)
		if !ok {
			return nil, false
		}
		if tree, ok = object[name]; !ok {
			return nil, false
		}
	}
	return tree, true
}

// hold reports whether all conditions hold for a value. Every store uses it.
func (cs conditions) hold(tree any) bool {
	for _, c := range cs {
		if !c.holds(tree) {
			return false
		}
	}
	return true
}

func (c condition) holds(tree any) bool {
	v, found := lookUp(tree, c.path)
	switch {
	case c.op == Ne:
		return !found || !values.Equal(v, c.value)
	case !found:
		return false
	case c.op == Eq:
		return values.Equal(v, c.value)
	}
	order, ordered := values.Compare(v, c.value)
	if !ordered {
		return false
	}
	switch c.op {
	case Gt:
		return order > 0
	case Gte:
		return order >= 0
	case Lt:
		return order < 0
	}
	return order <= 0
}

// contained returns the conditions of equality as one object. A value that meets them contains the
// object, in the sense of jsonb's @>. It is nil if there are none, or if a database could not read
// it.
func (cs conditions) contained() []byte {
	root := map[string]any{}
	for _, c := range cs {
		if c.op == Eq {
			graft(root, c.path, c.value)
		}
	}
	data, err := json.Marshal(root)
	if err != nil || len(root) == 0 || !isPlain(data) {
		return nil
	}
	return data
}

// graft sets the value at the end of a path, unless another value is in the way: then the condition
// is left out, and more candidates remain.
func graft(root map[string]any, path []string, v any) {
	for _, name := range path[:len(path)-1] {
		if _, taken := root[name]; !taken {
			root[name] = map[string]any{}
		}
		next, ok := root[name].(map[string]any)
		if !ok {
			return
		}
		root = next
	}
	last := path[len(path)-1]
	if _, taken := root[last]; !taken {
		root[last] = v
	}
}
