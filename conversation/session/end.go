package session

import (
	"context"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/validtext"
)

// todo is the note that a generation ended and must be offloaded and removed. It is written in one
// batch with the end, and removed last.
type todo struct {
	Generation uint64    `json:"life"`
	Key        string    `json:"key"`
	User       string    `json:"user"`
	Reason     Reason    `json:"reason"`
	Created    time.Time `json:"created"`
	Ended      time.Time `json:"ended"`
	Count      int       `json:"count"`
	Offloaded  bool      `json:"offloaded"` // or there was no engine at the end
	Attempts   int       `json:"attempts,omitempty"`
	// Next is the time of the next attempt: after a backoff, or after the time limit of the
	// attempt that is under way.
	Next time.Time `json:"next"`

	version uint64
}

func (t *todo) id() string { return fmt.Sprintf("o%016x", t.Generation) }

// change returns the conditional write of the note, for the version that was read.
func (t *todo) change() (document.Change, error) {
	value, err := validtext.Marshal(t)
	return document.Change{ID: t.id(), Value: value, Order: "o", If: &t.version}, err
}

// ending returns the write of the note for the generation of a head.
func (m *Manager) ending(h *head, reason Reason, now time.Time) (document.Change, error) {
	t := &todo{Generation: h.Generation, Key: h.Key, User: h.User, Reason: reason, Created: h.Created, Ended: now, Count: h.Count, Next: now, Offloaded: m.cfg.Engine == nil}
	return t.change()
}

// End ends a session. It does not wait for the engine: a Sweeper offloads and removes the session.
// It returns no error for a session that ended before or never existed.
func (m *Manager) End(ctx context.Context, id string) error {
	for try := 0; ; try++ {
		h, err := m.head(ctx, id)
		if err != nil || !h.Live {
			return err
		}
		reason := ReasonEnd
		if !m.now().Before(h.Deadline) {
			reason = ReasonTimeout
		}
		err = m.end(ctx, id, h, reason)
		if err == nil {
			m.scheduleNow(ctx, id, h.User)
			return nil
		}
		if _, conflict := conflictAt(err); !conflict {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return place(id, err)
		}
	}
}

// end writes the end of a generation and the note for the sweepers, in one batch.
func (m *Manager) end(ctx context.Context, id string, h *head, reason Reason) error {
	now, ended := m.now(), *h
	ended.Live = false
	change, err := ended.change()
	if err != nil {
		return place(id, err)
	}
	todo, err := m.ending(h, reason, now)
	if err != nil {
		return place(id, err)
	}
	_, err = m.cfg.Store.Batch(ctx, at(id), []document.Change{change, todo})
	return wrap(id, err)
}

// scheduleNow makes an ended session due for a sweeper. If that fails, the session is due at its
// deadline.
func (m *Manager) scheduleNow(ctx context.Context, id, user string) {
	if err := m.due(ctx, id, user, m.now()); err != nil {
		m.cfg.Log.Warn("session: ended; it is offloaded at its deadline", "session", id, "error", err)
	}
}
