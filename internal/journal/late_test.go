package journal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type lateKey struct{}

func TestLate_EndsAfterTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Late
		run, cancel := context.WithCancel(context.WithValue(t.Context(), lateKey{}, "value"))
		l.Open(run, 0)
		defer l.Close()
		if l.Err() != nil || l.Value(lateKey{}) != "value" {
			t.Errorf("got %v, %v; want a context with the values of the run", l.Err(), l.Value(lateKey{}))
		}
		cancel()
		done := l.Done()
		time.Sleep(WriteTime - time.Nanosecond)
		synctest.Wait()
		if l.Err() != nil {
			t.Errorf("got %v before WriteTime has passed", l.Err())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("the context has not ended, although WriteTime has passed since the run ended")
		}
		if l.Err() == nil {
			t.Error("got no error after the end")
		}
	})
}

func TestLate_EndsAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Late
		run, cancel := context.WithCancel(t.Context())
		cancel()
		l.Open(run, time.Minute)
		defer l.Close()
		if at, ok := l.Deadline(); !ok || time.Until(at) != time.Minute {
			t.Errorf("got the deadline %v, %v; want one minute from now", at, ok)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if l.Err() != context.DeadlineExceeded {
			t.Errorf("got %v; want %v", l.Err(), context.DeadlineExceeded)
		}
	})
}

func TestLate_EndsWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		for _, early := range []bool{false, true} { // whether Done is called before the run ends
			var l Late
			run, cancel := context.WithCancel(t.Context())
			l.Open(run, 0)
			if early {
				l.Done()
			}
			cancel()
			synctest.Wait()
			l.Close()
			if l.Err() == nil {
				t.Error("the context has not ended")
			}
			<-l.Done()
		}
	})
}

// TestLate_EndsItsChildren checks that a context derived from a Late ends with it.
func TestLate_EndsItsChildren(t *testing.T) {
	var l Late
	l.Open(t.Context(), 0)
	child, cancel := context.WithCancel(&l)
	defer cancel()
	l.Close()
	<-child.Done()
	if context.Cause(child) != context.Canceled {
		t.Errorf("got %v; want %v", context.Cause(child), context.Canceled)
	}
}

func TestLate_IgnoresTheCauseOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, cancel := context.WithCancelCause(t.Context())
		var l Late
		l.Open(run, time.Minute)
		defer l.Close()
		child, stop := context.WithCancel(&l)
		defer stop()
		cancel(errors.New("the run is over"))
		time.Sleep(time.Minute)
		<-child.Done()
		if own, ofChild := context.Cause(&l), context.Cause(child); own != context.DeadlineExceeded || ofChild != context.DeadlineExceeded {
			t.Errorf("got the cause %v, and %v for a child; want %v for both", own, ofChild, context.DeadlineExceeded)
		}
	})
}
