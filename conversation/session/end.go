package session

import (
	"context"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/validtext"
)

// todo is what has to be done for a life that has ended: to offload it, and to remove it. It
// is written in one batch with the end, and removed last.
type todo struct {
	Life      uint64    `json:"life"`
	Key       string    `json:"key"`
	User      string    `json:"user"`
	Reason    Reason    `json:"reason"`
	Created   time.Time `json:"created"`
	Ended     time.Time `json:"ended"`
	Count     int       `json:"count"`
	Offloaded bool      `json:"offloaded"` // or there was no engine when it ended
	Attempts  int       `json:"attempts,omitempty"`
	// Next is when the next attempt may be made: after a pause, or when whoever is at work
	// must have ended.
	Next time.Time `json:"next"`

	version uint64
}

func (t *todo) id() string { return fmt.Sprintf("o%016x", t.Life) }

// change writes what has to be done, if it is still the version that was read.
func (t *todo) change() (document.Change, error) {
	value, err := validtext.Marshal(t)
	return document.Change{ID: t.id(), Value: value, Order: "o", If: &t.version}, err
}

// ending is the change that says what has to be done for the life of a head.
func (m *Manager) ending(h *head, reason Reason, now time.Time) (document.Change, error) {
	t := &todo{Life: h.Life, Key: h.Key, User: h.User, Reason: reason, Created: h.Created, Ended: now, Count: h.Count, Next: now, Offloaded: m.cfg.Engine == nil}
	return t.change()
}

// End ends a session. It does not wait for the engine: a Sweeper offloads and removes what the
// session was. To end one that has ended, or never was, is no error.
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

// end writes the end of the life of a head, and what then has to be done, in one batch.
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

// hurry calls a sweeper for a session that has ended. Where that fails one comes at its deadline.
func (m *Manager) scheduleNow(ctx context.Context, id, user string) {
	if err := m.due(ctx, id, user, m.now()); err != nil {
		m.cfg.Log.Warn("session: it has ended, and is offloaded at its deadline", "session", id, "error", err)
	}
}
