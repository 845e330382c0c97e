package wire

import (
	"encoding/json"
	"slices"
)

// WideIDs is the first id of a stream with modes that its run was not created with.
const WideIDs = 1 << 32

// newCounter returns a projection that counts the events of a stream with the modes of a run.
func newCounter(start RunStart) *Classic {
	c := NewClassic(ClassicOptions{Modes: start.Modes, Subgraphs: start.Subgraphs, After: -1})
	c.counts = true
	return c
}

// count returns the slots of the events that a record gives; data are those of the record.
func (c *Classic) count(e Event, data any) []int {
	s := &sender{c: c, e: e}
	switch d := data.(type) {
	case RunStart:
		s.run(&d)
	case RunEnd:
		s.end(&d)
	case TaskStart:
		s.task(&d)
	case TaskResult:
		s.result(&d)
	case Asked:
		s.asked(&d)
	case StateAt:
		s.state(&d)
	case Values:
		s.shown(&d)
	case Pause:
		s.pause(&d)
	case Token:
		s.token(&d)
	case ToolEvent:
		s.tool(&d)
	case json.RawMessage:
		if e.Kind == KindCustom && s.visible(ModeCustom) {
			s.send(0, ModeCustom, nil)
		}
	}
	return s.slots
}

// project counts the events of a record that was read.
func (c *Classic) project(e Event) error {
	s := &sender{c: c, e: e}
	err := s.all()
	c.last = s.slots
	return err
}

// begin prepares for the ids of a run.
func (s *sender) begin(d *RunStart) {
	c := s.c
	if c.o.RunModes {
		c.o.Modes, c.o.Subgraphs = append(slices.Clip(c.set), d.Modes...), d.Subgraphs
	}
	if c.counts || c.o.Run == "" {
		return
	}
	own := newCounter(*d)
	extra := func(mode string) bool { return !slices.Contains(own.o.Modes, mode) }
	c.wide = slices.ContainsFunc(c.o.Modes, extra) || c.o.Subgraphs && !d.Subgraphs
	if c.own == nil && (len(c.o.Modes) != len(own.o.Modes) || c.wide || c.o.Subgraphs != d.Subgraphs) {
		c.own = own
	}
}

// id returns the id of the event in a slot of the record, and whether the reader has it.
func (s *sender) id(slot int) (id uint64, seen bool) {
	if s.c.o.Run == "" {
		return s.e.Seq, s.c.o.After >= 0 && s.e.Seq <= uint64(s.c.o.After)
	}
	place := len(s.slots) - 1 // among the events of the run's own stream
	if s.c.own != nil {
		place = slices.Index(s.own, slot)
	}
	dense, wide := s.e.D+uint64(max(place, 0)), WideIDs+s.e.N+uint64(slot)
	if place < 0 { // it has none there; it is known by what comes before
		dense = s.e.D + max(s.e.M, 1) - 1
	}
	if id = dense; s.c.wide || s.e.Cut {
		id = wide
	}
	switch after := s.c.o.After; {
	case after < 0:
		return id, false
	case after >= WideIDs:
		return id, wide <= uint64(after)
	default:
		return id, !s.e.Cut && dense <= uint64(after)
	}
}

// send adds the event with the id in this slot of the record's ids.
func (s *sender) send(slot int, name string, data any) {
	s.slots = append(s.slots, slot)
	if s.c.counts {
		return
	}
	id, seen := s.id(slot)
	if seen {
		return
	}
	raw, err := json.Marshal(data)
	if err != nil { // a part is not JSON, which no record of a Recorder has
		raw, name = []byte(`{"error":"Error","message":"the event cannot be shown"}`), "error"
	}
	s.out = append(s.out, ServerEvent{ID: id, Name: name, Data: raw})
}
