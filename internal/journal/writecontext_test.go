package journal

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWriteContext_EndsAfterTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w writeContext
		run, cancel := context.WithCancel(t.Context())
		first, ok := w.context(run)
		if second, also := w.context(run); !ok || !also || first != second {
			t.Fatal("writes of a run do not share a context")
		}
		cancel()
		if _, ok := w.context(run); ok {
			t.Error("a write that begins after the run has ended shares the context")
		}
		time.Sleep(WriteTime - time.Nanosecond)
		synctest.Wait()
		if first.Err() != nil {
			t.Errorf("got %v before WriteTime has passed", first.Err())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if first.Err() == nil {
			t.Error("the context has not ended WriteTime after the run")
		}
	})
}

func TestWriteContext_EndsWithTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		var w writeContext
		run, cancel := context.WithCancel(t.Context())
		ctx, _ := w.context(run)
		cancel()
		synctest.Wait()
		w.close()
		if ctx.Err() == nil {
			t.Error("the context has not ended")
		}
		if _, ok := w.context(t.Context()); ok {
			t.Error("a closed journal shares its context")
		}
	})
}
