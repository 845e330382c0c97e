package message

import (
	"fmt"
	"sync"
	"testing"
)

// TestLog_CopiesAreIndependent adds to copies of one log at the same time. They share a tail.
func TestLog_CopiesAreIndependent(t *testing.T) {
	for _, n := range []int{0, 3, pageSize - 1, pageSize, 2*pageSize + 5} {
		var past Log
		for i := range n {
			mustAdd(t, &past, fmt.Sprint("past", i))
		}
		var tasks sync.WaitGroup
		for task := range 4 {
			tasks.Go(func() {
				own := past
				for i := range 2 * pageSize {
					mustAdd(t, &own, fmt.Sprint(task, " ", i))
				}
				for i := range 2 * pageSize {
					id := fmt.Sprint(task, " ", i)
					if m, ok := own.ByID(id); own.At(n+i).ID != id || !ok || m.ID != id {
						t.Errorf("message %d: got %q, want %q", n+i, own.At(n+i).ID, id)
					}
				}
			})
		}
		tasks.Wait()
		if past.Len() != n {
			t.Errorf("the log has %d messages after writes to its copies, want %d", past.Len(), n)
		}
	}
}

func mustAdd(t *testing.T, l *Log, id string) {
	m := User("text")
	m.ID = id
	if err := l.Add(m); err != nil {
		t.Error(err)
	}
}

// TestOrder_IndexForgetsRemovedMessages adds and removes messages in a log that stays short.
func TestOrder_IndexForgetsRemovedMessages(t *testing.T) {
	var o order
	const live = 100
	for i := range 20_000 {
		o.put(&Message{ID: fmt.Sprint(i)})
		if i >= live {
			o.del(fmt.Sprint(i - live))
		}
		if i%7 == 0 { // the same two ids in turns, in one slot
			o.replace(fmt.Sprint(i), &Message{ID: "other"})
			o.replace("other", &Message{ID: fmt.Sprint(i)})
		}
	}
	places := 0
	for _, table := range o.ids {
		places += len(table.hints)
	}
	if o.len() != live || places > 32*live {
		t.Errorf("got %d messages and an index of %d places, want %d and at most %d", o.len(), places, live, 32*live)
	}
}
