package chat

import (
	"encoding/json"

	"github.com/weftrun/weft/server/wire"
)

// Kind is what an Event reports.
type Kind int

const (
	Begin     Kind = iota + 1 // the run begins
	StepStart                 // a node of the root graph begins: Name
	StepEnd                   // a node of the root graph has ended: Name
	Start                     // a model's message begins: Message
	Text                      // its text grows: Message, Delta
	Reasoning                 // its reasoning grows: Message, Delta
	Call                      // it calls a tool: Message, CallID, Name
	Arguments                 // the arguments of the call grow: Message, CallID, Name, Delta
	CallEnd                   // the call has ended: Message, CallID, Name; Data is its arguments, nil if they are not an object
	End                       // the message has ended, complete or cut off: Message, Usage
	Result                    // a tool has returned: Message, CallID, Name, Delta, Failed
	State                     // the state of the run is Data
	Custom                    // a node of the root graph has emitted Data; Name is its name, if it has one
	Asked                     // the run waits for answers: Questions; none at a breakpoint
	Ended                     // the run has ended: Error, Cancelled
)

// Event is one change of a conversation. Only the fields of its Kind are set.
type Event struct {
	Kind      Kind
	Message   string // the id of a message
	CallID    string
	Name      string
	Delta     string
	Data      json.RawMessage
	Failed    bool
	Usage     *wire.Usage // of an End; nil if it is not known
	Questions []wire.Interrupt
	Error     *wire.RunError
	Cancelled bool
}
