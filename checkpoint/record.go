package checkpoint

import (
	"encoding/json"
	"time"

	"github.com/weftrun/weft/state"
)

// Source is what made a commit.
type Source string

const (
	Input  Source = "input"  // a new input began a turn
	Step   Source = "step"   // a superstep ended
	Update Source = "update" // a caller edited the state
	Fork   Source = "fork"   // a branch began at an older commit
)

// Record is the position of a run after a commit. With the fields of the state it is all that
// the run needs to resume.
type Record struct {
	Graph     string            `json:"graph"`
	Program   string            `json:"program"` // hash of the graph that made the commit
	Run       string            `json:"run"`     // id of the call that made it
	Origin    string            `json:"origin"`  // id of the call that began the thread; a copy of the thread has the same
	Time      time.Time         `json:"time"`    // for people; nothing is ordered by it
	Source    Source            `json:"source"`
	Turn      int               `json:"turn"`              // counts inputs, from 1
	Step      int               `json:"step"`              // counts supersteps of the thread, from 1; 0 before the first
	Parent    uint64            `json:"parent,omitempty"`  // the commit it continues from, if that is not the one before it
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
	Carrier   map[string]string `json:"carrier,omitempty"` // of the run's observer, for the run that goes on from here
	Trace     []Entry           `json:"trace,omitempty"`   // the step's memo entries and answers, if replay is enabled
	Within    *Within           `json:"within,omitempty"`  // of a subgraph's turn: the task that it runs for
	Rewind    *Rewind           `json:"rewind,omitempty"`  // a due task resumes a subgraph at an older commit
	Pin       string            `json:"pin,omitempty"`     // the program to which the thread is pinned; see graph.Pin
	Prev      string            `json:"prev,omitempty"`    // the hash of the record before it, if commits carry hashes; see [WithHashes]
	Fields    []Field           `json:"fields"`            // written by the Chain
}

// Within names the task of the parent graph that began a subgraph's turn. Another task begins
// its own turn.
type Within struct {
	Task string `json:"task"` // the parent task's id
	Call string `json:"call"` // which of the task's calls
	Node string `json:"node"`
	// Scopes are the ids of the calls inside the task around this one, outermost first.
	Scopes []string `json:"scopes,omitempty"`
	// Namespace, Turn and Step are the position at which the task ran.
	Namespace string `json:"namespace,omitempty"`
	Turn      int    `json:"turn"`
	Step      int    `json:"step"`
	// Root is the position of the root graph at that time.
	Root Position `json:"root"`
	// Wrote has the writes of the step, if the subgraph shares the parent's state.
	Wrote json.RawMessage `json:"wrote,omitempty"`
	// Command is the command that the parent applies after the subgraph has ended.
	Command json.RawMessage `json:"command,omitempty"`
}

// Rewind names the older commit at which a task resumes a subgraph, because the thread went back
// to that commit. The records of the branch have it until the task has ended.
type Rewind struct {
	Task   string   `json:"task"` // the id of a due task
	Call   string   `json:"call"` // which of its calls
	Scopes []string `json:"scopes,omitempty"`
	// Namespace and At name the commit.
	Namespace string `json:"namespace"`
	At        uint64 `json:"at"`
	// Branches are the branches of the task's chain on which the task ran before, newest first.
	// The task's calls before this one have ended on them.
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
	Ways  []Way    `json:"ways,omitempty"`  // the targets of its Commands and branches; edges and joins are in the graph
}

// Way is one target that a node chose.
type Way struct {
	To   string `json:"to"`
	Send bool   `json:"send,omitempty"`
	// Branch is the number of the branch that decided, from 1; 0 for the node's own
	// Command, and HandlerBranch for that of its error handler.
	Branch int    `json:"branch,omitempty"`
	Why    string `json:"why,omitempty"` // the node's reason; see graph.Command.WithReason
}

// HandlerBranch is the Branch of a Way that an error handler chose.
const HandlerBranch = -1

// Task is one due task.
type Task struct {
	ID   string `json:"id"`
	Node string `json:"node"`
	// Send is true when a Send started the task, with Payload as its payload.
	Send    bool            `json:"send,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	// Timeout bounds each attempt and overrides the node's own; nanoseconds, 0 means not set.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Join is a join that waits for the rest of its sources. The names are those of nodes.
type Join struct {
	Target  string   `json:"target"`
	Sources []string `json:"sources"`
	Arrived []string `json:"arrived"`
}

// Answered is an answered question of this turn, with a hash of the answer. The hash lets a
// caller repeat the same answer after a crash.
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

	// Kind is the kind of the channel that wrote the chunks, if there are any. It joins the chunks
	// when the program now has another channel. For a channel from outside package state it is the
	// Go type.
	Kind state.Kind `json:"k,omitempty"`

	// Tag is a digest of all pieces of the value, if values are encrypted or commits carry hashes:
	// no piece of another commit can replace them. The Chain writes it.
	Tag string `json:"t,omitempty"`
}
