package graph

import (
	"context"
)

// ErrorHandler handles the failure of a node. [Handler] makes one, and a node gets it by
// [Builder.OnError].
type ErrorHandler[S any] struct {
	call    call
	targets []string
	policy  *Policy // nil: that of Builder.Defaults
}

// With returns h with a Policy of its own, in place of the one it has.
func (h ErrorHandler[S]) With(p Policy) ErrorHandler[S] {
	h.policy = &p
	return h
}

// Handler makes an error handler of a function. It runs when the last attempt of its
// node has failed, in the same superstep and as the same task, on a fresh view of the
// state: what the failed attempts wrote is gone. What it writes is the task's result.
//
// If its Command names targets, the run goes there instead of where the node leads:
// its edges, branches and joins take no notice. With the zero Command the node has
// completed as if it had not failed.
//
// failure is the error of the node. It is stored before fn is called: after a crash, and
// after a question that fn asks, fn runs again and not the node. Then failure.Err is a
// [*StoredError], so distinguish failures by [NodeError.Kind], [NodeError.Code] or the
// errors of this package, which survive.
//
// An error of fn, and a panic, fails the run, with both errors in its chain.
func Handler[S any](fn func(ctx context.Context, s *S, failure *NodeError) (Command, error), targets ...string) ErrorHandler[S] {
	if fn == nil {
		return ErrorHandler[S]{targets: targets}
	}
	return ErrorHandler[S]{targets: targets, call: func(ctx context.Context, s, failure any) (Command, error) {
		return fn(ctx, s.(*S), failure.(*NodeError))
	}}
}

// OnError gives a node its handler. A handler without a Policy ([ErrorHandler.With]) has that of
// Defaults. "*" is every node that has no handler; not those of subgraphs. Questions, cancelled
// runs and failures of the store do not reach a handler.
func (b *Builder[S]) OnError(node string, h ErrorHandler[S]) {
	b.draft().handlers = append(b.draft().handlers, handlerDraft{node, nodeDraft{call: h.call, targets: h.targets,
		policy: h.policy, pos: b.draft().place()}})
}
