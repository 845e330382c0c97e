package wire_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/weftrun/weft/server/wire"
)

func TestWaitBody_ShowsHowTheRunEnded(t *testing.T) {
	question := wire.Interrupt{ID: "q", Value: json.RawMessage(`1`), Weft: &wire.Question{Kind: "question"}}
	for name, c := range map[string]struct {
		o    wire.Outcome
		want string
	}{
		"done":      {wire.Outcome{Values: json.RawMessage(`{"b":1,"a":2}`)}, `{"b":1,"a":2}`},
		"no state":  {wire.Outcome{}, `{}`},
		"asks":      {wire.Outcome{Values: json.RawMessage(`{"b":1}`), Waiting: true, Interrupts: []wire.Interrupt{question}}, `{"b":1,"__interrupt__":[{"id":"q","value":1}]}`},
		"at a stop": {wire.Outcome{Waiting: true}, `{"__interrupt__":[]}`},
		"failed":    {wire.Outcome{Values: json.RawMessage(`{"b":1}`), Error: &wire.RunError{Error: "E", Message: "m", Weft: &wire.ErrorPlace{Node: "n"}}}, `{"__error__":{"error":"E","message":"m"}}`},
	} {
		if got, err := wire.WaitBody(c.o); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
	if _, err := wire.WaitBody(wire.Outcome{Values: json.RawMessage(`[]`), Waiting: true}); err == nil {
		t.Error("a state that is no object must be an error")
	}
}

func TestReadCommand_WantsAnIDAndAMethod(t *testing.T) {
	c, err := wire.ReadCommand([]byte(`{"id":7,"method":"run.start","more":1}`))
	if err != nil || c.ID != 7 || c.Method != "run.start" || string(c.Params) != "{}" {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, s := range []string{``, `[]`, `{"id":"7","method":"x"}`, `{"id":1.5,"method":"x"}`, `{"method":"x"}`, `{"id":1}`, `{"id":1,"method":2}`} {
		var bad *wire.Error
		if _, err := wire.ReadCommand([]byte(s)); !errors.As(err, &bad) || bad.HTTPStatus(wire.Python) != 400 {
			t.Errorf("ReadCommand(%s): %v, want status 400", s, err)
		}
	}
	got, err := wire.CommandResult(c, nil, "t", wire.ProtocolSeq(2))
	if want := `{"type":"success","id":7,"result":{},"meta":{"thread_id":"t","applied_through_seq":47}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if got := wire.CommandError(nil, wire.CommandInvalid, "m"); string(got) != `{"type":"error","id":null,"error":"invalid_argument","message":"m"}` {
		t.Errorf("got %s", got)
	}
	if n := wire.RecordSeq(wire.ProtocolSeq(2)); n != 2 {
		t.Errorf("record %d, want 2", n)
	}
}

func TestReadSubscription_IsStrict(t *testing.T) {
	s, err := wire.ReadSubscription([]byte(`{"channels":["values"],"namespaces":[["a"]],"depth":1,"since":9}`))
	if err != nil || len(s.Namespaces) != 1 || *s.Depth != 1 || s.Since != 9 {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, in := range []string{`{"channels":["values"],"x":1}`, `{"channels":"values"}`, `{"channels":["nothing"]}`, `x`} {
		if _, err := wire.ReadSubscription([]byte(in)); err == nil {
			t.Errorf("ReadSubscription(%s) must be an error", in)
		}
	}
}

func TestSchemas_HaveTheNamesOfBothFamilies(t *testing.T) {
	s := wire.Schemas{Input: json.RawMessage(`1`), Output: json.RawMessage(`2`), State: json.RawMessage(`3`)}
	if got, err := s.Assistant("g"); err != nil || string(got) != `{"graph_id":"g","input_schema":1,"output_schema":2,"state_schema":3,"config_schema":null,"context_schema":null}` {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := s.Subgraph(); err != nil ||
		string(got) != `{"state":3,"input":1,"output":2,"config":null,"state_schema":3,"input_schema":1,"output_schema":2,"config_schema":null}` {
		t.Errorf("got %s, %v", got, err)
	}
}
