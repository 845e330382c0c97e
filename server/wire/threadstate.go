package wire

import "encoding/json"

// ThreadState is the state of a thread or of a subgraph at a checkpoint.
type ThreadState struct {
	Values           json.RawMessage `json:"values"`
	Next             []string        `json:"next"`
	Tasks            []ThreadTask    `json:"tasks"`
	Metadata         Object          `json:"metadata"`
	CreatedAt        Time            `json:"created_at"`
	Checkpoint       *Checkpoint     `json:"checkpoint"`
	ParentCheckpoint *Checkpoint     `json:"parent_checkpoint"`
	// Interrupts are the open questions of all tasks. nil is left out.
	Interrupts []Interrupt `json:"interrupts,omitzero"`
}

// EmptyState returns the state of a thread that has no checkpoints.
func EmptyState() ThreadState {
	return ThreadState{Values: json.RawMessage("{}"), Next: []string{}, Tasks: []ThreadTask{}}
}

// ThreadTask is a task of a state: one that is due, or one that was due after it.
type ThreadTask struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Path is [PullPath] or [PushPath].
	Path       []any        `json:"path"`
	Error      *string      `json:"error"`
	Interrupts []Interrupt  `json:"interrupts"`
	Checkpoint *Checkpoint  `json:"checkpoint"`
	State      *ThreadState `json:"state"`
	// Result is what the task wrote, if it is known; nil is null.
	Result json.RawMessage `json:"result"`
}

// PullPath returns the path of a task that an edge started.
func PullPath(node string) []any { return []any{"__pregel_pull", node} }

// PushPath returns the path of a task that a Send started, by its index.
func PushPath(index int) []any { return []any{"__pregel_push", index} }

// Checkpoint names a checkpoint.
type Checkpoint struct {
	ThreadID     string `json:"thread_id"`
	CheckpointNS string `json:"checkpoint_ns"`
	// CheckpointID is nil in the Checkpoint of a task, which names the newest one of its subgraph.
	CheckpointID  *string         `json:"checkpoint_id"`
	CheckpointMap json.RawMessage `json:"checkpoint_map"`
}

// MarshalJSON returns the checkpoint; without an id it has only the thread and the namespace.
func (c Checkpoint) MarshalJSON() ([]byte, error) {
	if c.CheckpointID == nil {
		return json.Marshal(struct {
			ThreadID     string `json:"thread_id"`
			CheckpointNS string `json:"checkpoint_ns"`
		}{c.ThreadID, c.CheckpointNS})
	}
	type all Checkpoint
	return json.Marshal(all(c))
}

// Interrupt is an open question.
type Interrupt struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
	// Weft has what clients of LangGraph do not know.
	Weft *Question `json:"weft,omitempty"`
}

// Question is the part of an open question that clients of LangGraph do not know.
type Question struct {
	Namespace string          `json:"ns,omitempty"`
	Kind      string          `json:"kind,omitempty"` // "question" or "approval"
	Prompt    string          `json:"prompt,omitempty"`
	Schema    json.RawMessage `json:"schema,omitempty"`
	ExpiresAt Time            `json:"expires_at,omitzero"`
}
