package model_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

type verdict struct {
	Fits   bool   `json:"fits"`
	Reason string `json:"reason" jsonschema:"one sentence"`
	Score  int    `json:"score,omitempty"`
}

func asked(text string) model.Request {
	return model.Request{ID: "m", Messages: []message.Message{message.User(text)}}
}

func TestDecode_ReadsWhatModelsWrite(t *testing.T) {
	want := verdict{Fits: true, Reason: "so"}
	for name, text := range map[string]string{
		"plain":         `{"fits":true,"reason":"so"}`,
		"fenced":        "```json\n{\"fits\":true,\"reason\":\"so\"}\n```",
		"among words":   `Here you are: {"fits":true,"reason":"so"} Anything else?`,
		"after a think": `<think>{"fits": maybe}</think>{"fits":true,"reason":"so"}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := model.Script(model.Say(text))
			got, err := model.Decode[verdict](t.Context(), m, asked("?"))
			if err != nil || got != want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestDecode_SendsTheSchema(t *testing.T) {
	m := model.Script(model.Say(`{"fits":false,"reason":"no"}`))
	if _, err := model.Decode[verdict](t.Context(), m, asked("?")); err != nil {
		t.Fatal(err)
	}
	schema := string(m.Requests()[0].Output.JSON)
	for _, part := range []string{`"fits"`, `"one sentence"`, `"required":["fits","reason"]`} {
		if !strings.Contains(schema, part) {
			t.Errorf("%s is not in %s", part, schema)
		}
	}
}

func TestDecode_RepairsOnce(t *testing.T) {
	wrong := map[string]struct{ text, problem string }{
		"no JSON":        {"I think it fits.", "no JSON object"},
		"half JSON":      {`{"fits":true,"rea`, "not JSON"},
		"a part of it":   {`{"x":{"fits":true,"reason":"so"}`, "not JSON"},
		"a field less":   {`{"fits":true}`, "reason"},
		"a field more":   {`{"fits":true,"reason":"so","why":1}`, "why"},
		"another type":   {`{"fits":"yes","reason":"so"}`, "boolean"},
		"no object":      {`[true]`, "object"},
		"null":           {`null`, "object"},
		"a large number": {`{"fits":true,"reason":"so","score":1e400}`, "1e400"},
	}
	for name, tt := range wrong {
		t.Run(name, func(t *testing.T) {
			m := model.Script(model.Say(tt.text), model.Say(`{"fits":true,"reason":"so"}`))
			got, err := model.Decode[verdict](t.Context(), m, asked("does it?"))
			if err != nil || !got.Fits {
				t.Fatalf("got %+v, %v", got, err)
			}
			again := m.Requests()[1]
			if n := len(again.Messages); n != 3 || again.Messages[1].Text() != tt.text || !strings.Contains(again.Messages[2].Text(), tt.problem) {
				t.Errorf("the model got %v", again.Messages)
			}
			if again.ID == "m" {
				t.Error("two answers have one id")
			}
		})
		t.Run(name+", twice", func(t *testing.T) {
			m := model.Script(model.Say("nothing of the kind"), model.Say(tt.text))
			_, err := model.Decode[verdict](t.Context(), m, asked("does it?"))
			var out *model.OutputError
			if !errors.As(err, &out) || out.Raw != tt.text || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("got %v, want an OutputError with the text", err)
			}
			if len(m.Requests()) != 2 {
				t.Errorf("asked %d times", len(m.Requests()))
			}
		})
	}
}

func TestRepair_DoesNotChangeTheRequestOfTheCaller(t *testing.T) {
	r := asked("?")
	r.Messages = append(make([]message.Message, 0, 8), r.Messages...)
	before := r.Messages[:8:8][1]
	if _, err := model.Decode[verdict](t.Context(), model.Script(model.Say("no"), model.Say("no")), r); err == nil {
		t.Fatal("no error")
	}
	if d := cmp.Diff(before, r.Messages[:8:8][1]); d != "" {
		t.Error("the slice behind the messages was written to:", d)
	}
}

