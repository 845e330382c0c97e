package graph

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// Mode selects the events that a reader takes. Modes are combined with |.
type Mode uint

const (
	// Updates are what each task wrote, after the commit of its step, in canonical
	// order.
	Updates Mode = 1 << iota
	// Values are copies of the whole state: after the input, or as it is when a run
	// is resumed, and after the commit of each step.
	Values
	// Tasks report when tasks start, finish, fail, are retried or ask, as it happens.
	Tasks
	// Custom are what nodes send with Emit, as it happens.
	Custom
	// Checkpoints report each commit, with its CommitInfo.
	Checkpoints
	// Messages are what models say, token by token, as nodes send it with EmitMessage.
	Messages

	// Missed reports to a lossy reader how many events it has lost. Every such reader gets it.
	Missed
	// Ended is the last event of every run that did not fail. Every reader gets it.
	Ended

	// Decisions report what was decided about the thread, once it is stored.
	Decisions
)

// Debug is all that the run itself reports, step by step.
const Debug = Tasks | Checkpoints | Values | Updates | Decisions

// modeNames are the names of the modes, in the order of their bits. A new mode is the last, here
// and above.
var modeNames = [...]string{"updates", "values", "tasks", "custom", "checkpoints", "messages", "missed", "ended", "decisions"}

// anyMode has the bit of every mode.
const anyMode = Mode(1<<len(modeNames)) - 1

// ErrMode is returned when a reader selects an unknown mode.
var ErrMode = errors.New("graph: no such mode")

// String returns the names of the modes in m, with commas between them, as ParseModes
// takes them.
func (m Mode) String() string {
	var names []string
	for i, name := range modeNames {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if rest := m &^ anyMode; rest != 0 {
		names = append(names, fmt.Sprintf("Mode(%#x)", uint(rest)))
	}
	return strings.Join(names, ",")
}

// ParseModes reads names of modes with commas between them, such as "updates,custom";
// "debug" is short for those of Debug. "" is 0; an unknown name is an ErrMode.
func ParseModes(s string) (m Mode, err error) {
	if strings.TrimSpace(s) == "" {
		return 0, nil
	}
	for name := range strings.SplitSeq(s, ",") {
		one, ok := modeOf(strings.TrimSpace(name))
		if !ok {
			return 0, fmt.Errorf("%w %q; there are %s and debug", ErrMode, strings.TrimSpace(name), anyMode)
		}
		m |= one
	}
	return m, nil
}

func modeOf(name string) (Mode, bool) {
	if name == "debug" {
		return Debug, true
	}
	for i, n := range modeNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// check returns an ErrMode if m has a bit that is no mode.
func (m Mode) check() error {
	if rest := m &^ anyMode; rest != 0 {
		return fmt.Errorf("%w: %d of them in %v", ErrMode, bits.OnesCount(uint(rest)), m)
	}
	return nil
}
