package session

import (
	"context"
	"iter"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// Listed is what a store has under the id of a session: one that goes on, former ones that have
// still to be offloaded or removed, or both.
type Listed struct {
	ID string
	// Live is the session that goes on, or whose time is over and which no sweeper has ended
	// yet; nil if there is none.
	Live *Session
	// Over says that the time of Live is over.
	Over    bool
	Waiting []Waiting // oldest first
}

// Waiting is a session that has ended and is not gone yet.
type Waiting struct {
	Key       string // see Ended.Key
	User      string
	Reason    Reason
	Created   time.Time
	Ended     time.Time
	Messages  int
	Offloaded bool // or there is nothing to offload it to; it has only to be removed
	Attempts  int  // of offloading it, that failed or are under way
	Next      time.Time
}

// List yields what the store has of sessions, those first that need a sweeper first. It reads the
// index of all, and then each session as it is when its turn comes.
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

// ended reads what has to be done for the lives of a session that have ended, oldest first.
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
