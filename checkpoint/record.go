package checkpoint

import (
	"encoding/json"
	"time"

	"github.com/weftrun/weft/state"
)

// Source says what made a commit.
type Source string

const (
	Input  Source = "input"  // a new input began a turn
	Step   Source = "step"   // a superstep ended
	Update Source = "update" // somebody edited the state
	Fork   Source = "fork"   // a branch began at an older commit
)

// Record is where a run stands after a commit: all that is needed to go on, beside
// the fields of the state.
type Record struct {
	Graph     string            `json:"graph"`
	Program   string            `json:"program"` // hash of the graph that made the commit
	Run       string            `json:"run"`     // id of the call that made it
	Origin    string            `json:"origin"`  // id of the call that began the thread; only a copy of the thread has it too
	Time      time.Time         `json:"time"`    // for people; nothing is ordered by it
	Source    Source            `json:"source"`
	Turn      int               `json:"turn"`              // counts inputs, from 1
	Step      int               `json:"step"`              // counts supersteps of the thread, from 1; 0 before the first
	Parent    uint64            `json:"parent,omitempty"`  // the commit it goes on from, if that is not the one before it
	Branch    uint64            `json:"branch,omitempty"`  // the commit that began its branch; 0 for the first
	Ran       []Ran             `json:"ran,omitempty"`     // what the step did, in canonical order
	Recovered bool              `json:"healed,omitempty"`  // the store had lost the commits before it: this one has the whole state
	Next      []Task            `json:"next,omitempty"`    // due in the next step, in canonical order
	Waiting   []string          `json:"waiting,omitempty"` // deferred nodes that were reached
	Joins     []Join            `json:"joins,omitempty"`   // joins that some sources have reached
	Input     string            `json:"input,omitempty"`   // hash of the turn's input
	Taken     uint64            `json:"taken,omitempty"`   // the newest queued input whose turn was begun
	Answered  []Answered        `json:"answered,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Trace     []Entry           `json:"trace,omitempty"`  // what the step's tasks kept and were answered, if it is to be replayed
	Within    *Within           `json:"within,omitempty"` // of a subgraph's turn: for whom it runs
	Rewind    *Rewind           `json:"rewind,omitempty"` // a due task takes up a subgraph at an older commit
	Fields    []Field           `json:"fields"`           // written by the Chain
}

// Within says for which task of the parent graph a subgraph's turn was begun: another
// task begins a turn of its own.
type Within struct {
	Task string `json:"task"` // the parent task's id
	Call string `json:"call"` // which of the task's calls
	Node string `json:"node"`
	// Scopes are the ids of the calls inside the task around this one, outermost first.
	Scopes []string `json:"scopes,omitempty"`
	// Namespace, Turn and Step say where the task ran.
	Namespace string `json:"namespace,omitempty"`
	Turn      int    `json:"turn"`
	Step      int    `json:"step"`
	// Root is where the graph at the root was then.
	Root Position `json:"root"`
	// Wrote is what the step wrote, where the subgraph shares the parent's state.
	Wrote json.RawMessage `json:"wrote,omitempty"`
	// Command is what the parent is to do after the subgraph's end.
	Command json.RawMessage `json:"command,omitempty"`
}

// Rewind says that a task takes up a subgraph at an older commit of its chain, because the
// thread went back to that commit. The records of the branch hold it until the task has ended.
type Rewind struct {
	Task   string   `json:"task"` // the id of a due task
	Call   string   `json:"call"` // which of its calls
	Scopes []string `json:"scopes,omitempty"`
	// Namespace and At name the commit.
	Namespace string `json:"namespace"`
	At        uint64 `json:"at"`
	// Branches are those of the task's chain on which the task ran before, newest first: what
	// it called there before this call has ended there.
	Branches []uint64 `json:"branches"`
	// Next is the same for a task of the subgraph.
	Next *Rewind `json:"next,omitempty"`
}

// Position is a step in the history of a thread, which is a tree.
type Position struct {
	Branch uint64 `json:"branch,omitempty"` // the commit that began the branch; 0 for the first
	Turn   int    `json:"turn"`
	Step   int    `json:"step"`
}

// Done reports whether the turn has ended: nothing is due.
func (r *Record) Done() bool { return len(r.Next) == 0 && len(r.Waiting) == 0 }

// Ran is one task of the step that a commit ended, or one edit by hand.
type Ran struct {
	Node  string   `json:"node,omitempty"`  // "" for an edit that is no node's
	Wrote []string `json:"wrote,omitempty"` // the fields it wrote
	Ways  []Way    `json:"ways,omitempty"`  // where its Commands and branches went; edges and joins speak for themselves
}

// Way is one decision of a node to go somewhere.
type Way struct {
	To   string `json:"to"`
	Send bool   `json:"send,omitempty"`
	// Branch is the number of the branch that decided, from 1; 0 for the node's own
	// Command.
	Branch int    `json:"branch,omitempty"`
	Why    string `json:"why,omitempty"` // what the node said of it; see graph.Command.WithReason
}

// Task is one due task.
type Task struct {
	ID   string `json:"id"`
	Node string `json:"node"`
	// Send is true when a Send started the task, with Payload as its payload.
	Send    bool            `json:"send,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	// Timeout bounds each attempt in place of the node's own; nanoseconds, 0 means none given.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Join is a join that waits: the number it has in the program, and the sources that
// have arrived, by name.
type Join struct {
	Target  string   `json:"target"`
	Sources []string `json:"sources"`
	Arrived []string `json:"arrived"`
}

// Answered is a question of this turn that was answered, with a hash of the answer:
// the same answer given again, after a crash, is then no mistake.
type Answered struct {
	ID     string `json:"id"`
	Answer string `json:"answer"`
}

// Field is one field of the state as a commit holds it.
type Field struct {
	Name       string `json:"n"`
	Base       uint64 `json:"b,omitempty"` // the commit that wrote the base; 0 when the field is empty
	Chunks     int    `json:"c,omitempty"`
	BaseBytes  int    `json:"bb,omitempty"`
	ChunkBytes int    `json:"cb,omitempty"` // of all chunks together
	Version    int    `json:"v,omitempty"`  // of the field in the program that stored it; 0 means 1
	Items      int    `json:"i,omitempty"`  // of the list of decisions: how many there are

	// Kind is the channel that wrote the chunks, if there are any: what puts them together when
	// the program has another one by now. Of a channel that is none of package state it is
	// the Go type.
	Kind state.Kind `json:"k,omitempty"`

	// Tag is a digest of all pieces of the value, where values are encrypted: no piece of another
	// commit can take their place. It is written by the Chain.
	Tag string `json:"t,omitempty"`
}
