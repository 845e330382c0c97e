package record_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/state/record"
)

type longest struct{}

func (longest) Reduce(acc, update string) string {
	if len(update) > len(acc) {
		return update
	}
	return acc
}

// A field of another package is the same in a Record as in a struct: its type's name, what is
// read, and what is stored.
func TestRecord_ForeignChannelIsTheSameAsInAStruct(t *testing.T) {
	type S struct {
		Messages message.Log                    `json:"messages"`
		Best     state.Reduced[string, longest] `json:"best"`
	}
	inStruct, err := state.SchemaOf[S]()
	if err != nil {
		t.Fatal(err)
	}
	sh, err := record.NewShape(
		record.Field{Name: "messages", Channel: record.ForeignOf[message.Log]()},
		record.Field{Name: "best", Type: mustType("string", nil), Channel: record.ForeignOf[state.Reduced[string, longest]]()},
	)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range inStruct.Fields() {
		if got := sh.Schema().Fields()[i].Type; got != f.Type {
			t.Errorf("%s is a %q in the record, and a %q in the struct", f.Name, got, f.Type)
		}
	}
	const input = `{"messages":[{"id":"a","role":"user","content":"hi"},"you"],"best":"long"}`
	a, b := inStruct.New(), sh.Schema().New()
	for _, v := range []struct {
		*state.Schema
		state.View
	}{{inStruct, a}, {sh.Schema(), b}} {
		w := v.Schema.New()
		if err := v.Decode(w, []byte(input)); err != nil {
			t.Fatal(err)
		}
		for i, c := range w.Channels {
			if err := v.Channels[i].Fold([]state.Channel{c}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range a.Channels {
		x, _ := a.Channels[i].Stored()
		y, _ := b.Channels[i].Stored()
		one, _ := json.Marshal(x)
		two, _ := json.Marshal(y)
		if string(one) != string(two) || len(one) < 5 {
			t.Errorf("stored are %s and %s", one, two)
		}
	}
}

func TestRecord_WritesMessagesByTheirJSON(t *testing.T) {
	sh, err := record.NewShape(record.Field{Name: "log", Channel: record.ForeignOf[message.Log]()})
	if err != nil {
		t.Fatal(err)
	}
	r := sh.New()
	write(t, &r, "log", []any{map[string]any{"id": "a", "role": "user", "content": "one"}, map[string]any{"id": "b", "role": "assistant", "content": "two"}})
	write(t, &r, "log", map[string]any{"id": "a", "role": "user", "content": "1"})
	write(t, &r, "log", map[string]any{"remove": "b"})
	write(t, &r, "log", nil)
	if got := r.String(); got != `{"log":[{"id":"a","role":"user","content":"1"}]}` {
		t.Errorf("got %s", got)
	}
	if err := r.Write("log", []any{map[string]any{"content": "x"}}); err == nil || !strings.HasPrefix(err.Error(), "state: log: ") {
		t.Errorf("got %v, want an error that names the field", err)
	}
	if err := r.Overwrite("log", nil); err == nil || !strings.Contains(err.Error(), "no Overwrite by name") {
		t.Errorf("got %v", err)
	}
	var se *state.SchemaError
	if _, err := record.NewShape(record.Field{Name: "x", Kind: state.KindList, Channel: record.ForeignOf[message.Log]()}); !errors.As(err, &se) {
		t.Errorf("a kind and a channel: got %v", err)
	}
}
