package turn

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// panicked is the error of a function that panicked. It is always critical, whatever the value of
// the panic: the state of the program is unknown, so the turn ends.
type panicked struct {
	text string // the value of the panic
	at   string // the place, such as file.go:12
}

func (e *panicked) Error() string { return "turn: " + e.text + " at " + e.at }

// safely calls do and returns its panic as an error.
func safely[T any](do func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{strings.ToValidUTF8(fmt.Sprintf("panic: %v", p), "\ufffd"), place()}
		}
	}()
	return do()
}

// place returns the line that panicked. It must be called by the deferred function.
func place() string {
	calls := make([]uintptr, 64)
	frames := runtime.CallersFrames(calls[:runtime.Callers(0, calls)])
	inPanic := false
	for {
		f, more := frames.Next()
		own := !strings.HasPrefix(f.Function, "runtime.")
		if inPanic && own {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		inPanic = inPanic || !own && strings.Contains(f.Function, "panic")
		if !more {
			return "an unknown place"
		}
	}
}
