package wake

import (
	"context"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Restore sets the timer of a thread as its newest commit needs it: for its open questions and
// sleeps, and for a failed run that is to be tried again. Call it after [checkpoint.Copy] or
// [checkpoint.Import], which copy no timers. A thread that waits for no time gets none. What was
// due before is done as after a time without a waker: of the reminders of a question that were
// due, only the last is sent. An unknown thread is a graph.ErrUnknownThread.
func (t *Timers) Restore(ctx context.Context, store checkpoint.Store, thread string) error {
	info, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: thread})
	if err != nil {
		return err
	}
	at := firstDue(info)
	if at.IsZero() {
		return nil
	}
	return t.Set(ctx, graph.Timer{Thread: thread, Graph: info.Graph, At: at})
}

// firstDue returns when a thread is first due, also if that has passed; the zero time if it waits
// for no time.
func firstDue(info graph.CommitInfo) time.Time {
	times := []time.Time{info.RetryAt}
	for _, in := range info.Interrupts {
		times = append(times, in.Expires, in.Next(in.Asked))
	}
	times = slices.DeleteFunc(times, time.Time.IsZero)
	if len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}
