package record_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

func mustType(text string, named map[string]record.Type) record.Type {
	t, err := record.ParseType(text, named)
	if err != nil {
		panic(err)
	}
	return t
}

// kindFields returns a field of every kind.
func kindFields() (fields []record.Field) {
	types := map[state.Kind]string{
		state.KindList: "list<object{n: int, note?: any}>", state.KindTopic: "list<any>",
		state.KindSum: "int", state.KindMax: "number", state.KindMin: "string",
		state.KindMap: "map<number>", state.KindSet: "list<int>", state.KindValue: "any",
		state.KindLatest: "number", state.KindEphemeral: "map<int>", state.KindUntracked: "string",
		state.KindOnce: "map<string>", state.KindStack: "list<number>", state.KindDeepMerge: "map<object{n?: int, deep?: map<any>}>",
	}
	for _, k := range state.Kinds() {
		fields = append(fields, record.Field{Name: string(k), Kind: k, Type: mustType(types[k], nil)})
	}
	return fields
}

func article(t testing.TB) *record.Shape {
	source := mustType("object{url: string, title?: string}", nil)
	sh, err := record.NewShape(
		record.Field{Name: "question", Type: mustType("string", nil)},
		record.Field{Name: "sources", Kind: state.KindList,
			Type: mustType("list<Source>", map[string]record.Type{"Source": source})},
		record.Field{Name: "rounds", Kind: state.KindSum, Type: mustType("int", nil), Turn: true, Default: json.RawMessage("3")},
		record.Field{Name: "scores", Kind: state.KindMap, Type: mustType("map<number>", nil)},
		record.Field{Name: "tags", Kind: state.KindSet, Type: mustType("list<string>", nil)},
		record.Field{Name: "best", Kind: state.KindMax, Type: mustType("number", nil)},
	)
	if err != nil {
		t.Fatal(err)
	}
	return sh
}

func write(t *testing.T, r *record.Record, name string, v any) {
	t.Helper()
	if err := r.Write(name, v); err != nil {
		t.Fatal(err)
	}
}

