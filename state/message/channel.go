package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/weftrun/weft/internal/compact"
	"github.com/weftrun/weft/state"
)

// Channel returns what the runtime does with the log. A node does not need it.
func (l *Log) Channel() state.Channel { return logChannel{l} }

// logChannel is a Log as the runtime sees it.
type logChannel struct{ *Log }

var (
	_ state.Delta        = logChannel{}
	_ state.Sequel       = logChannel{}
	_ state.Checker      = logChannel{}
	_ state.StoredFolder = logChannel{}
)

// ValueType implements [state.Typed].
func (logChannel) ValueType() reflect.Type { return reflect.TypeFor[[]Message]() }

// Wrote implements [state.Channel].
func (l logChannel) Wrote() bool { return l.over || l.ops.Len() > 0 || l.err != nil }

// Fold implements [state.Channel].
func (l logChannel) Fold(writes []state.Channel) error {
	at, err := overwriter(writes)
	if err != nil {
		return err
	}
	if at >= 0 {
		l.commit(writes[at].(logChannel).now)
		return nil
	}
	now := l.base
	for _, w := range writes {
		if now, err = w.(logChannel).carry(now); err != nil {
			return err
		}
	}
	l.commit(now)
	return nil
}

// overwriter returns the index of the write that replaces the whole log, or -1.
func overwriter(writes []state.Channel) (int, error) {
	at := -1
	for i, w := range writes {
		w := w.(logChannel)
		switch {
		case w.err != nil:
			return 0, w.err
		case !w.over:
		case at >= 0:
			return 0, &state.ConflictError{First: at, Second: i, Rule: "a log takes one Overwrite per step"}
		default:
			at = i
		}
	}
	return at, nil
}

func (l *Log) commit(now *order) { l.base, l.now = now, now }

// carry returns onto with the holder's writes made to it.
func (l *Log) carry(onto *order) (*order, error) {
	if onto == l.base && !l.unsure {
		return l.now, nil
	}
	r := replay{order: onto.own()}
	for _, p := range l.ops.All() {
		if _, err := r.do(p); err != nil {
			return nil, err
		}
	}
	return &r.order, nil
}

// Then implements [state.Sequel].
func (l logChannel) Then(w state.Channel) {
	next := w.(logChannel)
	switch {
	case next.err != nil:
		l.err = next.err
	case next.over:
		l.now, l.ops, l.over, l.unsure = next.now, state.List[op]{}, true, false
	default:
		l.record(next.ops.Slice())
	}
}

// MarshalJSON returns the messages as an array; an empty log is [].
func (l Log) MarshalJSON() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	return compact.Marshal(l.Slice())
}

// UnmarshalJSON records the items of a JSON array, or a single item, as writes. An item is a
// message, a string (the text of a user message), or one of
//
//	{"remove":"id"}
//	{"remove_all":true}
//	{"replace":"id","with":{"role":…}}
//	{"replace_call":"id","with":{"id":…}}
//
// null writes nothing. All mistakes are reported as one *InvalidError with the indexes of the
// items, and nothing is written. The removal or replacement of an unknown message is an
// *UnknownError. For an input, the run returns this error.
func (l *Log) UnmarshalJSON(data []byte) error {
	ops, err := decodeOps(data)
	if err != nil {
		return err
	}
	if err := l.doubt(ops); err != nil {
		return err
	}
	return l.write(ops)
}

// decodeOps reads an array of ops, or one.
func decodeOps(data []byte) ([]op, error) {
	data = bytes.TrimSpace(data)
	if string(data) == "null" {
		return nil, nil
	}
	items := []json.RawMessage{data}
	if len(data) > 0 && data[0] == '[' {
		if err := json.Unmarshal(data, &items); err != nil {
			return nil, fmt.Errorf("message: %w", err)
		}
	}
	var problems []Problem
	ops := make([]op, len(items))
	for i, item := range items {
		if err := json.Unmarshal(item, &ops[i]); err != nil {
			problems = append(problems, Problem{Index: i, Rule: RuleForm, Why: err.Error()})
		}
	}
	return ops, invalid(problems)
}

