package record

import (
	"reflect"

	"github.com/weftrun/weft/state"
)

// Foreign is a channel of another package, or of a program, as a field of a [Record]:
// such as message.Log, or a [state.Reduced] with a reducer of your own. [ForeignOf] makes one.
//
// The record reads it by its JSON form, and writes to it as an input does: by
// UnmarshalJSON. A field of it has the same name of its type in a program, and the same
// stored bytes, as in a struct of channels.
type Foreign struct {
	name string
	bind func(t *Type) binding
}

// ForeignOf returns the channel type C as a Foreign.
func ForeignOf[C any, P pointer[C]]() *Foreign {
	return &Foreign{reflect.TypeFor[C]().String(), func(t *Type) binding {
		b := bindingOf[C, P]()
		b.get, b.write = readJSON, t.writeJSON
		b.overwrite = func(any, any) *TypeError {
			return &TypeError{What: "the channel has no Overwrite by name"}
		}
		return b
	}}
}

// readJSON returns a channel's value by way of its JSON.
func readJSON(c any) (any, bool) {
	data, err := c.(state.Channeler).Channel().MarshalJSON()
	if err != nil {
		return nil, false
	}
	v, err := Type{}.decode(data)
	return v, err == nil && v != nil
}

// writeJSON writes a value of type t to a channel by way of its JSON; nil writes nothing.
func (t *Type) writeJSON(c any, v any) *TypeError {
	v, err := simplify(v)
	if v == nil || err != nil {
		return err
	}
	if v, err = t.convert(v, 0); err != nil {
		return err
	}
	data, why := Type{}.Encode(v)
	if why == nil {
		why = c.(state.Channeler).Channel().UnmarshalJSON(data)
	}
	if why != nil {
		return &TypeError{What: why.Error()}
	}
	return nil
}
