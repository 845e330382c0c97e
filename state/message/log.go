package message

import (
	"fmt"
	"iter"

	"github.com/weftrun/weft/state"
)

// Log is the channel that holds a conversation. Writes add messages, put one in the
// place of another, and remove. The zero Log is empty and ready to use.
//
// The writes of one superstep are replayed in canonical order, each task's in the
// order in which it made them. So of two tasks that write a message with one id, the
// last one's stays, in its place; what was written again after a removal is at the end.
//
// Copies share their messages: a step costs what it writes and the logarithm of the
// size, in memory, and in the store what it writes alone.
type Log struct {
	base, now *order         // committed; with the holder's writes
	ops       state.List[op] // the holder's writes; not kept when over
	over      bool           // now replaces base
	unsure    bool           // one of ops is
	err       error          // a mistake in what LogOf was given
}

// LogOf returns a Log to which messages were added: the way to fill an input. Where
// they are invalid, every use of the log as a write returns the *InvalidError, and so
// does Err.
func LogOf(ms ...Message) Log {
	var l Log
	l.err = l.Add(ms...)
	return l
}

// Err returns what was wrong with the messages that LogOf was given.
func (l *Log) Err() error { return l.err }

// Add adds messages: one whose id is in the log takes the place of that message, any
// other goes to the end. One without an id is given one, which is a hash of the id
// before it, its place and its content: the same writes to the same log give the same
// ids. Where a task before this one in the step was given that same id, the message
// gets another when the step ends, and this task's own further writes to it follow.
//
// Messages that are not whole are reported together as one *InvalidError, and nothing
// is added. Whether calls and results fit together is for [Validate].
func (l *Log) Add(ms ...Message) error {
	ops := make([]op, len(ms))
	for i, m := range ms {
		ops[i] = op{kind: opAdd, m: &m}
	}
	return l.write(ops)
}

// Replace puts m into the place of the message id. An m without an id takes that id.
// It returns an *UnknownError when there is no message id, and an *InvalidError when m
// is not whole.
func (l *Log) Replace(id string, m Message) error {
	if l.now.find(id) == nil {
		return &UnknownError{id}
	}
	if m.ID == "" {
		m.ID = id
	}
	return l.write([]op{{kind: opReplace, id: id, m: &m}})
}

// ReplaceCall puts c into the place of the call with its id, as when a person has changed the
// arguments before the tool runs. Several tasks of a step may each replace a call of one message.
// It returns an [*UnknownError] when no message makes such a call, and an [*InvalidError] when c is
// not whole.
func (l *Log) ReplaceCall(c Call) error {
	for i := l.Len() - 1; i >= 0; i-- {
		if m := l.now.nth(i); m.withCall(c) != nil {
			return l.write([]op{{kind: opCall, id: m.ID, call: &c}})
		}
	}
	return &UnknownError{c.ID}
}

// Remove removes messages. It returns an *UnknownError for the first id that is not in
// the log as the holder sees it, and removes nothing then. That another task of the
// step removes the same message is no mistake.
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

// RemoveAll removes what is in the log, what tasks before this one in the step added
// to it included. What is added later stays, which makes it weaker than an Overwrite.
func (l *Log) RemoveAll() {
	l.record([]op{{kind: opClear}})
}

// Overwrite replaces the whole log. It wins over all writes of other tasks in the same
// step; two Overwrites in one step are an error. It fails as Add does.
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
		wrong := check(i, *m)
		if len(wrong) == 0 && m.foreign() {
			if _, err := m.MarshalJSON(); err != nil {
				wrong = []Problem{{i, m.ID, RuleForm, err.Error()}}
			}
		}
		problems = append(problems, wrong...)
	}
	if err := invalid(problems); err != nil {
		return err
	}
	l.record(ops)
	return nil
}

// record makes ops and keeps them as the holder's writes.
func (l *Log) record(ops []op) {
	if len(ops) == 0 {
		return
	}
	r := replay{order: l.now.own()}
	made := make([]op, len(ops))
	for i, p := range ops {
		if p.kind == opAdd && p.m.ID == "" {
			p.kind = opAppend
		}
		made[i], _ = r.do(p) // a removal that is unsure fails in Fold, if it does
		l.unsure = l.unsure || p.unsure
	}
	l.now = &r.order
	if !l.over {
		l.ops.Append(made...)
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
