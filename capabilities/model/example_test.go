package model_test

import (
	"context"
	"fmt"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

// A model that answers from a script gets a budget of two calls. Decode uses both, because the
// first answer is not JSON, and returns the second as a Go value. The next call fails.
func Example() {
	type Verdict struct {
		Fits   bool   `json:"fits"`
		Reason string `json:"reason" jsonschema:"one sentence"`
	}
	meter := &model.Meter{Budget: model.Budget{Calls: 2}}
	m := model.Limited(model.Script(
		model.Say("It fits, I think."), // not JSON, so Decode asks once more
		model.Say(`{"fits": true, "reason": "it is short"}`),
	), meter)
	r := model.Request{Messages: []message.Message{message.User("does the title fit?")}}

	v, err := model.Decode[Verdict](context.Background(), m, r)
	fmt.Println(v.Fits, v.Reason, err)

	_, err = model.Generate(context.Background(), m, r)
	fmt.Println(err)
	// Output:
	// true it is short <nil>
	// model: the budget is spent: 2 of 2 calls
}
