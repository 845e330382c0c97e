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
	StepEnd                   // it has ended
	Start                     // a message of a model begins: Message
	Text                      // it grows by Delta
	Reasoning                 // its reasoning grows by Delta
	Call                      // it calls a tool: CallID, Name
	Arguments                 // the arguments of the call grow by Delta
	CallEnd                   // they are complete: Data, if they are an object
	End                       // the message is complete
	Result                    // a tool has returned: CallID, Name, Delta, Failed
	State                     // the state is Data
	Custom                    // a node of the root graph has emitted Data; Name if it names it
	Asked                     // the run waits for answers, or with no Questions at a breakpoint
	Ended                     // the run has ended: Error, Cancelled
)

// Event is a part of a conversation. Only the fields of its Kind are set.
type Event struct {
	Kind      Kind
	Message   string // the id of a message
	CallID    string
	Name      string
	Delta     string
	Data      json.RawMessage
	Failed    bool
	Usage     *wire.Usage // of an End
	Questions []wire.Interrupt
	Error     *wire.RunError
	Cancelled bool
}
