package state

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/weftrun/weft/internal/fieldname"
)

// leaf is a channel found in a state type, with the way to it.
type leaf struct {
	Field
	index []int
}

// walker collects the channels of a state type and the mistakes in it.
type walker struct {
	leaves   []leaf
	mistakes []Mistake
	seen     map[string]string // wire name → Go path
}

func (w *walker) fail(path, format string, args ...any) {
	w.mistakes = append(w.mistakes, Mistake{path, fmt.Sprintf(format, args...)})
}

var channelerType = reflect.TypeFor[Channeler]()

// walk visits the fields of the struct t, which is found at path and whose fields
// have prefix before their wire names.
func (w *walker) walk(t reflect.Type, path, prefix string, index []int, turn bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		w.field(f, path+"."+f.Name, prefix, at, turn)
	}
}

func (w *walker) field(f reflect.StructField, path, prefix string, index []int, turn bool) {
	opts, err := parseTag(f.Tag.Get("weft"))
	if err != nil {
		w.fail(path, "%v", err)
		return
	}
	isChannel := reflect.PointerTo(f.Type).Implements(channelerType)
	isGroup := f.Type.Kind() == reflect.Struct && !isChannel
	name, dash := jsonName(f)
	switch {
	case f.Name == "_":
	case !f.IsExported() && !(f.Anonymous && isGroup):
		w.fail(path, "the field is not exported, so it could not be stored")
	case dash:
		w.fail(path, `the tag json:"-" would drop the field; a field that must not be stored is a state.Untracked`)
	case isChannel:
		w.channel(leaf{opts.field(prefix, name, f.Type, turn), index}, path, f.Type)
	case isGroup && !opts.forGroup():
		w.fail(path, "a default belongs to a channel, and so do a version and a former name; this is a group of them")
	case isGroup && f.Anonymous && f.Tag.Get("json") == "":
		w.walk(f.Type, path, prefix, index, turn || opts.turn)
	case isGroup:
		w.walk(f.Type, path, prefix+name+"_", index, turn || opts.turn)
	default:
		w.fail(path, "type %s is not a channel; write state.Value[%[1]s] or another channel", f.Type)
	}
}

func (w *walker) channel(l leaf, path string, t reflect.Type) {
	if other, dup := w.seen[l.Name]; dup {
		w.fail(path, "the wire name %q is already taken by %s", l.Name, other)
		return
	}
	w.seen[l.Name] = path
	w.leaves = append(w.leaves, l)
	if in := unusedFold(t); in != nil {
		w.fail(path, "the Fold of %s is not used: its Channel is that of the embedded %s; give it a Channel of its own", t, in)
	}
	if e, ok := channelOf(t).(elementer); ok {
		for _, et := range e.elements() {
			if why := unstorable(et, nil); why != "" {
				w.fail(path, "%s cannot be stored: %s", et, why)
			}
		}
	}
}

// channelOf returns the channel of a new t, whose pointer is a Channeler.
func channelOf(t reflect.Type) Channel { return reflect.New(t).Interface().(Channeler).Channel() }

// unusedFold returns the type that is embedded in t and whose Channel t has by promotion, although
// t has a Fold; or nil.
func unusedFold(t reflect.Type) reflect.Type {
	if _, folds := reflect.PointerTo(t).MethodByName("Fold"); !folds || t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if _, also := reflect.PointerTo(f.Type).MethodByName("Fold"); also || !f.Anonymous {
			continue
		}
		if reflect.PointerTo(f.Type).Implements(channelerType) && reflect.TypeOf(channelOf(t)) == reflect.TypeOf(channelOf(f.Type)) {
			return f.Type
		}
	}
	return nil
}

// elementer is a channel that names the types it stores.
type elementer interface{ elements() []reflect.Type }

type tagOptions struct {
	turn    bool
	version int
	was     string
	def     json.RawMessage
}

// forGroup reports whether the options are valid for a group.
func (o tagOptions) forGroup() bool { return o.def == nil && o.version == 0 && o.was == "" }

// field returns the field that has the options.
func (o tagOptions) field(prefix, name string, t reflect.Type, turn bool) Field {
	f := Field{
		Name: prefix + name, Type: t.String(), Turn: turn || o.turn, Default: o.def,
		Version: max(1, o.version), Kind: kindOf(t),
	}
	if o.was != "" {
		f.Was = prefix + o.was
	}
	return f
}

// parseTag reads a weft tag: turn, version=N and was=NAME, and last, because it may hold
// commas, default=JSON.
func parseTag(tag string) (o tagOptions, err error) {
	for rest, more := tag, tag != ""; more; {
		if def, ok := strings.CutPrefix(rest, "default="); ok {
			if !json.Valid([]byte(def)) {
				return o, fmt.Errorf("tag weft:%q: the default is not JSON", tag)
			}
			o.def = json.RawMessage(def)
			return o, nil
		}
		var option string
		option, rest, more = strings.Cut(rest, ",")
		if !o.set(option) {
			return o, fmt.Errorf("tag weft:%q: want turn, version=N, was=NAME, and last default=JSON, with commas between them", tag)
		}
	}
	return o, nil
}

// set reads an option that is not given yet.
func (o *tagOptions) set(option string) bool {
	name, value, _ := strings.Cut(option, "=")
	switch {
	case option == "turn" && !o.turn:
		o.turn = true
	case name == "version" && o.version == 0:
		n, err := strconv.Atoi(value)
		o.version = n
		return err == nil && 0 < n && n < 1<<31 && value == strconv.Itoa(n)
	case name == "was" && o.was == "":
		o.was = value
		return fieldname.Fault(value) == ""
	default:
		return false
	}
	return true
}

// jsonName returns the field's name on the wire; dash is true for json:"-".
func jsonName(f reflect.StructField) (name string, dash bool) {
	tag := f.Tag.Get("json")
	if tag == "-" {
		return "", true
	}
	if name, _, _ = strings.Cut(tag, ","); name != "" {
		return name, false
	}
	return f.Name, false
}

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// unstorable returns why values of t do not survive encoding and decoding, or "" if they do. path
// guards against recursive types.
func unstorable(t reflect.Type, path []reflect.Type) string {
	for _, p := range path {
		if p == t {
			return ""
		}
	}
	path = append(path, t)
	p := reflect.PointerTo(t)
	if p.Implements(jsonMarshaler) && p.Implements(jsonUnmarshaler) ||
		p.Implements(textMarshaler) && p.Implements(textUnmarshaler) {
		return ""
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Sprintf("a %s has no stored form", t.Kind())
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Sprintf("the interface %s does not determine the Go type to decode into", t)
		}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return unstorable(t.Elem(), path)
	case reflect.Map:
		if k := t.Key(); !storableKey(k) {
			return fmt.Sprintf("a map key of type %s has no stored form", k)
		}
		return unstorable(t.Elem(), path)
	case reflect.Struct:
		return unstorableStruct(t, path)
	}
	return ""
}

func unstorableStruct(t reflect.Type, path []reflect.Type) string {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == "-" || f.Name == "_" {
			continue
		}
		if !f.IsExported() && !f.Anonymous {
			return fmt.Sprintf(`its field %s is not exported and would be lost (mark it json:"-" if that is meant)`, f.Name)
		}
		if why := unstorable(f.Type, path); why != "" {
			return fmt.Sprintf("its field %s: %s", f.Name, why)
		}
	}
	return ""
}

func storableKey(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return reflect.PointerTo(t).Implements(textUnmarshaler) && t.Implements(textMarshaler)
}
