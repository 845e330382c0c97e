package turn_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/message"
)

func TestModelTalk_SendsTheNewestMessages(t *testing.T) {
	var sent []model.Request
	m := model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		sent = append(sent, r)
		return model.Answer{Text: "yes"}
	})
	long := message.User(strings.Repeat("word ", 60000))
	for _, said := range [][]message.Message{
		{message.User("one"), message.Assistant("two"), message.User("three")},
		{long, message.Assistant("two"), message.User("three")},
		{message.User("one"), message.Assistant("two"), long},
	} {
		text, err := turn.ModelTalk(m)(t.Context(), turn.AnswerRequest{Messages: said})
		must(t, err)
		same(t, "the answer", text, "yes")
		got := sent[len(sent)-1].Messages
		same(t, "the last message", got[len(got)-1].Text(), said[2].Text())
	}
	same(t, "all of a short one", len(sent[0].Messages), 3)
	same(t, "what is too long goes first", sent[1].Messages[0].Text() == long.Text(), false)
	same(t, "a long one is the only one", len(sent[2].Messages), 1)
}
