package schedule

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// AtOnce calls functions at the same time, and returns when all have. It panics if one has.
func AtOnce(fns ...func()) {
	var wg sync.WaitGroup
	panics := make([]any, len(fns))
	for i, fn := range fns {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					panics[i] = fmt.Sprintf("%v\n\n%s", v, debug.Stack())
				}
			}()
			fn()
		})
	}
	wg.Wait()
	for _, v := range panics {
		if v != nil {
			panic(v)
		}
	}
}
