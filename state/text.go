package state

import (
	"fmt"
	"reflect"

	"github.com/weftrun/weft/internal/validtext"
)

// Checker is a channel that checks what its holder wrote before it is folded.
type Checker interface {
	Channel
	// Check returns what is wrong with the holder's writes, or nil. The runtime calls it when a
	// node returns, and the error is the node's.
	Check() error
}

// TextError is the error of text that is not UTF-8. What is stored or shown goes through JSON,
// which cannot hold such text and would change it.
type TextError struct {
	// Field is the wire name of the field that the text was written to; "" for what belongs to no
	// field, such as the payload of a task.
	Field string
	// Path leads to the text inside what was written, such as ["key"].name[3]; "" for the value
	// itself, and for JSON that was given as an input. It ends with the key of a map where that is
	// what is wrong. In a channel that gathers writes, such as Reduced, it begins with the number
	// of the write.
	Path string
}

func (e *TextError) Error() string {
	place := "the text"
	if e.Path != "" {
		place += " at " + e.Path
	}
	if e.Field != "" {
		return fmt.Sprintf("state: field %q: %s is not UTF-8, and JSON would change it", e.Field, place)
	}
	return fmt.Sprintf("state: %s is not UTF-8, and JSON would change it", place)
}

// Is reports that every TextError has one cause.
func (e *TextError) Is(target error) bool { return target == validtext.Err }

// CheckText returns a [*TextError] when JSON would change v, or nil.
func CheckText(v any) error {
	if path, ok := validtext.Check(v); !ok {
		return &TextError{Path: path}
	}
	return nil
}

// textHolder is a channel of this package that looks at the text which its holder wrote. That of
// ContextData is none: Put has checked the text.
type textHolder interface {
	elementer
	writtenText() (path string, ok bool)
}

var (
	_ elementer  = (*untrackedChannel[int])(nil)
	_ elementer  = (*sumChannel[int])(nil)
	_ textHolder = valueChannel[int]{}
	_ textHolder = latestChannel[int]{}
	_ textHolder = ephemeralChannel[int]{}
	_ textHolder = (*onceChannel[int])(nil)
	_ textHolder = (*listChannel[int])(nil)
	_ textHolder = (*stackChannel[int])(nil)
	_ textHolder = (*topicChannel[int])(nil)
	_ textHolder = maxChannel[int]{}
	_ textHolder = minChannel[int]{}
	_ textHolder = (*mapChannel[string, int])(nil)
	_ textHolder = (*setChannel[string])(nil)
	_ textHolder = (*reducedChannel[int, greater[int]])(nil)
)

// textCheck looks at what the holder of a channel wrote.
type textCheck struct {
	field int
	of    func(c Channel) error
}

// textChecks returns the checks of the channels that can hold text.
func textChecks(channels []Channel, fields []Field) (checks []textCheck) {
	for i, c := range channels {
		if check := textCheckOf(c, fields[i].Name); check != nil {
			checks = append(checks, textCheck{i, check})
		}
	}
	return checks
}

func textCheckOf(c Channel, field string) func(Channel) error {
	failed := func(path string, ok bool) error {
		if ok {
			return nil
		}
		return &TextError{field, path}
	}
	if _, is := c.(Checker); is {
		return func(c Channel) error {
			if err := c.(Checker).Check(); err != nil {
				return fmt.Errorf("state: field %q: %w", field, err)
			}
			return nil
		}
	}
	if !ours(c) {
		return func(c Channel) error { return failed(validtext.Check(c.Writes().Value)) }
	}
	if _, is := c.(textHolder); !is || !holdsText(c) {
		return nil
	}
	return func(c Channel) error { return failed(c.(textHolder).writtenText()) }
}

// ours reports whether c is of this package: its type, or what that points to, is declared here. It
// does not look for an unexported method: a type of a user has those of what it embeds.
func ours(c Channel) bool {
	t := reflect.TypeOf(c)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() == reflect.TypeFor[Schema]().PkgPath()
}

// holdsText reports whether a channel of this package can hold text that was not looked at when
// it was written.
func holdsText(c Channel) bool {
	e, ok := c.(elementer)
	if !ok {
		return false
	}
	for _, t := range e.elements() {
		if validtext.Possible(t) {
			return true
		}
	}
	return false
}

// CheckWrites returns a [*TextError] when the holder of v wrote text that is not UTF-8, and the
// error of a [Checker] that refuses what was written. It calls the MarshalJSON methods of what was
// written, and does not recover their panics.
func (s *Schema) CheckWrites(v View) error {
	for _, t := range s.texts {
		if c := v.Channels[t.field]; c.Wrote() {
			if err := t.of(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cellChannel[T]) writtenText() (string, bool) { return validtext.CheckOf(&c.v) }

func (c *onceChannel[T]) writtenText() (string, bool) { return validtext.CheckOf(&c.v) }

func (l *listChannel[T]) writtenText() (string, bool) { return validtext.CheckOf(&l.own.s) }

func (t *topicChannel[T]) writtenText() (string, bool) { return validtext.CheckOf(&t.own.s) }

func (e *extreme[T, R]) writtenText() (string, bool) { return validtext.CheckOf(&e.own) }

// writtenText counts from the end, as the elements were prepended.
func (s *stackChannel[T]) writtenText() (string, bool) { return s.channel().writtenText() }

// writtenText also looks at what the Reducer made. DeepMerge makes no text.
func (c *reducedChannel[T, R]) writtenText() (path string, ok bool) {
	if path, ok = validtext.CheckOf(&c.ops.s); !ok {
		return path, ok
	}
	if mergesOnly[R]() && !c.over {
		return "", true
	}
	return validtext.CheckOf(&c.now)
}

// mergesOnly reports whether a Reducer makes no text that is not in what it is given.
func mergesOnly[R any]() bool {
	_, ok := any(*new(R)).(DeepMerge)
	return ok
}

// writtenText also looks at the keys, which JSON takes as they are where they are strings.
func (t *table[K, V]) writtenText() (path string, ok bool) {
	return t.checkText(validtext.CheckKey[K])
}

// writtenText looks at the elements as elements of a list, not as keys.
func (s *setChannel[T]) writtenText() (path string, ok bool) {
	return s.checkText(func(k *T) bool { _, ok := validtext.CheckOf(k); return ok })
}

func (t *table[K, V]) checkText(key func(*K) bool) (path string, ok bool) {
	ok = true
	check := func(e *entry[K, V]) {
		if !ok {
			return
		}
		if ok = key(&e.k); !ok {
			path = validtext.Key(fmt.Sprint(e.k))
		} else if path, ok = validtext.CheckOf(&e.v); !ok {
			path = validtext.Key(fmt.Sprint(e.k)) + path
		}
	}
	t.written(check, check)
	return path, ok
}
