package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/validtext"
	"github.com/weftrun/weft/state/message"
)

// A session is a partition: its head, the messages of its present life, and of each life that
// has ended what still has to be done for it, with that life's messages. A batch writes them
// together. Beside it all sessions have one entry each in an index by when they need a
// sweeper next, which is written before the session and removed after it, and may be too early.
const (
	Collection = "sessions"     // partitions by session
	Index      = "sessions-due" // one partition, by time
	headID     = "head"
)

func at(id string) document.Place { return document.At(Collection, id) }

var indexAt = document.At(Index, "all")

// head is what a session is, besides its messages.
type head struct {
	User     string    `json:"user"`
	Life     uint64    `json:"life"` // how often the id was begun
	Key      string    `json:"key"`  // of this life
	Live     bool      `json:"live"`
	Created  time.Time `json:"created"`
	Deadline time.Time `json:"deadline"`
	Count    int       `json:"count"`   // messages of the log
	Leading  int       `json:"leading"` // system messages at its beginning
	Tokens   int       `json:"tokens"`
	Open     []string  `json:"open,omitempty"` // calls without a result
	Summary  *summary  `json:"summary,omitempty"`

	version uint64 // of the document; 0 if there is none
}

// summary stands for the messages from Leading up to Until.
type summary struct {
	Until   int             `json:"until"`
	Message message.Message `json:"message"`
}

func (h *head) session(id string) Session {
	return Session{
		ID: id, User: h.User, Created: h.Created, Deadline: h.Deadline,
		Messages: h.Count, Tokens: h.Tokens, Unanswered: h.Open, Version: h.version,
	}
}

// head reads the head of a session; its version is 0 if there is none.
func (m *Manager) head(ctx context.Context, id string) (*head, error) {
	if err := checkpoint.CheckThread(id); err != nil {
		return nil, place(id, err)
	}
	d, err := m.cfg.Store.Get(ctx, at(id), headID)
	if errors.Is(err, document.ErrNotFound) {
		return &head{}, nil
	}
	if err != nil {
		return nil, place(id, err)
	}
	h := &head{version: d.Version}
	return h, decode(d, h)
}

// live reads the head of a session that goes on.
func (m *Manager) live(ctx context.Context, id string) (*head, error) {
	h, err := m.head(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case h.version == 0:
		return nil, place(id, ErrNotFound)
	case !h.Live || !m.now().Before(h.Deadline):
		return nil, place(id, ErrEnded)
	}
	return h, nil
}

// change writes the head if it is still the version that was read.
func (h *head) change() (document.Change, error) {
	value, err := validtext.Marshal(h)
	return document.Change{ID: headID, Value: value, If: &h.version}, err
}

func decode(d document.Doc, into any) error {
	if err := json.Unmarshal(d.Value, into); err != nil {
		return place(d.Partition, fmt.Errorf("%w: document %q: %w", checkpoint.ErrCorrupt, d.ID, err))
	}
	return nil
}

// order sorts messages by life and number; the head has "", what has to be done "o".
func order(life uint64, n int) string { return fmt.Sprintf("m%016x%016x", life, n) }

// logID is the id of a message's document.
func logID(life uint64, id string) string { return fmt.Sprintf("m%016x/%s", life, id) }

// callMark is the id of the document that marks a call id as used. It exists for calls that were appended
// since marks are kept, and is removed with the messages of its life.
func callMark(life uint64, call string) string { return fmt.Sprintf("c%016x/%s", life, call) }

// markOrder sorts marks behind the messages of their life.
func markOrder(life uint64) string { return fmt.Sprintf("m%016x~", life) }

// read returns the messages from one number up to another of a life. A limit reads the newest.
func (m *Manager) read(ctx context.Context, id string, life uint64, from, until int, limit *int) ([]message.Message, error) {
	q := document.Query{Place: at(id), From: order(life, from), Until: order(life, until), Reverse: limit != nil, Limit: limit}
	docs, err := m.cfg.Store.Query(ctx, q)
	if err != nil {
		return nil, place(id, err)
	}
	ms := make([]message.Message, len(docs))
	for i, d := range docs {
		to := i
		if q.Reverse {
			to = len(docs) - 1 - i
		}
		if err := decode(d, &ms[to]); err != nil {
			return nil, err
		}
	}
	return ms, nil
}
