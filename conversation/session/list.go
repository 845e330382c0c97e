package session

import (
	"context"
	"iter"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// Listed is the content of a store for one id: an active session, earlier sessions that must still
// be offloaded or removed, or both.
type Listed struct {
	ID string
	// Live is the active session, or one whose deadline has passed and which no sweeper has ended
	// yet; nil if there is none.
	Live *Session
	// Over reports that the deadline of Live has passed.
	Over    bool
	Waiting []Waiting // oldest first
}

// Waiting is a session that has ended and is not removed yet.
type Waiting struct {
	Key       string // see Ended.Key
	User      string
	Reason    Reason
	Created   time.Time
	Ended     time.Time
	Messages  int
	Offloaded bool // or there was no engine; it must only be removed
	Attempts  int  // of Offload, failed or under way
	Next      time.Time
}

// List yields the sessions of the store, by the time when they need a sweeper. It reads the index
// of all sessions at first, and each session just before it is yielded.
func (m *Manager) List(ctx context.Context) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		docs, err := m.cfg.Store.Query(ctx, document.Query{Place: indexAt})
		if err != nil {
			yield(Listed{}, err)
			return
		}
		for _, d := range docs {
			l, err := m.listed(ctx, d.ID)
			if err == nil && l.Live == nil && len(l.Waiting) == 0 {
				continue // the entry is written before the session and removed after it
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

func (m *Manager) listed(ctx context.Context, id string) (Listed, error) {
	l := Listed{ID: id}
	h, err := m.head(ctx, id)
	if err != nil {
		return l, err
	}
	if h.Live {
		s := h.session(id)
		l.Live, l.Over = &s, !m.now().Before(h.Deadline)
	}
	ended, err := m.ended(ctx, id)
	for _, t := range ended {
		l.Waiting = append(l.Waiting, Waiting{
			Key: t.Key, User: t.User, Reason: t.Reason, Created: t.Created, Ended: t.Ended,
			Messages: t.Count, Offloaded: t.Offloaded, Attempts: t.Attempts, Next: t.Next,
		})
	}
	return l, err
}

// ended reads the notes of the generations that have ended, oldest first.
func (m *Manager) ended(ctx context.Context, id string) ([]*todo, error) {
	docs, err := m.cfg.Store.Query(ctx, document.Query{Place: at(id), From: "o", Until: "o~"})
	if err != nil {
		return nil, place(id, err)
	}
	var list []*todo
	for _, d := range docs {
		t := &todo{version: d.Version}
		if err := decode(d, t); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}