func TestRepair_NotAfterAFailureOfTheModel(t *testing.T) {
	m := model.Script(model.Fail(&model.Error{Kind: model.Auth}))
	if _, err := model.Decode[verdict](t.Context(), m, asked("?")); model.KindOf(err) != model.Auth || len(m.Requests()) != 1 {
		t.Errorf("got %v after %d requests", err, len(m.Requests()))
	}
}

func TestGenerate_ReportsACutOffAnswer(t *testing.T) {
	cut := model.Answer{Text: `{"fits":tr`, Stop: model.StopLength}
	_, err := model.Decode[verdict](t.Context(), model.Script(cut, cut), asked("?"))
	if err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("got %v", err)
	}
}

func TestDecode_WrapsATypeThatIsNoObject(t *testing.T) {
	m := model.Script(model.Say(`{"value":["a","b"]}`), model.Say(`{"value":7}`), model.Say(`7`), model.Say(`{"value":8}`))
	names, err := model.Decode[[]string](t.Context(), m, asked("?"))
	if d := cmp.Diff([]string{"a", "b"}, names); d != "" || err != nil {
		t.Error(d, err)
	}
	n, err := model.Decode[int](t.Context(), m, asked("?"))
	if n != 7 || err != nil {
		t.Error(n, err)
	}
	n, err = model.Decode[int](t.Context(), m, asked("?"))
	if n != 8 || err != nil {
		t.Error(n, err)
	}
}

func TestSchema_OfTheCallerIsUsed(t *testing.T) {
	r := asked("?")
	r.Output = &model.Schema{JSON: json.RawMessage(`{"type":"object","properties":{"color":{"enum":["red","blue"]}},"required":["color"]}`)}
	m := model.Script(model.Say(`{"color":"green"}`), model.Say(`{"color":"red"}`))
	got, err := model.Decode[map[string]string](t.Context(), m, r)
	if err != nil || got["color"] != "red" || len(m.Requests()) != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	r.Output = &model.Schema{JSON: json.RawMessage(`{"type":`)}
	if _, err := model.Decode[map[string]string](t.Context(), m, r); err == nil {
		t.Error("a schema that is none is taken")
	}
}

func TestUsage_OfBothAttemptsIsCounted(t *testing.T) {
	first := model.Answer{Text: "no", Usage: &message.Usage{Input: 5, Output: 1}}
	second := model.Answer{Text: `{"fits":true,"reason":""}`, Usage: &message.Usage{Input: 9, Output: 4}}
	_, said, err := model.DecodeResponse[verdict](t.Context(), model.Script(first, second), asked("?"))
	if err != nil || said.Usage.Input != 14 || said.Usage.Output != 5 {
		t.Errorf("got %+v, %v", said.Usage, err)
	}
}

func TestDecode_CallOfAToolThatWasNotOffered(t *testing.T) {
	call := model.Ask(message.Call{ID: "c", Name: "find", Arguments: []byte("{}")})
	m := model.Script(call, model.Say(`{"fits":true,"reason":"so"}`))
	got, err := model.Decode[verdict](t.Context(), m, asked("?"))
	if want := (verdict{Fits: true, Reason: "so"}); err != nil || got != want {
		t.Errorf("got %+v, %v; want the repaired answer", got, err)
	}
	if again := m.Requests()[1].Messages; !strings.Contains(again[len(again)-1].Text(), `"find"`) {
		t.Errorf("the model does not get the wrong call: %s", again[len(again)-1].Text())
	}
	_, err = model.Decode[verdict](t.Context(), model.Script(call, call), asked("?"))
	if model.KindOf(err) != model.BadAnswer || !strings.Contains(err.Error(), `"find"`) {
		t.Errorf("got %v, want a bad answer that names the tool", err)
	}
}
