package pes

import (
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// State is what the agent needs to have in the state of its graph.
type State struct {
	// Messages is the conversation.
	Messages message.Log `json:"messages"`
	// Plan is what is to be done, and Results what became of its items by their ids: both of the thread.
	Plan    state.Value[Plan]         `json:"plan"`
	Results state.Map[string, Result] `json:"plan_results"`
	// Running are the ids of the items that were sent off together.
	Running state.Value[[]string] `json:"plan_running"`
	// Plans counts the plans of this turn.
	Plans state.Sum[int] `json:"plan_count" weft:"turn"`
	// Problem says why a plan is to be made anew, or why the turn ends before all is done.
	Problem state.Value[string] `json:"plan_problem" weft:"turn"`
	// Answer is what the user is told in the end of this turn.
	Answer state.Value[string] `json:"answer" weft:"turn"`
}

// Status is how far an item has come.
type Status string

// The statuses.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled" // another item, or a person, is the reason
)

// Result is what became of an item.
type Result struct {
	Status Status `json:"status"`         // Completed, Failed or Cancelled
	Text   string `json:"text,omitempty"` // what it came to
	Error  string `json:"error,omitempty"`
	Turn   int    `json:"turn"` // of the thread, from 1: the message that it was done for
}

// Todo is an item as it stands.
type Todo struct {
	Item
	Status Status `json:"status"`
	Result Result `json:"result,omitzero"`
}

// Todo returns the list as it stands, in the order of the plan.
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

// Ask is the input in which a user says something.
func Ask(text string) State { return State{Messages: message.LogOf(message.User(text))} }

// asked returns what the user said last, and how often he has spoken.
func (s *State) asked() (query string, turn int) {
	for _, m := range s.Messages.All() {
		if m.Role == message.RoleUser {
			query, turn = m.Text(), turn+1
		}
	}
	return query, turn
}
