package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Fallback makes a node of several: first runs, and when it fails the next one does, on
// a fresh view of the state. It fails when all have, with the errors of all. Its targets
// are those of all. Workers must take payloads of one type. A question, the end of the
// attempt's context and a failure of the store are not passed on to the next.
//
// A Policy holds for the node as a whole: an attempt begins with first again. After a
// question the alternative that asked goes on, and those before it do not run again.
func Fallback[S any](first Node[S], others ...Node[S]) Node[S] {
	n := Node[S]{payload: first.payload}
	var calls []call
	for _, o := range append([]Node[S]{first}, others...) {
		n.faults = append(n.faults, o.faults...)
		if o.policy != nil {
			n.faults = append(n.faults, "an alternative of a Fallback has a Policy; give it to the Fallback")
		}
		if o.cache != nil {
			n.faults = append(n.faults, "an alternative of a Fallback is cached; Cache the Fallback")
		}
		if !n.payload.same(o.payload) {
			n.faults = append(n.faults, fmt.Sprintf("the alternatives of a Fallback take %s and %s; give them one payload", n.payload, o.payload))
		}
		if o.call == nil {
			n.faults = append(n.faults, "an alternative of a Fallback has no function")
		}
		n.targets = append(n.targets, o.targets...)
		if o.alternatives != nil {
			calls = append(calls, o.alternatives...)
		} else {
			calls = append(calls, o.call)
		}
	}
	n.alternatives = calls
	n.call = func(ctx context.Context, s, payload any) (Command, error) {
		return fallBack(ctx, calls, s, payload)
	}
	return n
}

// same reports whether two nodes take the same payload, or both none.
func (p *payloadType) same(o *payloadType) bool {
	return p == nil && o == nil || p != nil && o != nil && p.typ == o.typ
}

func (p *payloadType) String() string {
	if p == nil {
		return "no payload"
	}
	return "a payload of type " + p.name
}

// fallBack calls the alternatives one after the other until one does not fail.
func fallBack(ctx context.Context, calls []call, s, payload any) (Command, error) {
	t := taskOf(ctx)
	own := t.scope()
	fresh := t.run.schema.Blank()
	t.run.schema.Assign(fresh, t.view)
	var errs []error
	for _, f := range own.tried[:min(len(own.tried), len(calls)-1)] { // before it was asked, in another call
		errs = append(errs, &StoredError{f})
	}
	for i := len(errs); ; i++ {
		own.setPart(i)
		cmd, err := protect(ctx, calls[i], s, payload)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrInterrupted) && t.asks() || IsStoreFailure(err) || parentCommandIn(err) != nil {
			return cmd, err
		}
		err = own.awaitWorks(err)
		errs = append(errs, err)
		if i == len(calls)-1 {
			return Command{}, errors.Join(errs...)
		}
		own.tried = append(slices.Clip(own.tried), t.placed(err).Failure())
		own.dropQuestions()
		t.run.schema.Assign(t.view, fresh)
	}
}

// protect is c, with a panic as its error.
func protect(ctx context.Context, c call, s, payload any) (cmd Command, err error) {
	defer recovered(&err)
	return c(ctx, s, payload)
}