func TestRecord_MergesByKind(t *testing.T) {
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

func TestRecord_ErrorNamesThePlace(t *testing.T) {
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

func TestRecord_InputReportsEveryMistake(t *testing.T) {
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

func TestRecord_ViewsAreIndependent(t *testing.T) {
	s := article(t).Schema()
	master, view := s.New(), s.New()
	r := view.State.(*record.Record)
	write(t, r, "rounds", 2)
	write(t, r, "tags", "x")
	before := fmt.Sprint(master.State.(*record.Record).Map())
	if v, _ := r.Get("rounds"); v != int64(5) {
		t.Errorf("a view must read its default and its own write: got %v, want 5", v)
	}
	i, _ := s.Index("rounds")
	if err := master.Channels[i].Fold(view.Channels[i : i+1]); err != nil {
		t.Fatal(err)
	}
	s.Reset(master, i)
	if after := fmt.Sprint(master.State.(*record.Record).Map()); after != before {
		t.Errorf("got %s after fold and reset, want %s", after, before)
	}
	if n := testing.AllocsPerRun(100, func() { s.Assign(view, master) }); n != 0 {
		t.Errorf("Assign of a record: %v allocations, want 0", n)
	}
	if view.Channels[i].Wrote() {
		t.Error("Assign must also copy that nothing was written")
	}
}

func TestRecord_Overwrite(t *testing.T) {
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

func TestRecord_OfAnotherVersionIsDetected(t *testing.T) {
	s := article(t).Schema()
	v := s.Blank()
	i, _ := s.Index("question")
	if err := v.Channels[i].Restore(func(into any) error { return json.Unmarshal([]byte("42"), into) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(v); err == nil || err.Error() != "state: question: want string, got number" {
		t.Errorf("got %v, want the restored value named", err)
	}
	if err := s.Check(s.New()); err != nil {
		t.Errorf("defaults: %v", err)
	}
}

func TestUntracked_HoldsAHandle(t *testing.T) {
	sh, err := record.NewShape(record.Field{Name: "client", Kind: state.KindUntracked})
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

func TestRecord_ZeroIsEmpty(t *testing.T) {
	var r record.Record
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

func TestShape_ReportsEveryMistake(t *testing.T) {
	num := mustType("number", nil)
	_, err := record.NewShape(
		record.Field{Name: ""},
		record.Field{Name: "a b"},
		record.Field{Name: "x"},
		record.Field{Name: "x"},
		record.Field{Name: "k", Kind: "lits"},
		record.Field{Name: "s", Kind: state.KindSum},
		record.Field{Name: "m", Kind: state.KindMap, Type: num},
		record.Field{Name: "l", Kind: state.KindList, Type: num},
		record.Field{Name: "t", Kind: state.KindSet, Type: mustType("list<bool>", nil)},
	)
	var se *state.SchemaError
	if !errors.As(err, &se) || len(se.Mistakes) != 8 {
		t.Fatalf("got %v, want 8 mistakes", err)
	}
	_, err = record.NewShape(
		record.Field{Name: "n", Type: num, Default: json.RawMessage(`"x"`)},
		record.Field{Name: "o", Default: json.RawMessage(`{`)},
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
	sh, err := record.NewShape(kindFields()...)
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

func TestKinds_HoldTheirTypes(t *testing.T) {
	for kind, texts := range map[state.Kind]string{
		state.KindSum: "int number", state.KindMax: "int number string", state.KindMin: "int number string",
		state.KindSet: "list<int> list<number> list<string>", state.KindList: "any list<bool>",
		state.KindMap: "any map<any>", state.KindTopic: "any list<int>", state.KindUntracked: "any int",
		state.KindOnce: "any bool", state.KindStack: "any list<int>", state.KindDeepMerge: "any map<map<int>> map<list<int>>",
	} {
		for _, text := range strings.Fields(texts) {
			sh, err := record.NewShape(record.Field{Name: "f", Kind: kind, Type: mustType(text, nil)})
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

func TestTopic_HasNothingToOverwrite(t *testing.T) {
	sh, err := record.NewShape(record.Field{Name: "inbox", Kind: state.KindTopic})
	if err != nil {
		t.Fatal(err)
	}
	r := sh.New()
	if err := r.Overwrite("inbox", []any{1}); err == nil || !strings.HasPrefix(err.Error(), "state: inbox: ") {
		t.Errorf("got %v, want an error that names the field", err)
	}
}

func TestSchemaOf_NamesTheWayToTheSchemaOfARecord(t *testing.T) {
	if _, err := state.SchemaOf[record.Record](); err == nil || !strings.Contains(err.Error(), "use the method Schema of a value") {
		t.Errorf("got %v, want the way to the schema of a Record", err)
	}
	sh := article(t)
	if r := sh.New(); r.Schema() != sh.Schema() {
		t.Error("a record has not the schema of its shape")
	}
	if r := (&record.Record{}); r.Schema() != nil {
		t.Error("a record without a shape has a schema")
	}
}

func TestRecord_ConcurrentUse(t *testing.T) {
	if !article(t).Schema().Safe() {
		t.Error("a Record is made of the channels of package state")
	}
}

func TestRecord_HasVersionsAndFormerNames(t *testing.T) {
	sh, err := record.NewShape(record.Field{Name: "a", Version: 2, Was: "b"}, record.Field{Name: "c", Kind: state.KindSet, Type: mustType("list<int>", nil)})
	if err != nil {
		t.Fatal(err)
	}
	f := sh.Schema().Fields()
	if f[0].Version != 2 || f[0].Was != "b" || f[0].Kind != state.KindValue || f[1].Version != 1 || f[1].Kind != state.KindSet {
		t.Errorf("got %+v", f)
	}
}

func TestNewShape_ReportsBadVersionsAndFormerNames(t *testing.T) {
	_, err := record.NewShape(
		record.Field{Name: "a", Version: -1},
		record.Field{Name: "b", Was: "a b"},
		record.Field{Name: "c"}, record.Field{Name: "d", Was: "c"},
	)
	var se *state.SchemaError
	if !errors.As(err, &se) || len(se.Mistakes) != 2 {
		t.Errorf("got %v, want the mistakes of a and b", err)
	}
}

func TestRecord_NamesTheSecondWriteOfAOnce(t *testing.T) {
	sh, err := record.NewShape(record.Field{Name: "id", Kind: state.KindOnce, Type: mustType("string", nil)})
	if err != nil {
		t.Fatal(err)
	}
	r := sh.New()
	write(t, &r, "id", nil)
	write(t, &r, "id", "a")
	if err := r.Write("id", "b"); err == nil || err.Error() != "state: id: it has a value, and is written once" {
		t.Errorf("got %v", err)
	}
	if err := r.Overwrite("id", nil); err != nil {
		t.Fatal(err)
	}
	write(t, &r, "id", "c")
	if v, _ := r.Get("id"); v != "c" {
		t.Errorf("got %v, want c: what was cleared can be written again", v)
	}
}

func TestRecord_ChecksThePartsOfADeepMerge(t *testing.T) {
	typ := mustType("object{name?: string, size?: object{w?: int, h?: int}}", nil)
	sh, err := record.NewShape(record.Field{Name: "cfg", Kind: state.KindDeepMerge, Type: typ})
	if err != nil {
		t.Fatal(err)
	}
	r := sh.New()
	write(t, &r, "cfg", map[string]any{"name": "a", "size": map[string]any{"w": 1, "h": 2}})
	write(t, &r, "cfg", map[string]any{"name": nil, "size": map[string]any{"h": 3}})
	if got := r.String(); got != `{"cfg":{"size":{"h":3,"w":1}}}` {
		t.Errorf("got %s", got)
	}
	for v, want := range map[string]string{
		`{"size":{"d":1}}`:   "state: cfg.size.d: unknown member",
		`{"size":{"w":"x"}}`: "state: cfg.size.w: want int, got string",
		`{"size":3}`:         "state: cfg.size: want object",
		`[1]`:                "state: cfg: want object",
	} {
		if err := r.Write("cfg", json.RawMessage(v)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s…", v, err, want)
		}
	}
	_, err = record.NewShape(record.Field{Name: "cfg", Kind: state.KindDeepMerge, Type: mustType("object{a: int}", nil)})
	if err == nil || !strings.Contains(err.Error(), "members are all optional") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkRecordStep(b *testing.B) {
	s := article(b).Schema()
	run, view := s.New(), s.New()
	i, _ := s.Index("rounds")
	b.ReportAllocs()
	for b.Loop() {
		s.Assign(view, run)
		if err := view.State.(*record.Record).Write("rounds", 1); err != nil {
			b.Fatal(err)
		}
		if err := run.Channels[i].Fold(view.Channels[i : i+1]); err != nil {
			b.Fatal(err)
		}
	}
}

// An untracked field of any type takes Go values as they are, and JSON as plain values.
func TestUnmarshalJSON_UntrackedFieldIsPlain(t *testing.T) {
	shape, err := record.NewShape(record.Field{Name: "any", Kind: state.KindUntracked})
	if err != nil {
		t.Fatal(err)
	}
	r := shape.New()
	if err := json.Unmarshal([]byte(`{"any": {"n": 5, "f": [1.5]}}`), &r); err != nil {
		t.Fatal(err)
	}
	got, _ := r.Get("any")
	want := any(map[string]any{"n": int64(5), "f": []any{1.5}})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}
