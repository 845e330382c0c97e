package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/state"
)

func mustType(text string, named map[string]state.Type) state.Type {
	t, err := state.ParseType(text, named)
	if err != nil {
		panic(err)
	}
	return t
}

// kindFields returns a field of every kind.
func kindFields() (fields []state.RecordField) {
	types := map[state.Kind]string{
		state.KindList: "list<object{n: int, note?: any}>", state.KindTopic: "list<any>",
		state.KindSum: "int", state.KindMax: "number", state.KindMin: "string",
		state.KindMap: "map<number>", state.KindSet: "list<int>", state.KindValue: "any",
		state.KindLatest: "number", state.KindEphemeral: "map<int>", state.KindUntracked: "string",
		state.KindOnce: "map<string>", state.KindStack: "list<number>", state.KindDeepMerge: "map<object{n?: int, deep?: map<any>}>",
	}
	for _, k := range state.Kinds() {
		fields = append(fields, state.RecordField{Name: string(k), Kind: k, Type: mustType(types[k], nil)})
	}
	return fields
}

// plainJSON generates JSON that fits the field.
func plainJSON(f state.RecordField) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		data, err := json.Marshal(plainValue(t, f.Type))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	})
}

func plainValue(t *rapid.T, typ state.Type) any {
	switch typ.Base() {
	case "string":
		return aWord.Draw(t, "string")
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "int":
		return rapid.Int64().Draw(t, "int")
	case "number":
		return rapid.SampledFrom([]float64{0, 1, -1, 0.1, 3, 1e21, 1e-9, 1 << 53}).Draw(t, "number")
	case "list":
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "len"))
		for i := range list {
			list[i] = plainValue(t, typ.Elem())
		}
		return list
	case "map":
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			m[aWord.Draw(t, "key")] = plainValue(t, typ.Elem())
		}
		return m
	case "object":
		m := map[string]any{}
		for _, member := range typ.Members() {
			m[member.Name] = plainValue(t, member.Type)
		}
		return m
	}
	texts := []string{"any", "string", "bool", "int", "number", "list<any>", "map<any>"}
	text := rapid.SampledFrom(texts).Draw(t, "type")
	if text == "any" {
		return nil
	}
	return plainValue(t, mustType(text, nil))
}

func article(t testing.TB) *state.Shape {
	source := mustType("object{url: string, title?: string}", nil)
	sh, err := state.NewShape(
		state.RecordField{Name: "question", Type: mustType("string", nil)},
		state.RecordField{Name: "sources", Kind: state.KindList,
			Type: mustType("list<Source>", map[string]state.Type{"Source": source})},
		state.RecordField{Name: "rounds", Kind: state.KindSum, Type: mustType("int", nil), Turn: true, Default: json.RawMessage("3")},
		state.RecordField{Name: "scores", Kind: state.KindMap, Type: mustType("map<number>", nil)},
		state.RecordField{Name: "tags", Kind: state.KindSet, Type: mustType("list<string>", nil)},
		state.RecordField{Name: "best", Kind: state.KindMax, Type: mustType("number", nil)},
	)
	if err != nil {
		t.Fatal(err)
	}
	return sh
}

func write(t *testing.T, r *state.Record, name string, v any) {
	t.Helper()
	if err := r.Write(name, v); err != nil {
		t.Fatal(err)
	}
}

