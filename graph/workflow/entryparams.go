package workflow

import (
	"encoding/json"

	"github.com/weftrun/weft/state/record"
)

// Form is a parameter of an [Entry]: fields by name, each a type or the long form, as in the form
// of a question.
type Form struct {
	typ    record.Type
	schema Values
}

// IsZero reports whether the parameter is missing.
func (f Form) IsZero() bool { return len(f.schema) == 0 }

// UnmarshalJSON does nothing: a Form is decoded from the file itself.
func (f *Form) UnmarshalJSON([]byte) error { return nil }

// Names returns the names of the fields, in the order of the file.
func (f Form) Names() (names []string) {
	for _, m := range f.typ.Members() {
		names = append(names, m.Name)
	}
	return names
}

// Convert returns an object of the fields, with their defaults, or an error that names the field
// that does not fit.
func (f Form) Convert(data json.RawMessage) (map[string]any, error) {
	v, err := f.typ.Convert(data)
	fields, _ := v.(map[string]any)
	return fields, err
}

// FormSchema returns the JSON Schema of an object with the fields of all forms.
func FormSchema(forms ...Form) (json.RawMessage, error) {
	var members []record.Member
	var properties Values
	for _, f := range forms {
		members = append(members, f.typ.Members()...)
		if of, ok := f.schema.Get("properties"); ok {
			properties = append(properties, of.(Values)...)
		}
	}
	return json.Marshal(objectSchema(members, properties))
}

// InputSchema returns the JSON Schema of the input of a run.
func (w *Workflow) InputSchema() (json.RawMessage, error) {
	var members []record.Member
	var properties Values
	for _, f := range w.plan.named(w.plan.input) {
		members = append(members, record.Member{Name: f.Name, Type: f.Type, Optional: !f.required})
		properties = append(properties, Value{f.Name, schemaOf(f.Type)})
	}
	return json.Marshal(objectSchema(members, properties))
}

// File is a parameter of an [Entry]: the path of another workflow, seen from the file that names
// it.
type File struct {
	path string
	w    *Workflow
}

// IsZero reports whether the parameter is missing.
func (f File) IsZero() bool { return f.path == "" }

// UnmarshalJSON reads the path. The workflow is loaded with the file that names it.
func (f *File) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &f.path) }

// Workflow returns the workflow.
func (f File) Workflow() *Workflow { return f.w }
