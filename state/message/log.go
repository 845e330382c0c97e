package message

import (
	"fmt"
	"iter"

	"github.com/weftrun/weft/state"
)

// Log is the channel that holds a conversation. Writes add, replace and remove messages. The zero
// Log is empty and ready to use.
//
// The writes of one superstep are replayed in canonical order, those of each task in the order of
// its calls. If two tasks write a message with one id, the last one wins and keeps the place of the
// first. A message that is added again after a removal is at the end.
//
// Copies share their messages. A step uses memory for its writes and the logarithm of the size, and
// stores only its writes.
type Log struct {
	base, now *order         // committed; with the holder's writes
	ops       state.List[op] // the holder's writes; unused if over
	over      bool           // now replaces base
	unsure    bool           // one of ops is
	err       error          // a mistake in what LogOf was given
}

// LogOf returns a Log to which messages were added, for use in an input. If they are invalid, Err
// and every use of the log as a write return the *InvalidError.
func LogOf(ms ...Message) Log {
	var l Log
	l.err = l.Add(ms...)
	return l
}

// Err returns the error of the messages passed to LogOf.
func (l *Log) Err() error { return l.err }

// Add adds messages. A message whose id is in the log replaces that message; any other goes to the
// end. A message without an id gets one: a hash of the previous id, its place and its content.
// Equal writes to equal logs thus give equal ids. If an earlier task of the step got the same id,
// the message gets another one when the step ends. Later writes of this task to the message apply
// to the new id.
//
// Invalid messages are reported together as one *InvalidError, and nothing is added. Add does not
// check that calls and results match: see [Validate].
func (l *Log) Add(ms ...Message) error {
	var problems []Problem
	for i := range ms {
		problems = append(problems, writable(i, &ms[i])...)
	}
	if err := invalid(problems); err != nil || len(ms) == 0 {
		return err
	}
	r := replay{order: l.now.own()}
	for _, m := range ms {
		l.make(&r, op{kind: opAdd, m: &m})
	}
	l.now = &r.order
	return nil
}

// Replace replaces the message id with m. An m without an id gets that id. It returns an
// *UnknownError if there is no message id, and an *InvalidError if m is invalid.
func (l *Log) Replace(id string, m Message) error {
	if l.now.find(id) == nil {
		return &UnknownError{id}
	}
	if m.ID == "" {
		m.ID = id
	}
	return l.write([]op{{kind: opReplace, id: id, m: &m}})
}

// ReplaceCall replaces the call that has the id of c, for example after a person changed the
// arguments. Several tasks of a step may each replace a call of one message. It returns an
// [*UnknownError] if no message has such a call, and an [*InvalidError] if c is invalid.
func (l *Log) ReplaceCall(c Call) error {
	for i := l.Len() - 1; i >= 0; i-- {
		if m := l.now.nth(i); m.withCall(c) != nil {
			return l.write([]op{{kind: opCall, id: m.ID, call: &c}})
		}
	}
	return &UnknownError{c.ID}
}

// Remove removes messages. If an id is not in the holder's log, it returns an *UnknownError for the
// first such id and removes nothing. Two tasks of a step may remove the same message.
func (l *Log) Remove(ids ...string) error {
	ops := make([]op, len(ids))
	for i, id := range ids {
		if l.now.find(id) == nil {
			return &UnknownError{id}
		}
		ops[i] = op{kind: opRemove, id: id}
	}
	return l.write(ops)
}

// RemoveAll removes all messages, including those that earlier tasks of the step added. Unlike an
// Overwrite, it does not remove messages that later tasks add.
func (l *Log) RemoveAll() {
	l.record([]op{{kind: opClear}})
}

// Overwrite replaces the whole log. It discards all writes of other tasks in the same step; two
// Overwrites in one step are an error. It returns the errors of Add.
func (l *Log) Overwrite(ms []Message) error {
	next := Log{over: true}
	if err := next.Add(ms...); err != nil {
		return err
	}
	l.now, l.ops, l.over, l.unsure = next.now, state.List[op]{}, true, false
	return nil
}

// write checks ops and records them.
func (l *Log) write(ops []op) error {
	var problems []Problem
	for i, p := range ops {
		m := p.m
		if p.kind == opCall {
			m = &Message{Role: RoleAssistant, Calls: []Call{*p.call}}
		}
		if m == nil {
			continue
		}
		problems = append(problems, writable(i, m)...)
	}
	if err := invalid(problems); err != nil {
		return err
	}
	l.record(ops)
	return nil
}

// writable returns what is wrong with a message to be written.
func writable(i int, m *Message) []Problem {
	wrong := check(i, m)
	if len(wrong) == 0 && m.foreign() {
		if _, err := m.MarshalJSON(); err != nil {
			return []Problem{{i, m.ID, RuleForm, err.Error()}}
		}
	}
	return wrong
}

// record makes ops and keeps them as the holder's writes.
func (l *Log) record(ops []op) {
	if len(ops) == 0 {
		return
	}
	r := replay{order: l.now.own()}
	for _, p := range ops {
		l.make(&r, p)
	}
	l.now = &r.order
}

// make makes an op on r, which becomes the log's order, and keeps it as a write of the holder.
func (l *Log) make(r *replay, p op) {
	if p.kind == opAdd && p.m.ID == "" {
		p.kind = opAppend
	}
	made, _ := r.do(p) // a removal that is unsure fails in Fold, if it does
	l.unsure = l.unsure || p.unsure
	if !l.over {
		l.ops.Append(made)
	}
}

// Len returns the number of messages.
func (l *Log) Len() int { return l.now.len() }

// At returns message i, counted from 0. It panics if i is out of range, as a slice does.
func (l *Log) At(i int) Message {
	if i < 0 || i >= l.Len() {
		panic(fmt.Sprintf("message: index %d of a log of %d", i, l.Len()))
	}
	return *l.now.nth(i)
}

// ByID returns the message with this id; ok is false when there is none.
func (l *Log) ByID(id string) (m Message, ok bool) { return found(l.now.find(id)) }

// Last returns the last message; ok is false when the log is empty.
func (l *Log) Last() (m Message, ok bool) { return found(l.now.last()) }

func found(m *Message) (Message, bool) {
	if m == nil {
		return Message{}, false
	}
	return *m, true
}

// LastFrom returns the last message of a role; ok is false when there is none.
func (l *Log) LastFrom(r Role) (m Message, ok bool) {
	for i := l.Len() - 1; i >= 0; i-- {
		if m := l.now.nth(i); m.Role == r {
			return *m, true
		}
	}
	return Message{}, false
}

// All iterates over index and message, first to last. Writes made during the iteration
// do not show in it.
func (l *Log) All() iter.Seq2[int, Message] {
	now := l.now
	return func(yield func(int, Message) bool) {
		i := -1
		now.each(func(m *Message) bool { i++; return yield(i, *m) })
	}
}

// FromRole iterates over the messages of a role, with their indexes in the log.
func (l *Log) FromRole(r Role) iter.Seq2[int, Message] {
	all := l.All()
	return func(yield func(int, Message) bool) {
		for i, m := range all {
			if m.Role == r && !yield(i, m) {
				return
			}
		}
	}
}

// Slice returns the messages in a new slice that the caller owns.
func (l *Log) Slice() []Message { return l.now.slice() }
