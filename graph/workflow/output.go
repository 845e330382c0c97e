package workflow

import (
	"bytes"
	"encoding/json"

	"github.com/weftrun/weft/state/record"
)

// Values are named values in an order. Their JSON form is an object in that order.
type Values []Value

// Value is one of them: nil, bool, string, int64, float64, []any or map[string]any.
type Value struct {
	Name  string
	Value any
}

// Output returns the fields that the file lists under output, in that order; all
// fields if it has no such section. A field that was never set is nil.
func (w *Workflow) Output(rec *record.Record) Values {
	var vs Values
	for _, f := range w.outputs() {
		v, _ := rec.Get(f.Name)
		vs = append(vs, Value{f.Name, v})
	}
	return vs
}

// Get returns the value with this name.
func (vs Values) Get(name string) (v any, ok bool) {
	for _, v := range vs {
		if v.Name == name {
			return v.Value, true
		}
	}
	return nil, false
}

// Map returns the values by name.
func (vs Values) Map() map[string]any {
	m := make(map[string]any, len(vs))
	for _, v := range vs {
		m[v.Name] = v.Value
	}
	return m
}

// MarshalJSON returns an object in the order of the values.
func (vs Values) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, v := range vs {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(v.Name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(v.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
