package graph

// Status is how a run ended, or the state of a thread. A run that stopped for a Drain is
// [Pending].
type Status string

const (
	Done        Status = "done"
	Interrupted Status = "interrupted" // it waits: see Interrupts
	Failed      Status = "failed"      // see the error
)

// Pending is the Status of a thread that has work left and no open question: its run was cut off,
// or pauses at a static interrupt. Resume goes on with it, as it does with a Failed one.
const Pending Status = "pending"

// Queued is the Status of an Invoke whose input waits for its turn.
const Queued Status = "queued"

// outcome is a Result with the type of the state erased.
type outcome struct {
	status     Status
	state      any // *S; nil if the run was given up
	interrupts []Interrupt
	drained    string // the reason, if it stopped for a Drain
	starved    []string
	steps      int
	checkpoint uint64
	id         string
	answer     any // of a call from outside that drives the run: a Plan or a TaskResult
}
