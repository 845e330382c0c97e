package work

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

type rawJSON = json.RawMessage

// kindsOf returns the kinds of the fields of a graph's state, by name.
func kindsOf(g graph.Untyped) map[string]string {
	var schema struct {
		Properties map[string]struct {
			Kind string `json:"x-weft-kind"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(g.Schemas().State, &schema) // a schema of the caller may have no kinds
	kinds := map[string]string{}
	for name, p := range schema.Properties {
		kinds[name] = p.Kind
	}
	return kinds
}

// writesOf returns what each task of a step wrote, as far as the states before and after it show.
// What several tasks wrote to one field is that of the last.
func writesOf(kinds map[string]string, before, after []byte, tasks []ranTask) []json.RawMessage {
	var was, is map[string]json.RawMessage
	_ = json.Unmarshal(before, &was) // of this store
	_ = json.Unmarshal(after, &is)
	all := make([]json.RawMessage, len(tasks))
	seen := map[string]bool{}
	for i := len(tasks) - 1; i >= 0; i-- {
		writes := map[string]json.RawMessage{}
		for _, name := range tasks[i].wrote {
			if value, ok := is[name]; ok && !seen[name] {
				writes[name] = written(kinds[name], was[name], value)
			}
			seen[name] = true
		}
		all[i], _ = json.Marshal(writes) // of JSON
	}
	return all
}

// written returns what a write added to a field of a kind, or the new value.
func written(kind string, before, after json.RawMessage) json.RawMessage {
	switch state.Kind(kind) {
	case state.KindValue, state.KindLatest, state.KindEphemeral, state.KindOnce, state.KindMax, state.KindMin:
		return after
	case state.KindSum:
		return difference(before, after)
	}
	switch {
	case len(after) > 0 && after[0] == '[':
		return addedItems(before, after)
	case kind == string(state.KindMap):
		return changedMembers(before, after)
	}
	return after
}

func difference(before, after json.RawMessage) json.RawMessage {
	was, is := new(big.Rat), new(big.Rat)
	if _, ok := is.SetString(string(after)); !ok || len(after) > 64 {
		return after
	}
	if _, ok := was.SetString(string(before)); !ok || len(before) > 64 {
		return after
	}
	d := is.Sub(is, was)
	if d.IsInt() {
		return json.RawMessage(d.Num().String())
	}
	f, _ := d.Float64()
	data, err := json.Marshal(f)
	if err != nil {
		return after
	}
	return data
}

// addedItems returns the items of a list that are not in the list before.
func addedItems(before, after json.RawMessage) json.RawMessage {
	var was, is []json.RawMessage
	if json.Unmarshal(after, &is) != nil || json.Unmarshal(before, &was) != nil {
		return after
	}
	if n := len(was); n <= len(is) && slices.EqualFunc(was, is[:n], equalJSON) {
		is = is[n:]
	} else {
		had := map[string]bool{}
		for _, v := range was {
			had[string(v)] = true
		}
		is = slices.DeleteFunc(is, func(v json.RawMessage) bool { return had[string(v)] })
	}
	data, _ := json.Marshal(is) // of JSON
	return data
}

func equalJSON(a, b json.RawMessage) bool { return bytes.Equal(a, b) }

// changedMembers returns the members of an object that are new or have another value.
func changedMembers(before, after json.RawMessage) json.RawMessage {
	var was, is map[string]json.RawMessage
	if json.Unmarshal(after, &is) != nil || json.Unmarshal(before, &was) != nil {
		return after
	}
	maps.DeleteFunc(is, func(name string, v json.RawMessage) bool {
		old, found := was[name]
		return found && bytes.Equal(old, v)
	})
	data, _ := json.Marshal(is) // of JSON
	return data
}
