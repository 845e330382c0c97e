package state

import (
	"fmt"
	"slices"

	"github.com/weftrun/weft/internal/fieldname"
)

// Layout creates, copies and reads the states of a [Schema]. [SchemaOf] has one for structs, and
// package record has one for states without a Go type. States are passed by pointer, and the
// channels of a View are in the order of the fields. A Layout is safe for concurrent use.
type Layout interface {
	// Blank returns a state in which every channel is its zero value.
	Blank() View
	// Blanks returns n of them.
	Blanks(n int) []View
	// Over returns a view of the state that p points to, or of one equal to it.
	Over(p any) View
	// Copy returns a state equal to the one that p points to, and independent of it.
	Copy(p any) any
	// Own makes the state that p points to independent of those that it was assigned from or to.
	Own(p any)
	// Assign makes the state that dst points to an independent copy of the one that src points to.
	Assign(dst, src any)
	// AssignField makes field i of dst a copy of the same field of src.
	AssignField(dst, src View, i int)
	// Decode records JSON as a write to field i of v. Its error names the field.
	Decode(v View, i int, data []byte) error
	// Check returns an error that names the field when the value of field i of v does not fit its
	// declared type.
	Check(v View, i int) error
}

// NewSchema returns the schema of states with these fields and the layout l. Use it for states that
// are not structs of channels. typ is the name of the state type in errors. All mistakes are
// reported as one *SchemaError: a bad or repeated name, a negative version (0 means 1), an invalid
// default.
func NewSchema(typ string, fields []Field, l Layout) (*Schema, error) {
	fields = slices.Clone(fields)
	var mistakes []Mistake
	seen := map[string]bool{}
	for i := range fields {
		f := &fields[i]
		if fault := f.fault(seen[f.Name]); fault != "" {
			mistakes = append(mistakes, Mistake{f.Name, fault})
		}
		seen[f.Name] = true
		f.Version = max(1, f.Version)
	}
	return newSchema(typ, fields, l, mistakes)
}

// fault returns the mistake in a field that does not come from a struct, or "".
func (f *Field) fault(declared bool) string {
	if declared {
		return "the field is declared twice"
	}
	if fault := fieldname.Fault(f.Name); fault != "" {
		return fault
	}
	if f.Version < 0 {
		return fmt.Sprintf("its version is %d; versions count from 1", f.Version)
	}
	if f.Was != "" {
		if fault := fieldname.Fault(f.Was); fault != "" {
			return "its former name: " + fault
		}
	}
	return ""
}
