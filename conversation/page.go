package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/state/message"
)

// Cursor is the position of a message in its thread: its time, and its sequence number for messages
// of one time. It stays valid when messages are added and when its own message is deleted. As text
// it looks like 2026-05-01T12:00:00.5Z#17.
type Cursor struct {
	Created time.Time
	Seq     uint64
}

// String returns the cursor as ParseCursor reads it.
func (c Cursor) String() string {
	return c.Created.UTC().Format(time.RFC3339Nano) + "#" + strconv.FormatUint(c.Seq, 10)
}

// MarshalText implements encoding.TextMarshaler.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Cursor) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCursor(string(text))
	return err
}

// ParseCursor parses the text of Cursor.String, or returns an ErrCursor.
func ParseCursor(text string) (c Cursor, err error) {
	at, seq, ok := strings.Cut(text, "#")
	if ok {
		if c.Created, err = time.Parse(time.RFC3339Nano, at); err == nil {
			c.Seq, err = strconv.ParseUint(seq, 10, 64)
		}
	}
	if !ok || err != nil {
		return Cursor{}, fmt.Errorf("%w: %.100q must be a time, # and a number", ErrCursor, text)
	}
	return c, nil
}

func (c Cursor) position() *document.Position {
	return &document.Position{Order: document.AtTime(c.Created), Seq: c.Seq}
}

// Page is a part of a thread.
type Page struct {
	Messages []message.Message // oldest first
	Cursors  []Cursor          // one for each message
}

// Pager is a [MessageStore] with pages. [Repository] implements it.
type Pager interface {
	Page(ctx context.Context, thread string, o Options) (Page, error)
}

// Page returns messages of a thread as Get does, with their cursors. A loop reads a thread page by
// page and misses no message, whatever their times are:
//
//	o := conversation.Options{Limit: new(20)}
//	for {
//		p, err := talk.Page(ctx, "thread-1", o)
//		if err != nil || len(p.Messages) == 0 {
//			return err
//		}
//		show(p.Messages)
//		o.OlderThan = &p.Cursors[0] // the page before
//	}
//
// It returns an errors.ErrUnsupported if the repository is no [Pager].
func (m *Manager) Page(ctx context.Context, thread string, o Options) (Page, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return Page{}, err
	}
	p, ok := m.cfg.Repository.(Pager)
	if !ok {
		return Page{}, place(thread, fmt.Errorf("the repository has no pages: %w", errors.ErrUnsupported))
	}
	return p.Page(ctx, thread, o)
}

var _ Pager = (*Repository)(nil)

// Page is Get with the cursors of the messages; see [Manager.Page].
func (r *Repository) Page(ctx context.Context, thread string, o Options) (Page, error) {
	docs, err := r.find(ctx, thread, o)
	if err != nil {
		return Page{}, err
	}
	ms, err := read(thread, docs)
	if err != nil {
		return Page{}, err
	}
	p := Page{ms, make([]Cursor, len(docs))}
	for i, d := range docs {
		p.Cursors[i] = Cursor{ms[i].Created, d.Seq}
	}
	return p, nil
}

// find returns the documents of messages, oldest first.
func (r *Repository) find(ctx context.Context, thread string, o Options) ([]document.Doc, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return nil, err
	}
	if o.OlderThan != nil && o.NewerThan != nil {
		return nil, place(thread, fmt.Errorf("%w: OlderThan and NewerThan must not both be set", ErrCursor))
	}
	q, forward := o.query(document.At(Collection, thread))
	if o.empty() || q.Skip < 0 { // the smallest int has no negation
		return nil, ctx.Err()
	}
	docs, err := r.store.Query(ctx, q)
	if err != nil {
		return nil, place(thread, err)
	}
	if !forward {
		slices.Reverse(docs)
	}
	if o.OlderThan != nil && o.Limit != nil && *o.Limit < 0 {
		docs = docs[min(uint(-*o.Limit), uint(len(docs))):]
	}
	return docs, nil
}