func TestRecordMergesByKind(t *testing.T) {
	r := article(t).New()
	write(t, &r, "question", "why?")
	write(t, &r, "sources", map[string]any{"url": "a"})
	write(t, &r, "sources", []any{map[string]any{"url": "b", "title": "B"}})
	write(t, &r, "rounds", 1)
	write(t, &r, "rounds", json.Number("9007199254740993"))
	write(t, &r, "scores", map[string]int{"x": 1, "y": 2})
	write(t, &r, "scores", map[string]any{"x": nil})
	write(t, &r, "tags", []string{"go", "ai", "go"})
	write(t, &r, "tags", nil)
	got := r.Map()
	want := map[string]any{
		"question": "why?",
		"sources":  []any{map[string]any{"url": "a"}, map[string]any{"url": "b", "title": "B"}},
		"rounds":   int64(9007199254740994),
		"scores":   map[string]any{"y": 2.0},
		"tags":     []any{"ai", "go"},
		"best":     nil,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
	data, err := json.Marshal(r)
	wantJSON := `{"question":"why?","sources":[{"url":"a"},{"title":"B","url":"b"}],` +
		`"rounds":9007199254740994,"scores":{"y":2.0},"tags":["ai","go"]}`
	if string(data) != wantJSON || err != nil {
		t.Errorf("JSON: got %s, %v\nwant %s", data, err, wantJSON)
	}
}

func TestRecordErrorNamesThePlace(t *testing.T) {
	r := article(t).New()
	tests := []struct {
		field string
		v     any
		want  string
	}{
		{"sources", []any{map[string]any{"url": "a"}, map[string]any{"url": 7}}, "state: sources[1].url: want string, got number"},
		{"sources", map[string]any{"title": "x"}, "state: sources.url: missing; want string"},
		{"sources", map[string]any{"url": "x", "lang": "en"}, "state: sources.lang: unknown member; the members are url: string, title?: string"},
		{"rounds", 1.5, "state: rounds: want int, got number 1.5"},
		{"rounds", "1", "state: rounds: want int, got string"},
		{"scores", map[string]any{"a b": true}, `state: scores["a b"]: want number, got bool`},
		{"scores", []any{1}, "state: scores: want map<number>, got list"},
		{"tags", []any{"a", nil}, "state: tags[1]: want string, got null"},
		{"best", math.NaN(), "state: best: NaN cannot be stored"},
		{"bset", 1, `state: unknown field "bset"; did you mean "best"? the fields are question, sources, rounds, scores, tags, best`},
	}
	for _, tt := range tests {
		if err := r.Write(tt.field, tt.v); err == nil || err.Error() != tt.want {
			t.Errorf("Write %s %v:\ngot  %v\nwant %s", tt.field, tt.v, err, tt.want)
		}
	}
	if data, _ := json.Marshal(r); string(data) != `{"sources":[],"rounds":0,"scores":{},"tags":[]}` {
		t.Errorf("a write that fails must leave no trace; got %s", data)
	}
}

func TestRecordInputReportsEveryMistake(t *testing.T) {
	r := article(t).New()
	err := json.Unmarshal([]byte(`{"question":1,"nope":2,"rounds":2,"tags":["x"],"also":3}`), &r)
	for _, want := range []string{`"nope"`, `"also"`, "question: want string, got number"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to mention %s", err, want)
		}
	}
	if !errors.Is(err, state.ErrUnknownField) {
		t.Errorf("got %v, want ErrUnknownField in it", err)
	}
}

func TestRecordViewsAreIndependent(t *testing.T) {
	s := article(t).Schema()
	master, view := s.New(), s.New()
	r := view.State.(*state.Record)
	write(t, r, "rounds", 2)
	write(t, r, "tags", "x")
	before := fmt.Sprint(master.State.(*state.Record).Map())
	if v, _ := r.Get("rounds"); v != int64(5) {
		t.Errorf("a view must read its default and its own write: got %v, want 5", v)
	}
	i, _ := s.Index("rounds")
	if err := master.Channels[i].Fold(view.Channels[i : i+1]); err != nil {
		t.Fatal(err)
	}
	s.Reset(master, i)
	if after := fmt.Sprint(master.State.(*state.Record).Map()); after != before {
		t.Errorf("got %s after fold and reset, want %s", after, before)
	}
	if n := testing.AllocsPerRun(100, func() { s.Assign(view, master) }); n != 0 {
		t.Errorf("Assign of a record: %v allocations, want 0", n)
	}
	if view.Channels[i].Wrote() {
		t.Error("Assign must also copy that nothing was written")
	}
}

