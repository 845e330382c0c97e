package studio

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// inboxScan is how many threads a page of the inbox looks at for questions that its filter selects.
const inboxScan = 1000

// inboxFilter selects questions. A zero field selects all.
type inboxFilter struct {
	Graph   string
	To      string // who is asked, in any case
	Overdue bool
	Soonest bool   // the questions that expire first come first, and not those of the newest threads
	Text    string // a part of the prompt, the detail, the data, the arguments, the node or the thread
}

func (r *request) inboxFilter() inboxFilter {
	get := func(name string) string { return strings.TrimSpace(r.URL.Query().Get(name)) }
	return inboxFilter{get("graph"), get("to"), get("overdue") != "", get("order") == "expires", get("text")}
}

// scans reports whether questions must be read to know whether, and where, a page has them.
func (f inboxFilter) scans() bool { return f.To != "" || f.Overdue || f.Soonest || f.Text != "" }

// selects reports whether the filter selects a question, at a time.
func (f inboxFilter) selects(thread string, in graph.Interrupt, now time.Time) bool {
	if f.To != "" && !strings.EqualFold(in.AskedOf(now), f.To) || f.Overdue && !overdue(in, now) {
		return false
	}
	if f.Text == "" {
		return true
	}
	words := []string{thread, in.Node, in.Prompt, in.Detail, string(readable(in.Data))}
	if in.Action != nil {
		words = append(words, in.Action.Name, string(readable(in.Action.Args)))
	}
	return slices.ContainsFunc(words, func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(f.Text)) })
}

// overdue reports whether a question has waited longer than its node expects: it has expired, or is
// to be reminded of, or is asked of another person.
func overdue(in graph.Interrupt, now time.Time) bool {
	late := func(after time.Duration) bool { return after > 0 && !now.Before(in.Asked.Add(after)) }
	if !in.Expires.IsZero() && !now.Before(in.Expires) {
		return true
	}
	return !in.Asked.IsZero() && (late(in.Remind) || slices.ContainsFunc(in.Escalate, func(e graph.Escalation) bool { return late(e.After) }))
}

// inboxPage is a page of open questions.
type inboxPage struct {
	Questions []question
	Threads   int // of all that wait, if the graph selects them
	Next      int // the offset of the next page; 0 without one
	// Unreadable are threads that may ask, too.
	Unreadable []unreadable
}

// unreadable is a thread whose record cannot be read.
type unreadable struct {
	Thread string `json:"thread"`
	Error  string `json:"error"`
}

// questions returns a page of the open questions of all threads.
func (r *request) questions(f inboxFilter) (p inboxPage, err error) {
	offset, err := r.number("offset", 1<<31)
	if err != nil {
		return p, err
	}
	q := Query{Status: "interrupted", Graph: f.Graph, Offset: int(offset), Limit: threadsPage}
	if f.scans() {
		q.Limit = inboxScan
	}
	if f.Soonest {
		q.Offset = 0
	}
	threads, total, err := r.source.Threads(r.Context(), q)
	if err != nil {
		return p, err
	}
	now, found := time.Now(), 0
	p.Threads = total
	for i, t := range threads {
		if found == threadsPage && !f.Soonest {
			threads = threads[:i]
			break
		}
		head, err := graph.Inspect(r.Context(), t.Store, checkpoint.Key{Thread: t.ID})
		switch {
		case errors.Is(err, graph.ErrUnknownThread): // it was removed meanwhile
		case isOfThread(err):
			p.Unreadable = append(p.Unreadable, unreadable{t.ID, err.Error()})
		case err != nil:
			return p, err
		}
		before := len(p.Questions)
		for _, in := range head.Interrupts {
			if f.selects(t.ID, in, now) {
				p.Questions = append(p.Questions, questionOf(t, in, r.write))
			}
		}
		if len(p.Questions) > before {
			found++
		}
	}
	if f.Soonest {
		p.bySoonest(int(offset))
		return p, nil
	}
	if len(threads) > 0 && q.Offset+len(threads) < total {
		p.Next = q.Offset + len(threads)
	}
	return p, nil
}

