package exprs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// program is one compiled expression. It is immutable and may run in many goroutines at once.
type program struct {
	src  source
	code *vm.Program
	kind Kind

	reads Reads
}

// compile parses and checks an expression, and then rewrites it to run within bounds. Errors thus
// refer only to text that the user wrote.
func (c *Compiler) compile(src source, env Env) (p *program, failed *Error) {
	defer func() {
		if r := recover(); r != nil {
			p, failed = nil, src.errorAt(src.start(), 1, fmt.Sprintf("expression cannot be compiled: %v", r))
		}
	}()
	text := src.text()
	switch {
	case src.start() == src.to:
		return nil, src.errorAt(src.from, 1, "expression is empty")
	case len(text) > MaxSource:
		return nil, src.errorAt(src.start(), 1, fmt.Sprintf("expression is too long (%d bytes of at most %d)", len(text), MaxSource)).as(Size)
	}
	if !c.spend(expressionParts) {
		return nil, c.spent(src)
	}
	config := newConfig(env)
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		e := src.translate(err)
		if strings.HasPrefix(e.Msg, "expression is too long") {
			e.Class = Size
		}
		return nil, e
	}
	parts, ok := partsOf(tree.Node)
	switch {
	case !ok:
		return nil, src.errorAt(src.start(), 1, "comparisons are chained too deeply").as(Size)
	case !c.spend(parts):
		return nil, c.spent(src)
	}
	if _, err := checker.Check(tree, config); err != nil {
		e := src.translate(err).as(Types)
		if at, ok := err.(*file.Error); ok {
			e.name(tree.Node, at.Location, env)
		}
		return nil, e
	}
	if e := forbidden(tree.Node, src, env); e != nil {
		return nil, e
	}
	kind, reads := kindOf(*tree.Node.Nature()), readsOf(tree.Node)
	ast.Walk(&tree.Node, newRewriter())
	if _, err := checker.Check(tree, config); err != nil {
		return nil, src.translate(err)
	}
	code, err := compiler.Compile(tree, config)
	if err != nil {
		return nil, src.translate(err)
	}
	src.near = nil // programs run in several goroutines
	return &program{src: src, code: code, kind: kind, reads: reads}, nil
}

// newConfig configures the engine: strict names, the functions of this package added, and the
// nondeterministic builtins removed.
func newConfig(env Env) *conf.Config {
	names := make(types.Map, len(env)+1)
	maps.Copy(names, env)
	names[meterName] = types.Any
	config := engine()
	config.WithEnv(names)
	return &config
}

// engine returns the configuration that all expressions share. The engine does not write to its
// maps.
var engine = sync.OnceValue(func() conf.Config {
	config := conf.CreateNew()
	config.MaxNodes = MaxNodes
	config.Optimize = false // the optimizer moves locations, and the programs are short
	for _, name := range disabled {
		config.Disabled[name] = true
		delete(config.Builtins, name)
	}
	for name, fn := range ownFunctions {
		config.Functions[name] = fn
	}
	for name, fn := range metered {
		config.Functions[hidden(name)] = fn
	}
	return *config
})

// partsOf counts the nodes of a tree. If ok is false, the tree is far larger than its text. The
// parser shares the middle operand of a < b < c between two comparisons, so a nested chain doubles
// the tree at each level.
func partsOf(tree ast.Node) (parts int, ok bool) {
	n := new(nodeCounter)
	defer func() {
		if r := recover(); r != nil {
			ok = false
		}
	}()
	ast.Walk(&tree, n)
	return int(*n), true
}

// nodeCounter counts nodes. It panics at the limit, because ast.Walk cannot be stopped otherwise.
type nodeCounter int

func (c *nodeCounter) Visit(*ast.Node) {
	if *c++; *c > 10*MaxNodes {
		panic("tree is too large")
	}
}

// forbidden reports the first construct that the engine allows and this package does not: the
// environment as a value, bytes, methods, and functions as values.
func forbidden(tree ast.Node, src source, env Env) *Error {
	g := &guard{src: src, env: env, callees: callees{}}
	ast.Walk(&tree, g.callees)
	ast.Walk(&tree, g)
	return g.err
}

// callees holds the names that are called.
type callees map[ast.Node]bool

// Visit implements ast.Visitor.
func (c callees) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.CallNode); ok {
		c[n.Callee] = true
	}
}

// guard is the visitor of forbidden.
type guard struct {
	src     source
	env     Env
	callees callees
	err     *Error
}

func (g *guard) Visit(node *ast.Node) {
	if g.err != nil {
		return
	}
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		_, known := g.env[n.Value]
		switch {
		case n.Value == "$env":
			g.err = g.src.locate(n.Location(), "unknown name $env").as(Name)
			g.err.Hint = absent["$env"]
		case !known && !g.callees[n] && slices.Contains(Functions(), n.Value):
			g.err = g.src.locate(n.Location(), n.Value+" is a function, not a value").as(Types)
			g.err.Hint = "call it: " + n.Value + "(…)"
		}
	case *ast.BytesNode:
		g.err = g.src.locate(n.Location(), "bytes are not supported; write a string").as(Types)
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok && ownFunctions[id.Value] != nil {
			return
		}
		g.err = g.src.locate(n.Callee.Location(), "this is a value, not a function").as(Types)
		g.err.Hint = "write f(value) or value | f() with one of the functions"
	}
}

// Kind is the static type of a result.
type Kind string

// The kinds. AnyKind means that the kind is known only at run time.
const (
	AnyKind    Kind = "any"
	NilKind    Kind = "nil"
	BoolKind   Kind = "bool"
	IntKind    Kind = "int"
	NumberKind Kind = "number"
	StringKind Kind = "string"
	ListKind   Kind = "list"
	MapKind    Kind = "map"
)

func kindOf(n nature.Nature) Kind {
	switch {
	case n.Nil:
		return NilKind
	case n.Type == nil:
		return AnyKind
	case n.IsInteger:
		return IntKind
	case n.IsFloat:
		return NumberKind
	}
	switch n.Kind {
	case reflect.Bool:
		return BoolKind
	case reflect.String:
		return StringKind
	case reflect.Slice, reflect.Array:
		return ListKind
	case reflect.Map:
		return MapKind
	}
	return AnyKind
}