func TestRecordOverwrite(t *testing.T) {
	r := article(t).New()
	for name, v := range map[string]any{
		"question": "q", "sources": []any{}, "rounds": 7, "scores": map[string]any{"a": 1}, "tags": []any{"t"}, "best": 1,
	} {
		write(t, &r, name, map[string]any{"sources": []any{map[string]any{"url": "old"}}, "scores": map[string]any{"old": 1}}[name])
		if err := r.Overwrite(name, v); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"question":"q","sources":[],"rounds":7,"scores":{"a":1.0},"tags":["t"],"best":1}`
	if data, _ := json.Marshal(r); string(data) != want {
		t.Errorf("got %s, want %s", data, want)
	}
}

func TestRecordOfAnotherVersionIsFound(t *testing.T) {
	s := article(t).Schema()
	v := s.Blank()
	i, _ := s.Index("question")
	if err := v.Channels[i].Restore(decoder("42")); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(v); err == nil || err.Error() != "state: question: want string, got number" {
		t.Errorf("got %v, want the restored value named", err)
	}
	if err := s.Check(s.New()); err != nil {
		t.Errorf("defaults: %v", err)
	}
}

func TestUntrackedHoldsAHandle(t *testing.T) {
	sh, err := state.NewShape(state.RecordField{Name: "client", Kind: state.KindUntracked})
	if err != nil {
		t.Fatal(err)
	}
	r := sh.New()
	handle := make(chan int)
	write(t, &r, "client", handle)
	if v, _ := r.Get("client"); v != handle {
		t.Errorf("got %v, want the handle itself", v)
	}
}

func TestZeroRecordIsEmpty(t *testing.T) {
	var r state.Record
	if err := r.Write("x", 1); err == nil {
		t.Error("Write to a Record without a Shape: want an error")
	}
	if _, ok := r.Get("x"); ok || len(r.Map()) != 0 {
		t.Error("a Record without a Shape has no fields")
	}
	s := article(t).Schema()
	v := s.New()
	s.Assign(v, state.View{State: &r})
	if data, _ := s.Encode(v); string(data) != `{"sources":[],"rounds":0,"scores":{},"tags":[]}` {
		t.Errorf("as an input it writes nothing; got %s", data)
	}
}

func TestShapeReportsEveryMistake(t *testing.T) {
	num := mustType("number", nil)
	_, err := state.NewShape(
		state.RecordField{Name: ""},
		state.RecordField{Name: "a b"},
		state.RecordField{Name: "x"},
		state.RecordField{Name: "x"},
		state.RecordField{Name: "k", Kind: "lits"},
		state.RecordField{Name: "s", Kind: state.KindSum},
		state.RecordField{Name: "m", Kind: state.KindMap, Type: num},
		state.RecordField{Name: "l", Kind: state.KindList, Type: num},
		state.RecordField{Name: "t", Kind: state.KindSet, Type: mustType("list<bool>", nil)},
	)
	var se *state.SchemaError
	if !errors.As(err, &se) || len(se.Mistakes) != 8 {
		t.Fatalf("got %v, want 8 mistakes", err)
	}
	_, err = state.NewShape(
		state.RecordField{Name: "n", Type: num, Default: json.RawMessage(`"x"`)},
		state.RecordField{Name: "o", Default: json.RawMessage(`{`)},
	)
	if !errors.As(err, &se) || len(se.Mistakes) != 2 {
		t.Fatalf("got %v, want 2 mistakes", err)
	}
}

// FuzzRecord feeds any JSON to a record of every kind: it must not panic, and
// what it takes must come back from its own JSON.
func FuzzRecord(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"value":{"a":[1,2.0,-0,1e400]}}`, `{"sum":9223372036854775808}`,
		`{"map":{"a":null,"b":1}}`, `{"set":[3,1,3.0]}`, `{"list":{"n":1}}`, `{"topic":[[[]]]}`, `{"max":1}{`,
	} {
		f.Add([]byte(seed))
	}
	sh, err := state.NewShape(kindFields()...)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := sh.New(), sh.New()
		if a.UnmarshalJSON(data) != nil {
			return
		}
		once, err := json.Marshal(a)
		if err != nil {
			t.Fatalf("took %q and cannot encode it: %v", data, err)
		}
		if err := b.UnmarshalJSON(once); err != nil {
			t.Fatalf("wrote %s and cannot read it: %v", once, err)
		}
		if twice, _ := json.Marshal(b); string(twice) != string(once) {
			t.Fatalf("round trip: got %s, want %s", twice, once)
		}
	})
}

func TestEveryKindHoldsItsTypes(t *testing.T) {
	for kind, texts := range map[state.Kind]string{
		state.KindSum: "int number", state.KindMax: "int number string", state.KindMin: "int number string",
		state.KindSet: "list<int> list<number> list<string>", state.KindList: "any list<bool>",
		state.KindMap: "any map<any>", state.KindTopic: "any list<int>", state.KindUntracked: "any int",
		state.KindOnce: "any bool", state.KindStack: "any list<int>", state.KindDeepMerge: "any map<map<int>> map<list<int>>",
	} {
		for _, text := range strings.Fields(texts) {
			sh, err := state.NewShape(state.RecordField{Name: "f", Kind: kind, Type: mustType(text, nil)})
			if err != nil {
				t.Errorf("%s %s: %v", kind, text, err)
				continue
			}
			if got := sh.Schema().Fields()[0].Type; got != string(kind)+" "+text {
				t.Errorf("got type %q, want %q", got, string(kind)+" "+text)
			}
		}
	}
}

func TestTopicHasNothingToOverwrite(t *testing.T) {
	sh, err := state.NewShape(state.RecordField{Name: "inbox", Kind: state.KindTopic})
	if err != nil {
		t.Fatal(err)
	}
	r := sh.New()
	if err := r.Overwrite("inbox", []any{1}); err == nil || !strings.HasPrefix(err.Error(), "state: inbox: ") {
		t.Errorf("got %v, want an error that names the field", err)
	}
}