// bySoonest sorts the questions by the time at which they expire, those that do not expire last.
// It leaves the page at an offset.
func (p *inboxPage) bySoonest(offset int) {
	slices.SortStableFunc(p.Questions, func(a, b question) int {
		if a.Expires.IsZero() || b.Expires.IsZero() {
			return b.Expires.Compare(a.Expires)
		}
		return a.Expires.Compare(b.Expires)
	})
	all := len(p.Questions)
	end := min(offset+threadsPage, all)
	p.Questions = p.Questions[min(offset, all):end]
	if end < all {
		p.Next = end
	}
}

// listQuestions is the page with the open questions of all threads.
func listQuestions(r *request) (view, error) {
	f := r.inboxFilter()
	p, err := r.questions(f)
	if err != nil {
		return view{}, err
	}
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return view{}, err
	}
	none := ""
	switch {
	case len(p.Questions) > 0:
	case p.Threads == 0 && f == inboxFilter{}:
		none = "No thread waits for a person."
	case p.Next > 0:
		none = "No question of the threads that were looked at is selected."
	default:
		none = "No question is selected."
	}
	older := ""
	if p.Next > 0 {
		older = r.with("/inbox", "offset", fmt.Sprint(p.Next))
	}
	left := h.If(f.Soonest && p.Threads > inboxScan, h.P(h.Class("notice"), h.Text(fmt.Sprintf("These are the questions of the newest %d of %d threads that wait.", inboxScan, p.Threads))))
	return view{"/inbox", "Inbox", h.Parts{
		f.form(r, graphs), r.inboxKeys(),
		r.lists(left, h.Each(p.Unreadable, func(u unreadable) h.Part {
			return h.P(h.Class("notice"), h.Text("The questions of thread "), link(r.base+"/threads/"+url.PathEscape(u.Thread), u.Thread), h.Text(" cannot be read: "+u.Error))
		}), h.Each(p.Questions, r.question), h.If(none != "", h.P(h.Text(none))), h.If(older != "", h.P(neighbour(older, "next", "older")))),
	}}, nil
}

// form is the form of the filter.
func (f inboxFilter) form(r *request, graphs []Graph) h.Part {
	return h.Form(h.Class("filters"), h.Method("get"), h.Action(r.base+"/inbox"),
		h.Label(h.Text("Graph "), h.Select(h.Name("graph"), h.Option(h.Value(""), h.Text("all")), h.Each(graphs, func(g Graph) h.Part {
			return h.Option(h.Value(g.ID), h.Selected(g.ID == f.Graph), h.Text(g.ID))
		}))),
		h.Label(h.Text("First "), h.Select(h.Name("order"), h.Option(h.Value(""), h.Text("newest thread")), h.Option(h.Value("expires"), h.Selected(f.Soonest), h.Text("soonest expiry")))),
		textField("Asked person", "to", f.To, false), textField("Text", "text", f.Text, false),
		h.Label(h.Input(h.Type("checkbox"), h.Name("overdue"), h.Value("1"), h.Checked(f.Overdue)), h.Text(" overdue")),
		h.Button(h.Text("Show")))
}

// inboxKeys are the keys of the inbox, and what becomes of an answer. A script shows them.
func (r *request) inboxKeys() h.Part {
	if !r.write {
		return nil
	}
	key := func(name, does string) h.Part { return h.Parts{h.Kbd(h.Text(name)), h.Text(" " + does)} }
	return h.Custom("weft-inbox", h.Hidden(true),
		h.P(h.Class("muted"), key("j", ""), key("k", "move, "), key("a", "approve, "), key("e", "edit, "), key("r", "reject, "), key("Ctrl ↵", "send, "), key("u", "undo. "),
			h.Label(h.Input(h.Type("checkbox"), h.Checked(true)), h.Text(" Wait 5 s before an answer is sent"))),
		h.P(h.Class("sent"), h.Role("status")))
}

// showQuestion is the page of one question.
func showQuestion(r *request) (view, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("thread"))
	if err != nil {
		return view{}, err
	}
	in, err := r.asked(t, r.PathValue("question"))
	if closed, ok := isClosed(err); ok {
		return r.questionPage(r.lists(h.P(h.Class("notice"), h.Text(closed)))), nil
	}
	if err != nil {
		return view{}, err
	}
	return r.questionPage(r.inboxKeys(), r.lists(r.question(questionOf(t, in, r.write)))), nil
}

func (r *request) questionPage(parts ...h.Part) view {
	return view{"/inbox", "Question", h.Parts{h.Parts(parts), h.P(link(r.base+"/inbox", "All questions"))}}
}
