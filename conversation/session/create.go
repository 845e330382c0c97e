package session

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/validtext"
	"github.com/weftrun/weft/state/message"
)

// Start has the options of a new session. The zero value is valid.
type Start struct {
	ID     string // "" means a new version 7 UUID
	User   string // the owner, for the long-term memory
	System string // the system prompt; Create appends what the engine knows about the user
}

// Create starts a session, or returns ErrExists if one with this id is active. The id of a session
// that ended can be used at once, also while that session is being offloaded.
func (m *Manager) Create(ctx context.Context, s Start) (Session, error) {
	if s.ID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return Session{}, err
		}
		s.ID = id.String()
	}
	return m.again(ctx, s, func(h *head, over bool) (Reason, error) {
		switch {
		case !h.Live:
			return "", nil
		case over:
			return ReasonTimeout, nil
		}
		return "", place(s.ID, ErrExists)
	})
}

// Reset atomically ends the active session of an id, if there is one, and starts a new one. Without
// a user in s, the new session has the user of the old one.
func (m *Manager) Reset(ctx context.Context, s Start) (Session, error) {
	return m.again(ctx, s, func(h *head, over bool) (Reason, error) {
		switch {
		case !h.Live:
			return "", nil
		case over:
			return ReasonTimeout, nil
		}
		return ReasonReset, nil
	})
}

// again starts the next generation of an id, and retries after a conflict. The function ends
// returns the reason why the previous generation ends, "" if there is none, or an error if it must
// not end. Its argument over reports that the deadline has passed.
func (m *Manager) again(ctx context.Context, s Start, ends func(h *head, over bool) (Reason, error)) (Session, error) {
	for try := 0; ; try++ {
		h, err := m.head(ctx, s.ID)
		if err != nil {
			return Session{}, err
		}
		reason, err := ends(h, !m.now().Before(h.Deadline))
		if err != nil {
			return Session{}, err
		}
		begun, err := m.begin(ctx, s, h, reason)
		if id, conflict := conflictAt(err); !conflict || id != headID {
			return begun, err
		}
		if err := pause(ctx, try); err != nil {
			return Session{}, place(s.ID, err)
		}
	}
}

// begin starts the next generation of an id. With a reason it ends the previous one in the same
// batch.
func (m *Manager) begin(ctx context.Context, s Start, h *head, reason Reason) (Session, error) {
	key, err := uuid.NewV7()
	if err != nil {
		return Session{}, err
	}
	now := m.now()
	if s.User == "" && reason != "" {
		s.User = h.User
	}
	next := &head{User: s.User, Generation: h.Generation + 1, Key: key.String(), Live: true, Created: now, Deadline: now.Add(m.cfg.TTL), version: h.version}
	var ms []message.Message
	if prompt := m.prompt(ctx, s); prompt != "" {
		ms = append(ms, message.System(prompt))
	}
	ms, err = complete(ms, now)
	if err != nil {
		return Session{}, place(s.ID, err)
	}
	changes, err := m.grow(next, ms)
	if err != nil {
		return Session{}, place(s.ID, err)
	}
	if reason != "" {
		todo, err := m.ending(h, reason, now)
		if err != nil {
			return Session{}, place(s.ID, err)
		}
		changes = append(changes, todo)
	}
	due := next.Deadline
	if reason != "" {
		due = now // the previous generation must be offloaded
	}
	if err := m.due(ctx, s.ID, s.User, due); err != nil {
		return Session{}, err
	}
	docs, err := m.cfg.Store.Batch(ctx, at(s.ID), changes)
	if err != nil {
		return Session{}, place(s.ID, err)
	}
	next.version = docs[0].Version
	return next.session(s.ID), nil
}

// prompt returns the system prompt with what the engine knows about the user. If the engine fails,
// it returns the prompt alone.
func (m *Manager) prompt(ctx context.Context, s Start) string {
	if m.cfg.Engine == nil || s.User == "" {
		return s.System
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.RetryFor)
	defer cancel()
	known := ""
	err := guard(func() (err error) {
		known, err = m.cfg.Engine.Bootstrap(ctx, s.User)
		return err
	})
	if err != nil {
		m.cfg.Log.Warn("session: started without the long-term memory", "session", s.ID, "user", s.User, "error", err)
		return s.System
	}
	return strings.TrimSpace(s.System + "\n\n" + strings.TrimSpace(known))
}

// due writes to the index when a session needs a sweeper next.
func (m *Manager) due(ctx context.Context, id, user string, when time.Time) error {
	value, err := validtext.Marshal(entry{user})
	if err != nil {
		return place(id, err)
	}
	if _, err := m.cfg.Store.Set(ctx, indexAt, document.Change{ID: id, Value: value, Order: document.AtTime(when)}); err != nil {
		return place(id, err)
	}
	return nil
}

// entry is the value of a session in the index.
type entry struct {
	User string `json:"user"`
}

// Sessions returns the active sessions of a user. It reads the index of all sessions.
func (m *Manager) Sessions(ctx context.Context, user string) ([]Session, error) {
	docs, err := m.cfg.Store.Query(ctx, document.Query{Place: indexAt, Where: document.Filter{{Path: "user", Value: user}}})
	if err != nil {
		return nil, err
	}
	list := []Session{}
	for _, d := range docs {
		s, err := m.Get(ctx, d.ID)
		if errors.Is(err, ErrNotFound) || err == nil && s.User != user {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
