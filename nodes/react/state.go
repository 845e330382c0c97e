package react

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// State is the part of a graph's state that an agent uses.
type State struct {
	// Messages is the conversation.
	Messages message.Log `json:"messages"`
	// Answer is the final answer of this turn: text, or JSON if Config.Output is set.
	Answer state.Value[string] `json:"agent_answer" weft:"turn"`
	// Turns counts the answers of the model in this turn of the user.
	Turns state.Sum[int] `json:"agent_turns" weft:"turn"`
	// Spent is the cost of these answers.
	Spent Spent `json:"agent_spent" weft:"turn"`
}

// Spent is a [model.Spend] as channels.
type Spent struct {
	Calls  state.Sum[int]     `json:"calls"`
	Input  state.Sum[int]     `json:"input_tokens"`
	Output state.Sum[int]     `json:"output_tokens"`
	Money  state.Sum[float64] `json:"money"`
	Nanos  state.Sum[int64]   `json:"nanoseconds"`
}

// Get returns the cost.
func (s *Spent) Get() model.Spend {
	return model.Spend{
		Calls: s.Calls.Get(), Input: s.Input.Get(), Output: s.Output.Get(), Money: s.Money.Get(), Time: time.Duration(s.Nanos.Get()),
	}
}

func (s *Spent) add(m model.Spend) {
	s.Calls.Add(m.Calls)
	s.Input.Add(m.Input)
	s.Output.Add(m.Output)
	s.Money.Add(m.Money)
	s.Nanos.Add(int64(m.Time))
}

// Input returns the input of a run with a message of the user.
func Input(text string) State { return State{Messages: message.LogOf(message.User(text))} }

// Decode reads the final answer of a turn as a T.
func Decode[T any](s *State) (v T, err error) {
	text := s.Answer.Get()
	if text == "" {
		return v, fmt.Errorf("react: there is no answer yet")
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return v, fmt.Errorf("react: the answer: %w", err)
	}
	return v, nil
}
