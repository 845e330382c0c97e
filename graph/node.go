package graph

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/weftrun/weft/internal/validtext"
)

// Node is something a graph can run, made by [Func], [Router], [Worker], [RoutingWorker],
// [Subgraph], [SubgraphWorker] or [Inline], and of other nodes by [Fallback] and [Cache].
type Node[S any] struct {
	call    call
	targets []string
	payload *payloadType // nil unless it is a Worker
	child   *program     // nil unless it runs a graph: Subgraph, SubgraphWorker, Inline or Calls
	policy  *Policy      // nil: that of Builder.Defaults

	alternatives []call   // of a Fallback
	cache        *caching // of a Cache
	faults       []string // what Compile is to report
}

// With returns n with a Policy, in place of the one it has. It holds for the node as a whole, also
// where that is made of others, by [Fallback] or [Cache].
func (n Node[S]) With(p Policy) Node[S] {
	n.policy = &p
	return n
}

// call runs a node with the types erased: s is a *S.
type call func(ctx context.Context, s any, payload any) (Command, error)

// Func makes a node of a function that reads and writes the state. The function
// gets a view of its own: if it returns an error, its writes are dropped.
func Func[S any](fn func(ctx context.Context, s *S) error) Node[S] {
	if fn == nil {
		return Node[S]{} // which Compile reports
	}
	return Node[S]{call: func(ctx context.Context, s, _ any) (Command, error) {
		return Command{}, fn(ctx, s.(*S))
	}}
}

// Router makes a node that also decides where to go. It may only go to its
// targets. A Router without static edges must name at least one target each time;
// to end the path it names [End].
func Router[S any](fn func(ctx context.Context, s *S) (Command, error), targets ...string) Node[S] {
	if fn == nil {
		return Node[S]{targets: targets}
	}
	return Node[S]{targets: targets, call: func(ctx context.Context, s, _ any) (Command, error) {
		return fn(ctx, s.(*S))
	}}
}

// Worker makes a node that is started by [Send], one task for each payload. It
// reads the state like any node, with the payload beside it. P must survive JSON.
func Worker[S, P any](fn func(ctx context.Context, s *S, payload P) error) Node[S] {
	n := Node[S]{payload: payloadOf[P]()}
	if fn != nil {
		n.call = func(ctx context.Context, s, payload any) (Command, error) {
			p, _ := payload.(P) // a nil interface is of no type
			return Command{}, fn(ctx, s.(*S), p)
		}
	}
	return n
}

// RoutingWorker makes a [Worker] that also decides where to go, as a [Router] does: each of its
// tasks may go to nodes and send more tasks, also to itself, in the next step. It may only go to
// its targets. Nodes that several tasks of a step go to run once, as they do for any node.
func RoutingWorker[S, P any](fn func(ctx context.Context, s *S, payload P) (Command, error), targets ...string) Node[S] {
	n := Node[S]{targets: targets, payload: payloadOf[P]()}
	if fn != nil {
		n.call = func(ctx context.Context, s, payload any) (Command, error) {
			p, _ := payload.(P) // a nil interface is of no type
			return fn(ctx, s.(*S), p)
		}
	}
	return n
}

// payloadOf describes the payload type P.
func payloadOf[P any]() *payloadType {
	takesNil := reflect.TypeFor[P]().Kind() == reflect.Interface
	return &payloadType{
		typ:     reflect.TypeFor[P](),
		name:    reflect.TypeFor[P]().String(),
		text:    validtext.Possible(reflect.TypeFor[P]()),
		accepts: func(v any) bool { _, ok := v.(P); return ok || v == nil && takesNil },
		decode:  func(data []byte) (any, error) { var p P; err := json.Unmarshal(data, &p); return p, err },
	}
}

// payloadType is what a Worker takes, with the type erased.
type payloadType struct {
	typ     reflect.Type
	name    string
	text    bool // it can hold text
	accepts func(v any) bool
	decode  func(data []byte) (any, error)
}
