package queue

import (
	"fmt"
	"testing"
)

// Each run is waited for on a thread that may never change again.
func TestSignals_AreBounded(t *testing.T) {
	var s signals
	for i := range 4 * slots {
		s.next(fmt.Sprint("thread ", i))
	}
	if n := len(s.waiting); n > slots {
		t.Errorf("%d channels are left, want at most %d", n, slots)
	}
	one, other, all := s.next("thread 1"), s.next("another thread"), s.next(anyThread)
	s.changed("thread 1")
	for name, c := range map[string]<-chan struct{}{"the thread": one, "all threads": all} {
		select {
		case <-c:
		default:
			t.Errorf("the change is not announced to those who wait for %s", name)
		}
	}
	if slotOf("thread 1") != slotOf("another thread") {
		select {
		case <-other:
			t.Error("the change is announced to those who wait for another thread")
		default:
		}
	}
}