// doubt marks ops on messages that the holder does not see. Where the holder knows the
// whole log they are errors.
func (l *Log) doubt(ops []op) error {
	if !slices.ContainsFunc(ops, func(p op) bool { return p.target() != "" }) {
		return nil
	}
	r := replay{order: l.now.own()}
	var errs []error
	for i, p := range ops {
		gone := p.target() != "" && !r.has(p)
		switch {
		case gone && l.over:
			errs = append(errs, &UnknownError{p.target()})
		case gone:
			ops[i].unsure = true
		default:
			_, _ = r.do(p)
		}
	}
	return errors.Join(errs...)
}

// Stored implements [state.Channel].
func (l logChannel) Stored() (any, bool) { return l.base.slice(), l.base.len() > 0 }

// Restore implements [state.Channel].
func (l logChannel) Restore(dec state.Decode) error {
	o, err := restore(dec)
	if err != nil {
		return err
	}
	*l.Log = Log{}
	l.commit(o)
	return nil
}

func restore(dec state.Decode) (*order, error) {
	var ms []*Message
	if err := dec(&ms); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(ms))
	for i, m := range ms {
		switch {
		case m == nil || m.ID == "":
			return nil, fmt.Errorf("message %d of a stored log has no id", i)
		case seen[m.ID]:
			return nil, fmt.Errorf("message %d of a stored log has the id %q of an earlier one", i, m.ID)
		}
		seen[m.ID] = true
	}
	return orderOf(ms), nil
}

// storedOps decodes ops that were encoded by this package.
func storedOps(dec state.Decode) (ops []op, err error) {
	if err := dec(&ops); err != nil {
		return nil, err
	}
	for i, p := range ops {
		if p.m != nil && p.m.ID == "" {
			return nil, fmt.Errorf("stored write %d of a log has a message without an id", i)
		}
	}
	return ops, nil
}

// Writes implements [state.Channel]: the writes in order, or all messages. In JSON they
// have the form that UnmarshalJSON reads. A message that was added without an id is
// {"append":message}, with the id that it has unless another task of the step was
// given the same one.
func (l logChannel) Writes() state.Write {
	if l.over {
		return state.Write{Value: l.Slice(), Overwrite: true}
	}
	return state.Write{Value: l.ops.Slice()}
}

// RestoreWrites implements [state.Channel].
func (l logChannel) RestoreWrites(overwrite bool, dec state.Decode) error {
	if overwrite {
		o, err := restore(dec)
		if err != nil {
			return err
		}
		*l.Log = Log{base: l.base, now: o, over: true}
		return nil
	}
	ops, err := storedOps(dec)
	if err != nil {
		return err
	}
	*l.Log = Log{base: l.base, now: l.base}
	if err := l.doubt(ops); err != nil {
		return err
	}
	l.record(ops)
	return nil
}

// Since implements [state.Delta]: the writes that lead from prev to here.
func (l logChannel) Since(prev state.Channel) (any, bool) {
	ops, ok := l.base.since(prev.(logChannel).base)
	return ops, ok && len(ops) <= l.base.len()
}

// FoldStored implements [state.StoredFolder].
func (logChannel) FoldStored(pieces []json.RawMessage) (json.RawMessage, error) {
	ch := logChannel{new(Log)}
	for i, p := range pieces {
		read := ch.Apply
		if i == 0 {
			read = ch.Restore
		}
		if err := read(func(into any) error { return json.Unmarshal(p, into) }); err != nil {
			return nil, err
		}
	}
	value, ok := ch.Stored()
	if !ok {
		return nil, nil
	}
	return json.Marshal(value)
}

// Apply implements [state.Delta].
func (l logChannel) Apply(dec state.Decode) error {
	ops, err := storedOps(dec)
	if err != nil {
		return err
	}
	r := replay{order: l.base.own()}
	for _, p := range ops {
		if _, err := r.do(p); err != nil {
			return err
		}
	}
	l.commit(&r.order)
	return nil
}

// String returns the log as JSON, for people who print a state.
func (l Log) String() string {
	data, err := l.MarshalJSON()
	if err != nil {
		return "%!(" + err.Error() + ")"
	}
	return string(data)
}
