package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftrun/weft/state/message"
)

// Log returns all messages of an active session, oldest first.
func (m *Manager) Log(ctx context.Context, id string) ([]message.Message, error) {
	h, err := m.live(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.read(ctx, id, h.Generation, 0, h.Count, nil)
}

// Cursor is a position in the log of a session, before a message. The zero Cursor is the end of the
// log. It is valid for one generation of the session, and stays valid when messages are appended.
type Cursor struct {
	Generation uint64 `json:"life"`
	Number     int    `json:"number"`
}

// Page is a part of the log of a session.
type Page struct {
	Messages []message.Message // oldest first
	Older    Cursor            // the cursor for the page before
}

// Page returns the newest messages of the log before a cursor, at most limit. To read the log page
// by page, pass the zero Cursor at first and then Page.Older until a page is empty. It returns
// ErrEnded for a cursor of an earlier generation, and ErrLimit for a limit below 1.
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
		before = Cursor{h.Generation, h.Count}
	case before.Generation != h.Generation:
		return Page{}, place(id, ErrEnded)
	}
	until := max(0, min(before.Number, h.Count))
	first := max(0, until-limit)
	p := Page{Older: Cursor{h.Generation, first}}
	if p.Messages, err = m.read(ctx, id, h.Generation, first, until, nil); err != nil {
		return Page{}, err
	}
	return p, nil
}

// View returns the messages for a model: Derive of the log, with Config.Window and the summary of
// Compact. It reads only the part of the log that it needs, so Cut may be incomplete. If messages
// that must stay do not fit, it returns the view and a *message.TooLargeError.
func (m *Manager) View(ctx context.Context, id string) (message.Fitted, error) {
	h, err := m.live(ctx, id)
	if err != nil {
		return message.Fitted{}, err
	}
	return m.view(ctx, id, h)
}

// pageSize is the number of messages that a view reads at once, unless its window is smaller.
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

// window reads a part of the log for which Window.Fit returns the same as for the whole log: the
// messages at the beginning that always stay, the summary, and more of the newest than fit.
func (m *Manager) window(ctx context.Context, id string, h *head) ([]message.Message, error) {
	first := h.Leading
	if h.Summary == nil {
		first = min(h.Leading+m.cfg.Window.KeepFirst, h.Count)
	}
	ms, err := m.read(ctx, id, h.Generation, 0, first, nil)
	if err != nil {
		return nil, err
	}
	if h.Summary != nil {
		ms, first = append(ms, h.Summary.Message), h.Summary.Until
	}
	w := m.cfg.Window
	open, _ := message.Orphans(ms) // calls that stay, and whose later results stay too
	if w.MaxTokens == 0 && w.MaxMessages == 0 || w.KeepSystem || w.KeepFirst > 0 && h.Summary != nil || len(open) > 0 {
		rest, err := m.read(ctx, id, h.Generation, first, h.Count, nil)
		return append(ms, rest...), err
	}
	page := pageSize
	if w.MaxMessages > 0 {
		page = min(pageSize, 2*w.MaxMessages)
	}
	var tail []message.Message
	for until := h.Count; until > first && !m.enough(tail); {
		older, err := m.read(ctx, id, h.Generation, first, until, &page)
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

// enough reports whether no message before the tail of a log can be in the window. The tail must be
// too large alone, have a user message, and have no result of an earlier call. It must not begin
// with a system message, because Fit would treat that as a leading one.
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
// Config.Summarizer.Window. It does not change the log. It takes as long as Summarizer.Write, so
// call it concurrently with the conversation; messages that are appended meanwhile stay in the
// view. It returns false if there was nothing to do, if there is no Summarizer.Write, or if another
// worker compacted or ended the session meanwhile. After an error nothing has changed, and the
// window drops the oldest messages instead.
func (m *Manager) Compact(ctx context.Context, id string) (done bool, err error) {
	h, err := m.live(ctx, id)
	if err != nil || m.cfg.Summarizer.Write == nil {
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

// full returns the view before it is cut to the window.
func (m *Manager) full(ctx context.Context, id string, h *head) ([]message.Message, error) {
	if h.Summary == nil {
		return m.read(ctx, id, h.Generation, 0, h.Count, nil)
	}
	ms, err := m.read(ctx, id, h.Generation, 0, h.Leading, nil)
	if err != nil {
		return nil, err
	}
	rest, err := m.read(ctx, id, h.Generation, h.Summary.Until, h.Count, nil)
	return append(append(ms, h.Summary.Message), rest...), err
}

// summarized writes a summary to the head, unless another one was written since h was read.
func (m *Manager) summarized(ctx context.Context, id string, h *head, s summary) (bool, error) {
	for try := 0; ; try++ {
		now, err := m.live(ctx, id)
		if err != nil {
			return false, err
		}
		if now.Generation != h.Generation || covers(now) != covers(h) {
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

// covers returns the number of messages that the summary of a head covers, or 0.
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
