package state_test

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// recordSubjects are the channels of a Record, one of each kind.
func recordSubjects() (all []subject) {
	for _, f := range kindFields() {
		sh, err := record.NewShape(f)
		if err != nil {
			panic(err)
		}
		all = append(all, recordSubject(f, sh.Schema()))
	}
	return all
}

func recordSubject(f record.Field, schema *state.Schema) subject {
	view := func(c state.Channel) state.View { return c.(tested).p.(state.View) }
	fresh := func() state.Channel { v := schema.Blank(); return tested{v.Channels[0], v} }
	scalar := f.Kind == state.KindValue || f.Kind == state.KindEphemeral || f.Kind == state.KindUntracked || f.Kind == state.KindOnce
	return subject{
		name:  "Record/" + f.Name,
		fresh: fresh,
		copy: func(c state.Channel) state.Channel {
			to := fresh()
			schema.AssignField(view(to), view(c), 0)
			return to
		},
		write: func(t *rapid.T, c state.Channel) {
			if has, _ := c.MarshalJSON(); f.Kind == state.KindOnce && string(has) != "null" {
				return // a second write is an error
			}
			data := fmt.Sprintf(`{%q:%s}`, f.Name, plainJSON(f).Draw(t, "json"))
			if err := schema.Decode(view(c), []byte(data)); err != nil {
				t.Fatalf("Decode %s: %v", data, err)
			}
		},
		single: scalar,
		latest: scalar || f.Kind == state.KindLatest || f.Kind == state.KindTopic,
		secret: f.Kind == state.KindUntracked,
	}
}

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

// plainJSON generates JSON that fits the field.
func plainJSON(f record.Field) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		data, err := json.Marshal(plainValue(t, f.Type))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	})
}

func plainValue(t *rapid.T, typ record.Type) any {
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
