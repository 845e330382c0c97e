package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/state/message"
)

// Appended is the result of an Append.
type Appended struct {
	Session
	Added []message.Message // as stored in the log, with ids and times
	// Flagged has the ids of calls that had no result when a user message was appended.
	Flagged []string
}

// Append adds messages to the end of the log, all or none, and extends the deadline of the session.
// Messages and calls without an id get one, and messages without a time get the current time. One
// *message.InvalidError reports all mistakes: invalid messages, results without a call, second
// results of a call, and calls with the id of an earlier call. A message with the id of another one
// is an ErrDuplicate.
func (m *Manager) Append(ctx context.Context, id string, ms ...message.Message) (Appended, error) {
	ms, err := complete(ms, m.now())
	if err != nil {
		return Appended{}, place(id, err)
	}
	for try := 0; ; try++ {
		h, err := m.live(ctx, id)
		if err != nil {
			return Appended{}, err
		}
		done, err := m.append(ctx, id, h, ms)
		if at, conflict := conflictAt(err); !conflict || at != headID {
			return done, err
		}
		if err := pause(ctx, try); err != nil {
			return Appended{}, place(id, err)
		}
	}
}

// Turn is one step of an agent loop. It calls f with the view of the session and appends the
// messages that f returns. It returns ErrConflict if another worker appended to the session
// meanwhile, since f did not read those messages. A concurrent Compact is no conflict. Turn does
// not recover a panic of f and does not limit its time.
func (m *Manager) Turn(ctx context.Context, id string, f func(ctx context.Context, view message.Fitted) ([]message.Message, error)) (Appended, error) {
	h, err := m.live(ctx, id)
	if err != nil {
		return Appended{}, err
	}
	view, err := m.view(ctx, id, h)
	if err != nil {
		return Appended{}, err
	}
	ms, err := f(ctx, view)
	if err == nil {
		ms, err = complete(ms, m.now())
	}
	if err != nil {
		return Appended{}, place(id, err)
	}
	for try := 0; ; try++ {
		done, err := m.append(ctx, id, h, ms)
		if at, conflict := conflictAt(err); !conflict || at != headID {
			return done, err
		}
		now, err := m.live(ctx, id)
		switch {
		case err != nil:
			return Appended{}, err
		case now.Generation != h.Generation || now.Count != h.Count:
			return Appended{}, place(id, ErrConflict)
		}
		h = now // only Compact wrote a summary
		if err := pause(ctx, try); err != nil {
			return Appended{}, place(id, err)
		}
	}
}

// append makes one attempt, for the head as it was read.
func (m *Manager) append(ctx context.Context, id string, h *head, ms []message.Message) (Appended, error) {
	next := *h
	done := Appended{Added: ms}
	var err error
	if next.Open, done.Flagged, err = Follow(h.Open, ms); err != nil {
		return Appended{}, place(id, m.explain(ctx, id, h, ms, err))
	}
	next.Deadline = m.now().Add(m.cfg.TTL)
	changes, err := m.grow(&next, ms)
	if err != nil {
		return Appended{}, place(id, err)
	}
	docs, err := m.cfg.Store.Batch(ctx, at(id), changes)
	if reused := reusedCall(h.Generation, ms, err); reused != nil {
		return Appended{}, place(id, reused)
	}
	if at, conflict := conflictAt(err); conflict && at != headID || errors.Is(err, document.ErrRequest) {
		return Appended{}, place(id, fmt.Errorf("%w (%w)", ErrDuplicate, err))
	}
	if err != nil {
		return Appended{}, place(id, err)
	}
	next.version = docs[0].Version
	done.Session = next.session(id)
	return done, nil
}

// grow adds messages to the counts of a head. It returns the changes to write, the head first.
func (m *Manager) grow(h *head, ms []message.Message) ([]document.Change, error) {
	changes := make([]document.Change, 1, len(ms)+2)
	tokens, err := message.Total(m.counter(), ms)
	if err != nil {
		return nil, err
	}
	h.Tokens += tokens
	for _, msg := range ms {
		value, err := json.Marshal(msg)
		if err != nil {
			return nil, err
		}
		changes = append(changes, document.Change{ID: logID(h.Generation, msg.ID), Value: value, Order: order(h.Generation, h.Count), If: new(uint64)})
		for _, c := range msg.Calls {
			changes = append(changes, document.Change{ID: callMark(h.Generation, c.ID), Value: json.RawMessage("{}"), Order: markOrder(h.Generation), If: new(uint64)})
		}
		if msg.Role == message.RoleSystem && h.Leading == h.Count {
			h.Leading++
		}
		h.Count++
	}
	changes[0], err = h.change()
	return changes, err
}

// reusedCall converts a conflict on the mark of a call into an error about its message: an earlier
// call of the session has the same id.
func reusedCall(gen uint64, ms []message.Message, err error) error {
	at, conflict := conflictAt(err)
	if !conflict {
		return nil
	}
	for i, msg := range ms {
		for _, c := range msg.Calls {
			if callMark(gen, c.ID) == at {
				return &message.InvalidError{Problems: []message.Problem{{
					Index: i, ID: msg.ID, Rule: message.RuleDuplicate, Why: fmt.Sprintf("an earlier message makes a call %q too", c.ID),
				}}}
			}
		}
	}
	return nil
}

func (m *Manager) counter() message.Counter {
	if m.cfg.Window.Counter != nil {
		return m.cfg.Window.Counter
	}
	return message.Estimate{}
}

// explain returns a precise error for calls and results that do not follow the log: an ErrDuplicate
// if a message is there already. It reads the log.
func (m *Manager) explain(ctx context.Context, id string, h *head, ms []message.Message, short error) error {
	log, err := m.read(ctx, id, h.Generation, 0, h.Count, nil)
	if err != nil {
		return errors.Join(short, err)
	}
	for _, msg := range ms {
		if slices.ContainsFunc(log, func(old message.Message) bool { return old.ID == msg.ID }) {
			return fmt.Errorf("%w (message %q)", ErrDuplicate, msg.ID)
		}
	}
	var invalid *message.InvalidError
	if !errors.As(message.Validate(append(log, ms...)), &invalid) {
		return short
	}
	invalid.Problems = slices.DeleteFunc(invalid.Problems, func(p message.Problem) bool {
		return p.Index < len(log) || p.Rule == message.RuleUnanswered
	})
	if len(invalid.Problems) == 0 {
		return short
	}
	for i := range invalid.Problems {
		invalid.Problems[i].Index -= len(log)
	}
	return invalid
}

// complete returns copies of the messages in which messages and calls have ids and times.
func complete(ms []message.Message, now time.Time) ([]message.Message, error) {
	list := make([]message.Message, len(ms))
	for i, msg := range ms {
		list[i] = msg.Clone()
		if msg.Created.IsZero() {
			list[i].Created = now
		}
		if err := name(&list[i].ID); err != nil {
			return nil, err
		}
		for j := range list[i].Calls {
			if err := name(&list[i].Calls[j].ID); err != nil {
				return nil, err
			}
		}
	}
	return list, new(message.Log).Add(list...)
}

func name(id *string) error {
	if *id != "" {
		return nil
	}
	u, err := uuid.NewV7()
	*id = u.String()
	return err
}

// pause waits for a random time before the next attempt.
func pause(ctx context.Context, try int) error {
	most := min(time.Millisecond<<min(try, 6), 50*time.Millisecond)
	t := time.NewTimer(rand.N(most))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
