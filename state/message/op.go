package message

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weftrun/weft/internal/compact"
)

// op is one write to a log. In JSON it is one of
//
//	{"role":…}                        put a message in the place of its id, or at the end
//	{"append":{"role":…}}             the same, but the log assigned the id and may change it
//	{"replace":"id","with":{"role":…}} put a message into the place of another
//	{"remove":"id"}                   remove a message
//	{"remove_all":true}               remove all messages
//	{"replace_call":"id","with":{"id":…}} replace the call of message id that has the same id
type op struct {
	kind opKind
	id   string // of the message to remove or replace, or whose call to replace
	m    *Message
	call *Call // of opCall
	// unsure is true for a removal or replacement of a message that the holder does not have. An
	// input does not have the messages of its thread. Fold rejects the op if the log has no such
	// message.
	unsure bool
}

type opKind uint8

const (
	opAdd opKind = iota
	opAppend
	opReplace
	opRemove
	opClear
	opCall
)

// MarshalJSON returns the form above.
func (p op) MarshalJSON() ([]byte, error) { return encoded(p) }

// AppendJSON appends it.
func (p op) AppendJSON(b compact.JSON) (compact.JSON, error) { return appended(b, p) }

func (p op) encode(o *object) {
	switch p.kind {
	case opAdd:
		p.m.encode(o)
		return
	case opAppend:
		o.inner("append", p.m)
	case opReplace:
		o.must("replace", p.id)
		o.inner("with", p.m)
	case opRemove:
		o.must("remove", p.id)
	case opClear:
		o.field("remove_all", true)
	case opCall:
		o.must("replace_call", p.id)
		o.inner("with", *p.call)
	}
	o.close(nil)
}

// UnmarshalJSON decodes the form above, or a string: the text of a user message.
func (p *op) UnmarshalJSON(data []byte) error {
	var said string
	if json.Unmarshal(data, &said) == nil && string(data) != "null" {
		m := User(said)
		*p = op{m: &m}
		return nil
	}
	f, err := fieldsOf(data)
	if err != nil {
		return errors.New("want a message, a string, or an object with remove, remove_all, replace, replace_call or append")
	}
	if _, ok := f.left["role"]; ok {
		p.kind, p.m = opAdd, new(Message)
		return p.m.UnmarshalJSON(data)
	}
	return p.decode(f)
}

func (p *op) decode(f *fields) error {
	n, all := op{}, true
	switch {
	case f.has("append"):
		n.kind, n.m = opAppend, new(Message)
		f.must("append", n.m)
	case f.has("replace"):
		n.kind, n.m = opReplace, new(Message)
		f.must("replace", &n.id)
		f.must("with", n.m)
		if n.m.ID == "" {
			n.m.ID = n.id
		}
	case f.has("remove"):
		n.kind = opRemove
		f.must("remove", &n.id)
	case f.has("remove_all"):
		n.kind = opClear
		f.must("remove_all", &all)
	case f.has("replace_call"):
		n.kind, n.call = opCall, new(Call)
		f.must("replace_call", &n.id)
		f.must("with", n.call)
	default:
		return errors.New("role is missing")
	}
	rest, err := f.rest()
	for name := range rest {
		return errors.Join(err, fmt.Errorf("unknown field %q", name))
	}
	if !all {
		return errors.New("remove_all is true or not there")
	}
	if n.id == "" && (n.kind == opReplace || n.kind == opRemove || n.kind == opCall) {
		return errors.Join(err, errors.New("it names no message"))
	}
	if err == nil {
		*p = n
	}
	return err
}

func (f *fields) has(name string) bool {
	_, ok := f.left[name]
	return ok
}

// target returns the id of what an op is made on: a message, or a call; "" if it is made on
// nothing.
func (p op) target() string {
	switch p.kind {
	case opRemove, opReplace:
		return p.id
	case opCall:
		return p.call.ID
	}
	return ""
}

// has reports whether the target of p is there.
func (r *replay) has(p op) bool {
	m := r.find(p.id)
	return m != nil && (p.kind != opCall || m.withCall(*p.call) != nil)
}

// replay makes the ops of one holder on an order.
type replay struct {
	order
	renamed map[string]string // ids the holder knows → ids that were given instead
}

func (r *replay) name(id string) string {
	if now, ok := r.renamed[id]; ok {
		return now
	}
	return id
}

// do makes one op and returns it as it was made.
func (r *replay) do(p op) (op, error) {
	switch p.kind {
	case opAdd:
		p.m = p.m.as(r.name(p.m.ID))
		r.put(p.m)
	case opAppend:
		p.m = r.fresh(p.m)
		r.put(p.m)
	case opReplace:
		p.id, p.m = r.name(p.id), p.m.as(r.name(p.m.ID))
		if p.unsure && r.find(p.id) == nil {
			return p, &UnknownError{p.id}
		}
		r.replace(p.id, p.m)
	case opRemove:
		p.id = r.name(p.id)
		if p.unsure && r.find(p.id) == nil {
			return p, &UnknownError{p.id}
		}
		r.del(p.id)
	case opCall:
		p.id = r.name(p.id)
		m := r.find(p.id).withCall(*p.call)
		if m == nil && p.unsure {
			return p, &UnknownError{p.call.ID}
		}
		if m != nil { // otherwise another task of the step removed it
			r.put(m)
		}
	case opClear:
		r.order = (*order)(nil).own()
	}
	return p, nil
}

// fresh returns m with an id that no other message has: its own if it has one and it
// is free.
func (r *replay) fresh(m *Message) *Message {
	known := m.ID
	delete(r.renamed, known)
	if known != "" && r.find(known) == nil {
		return m
	}
	c := *m
	c.ID = derive(&r.order, m)
	if known != "" {
		if r.renamed == nil {
			r.renamed = map[string]string{}
		}
		r.renamed[known] = c.ID
	}
	return &c
}

// withCall returns m with c in the place of its call with the same id, or nil if it makes no such
// call.
func (m *Message) withCall(c Call) *Message {
	if m == nil {
		return nil
	}
	at := slices.IndexFunc(m.Calls, func(old Call) bool { return old.ID == c.ID })
	if at < 0 {
		return nil
	}
	n := *m
	n.Calls = slices.Clone(m.Calls)
	n.Calls[at] = c
	return &n
}

// as returns m under another id.
func (m *Message) as(id string) *Message {
	if m.ID == id {
		return m
	}
	c := *m
	c.ID = id
	return &c
}

// derive returns the id of a message that is added to o: a hash of the previous id, its place and
// its content. While another message has that id, derive hashes again. Equal messages added to
// equal logs thus get equal ids in any process.
func derive(o *order, m *Message) string {
	before := ""
	if last := o.last(); last != nil {
		before = last.ID
	}
	said := object{b: fmt.Appendf(nil, "%q %d ", before, o.len())}
	said.object(m.as("")) // it was found to have a form
	sum := sha256.Sum256(said.b)
	for o.find(idOf(sum)) != nil {
		sum = sha256.Sum256(sum[:])
	}
	return idOf(sum)
}

func idOf(sum [sha256.Size]byte) string { return "m" + hex.EncodeToString(sum[:10]) }
