package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
)

// startNode is the node that phase 0 of an input shows as due.
const startNode = "__start__"

// inputState returns the state before the input of a commit.
func (v *View) inputState(s Snapshot) (out ThreadState, err error) {
	before := v.before(s.Info)
	state := json.RawMessage("{}")
	if v.Initial != nil && parentOf(s.Info) == 0 {
		state = v.Initial
	}
	if before != nil && before.State != nil {
		state = before.State
	}
	if out.Values, err = v.Values(state); err != nil {
		return out, err
	}
	result, err := v.delta(state, s.State, wroteInput(s, state))
	if err != nil {
		return out, err
	}
	id := CheckpointOf(s.Info.Checkpoint, 0, s.Info.Time).String()
	out.Next = []string{startNode}
	out.Tasks = []ThreadTask{{ID: uuid.NewSHA1(idSpace, []byte("weft:input:"+id)).String(), Name: startNode, Path: PullPath(startNode),
		Interrupts: []Interrupt{}, Result: result}}
	out.Interrupts = []Interrupt{}
	out.Metadata = v.metadata(s.Info, 0)
	out.CreatedAt = At(s.Info.Time)
	out.Checkpoint = v.checkpoint(s.Info, 0)
	out.ParentCheckpoint = v.parent(s.Info, 0)
	return out, nil
}

// wroteInput returns the fields that an input wrote: those that differ from the state before it. A
// field that is still empty was not written.
func wroteInput(s Snapshot, before json.RawMessage) (names []string) {
	was := members(before)
	for name, now := range members(s.State) {
		old := was[name]
		if empty := string(now) == "[]" || string(now) == "{}"; !bytes.Equal(old, now) && (old != nil || !empty) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// convert returns an object with the fields that are messages converted. Its members keep their
// order.
func convert(state json.RawMessage, messages []string) (json.RawMessage, error) {
	if isNull(state) {
		return json.RawMessage("{}"), nil
	}
	if len(messages) == 0 {
		return state, nil
	}
	var o object
	err := eachMember(state, func(name string, value json.RawMessage) (err error) {
		if slices.Contains(messages, name) {
			value, err = MessagesField(value)
		}
		o.field(name, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return o.end()
}

// delta returns what was written to fields between two states: of a list that grew its new items,
// else the new value.
func (v *View) delta(before, after json.RawMessage, wrote []string) (json.RawMessage, error) {
	if after == nil {
		return nil, nil
	}
	was, now := members(before), members(after)
	var o object
	for _, name := range wrote {
		if value, ok := now[name]; ok {
			o.field(name, added(was[name], value))
		}
	}
	data, err := o.end()
	if err != nil {
		return nil, err
	}
	return convert(data, v.Messages)
}

// added returns the items of a list that are not in the same list before, or the value if it is no
// list that grew.
func added(before, after json.RawMessage) json.RawMessage {
	var was, now []json.RawMessage
	if json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &now) != nil || len(was) > len(now) {
		return after
	}
	for i := range was {
		if !bytes.Equal(was[i], now[i]) {
			return after
		}
	}
	rest, _ := json.Marshal(now[len(was):]) // of JSON
	return rest
}
