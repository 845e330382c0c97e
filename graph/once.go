package graph

import "context"

// Once runs fn and keeps its result: a side effect that happens once in a task,
// whatever becomes of it. The result is stored as a pending write before Once returns.
// Another attempt, a resume, or another process after a crash gets it without calling fn,
// even if it is false, 0, "" or nil. Errors are not stored: the next Once with
// this key calls fn again. So does a question that fn asks, once it has its answer.
//
// A key names one result: within its task, or within the [Call] it is used in. Goroutines
// that come with one key wait for each other, so fn must not use its own key with the
// context from outside. T must survive JSON, and what Once returns has been through it. A
// result that cannot be stored fails the task, even if its node goes on. Without a Store
// a result lives as long as the task, so for its attempts. Outside a run Once calls fn.
//
// A crash between the effect and the moment in which its result is stored makes fn run
// again. Only the other side can prevent a second effect: so pass it
// [ExecutionID] of fn's context as an idempotency key.
func Once[T any](ctx context.Context, key string, fn func(ctx context.Context) (T, error)) (T, error) {
	s := scopeOf(ctx)
	if s == nil {
		return fn(ctx)
	}
	_, place, err := s.reserve("\x00once")
	if err != nil {
		return *new(T), err
	}
	d := &durable{up: s, what: "once", name: key, ident: longHash("once", s.id(), key), place: place}
	return obtain(ctx, d, fn)
}
