package model_test

import (
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

// The tag that ends the reasoning may also be in a string of the answer.
func TestFindJSON_AnswerMayQuoteAThinkTag(t *testing.T) {
	type verdict struct {
		Note string `json:"note,omitempty"`
	}
	for _, want := range []string{"the tag </think> ends it", "it has </think> {} here"} {
		m := model.Script(model.Say(`{"note":"`+want+`"}`), model.Say(`{"note":"`+want+`"}`))
		v, err := model.Decode[verdict](t.Context(), m, model.Request{Messages: []message.Message{message.User("x")}})
		if err != nil || v.Note != want {
			t.Errorf("got %+v, %v; want %q", v, err, want)
		}
	}
}
