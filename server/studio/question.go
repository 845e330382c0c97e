package studio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// question is an open question with its form.
type question struct {
	graph.Interrupt
	Thread  string
	GraphID string
	Data    field    // what the question is about; Text is "" without data
	Args    string   // of the action, to be edited
	Form    string   // "decision", "yesno", "choice", "number", "text" or "json"; "" without a form
	Choices []string // of a "choice", as JSON
	View    string   // the page that the form leads back to: "chat", or "" for the thread
}

// May reports whether a decision answers the question.
func (q question) May(decision string) bool {
	return q.Action != nil && slices.Contains(q.Action.Allow, graph.DecisionType(decision))
}

// questionOf returns an open question; write is false if it is only shown.
func questionOf(t Thread, in graph.Interrupt, write bool) question {
	q := question{Interrupt: in, Thread: t.ID, GraphID: t.GraphID}
	if len(in.Data) > 0 {
		q.Data = fieldOf("", in.Data)
	}
	if in.Action != nil && len(in.Action.Args) > 0 {
		q.Args = indented(in.Action.Args)
	}
	if write && in.Kind == "question" && t.GraphID != "" {
		q.Form, q.Choices = formOf(in)
	}
	return q
}

// formOf returns the form for the answer of a question.
func formOf(in graph.Interrupt) (form string, choices []string) {
	if in.Action != nil {
		return "decision", nil
	}
	var schema struct {
		Type any               `json:"type"`
		Enum []json.RawMessage `json:"enum"`
	}
	_ = json.Unmarshal(in.Schema, &schema) // without a schema any JSON is an answer
	switch {
	case len(schema.Enum) > 0:
		for _, v := range schema.Enum {
			choices = append(choices, string(v))
		}
		return "choice", choices
	case schema.Type == "boolean":
		return "yesno", nil
	case schema.Type == "string":
		return "text", nil
	case schema.Type == "number" || schema.Type == "integer":
		return "number", nil
	}
	return "json", nil
}

func indented(data json.RawMessage) string {
	f := fieldOf("", data)
	return f.Text
}

// answerOf reads the answer from a form that questionOf has described.
func answerOf(in graph.Interrupt, form url.Values) (json.RawMessage, error) {
	kind, _ := formOf(in)
	value := strings.TrimSpace(form.Get("answer"))
	switch {
	case kind == "decision":
		return decisionOf(form)
	case kind == "text":
		return json.Marshal(form.Get("answer"))
	case !json.Valid([]byte(value)):
		return nil, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("the answer must be JSON (got %.100q)", value)}
	}
	return json.RawMessage(value), nil
}

// decisionOf reads the answer to an approval.
func decisionOf(form url.Values) (json.RawMessage, error) {
	d := graph.Decision{Type: graph.DecisionType(form.Get("decision")), Message: form.Get("message")}
	if d.Type == graph.DecisionEdit {
		args := strings.TrimSpace(form.Get("args"))
		if !json.Valid([]byte(args)) {
			return nil, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("the arguments must be JSON (got %.100q)", args)}
		}
		d.Args = json.RawMessage(args)
	}
	if d.Type == graph.DecisionApprove || d.Type == graph.DecisionEdit {
		d.Message = ""
	}
	return json.Marshal(d)
}

// listQuestions is the page with the open questions of all threads.
func listQuestions(r *request) (view, error) {
	offset, err := r.number("offset", 1<<31)
	if err != nil {
		return view{}, err
	}
	threads, total, err := r.source.Threads(r.Context(), Query{Status: "interrupted", Offset: int(offset), Limit: threadsPage})
	if err != nil {
		return view{}, err
	}
	var all h.Parts
	for _, t := range threads {
		open, err := questions(r, t)
		if err != nil {
			return view{}, err
		}
		all = append(all, h.Each(open, r.question))
	}
	older := ""
	if int(offset)+len(threads) < total {
		older = r.with("/inbox", "offset", fmt.Sprint(int(offset)+threadsPage))
	}
	if total == 0 {
		all = h.Parts{h.P(h.Text("No thread waits for a person."))}
	} else if h.String(all) == "" {
		all = h.Parts{h.P(h.Text("No thread on this page has a question."))}
	}
	return view{"/inbox", "Inbox", r.lists(all, h.If(older != "", h.P(neighbour(older, "next", "older"))))}, nil
}

// questions returns the open questions of a thread.
func questions(r *request, t Thread) (open []question, err error) {
	head, err := graph.Inspect(r.Context(), t.Store, checkpoint.Key{Thread: t.ID})
	if errors.Is(err, graph.ErrUnknownThread) {
		return nil, nil
	}
	for _, in := range head.Interrupts {
		open = append(open, questionOf(t, in, r.write))
	}
	return open, err
}

// answer takes the form of a question, and starts the run that goes on with the answer.
func answer(r *request) (view, string, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, "", err
	}
	for deadline := time.Now().Add(endingTime); ; {
		err := r.answerOnce(t)
		var wrong *requestError
		if err == nil || errors.As(err, &wrong) || time.Now().After(deadline) {
			return view{}, r.back(t.ID), err
		}
		if status, _ := r.fault(err); status != http.StatusConflict {
			return view{}, "", err
		}
		select { // the run that asked is about to end, or another answer has begun one
		case <-time.After(endingTime / 60):
		case <-r.Context().Done():
			return view{}, "", context.Cause(r.Context())
		}
	}
}

// endingTime is how long an answer waits for the end of the run that has asked.
const endingTime = 3 * time.Second

// answerOnce answers a question that is still open.
func (r *request) answerOnce(t Thread) error {
	head, err := graph.Inspect(r.Context(), t.Store, checkpoint.Key{Thread: t.ID})
	if err != nil && !errors.Is(err, graph.ErrUnknownThread) {
		return err
	}
	id := r.PostForm.Get("question")
	i := slices.IndexFunc(head.Interrupts, func(in graph.Interrupt) bool { return in.ID == id && in.Kind == "question" })
	if i < 0 {
		return &requestError{http.StatusConflict, "the question is not open any more: " + r.answerer(t, id)}
	}
	value, err := answerOf(head.Interrupts[i], r.PostForm)
	if err != nil {
		return err
	}
	return r.source.Answer(r.Context(), t, id, value)
}

// answerer returns who has answered a question.
func (r *request) answerer(t Thread, question string) string {
	if t.Graph != nil {
		for d, err := range t.Graph.Thread(t.ID).Decisions(r.Context()) {
			if err == nil && d.Question == question {
				return "it was answered by " + byWhom(d) + " at " + utc(d.Time) + " UTC"
			}
		}
	}
	return "it was answered, or the thread went on"
}

// byWhom names who made a decision, and where.
func byWhom(d graph.DecisionRecord) string {
	return cmp.Or(d.By, "a caller without a name") + " over " + cmp.Or(d.Via, "an unknown interface")
}
