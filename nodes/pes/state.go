package pes

import (
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// State is the part of a graph's state that the agent uses.
type State struct {
	// Messages is the conversation.
	Messages message.Log `json:"messages"`
	// Plan is the plan of the thread, and Results has the results of its items by ID.
	Plan    state.Value[Plan]         `json:"plan"`
	Results state.Map[string, Result] `json:"plan_results"`
	// Running has the IDs of the items that were started together.
	Running state.Value[[]string] `json:"plan_running"`
	// Plans counts the plans of this turn.
	Plans state.Sum[int] `json:"plan_count" weft:"turn"`
	// Problem is why another plan is needed, or why the turn ends before all items are completed.
	Problem state.Value[string] `json:"plan_problem" weft:"turn"`
	// Answer is the answer of this turn.
	Answer state.Value[string] `json:"answer" weft:"turn"`
}

// Status is the progress of an item.
type Status string

// The statuses.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled" // because of another item or a person
)

// Result is the result of an item.
type Result struct {
	Status Status `json:"status"`         // Completed, Failed or Cancelled
	Text   string `json:"text,omitempty"` // the result of Execute
	Error  string `json:"error,omitempty"`
	Turn   int    `json:"turn"` // the turn of the thread that it ran in, from 1
}

// Todo is an item with its status and result.
type Todo struct {
	Item
	Status Status `json:"status"`
	Result Result `json:"result,omitzero"`
}

// Todo returns the items of the plan, in order.
func (s *State) Todo() (all []Todo) {
	running := map[string]bool{}
	for _, id := range s.Running.Get() {
		running[id] = true
	}
	for _, i := range s.Plan.Get().Items {
		t := Todo{Item: i, Status: Pending}
		if r, ok := s.Results.Lookup(i.ID); ok {
			t.Status, t.Result = r.Status, r
		} else if running[i.ID] {
			t.Status = InProgress
		}
		all = append(all, t)
	}
	return all
}

// Input returns the input of a run with a message of the user.
func Input(text string) State { return State{Messages: message.LogOf(message.User(text))} }

// asked returns the user's last message and the number of the user's messages.
func (s *State) asked() (query string, turn int) {
	for _, m := range s.Messages.All() {
		if m.Role == message.RoleUser {
			query, turn = m.Text(), turn+1
		}
	}
	return query, turn
}
