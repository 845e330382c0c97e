package workflow

import (
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/state/record"
)

// TypeName is a parameter that names a type of the file, such as Article or
// list<string>. It is checked when the file is loaded; see [Env.Schema].
type TypeName struct{ text string }

// IsZero reports whether no type was named.
func (t TypeName) IsZero() bool { return t.text == "" }

// String returns the name as it was written.
func (t TypeName) String() string { return t.text }

// UnmarshalJSON reads a text.
func (t *TypeName) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &t.text) }

// Schema returns the JSON Schema of a type of the file.
func (e Env) Schema(t TypeName) (json.RawMessage, error) {
	typ, err := e.typeOf(t)
	if err != nil {
		return nil, err
	}
	return json.Marshal(schemaOf(typ))
}

// Convert returns a value of a type of the file, with its defaults, or an error that names
// the part that does not fit.
func (e Env) Convert(t TypeName, data json.RawMessage) (any, error) {
	typ, err := e.typeOf(t)
	if err != nil {
		return nil, err
	}
	return typ.Convert(data)
}

func (e Env) typeOf(t TypeName) (record.Type, error) {
	typ, err := record.ParseType(t.text, e.types)
	if err != nil {
		return typ, fmt.Errorf("workflow: %w", err)
	}
	return typ, nil
}
