package graph

import (
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/state"
)

// operation is what a request asks of a thread.
type operation string

const (
	opInvoke          operation = "invoke"            // begin a turn with an input
	opResume          operation = "resume"            // go on with the turn, with answers
	opEdit            operation = "edit"              // apply edits, and run nothing
	opUpdateAndResume operation = "update and resume" // apply an edit and answers, and go on
	opCall            operation = "call"              // run a subgraph, or go on with it
	opPlan            operation = "plan"              // prepare the step that is due, and run nothing
	opRunTask         operation = "run task"          // run one task of the step
	opCommit          operation = "commit"            // commit the step, and prepare the next
)

// request is one call of the API: what is to be done with a thread. It does not change once it is
// made. The zero request asks for nothing, and is refused with ErrNotCompiled.
type request struct {
	op      operation
	input   any             // of an invoke and a call: see state.Hold; nil if it is given as JSON
	json    json.RawMessage // of an invoke: the input as an object by wire name
	answers Answers
	edits   [][]edit    // each list is one commit
	replay  *replayStep // of a resume: it runs recorded steps again
	asJSON  bool        // the caller gets the state as JSON
}

// replayStep is a recorded step, or several, that is to be run again.
type replayStep struct {
	*trace     // what the steps take their answers and results from
	until  int // the last step that is run
}

// String returns what the request asks for, without the values in it.
func (q *request) String() string {
	text := string(q.op)
	if q.replay != nil {
		text = fmt.Sprintf("replay up to step %d", q.replay.until)
	}
	if n := len(q.edits); n > 0 {
		text += fmt.Sprintf(", %d commits of edits", n)
	}
	if n := len(q.answers.given); n > 0 {
		text += fmt.Sprintf(", %d answers", n)
	}
	return text
}

// invokes returns the request that begins a turn with input.
func invokes[S any](p *program, input S) request {
	if p == nil { // the run fails
		return request{op: opInvoke}
	}
	return request{op: opInvoke, input: state.Hold(p.schema, input)}
}

// replays reports whether the request runs recorded steps again: nothing is written for others to
// see.
func (q *request) replays() bool { return q.replay != nil }

// view returns the input of the request, as a view by schema.
func (q *request) view(schema *state.Schema) (state.View, error) {
	if q.input != nil {
		return schema.Over(q.input), nil
	}
	v := schema.Blank()
	if err := schema.Decode(v, q.json); err != nil {
		return v, fmt.Errorf("the input: %w", err)
	}
	return v, nil
}

// edit is an Edit with the type of the state erased.
type edit struct {
	as string
	do call
}
