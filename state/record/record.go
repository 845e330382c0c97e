package record

import (
	"errors"
	"fmt"

	"github.com/weftrun/weft/state"
)

// Record is the state of a graph that is written down: the same channels as in a
// struct, by name. It is made by [Shape.New], or by the runtime as a task's view.
//
// Values are plain: nil, bool, string, int64, float64, []any and map[string]any.
// Do not change what was read: siblings read it too. An assigned copy of a Record
// is the same Record, unlike a copy of a struct of channels.
type Record struct {
	shape    *Shape
	cells    []any           // pointers to the channels
	channels []state.Channel // the same, as the runtime sees them
}

var errNoShape = errors.New("state: a Record comes from Shape.New; this one has no fields")

// Schema returns the schema of the record's shape; nil when it has none.
func (r *Record) Schema() *state.Schema {
	if r.shape == nil {
		return nil
	}
	return r.shape.schema
}

// Get returns the value of a field with the holder's writes. ok is false when
// the field was never set or does not exist.
func (r *Record) Get(name string) (v any, ok bool) {
	if r.shape == nil {
		return nil, false
	}
	i, ok := r.shape.schema.Index(name)
	if !ok {
		return nil, false
	}
	return r.shape.bindings[i].get(r.cells[i])
}

// Write merges v into a field according to its kind. It sets a value, adds to a sum, and puts the
// entries of a map, where a nil entry deletes the key. To a list it appends the elements of v, or v
// itself if it is not a list. A nil v clears a value and is no write to other kinds. If v does not
// match the field's type, nothing is written.
func (r *Record) Write(name string, v any) error {
	b, i, err := r.find(name)
	if err != nil {
		return err
	}
	return r.shape.named(i, b.write(r.cells[i], v))
}

// Overwrite replaces the value of a field with v. It discards the writes of other tasks in the same
// step; two Overwrites in one step are an error.
func (r *Record) Overwrite(name string, v any) error {
	b, i, err := r.find(name)
	if err != nil {
		return err
	}
	return r.shape.named(i, b.overwrite(r.cells[i], v))
}

func (r *Record) find(name string) (*binding, int, error) {
	if r.shape == nil {
		return nil, 0, fmt.Errorf("field %q: %w", name, errNoShape)
	}
	i, err := r.shape.schema.Find(name)
	if err != nil {
		return nil, 0, err
	}
	return &r.shape.bindings[i], i, nil
}

// Map returns all fields by name, for an expression engine; an unset field is nil.
// The caller owns the map. It costs the size of the lists and maps in the record:
// where few fields are needed, Get is cheaper.
func (r *Record) Map() map[string]any {
	m := make(map[string]any, len(r.cells))
	for i, c := range r.cells {
		m[r.shape.fields[i].Name], _ = r.shape.bindings[i].get(c)
	}
	return m
}

// MarshalJSON returns an object by name, in the order of the fields. Fields
// without a value are left out.
func (r Record) MarshalJSON() ([]byte, error) {
	if r.shape == nil {
		return []byte("{}"), nil
	}
	return r.shape.schema.Encode(state.View{State: &r, Channels: r.channels})
}

// UnmarshalJSON records the members of an object as writes. All unknown names and
// all values of the wrong type are reported, as one error.
func (r *Record) UnmarshalJSON(data []byte) error {
	if r.shape == nil {
		return errNoShape
	}
	return r.shape.schema.Decode(state.View{State: r, Channels: r.channels}, data)
}

// String returns the value as JSON, for people who print a state.
func (r Record) String() string {
	data, err := r.MarshalJSON()
	if err != nil {
		return "%!(" + err.Error() + ")"
	}
	return string(data)
}
