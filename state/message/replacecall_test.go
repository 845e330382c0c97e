package message_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// asking returns a log with one message that makes two calls.
func asking() message.Log {
	m := message.Assistant("", message.Call{ID: "a", Name: "f", Arguments: []byte(`1`)}, message.Call{ID: "b", Name: "f", Arguments: []byte(`2`)})
	m.ID = "m1"
	return message.LogOf(m)
}

// written returns a log after its writes have been through their stored form.
func written(t *testing.T, l message.Log, write func(*message.Log) error) *message.Log {
	t.Helper()
	var first message.Log
	if err := first.Channel().Fold([]state.Channel{l.Channel()}); err != nil {
		t.Fatal(err)
	}
	view := first
	if err := write(&view); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(view.Channel().Writes().Value)
	if err != nil {
		t.Fatal(err)
	}
	again := first
	if err := again.Channel().RestoreWrites(false, func(into any) error { return json.Unmarshal(data, into) }); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return &again
}

func calls(t *testing.T, l *message.Log) string {
	t.Helper()
	data, err := json.Marshal(l.Slice())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReplaceCall_OfTwoTasksBothStay(t *testing.T) {
	l := asking()
	one := written(t, l, func(l *message.Log) error {
		return l.ReplaceCall(message.Call{ID: "a", Name: "f", Arguments: []byte(`10`), Edited: &message.Edit{By: "anna", Arguments: []byte(`1`)}})
	})
	two := written(t, l, func(l *message.Log) error {
		return l.ReplaceCall(message.Call{ID: "b", Name: "f", Arguments: []byte(`20`), Edited: &message.Edit{Arguments: []byte(`no JSON`)}})
	})
	var base message.Log
	if err := base.Channel().Fold([]state.Channel{l.Channel()}); err != nil {
		t.Fatal(err)
	}
	if err := base.Channel().Fold([]state.Channel{one.Channel(), two.Channel()}); err != nil {
		t.Fatal(err)
	}
	want := `[{"id":"m1","role":"assistant","tool_calls":[{"id":"a","name":"f","arguments":10,"edited":{"by":"anna","arguments":1}},` +
		`{"id":"b","name":"f","arguments":20,"edited":{"arguments_text":"no JSON"}}]}]`
	if got := calls(t, &base); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var back []message.Message
	if err := json.Unmarshal([]byte(want), &back); err != nil || back[0].Calls[0].Edited == nil || back[0].Calls[0].Edited.By != "anna" {
		t.Errorf("what was stored is read as %+v, %v", back, err)
	}
}

func TestReplaceCall_OfAMessageThatASiblingRemovesIsDropped(t *testing.T) {
	l := asking()
	edit := written(t, l, func(l *message.Log) error { return l.ReplaceCall(message.Call{ID: "a", Name: "g"}) })
	gone := written(t, l, func(l *message.Log) error { return l.Remove("m1") })
	var base message.Log
	if err := errors.Join(base.Channel().Fold([]state.Channel{l.Channel()}), base.Channel().Fold([]state.Channel{gone.Channel(), edit.Channel()})); err != nil || base.Len() != 0 {
		t.Errorf("got %s, %v", calls(t, &base), err)
	}
}

func TestReplaceCall_OfAnUnknownCallIsAnError(t *testing.T) {
	l := asking()
	var unknown *message.UnknownError
	if err := l.ReplaceCall(message.Call{ID: "c", Name: "f"}); !errors.As(err, &unknown) || unknown.ID != "c" {
		t.Errorf("got %v, want an UnknownError of c", err)
	}
	var invalid *message.InvalidError
	if err := l.ReplaceCall(message.Call{ID: "a"}); !errors.As(err, &invalid) {
		t.Errorf("a call without a name: got %v, want an InvalidError", err)
	}
	var input message.Log
	if err := json.Unmarshal([]byte(`{"replace_call":"m1","with":{"id":"c","name":"f"}}`), &input); err != nil {
		t.Fatal(err)
	}
	if err := l.Channel().Fold([]state.Channel{input.Channel()}); !errors.As(err, &unknown) {
		t.Errorf("an input: got %v, want an UnknownError", err)
	}
}

// A member of this name that others wrote stays what it is.
func TestCall_WithAForeignMemberEditedIsStored(t *testing.T) {
	const data = `{"id":"a","name":"f","edited":true}`
	var c message.Call
	if err := json.Unmarshal([]byte(data), &c); err != nil || c.Edited != nil {
		t.Fatalf("got %+v, %v", c, err)
	}
	if out, err := json.Marshal(c); err != nil || string(out) != data {
		t.Errorf("got %s, %v, want %s", out, err, data)
	}
}
