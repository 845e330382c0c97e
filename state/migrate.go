package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Migration turns the value of a field as an older version of the program stored it, as
// JSON, into the form of the field's present version. from is the version that old has.
// It gets the whole value: a list as an array, a map as an object, a set as an array. nil
// means that the field has no value any more. It must always return the same for the same.
type Migration func(from int, old json.RawMessage) (json.RawMessage, error)

// MigrationError is returned when a migration fails or panics, or when what it returns does
// not fit the field.
type MigrationError struct {
	Field    string
	From, To int // versions
	Err      error
}

func (e *MigrationError) Error() string {
	return fmt.Sprintf("state: the migration of field %q from version %d to %d: %v", e.Field, e.From, e.To, e.Err)
}

func (e *MigrationError) Unwrap() error { return e.Err }

// ErrNoMigration is returned when a stored value is older than its field and the schema
// has no migration for it.
var ErrNoMigration = errors.New("there is none; give it one with Schema.Migrating")

// Migrating returns the schema with migrations, by the name of the field. Every mistake is
// reported, as one *SchemaError: a field that does not exist, a migration for a field of
// version 1, and a field of a later version that has none.
func (s *Schema) Migrating(by map[string]Migration) (*Schema, error) {
	var w walker
	all := make([]Migration, len(s.fields))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		i, err := s.Find(name)
		switch {
		case err != nil:
			w.fail(name, "a migration for an %v", strings.TrimPrefix(err.Error(), "state: "))
		case s.fields[i].Version == 1:
			w.fail(name, `it has a migration and is at version 1; count the version up, with weft:"version=2"`)
		default:
			all[i] = by[name]
		}
	}
	for i, f := range s.fields {
		if f.Version > 1 && all[i] == nil && by[f.Name] == nil {
			w.fail(f.Name, "it is at version %d and has no migration from the versions before", f.Version)
		}
	}
	if len(w.mistakes) > 0 {
		return nil, &SchemaError{Type: "the state", Mistakes: w.mistakes}
	}
	with := *s
	with.migrations = all
	return &with, nil
}

// Migrate converts the value of field i from a version to the present one. All its errors are
// *MigrationError, also if the migration panics.
func (s *Schema) Migrate(i, from int, old json.RawMessage) (now json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
		if err != nil {
			now, err = nil, &MigrationError{s.fields[i].Name, from, s.fields[i].Version, err}
		}
	}()
	if s.migrations == nil || s.migrations[i] == nil {
		return nil, ErrNoMigration
	}
	if now, err = s.migrations[i](from, slices.Clone(old)); err == nil && len(now) > 0 && !json.Valid(now) {
		err = fmt.Errorf("it returns what is not JSON: %.80q", now)
	}
	return now, err
}

// Renamed returns the index of the field with this former name.
func (s *Schema) Renamed(former string) (i int, ok bool) {
	i, ok = s.formerNames[former]
	return i, ok
}

// indexFormerNames indexes the former names of the fields. A former name must be unique, and not
// the name of a field.
func (s *Schema) indexFormerNames() (mistakes []Mistake) {
	s.formerNames = map[string]int{}
	for i, f := range s.fields {
		if f.Was == "" {
			continue
		}
		if f.Was == f.Name {
			mistakes = append(mistakes, Mistake{f.Name, fmt.Sprintf("was=%s is its present name", f.Was)})
		} else if _, used := s.index[f.Was]; used {
			mistakes = append(mistakes, Mistake{f.Name, fmt.Sprintf("it was %q, which is the name of another field", f.Was)})
		}
		if _, used := s.formerNames[f.Was]; used {
			mistakes = append(mistakes, Mistake{f.Name, fmt.Sprintf("it was %q, and so was another field", f.Was)})
		}
		s.formerNames[f.Was] = i
	}
	return mistakes
}

// StoredFolder is a [Delta] that can merge its stored pieces without the Go types of its values:
// the base, and then the differences in order. A field with a Delta of your own needs it to be
// migrated.
type StoredFolder interface {
	FoldStored(pieces []json.RawMessage) (json.RawMessage, error)
}

// FoldStored merges the stored pieces of a value, the base and then the differences in order, with
// a channel of the kind. The kind "" means a list, a map or a set; their stored forms differ. That
// of a [ContextData] is "state.ContextData", and it is a map by TYPE/key.
func FoldStored(kind Kind, pieces []json.RawMessage) (json.RawMessage, error) {
	if len(pieces) == 1 {
		return pieces[0], nil
	}
	if kind == "" && len(pieces) > 1 {
		kind = storedKinds[first(pieces[0])+first(pieces[1])]
	}
	switch {
	case len(pieces) == 0:
		return nil, nil
	case kind == KindList, kind == KindStack:
		return foldList(pieces)
	case kind == KindMap, kind == kindContextData:
		return foldMap(pieces)
	case kind == KindSet:
		return foldSet(pieces)
	}
	return nil, fmt.Errorf("state: the %d pieces of a %q cannot be merged", len(pieces), kind)
}

// Folds reports whether [FoldStored] can merge the pieces of a kind by the kind alone. It is false
// for "", for which FoldStored has only the stored form to go by.
func Folds(kind Kind) bool {
	switch kind {
	case KindList, KindStack, KindMap, KindSet, kindContextData:
		return true
	}
	return false
}

// kindContextData is the kind under which the pieces of a ContextData are stored: its Go type.
const kindContextData Kind = "state.ContextData"

// storedKinds maps the first byte of the base and the first byte of the first difference to a kind.
var storedKinds = map[string]Kind{"[[": KindList, "{{": KindMap, "[{": KindSet}

func first(piece json.RawMessage) string {
	if len(piece) == 0 {
		return ""
	}
	return string(piece[:1])
}

func foldList(pieces []json.RawMessage) (json.RawMessage, error) {
	all := []json.RawMessage{}
	for _, p := range pieces {
		var items []json.RawMessage
		if err := json.Unmarshal(p, &items); err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return json.Marshal(all)
}

func foldMap(pieces []json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(pieces[0], &all); err != nil {
		return nil, err
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for _, p := range pieces[1:] {
		var c struct {
			Put map[string]json.RawMessage
			Del []json.RawMessage
		}
		if err := json.Unmarshal(p, &c); err != nil {
			return nil, err
		}
		for _, k := range c.Del {
			delete(all, keyText(k))
		}
		maps.Copy(all, c.Put)
	}
	return json.Marshal(all)
}

// keyText returns a key as a JSON object has it: the number 1 is "1".
func keyText(key json.RawMessage) string {
	var s string
	if json.Unmarshal(key, &s) != nil {
		return string(key)
	}
	return s
}

func foldSet(pieces []json.RawMessage) (json.RawMessage, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(pieces[0], &all); err != nil {
		return nil, err
	}
	for _, p := range pieces[1:] {
		var c setParts
		if err := json.Unmarshal(p, &c); err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(item json.RawMessage) bool { return c.has(item) })
		all = append(all, c.Put...)
	}
	return json.Marshal(all)
}

// setParts is the stored difference of a set.
type setParts struct{ Put, Del []json.RawMessage }

func (c *setParts) has(item json.RawMessage) bool {
	same := func(other json.RawMessage) bool { return string(other) == string(item) }
	return slices.ContainsFunc(c.Put, same) || slices.ContainsFunc(c.Del, same)
}
