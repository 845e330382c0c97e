package workflow

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrun/weft/state/record"
)

// Kind is a kind of node: the implementation of a key of a node, or of a name after uses.
type Kind struct {
	// About describes in a line what the kind does, for editors and the reference.
	About string
	// New returns a fresh Runner, with the defaults of its parameters.
	New func() Runner
	// Result is the type of what Run returns, so that an expression that misspells
	// one of its json fields is found when loading. nil means any.
	Result reflect.Type
	// Final is true when the node always ends the run, so that nothing follows it.
	Final bool
	// Outside is true when Run speaks with something outside of the process that a test of a
	// file must not reach, such as a server: RunTests refuses it without a mock.
	Outside bool
	// Bind returns the kind for a file that has these entries; nil means that the kind uses none.
	Bind func(*Entries) Kind
	// Waits is true when a long Run is what the node is for: a timeout under defaults
	// does not hold for it, and tests do not wait.
	Waits bool
}

// Runner does the work of one node. It is a pointer to a struct whose json fields are
// the node's parameters; a field without omitempty is required. Expressions in a
// file are computed for each run and each item, then decoded into the struct, and
// then Run is called. A parameter of type any gets numbers as json.Number.
//
// The result must survive JSON. An error with a method Retryable() bool decides by it
// whether the node's retry applies; all other errors are retried.
type Runner interface {
	Run(ctx context.Context, env Env) (result any, err error)
}

// Checker is a Runner that can report on loading that its parameters cannot work.
// Those that are constant are set, the others are zero; given reports whether a
// parameter is there at all.
type Checker interface {
	Check(given func(name string) bool) error
}

// EnvChecker is a Runner that can report, before anything runs, that the environment lacks what it
// needs: see [Workflow.CheckEnv]. Its parameters are those that a Checker has.
type EnvChecker interface {
	CheckEnv(env Env) error
}

// Asker is a Runner of a kind that Waits and that, with these parameters, does not wait but
// asks: a test of a file answers it.
type Asker interface {
	Asks(given func(name string) bool) bool
}

// Decider is a Runner whose result is a decision of a person. MayReject reports whether the person
// may reject; its parameters are those that a Checker has. A file has a warning for a node that
// goes on in the same way after a rejection, because it does not read the result.
type Decider interface {
	MayReject(given func(name string) bool) bool
}

// Recordable is a Runner of a kind that is Outside, of which a test of a file can record what it
// does there: calls that package recording makes. Its parameters are those that a Checker has.
type Recordable interface {
	Recordable() bool
}

// EnvReader is a Runner that hands variables of the environment to what it calls. A recording has
// their names in place of their values. Its parameters are those that a Checker has.
type EnvReader interface {
	EnvNames() []string
}

// Env is what a node may touch of the machine.
type Env struct {
	// Root is the folder that everything the node reads is below.
	Root string
	// Out is the folder that everything the node writes is below. It may not exist.
	Out string
	// AllowHosts are the hosts that may get a key of the environment although a file chose them,
	// such as localhost:8080. Without a port they are those of https.
	AllowHosts []string
	// AllowExec allows nodes to start programs.
	AllowExec bool

	vault *vault                 // of the file's secrets; see Reveal
	cover *cover                 // of a run's; nil where the file has no secrets
	types map[string]record.Type // of the file, by name; see Schema
}

// Go returns the kind of a node that calls a Go function. It is named in
// Options.Kinds as "go:NAME" and used with
//
//	uses: go:NAME
//	with: {field: value}
//
// where the fields are the json fields of In. The result is the JSON form of Out.
func Go[In, Out any](fn func(ctx context.Context, in In) (Out, error)) Kind {
	return Kind{
		New:    func() Runner { return &goRunner[In, Out]{fn: fn} },
		Result: reflect.TypeFor[Out](),
	}
}

type goRunner[In, Out any] struct {
	fn func(context.Context, In) (Out, error)
	in In
}

func (g *goRunner[In, Out]) Run(ctx context.Context, _ Env) (any, error) { return g.fn(ctx, g.in) }

func (g *goRunner[In, Out]) params() any { return &g.in }

// paramsIn returns the struct that parameters are decoded into.
func paramsIn(r Runner) any {
	if p, ok := r.(interface{ params() any }); ok {
		return p.params()
	}
	return r
}

// goPrefix begins the names of Go functions after uses.
const goPrefix = "go:"

// ownKinds are the kinds of the language itself.
var ownKinds = []string{"ask", "set", "uses", "workflow"}

// names sorts the registered kinds into those that are keys and those behind uses.
func (o Options) names() kindNames {
	names := kindNames{keys: slices.Clone(ownKinds)}
	for _, name := range slices.Sorted(maps.Keys(o.Kinds)) {
		if strings.HasPrefix(name, goPrefix) {
			names.uses = append(names.uses, name)
		} else {
			names.keys = append(names.keys, name)
		}
	}
	slices.Sort(names.keys)
	return names
}

// check finds kinds that cannot be used, which is a mistake in Go and not in a file.
func (o Options) check() error {
	reserved := slices.Concat(nodeKeys, ownKinds)
	for _, name := range o.sectionNames() {
		reserved := func(k key) bool { return k.name == name }
		switch {
		case slices.ContainsFunc(rootSection.keys, reserved):
			return fmt.Errorf("workflow: the section name %q is reserved by the language", name)
		case o.Sections[name].New == nil:
			return fmt.Errorf("workflow: section %q has no New", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Kinds)) {
		switch k := o.Kinds[name]; {
		case slices.Contains(reserved, name):
			return fmt.Errorf("workflow: the kind name %q is reserved by the language", name)
		case k.New == nil:
			return fmt.Errorf("workflow: kind %q has no New", name)
		}
	}
	return nil
}
