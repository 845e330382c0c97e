package record

import (
	"fmt"

	"github.com/weftrun/weft/state"
)

// layout is the [state.Layout] of the records of a shape.
type layout struct{ *Shape }

// records returns n records in which every channel is its zero value. They share their memory,
// which is released when none of them is in use.
func (l layout) records(n int) []Record {
	fields := len(l.bindings)
	records, cells, channels := make([]Record, n), make([]any, n*fields), make([]state.Channel, n*fields)
	for i := range records {
		from, to := i*fields, (i+1)*fields
		records[i] = Record{shape: l.Shape, cells: cells[from:to:to], channels: channels[from:to:to]}
	}
	for _, same := range l.groups {
		l.bindings[same[0]].make(n, same, cells, channels, fields)
	}
	return records
}

// record returns one of them.
func (l layout) record() *Record { return &l.records(1)[0] }

func (r *Record) view() state.View { return state.View{State: r, Channels: r.channels} }

func (l layout) Blank() state.View { return l.record().view() }

func (l layout) Blanks(n int) []state.View {
	views, records := make([]state.View, n), l.records(n)
	for i := range views {
		views[i] = records[i].view()
	}
	return views
}

// Over copies a record of another shape.
func (l layout) Over(p any) state.View {
	r := p.(*Record)
	if r.shape != l.Shape {
		r = l.Copy(p).(*Record)
	}
	return r.view()
}

func (l layout) Copy(p any) any {
	r := l.record()
	l.Assign(r, p)
	return r
}

// Own leaves a record of another shape as it is.
func (l layout) Own(p any) {
	if r := p.(*Record); r.shape == l.Shape {
		*r = *l.Copy(r).(*Record)
	}
}

// Assign takes a record that was never given a shape as an empty one.
func (l layout) Assign(dst, src any) {
	d, s := dst.(*Record), src.(*Record)
	if s.shape == nil {
		s = l.record()
	}
	if d.shape != l.Shape || s.shape != l.Shape {
		panic("state: a Record was given to a graph of another Shape; make it with this graph's Shape.New")
	}
	for i := range d.cells {
		l.bindings[i].assign(d.cells[i], s.cells[i])
	}
}

func (l layout) AssignField(dst, src state.View, i int) {
	l.bindings[i].assign(dst.State.(*Record).cells[i], src.State.(*Record).cells[i])
}

func (l layout) Decode(v state.View, i int, data []byte) error {
	value, err := decodePlain(data)
	if err != nil {
		return fmt.Errorf("state: field %q: %w", l.fields[i].Name, err)
	}
	c := v.State.(*Record).cells[i]
	if _, handle := c.(*state.Untracked[plain]); handle { // its write takes any value as it is
		plain, err := l.types[i].convert(value, 0)
		if err != nil {
			return l.named(i, err)
		}
		value = plain
	}
	return l.named(i, l.bindings[i].write(c, value))
}

// Check takes what an Untracked or a channel of another package holds as it is.
func (l layout) Check(v state.View, i int) error {
	c := v.State.(*Record).cells[i]
	value, ok := l.bindings[i].get(c)
	if _, handle := c.(*state.Untracked[plain]); handle || !ok || l.foreign[i] {
		return nil
	}
	_, err := l.types[i].convert(value, 0)
	return l.named(i, err)
}
