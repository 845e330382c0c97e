package testreport

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Of runs a check as the testing package would, on a goroutine of its own and with a TB that
// records, and returns the complaints, one a line, or "". A panic is one of them. What else
// the check asks of its TB goes to t.
func Of(t testing.TB, check func(testing.TB)) string {
	rec := &recorder{TB: t}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				rec.Errorf("rule: nothing panics\n got: %v", v)
			}
		}()
		check(rec)
	})
	wg.Wait()
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return strings.Join(rec.complaints, "\n")
}

type recorder struct {
	testing.TB
	mu         sync.Mutex
	complaints []string
}

func (r *recorder) add(complaint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints = append(r.complaints, complaint)
}

// Failed implements testing.TB, as all below.
func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.complaints) > 0
}

func (r *recorder) Helper()                           {}
func (r *recorder) FailNow()                          { r.add("failed"); runtime.Goexit() }
func (r *recorder) Fail()                             { r.add("failed") }
func (r *recorder) Error(args ...any)                 { r.add(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.add(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.add(fmt.Sprint(args...)); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }
func (r *recorder) Log(...any)                        {}
func (r *recorder) Logf(string, ...any)               {}
