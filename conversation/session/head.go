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

// A session is a partition with its head and the messages of the current generation. Ended
// generations that are not yet removed have a note and their messages there too. A batch writes
// them together. An index has one entry for each session, by the time when it next needs a sweeper.
// An entry is written before its session and removed after it, and its time may be too early.
const (
	Collection = "sessions"     // partitions by session
	Index      = "sessions-due" // one partition, by time
	headID     = "head"
)

func at(id string) document.Place { return document.At(Collection, id) }

var indexAt = document.At(Index, "all")

// head has the data of a session, except its messages.
type head struct {
	User       string    `json:"user"`
	Generation uint64    `json:"life"` // the number of times that the id began
	Key        string    `json:"key"`  // of this generation
	Live       bool      `json:"live"`
	Created    time.Time `json:"created"`
	Deadline   time.Time `json:"deadline"`
	Count      int       `json:"count"`   // messages of the log
	Leading    int       `json:"leading"` // system messages at its beginning
	Tokens     int       `json:"tokens"`
	Open       []string  `json:"open,omitempty"` // calls without a result
	Summary    *summary  `json:"summary,omitempty"`

	version uint64 // of the document; 0 if there is none
}

// summary replaces the messages from Leading up to Until.
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

// live reads the head of an active session.
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

// change returns the conditional write of the head, for the version that was read.
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

// order sorts messages by generation and number; the head has the order "", and notes have "o".
func order(gen uint64, n int) string { return fmt.Sprintf("m%016x%016x", gen, n) }

// logID is the id of a message's document.
func logID(gen uint64, id string) string { return fmt.Sprintf("m%016x/%s", gen, id) }

// callMark is the id of the document that marks a call id as used. Calls of older releases have no
// mark. A mark is removed with the messages of its generation.
func callMark(gen uint64, call string) string { return fmt.Sprintf("c%016x/%s", gen, call) }

// markOrder sorts marks after the messages of their generation.
func markOrder(gen uint64) string { return fmt.Sprintf("m%016x~", gen) }

// read returns messages of a generation by number, without until. A limit selects the newest.
func (m *Manager) read(ctx context.Context, id string, gen uint64, from, until int, limit *int) ([]message.Message, error) {
	q := document.Query{Place: at(id), From: order(gen, from), Until: order(gen, until), Reverse: limit != nil, Limit: limit}
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
