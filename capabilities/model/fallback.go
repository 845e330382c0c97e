package model

import (
	"context"
	"errors"
	"iter"
)

// Fallback returns a model that asks the first of several models, and the next one if that fails
// before its answer begins. It goes on after a temporary failure, a quota that is used up, and a
// key that is not accepted. It does not go on after a refusal, an invalid request, or a spent
// budget.
//
// [Request.Model] names a model of the first one; the others use their own. If all fail, the error
// has all failures, temporary ones first.
func Fallback(all ...Model) Model {
	return Func(func(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
		return func(yield func(Chunk, error) bool) {
			var temporary, lasting []error
			for i, m := range all {
				if i > 0 {
					r.Model = ""
				}
				err := tryModel(ctx, m, r, yield)
				if err == nil {
					return
				}
				if Retriable(err) {
					temporary = append(temporary, err)
				} else {
					lasting = append(lasting, err)
				}
			}
			yield(Chunk{}, errors.Join(append(temporary, lasting...)...))
		}
	})
}

// tryModel yields the answer of a model. It returns the error after which the next model is asked.
func tryModel(ctx context.Context, m Model, r Request, yield func(Chunk, error) bool) error {
	begun := false
	for c, err := range m.Stream(ctx, r) {
		if err != nil && !begun && ctx.Err() == nil && passes(err) {
			return err
		}
		begun = begun || c.Text != "" || c.Reasoning != "" || c.Call != nil || c.Part != nil || c.Stop != ""
		if !yield(c, err) || err != nil {
			return nil
		}
	}
	return nil
}

// passes reports whether another model may succeed after a failure.
func passes(err error) bool {
	k := KindOf(err)
	return k.Temporary() || k == Quota || k == Auth
}
