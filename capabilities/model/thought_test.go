package model_test

import (
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

// The end of a thought was looked for within the strings of the answer too.
func TestAnAnswerMayQuoteTheEndOfAThought(t *testing.T) {
	type verdict struct {
		Note string `json:"note,omitempty"`
	}
	for _, want := range []string{"the tag </think> ends it", "it says </think> {} here"} {
		m := model.Script(model.Say(`{"note":"`+want+`"}`), model.Say(`{"note":"`+want+`"}`))
		v, err := model.Decode[verdict](t.Context(), m, model.Request{Messages: []message.Message{message.User("x")}})
		if err != nil || v.Note != want {
			t.Errorf("got %+v, %v; want %q", v, err, want)
		}
	}
}
