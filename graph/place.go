package graph

import (
	"fmt"
	"runtime"
)

// place is where a part of a graph was declared: a text, or the return address of the call. Only a
// mistake needs it as text, and most graphs have none.
type place struct {
	text string
	pc   uintptr
}

// caller returns the place of the call that is skip frames above its caller.
func caller(skip int) place {
	var pcs [1]uintptr
	runtime.Callers(skip+2, pcs[:])
	return place{pc: pcs[0]}
}

// String returns the place as file:line, or its text.
func (p place) String() string {
	if p.pc == 0 {
		return p.text
	}
	frame, _ := runtime.CallersFrames([]uintptr{p.pc}).Next()
	if frame.File == "" {
		return "unknown place"
	}
	return fmt.Sprintf("%s:%d", frame.File, frame.Line)
}
