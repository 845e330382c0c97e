package sqlscan

import "context"

// Size is the number of values of a page. No lock or transaction is open between two pages, so a
// slow reader does not block others.
const Size = 64

// Yield yields what read returns, at most limit values, or all when limit is not positive.
// read is asked for n values and returns fewer when there are no more. What it read before an
// error is yielded before the error.
func Yield[T any](ctx context.Context, limit int, read func(ctx context.Context, n int) ([]T, error), yield func(T, error) bool) {
	for left := limit; limit <= 0 || left > 0; left -= Size {
		n := Size
		if limit > 0 {
			n = min(n, left)
		}
		page, err := read(ctx, n)
		for i := 0; i < len(page) && ctx.Err() == nil; i++ {
			if !yield(page[i], nil) {
				return
			}
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		if len(page) < n {
			return
		}
	}
}
