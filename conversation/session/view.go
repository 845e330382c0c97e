package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftrun/weft/state/message"
)

// Log returns all messages of a session, oldest first. Nothing ever leaves it while the session goes on.
func (m *Manager) Log(ctx context.Context, id string) ([]message.Message, error) {
	h, err := m.live(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.read(ctx, id, h.Life, 0, h.Count, nil)
}

// Cursor is a place in the log of a session: behind it lie newer messages. The zero Cursor is the end of
// the log. It is of one life of the session, by the number of the message, and stays valid when messages
// are appended.
type Cursor struct {
	Life   uint64 `json:"life"`
	Number int    `json:"number"`
}

// Page is a part of the log of a session.
type Page struct {
	Messages []message.Message // oldest first
	Older    Cursor            // of the page before
}

// Page returns the newest messages of the log before a cursor, at most limit. To read the log page by
// page, begin with the zero Cursor and go on with Page.Older until a page is empty. A cursor of a
// session that was begun anew meanwhile is an ErrEnded, a limit below 1 an ErrLimit.
func (m *Manager) Page(ctx context.Context, id string, before Cursor, limit int) (Page, error) {
	if limit < 1 {
		return Page{}, place(id, fmt.Errorf("%w (got %d)", ErrLimit, limit))
	}
	h, err := m.live(ctx, id)
	if err != nil {
		return Page{}, err
	}
	switch {
	case before == Cursor{}:
		before = Cursor{h.Life, h.Count}
	case before.Life != h.Life:
		return Page{}, place(id, ErrEnded)
	}
	until := max(0, min(before.Number, h.Count))
	first := max(0, until-limit)
	p := Page{Older: Cursor{h.Life, first}}
	if p.Messages, err = m.read(ctx, id, h.Life, first, until, nil); err != nil {
		return Page{}, err
	}
	return p, nil
}

// View returns what to send to a model: Derive of the log, by Config.Window and the summary that
// Compact made. It reads no more of the log than it must, and Cut has only what was read. What
// must stay and does not fit is a *message.TooLargeError, with the view beside it.
func (m *Manager) View(ctx context.Context, id string) (message.Fitted, error) {
	h, err := m.live(ctx, id)
	if err != nil {
		return message.Fitted{}, err
	}
	return m.view(ctx, id, h)
}

// pageSize is how many messages a view reads at once, unless its window has room for few.
const pageSize = 64

func (m *Manager) view(ctx context.Context, id string, h *head) (message.Fitted, error) {
	ms, err := m.window(ctx, id, h)
	if err != nil {
		return message.Fitted{}, err
	}
	fit, err := m.cfg.Window.Fit(ms)
	if err != nil {
		err = place(id, err)
	}
	return fit, err
}

// window reads the part of the log of which Window.Fit makes the same as of all of it: what always
// stays at the beginning, the summary, and of the rest the newest that are more than fit.
func (m *Manager) window(ctx context.Context, id string, h *head) ([]message.Message, error) {
	first := h.Leading
	if h.Summary == nil {
		first = min(h.Leading+m.cfg.Window.KeepFirst, h.Count)
	}
	ms, err := m.read(ctx, id, h.Life, 0, first, nil)
	if err != nil {
		return nil, err
	}
	if h.Summary != nil {
		ms, first = append(ms, h.Summary.Message), h.Summary.Until
	}
	w := m.cfg.Window
	open, _ := message.Orphans(ms) // what stays has calls whose results, further on, stay too
	if w.MaxTokens == 0 && w.MaxMessages == 0 || w.KeepSystem || w.KeepFirst > 0 && h.Summary != nil || len(open) > 0 {
		rest, err := m.read(ctx, id, h.Life, first, h.Count, nil)
		return append(ms, rest...), err
	}
	page := pageSize
	if w.MaxMessages > 0 {
		page = min(pageSize, 2*w.MaxMessages)
	}
	var tail []message.Message
	for until := h.Count; until > first && !m.enough(tail); {
		older, err := m.read(ctx, id, h.Life, first, until, &page)
		if err != nil {
			return nil, err
		}
		if len(older) == 0 {
			break
		}
		tail, until = append(older, tail...), until-len(older)
	}
	return append(ms, tail...), nil
}

// enough reports whether nothing before the tail of a log could be in the window: the tail alone
// is too large, it has what always stays, and no result of a call before it. A tail does not begin
// with a system message, which would be taken for one of those that lead the log.
func (m *Manager) enough(tail []message.Message) bool {
	if len(tail) == 0 || tail[0].Role == message.RoleSystem {
		return false
	}
	user := slices.ContainsFunc(tail, func(m message.Message) bool { return m.Role == message.RoleUser })
	if _, results := message.Orphans(tail); !user || len(results) > 0 {
		return false
	}
	w := m.cfg.Window
	if w.MaxMessages > 0 && len(tail) > w.MaxMessages {
		return true
	}
	tokens, err := message.Total(m.counter(), tail)
	return err == nil && w.MaxTokens > 0 && tokens > w.MaxTokens
}

// Compact replaces the oldest rounds of the view by a summary, if the view is too long for
// Config.Summarizer.Window. The log stays whole. It takes as long as Summarizer.Write: call it
// beside the conversation. What is appended meanwhile stays in the view; done is
// false when there was nothing to do, or somebody else has compacted or ended the session
// meanwhile. With an error nothing has changed, and the window slides instead.
func (m *Manager) Compact(ctx context.Context, id string) (done bool, err error) {
	h, err := m.live(ctx, id)
	if err != nil {
		return false, err
	}
	ms, err := m.full(ctx, id, h)
	if err != nil {
		return false, err
	}
	plan, ok, err := m.cfg.Summarizer.Plan(ms)
	if err != nil || !ok {
		return false, wrap(id, err)
	}
	last := plan.Messages[len(plan.Messages)-1].ID
	at := slices.IndexFunc(ms, func(m message.Message) bool { return m.ID == last })
	until := h.Count - (len(ms) - 1 - at)
	made, err := m.cfg.Summarizer.Summarize(ctx, plan)
	if err != nil {
		return false, place(id, err)
	}
	short, err := made.Message()
	if err != nil {
		return false, place(id, err)
	}
	return m.summarized(ctx, id, h, summary{Until: until, Message: short})
}

// full returns the view before it is cut.
func (m *Manager) full(ctx context.Context, id string, h *head) ([]message.Message, error) {
	if h.Summary == nil {
		return m.read(ctx, id, h.Life, 0, h.Count, nil)
	}
	ms, err := m.read(ctx, id, h.Life, 0, h.Leading, nil)
	if err != nil {
		return nil, err
	}
	rest, err := m.read(ctx, id, h.Life, h.Summary.Until, h.Count, nil)
	return append(append(ms, h.Summary.Message), rest...), err
}

// summarized puts a summary into the head, unless another one has come there since h was read.
func (m *Manager) summarized(ctx context.Context, id string, h *head, s summary) (bool, error) {
	for try := 0; ; try++ {
		now, err := m.live(ctx, id)
		if err != nil {
			return false, err
		}
		if now.Life != h.Life || covers(now) != covers(h) {
			return false, nil
		}
		now.Summary = &s
		change, err := now.change()
		if err == nil {
			_, err = m.cfg.Store.Set(ctx, at(id), change)
		}
		if _, conflict := conflictAt(err); !conflict {
			return err == nil, wrap(id, err)
		}
		if err := pause(ctx, try); err != nil {
			return false, place(id, err)
		}
	}
}

// covers is how far the summary of a head reaches.
func covers(h *head) int {
	if h.Summary == nil {
		return 0
	}
	return h.Summary.Until
}

func wrap(id string, err error) error {
	if err != nil {
		return place(id, err)
	}
	return nil
}
