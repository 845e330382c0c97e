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
)

// question is an open question with its form.
type question struct {
	graph.Interrupt
	Thread  string
	GraphID string
	Data    field    // what the question is about; Text is "" without data
	Form    string   // "decision", "yesno", "choice", "number", "text" or "fields"; "" without a form
	Choices []string // of a "choice", as JSON
	Value   *valueForm
	Message string // that was entered
	Answer  string // that was entered, of a "text" or "number"
	Mistake string
	Now     time.Time
	View    string // the page that the form leads back to: "chat", or "" for the thread
}

// May reports whether a decision answers the question.
func (q question) May(decision string) bool {
	return q.Action != nil && slices.Contains(q.Action.Allow, graph.DecisionType(decision))
}

// questionID is the id of a question on its page.
func questionID(thread, id string) string { return idOf("q-" + thread + "-" + id) }

// questionOf returns an open question; write is false if it is only shown.
func questionOf(t Thread, in graph.Interrupt, write bool) question {
	q := question{Interrupt: in, Thread: t.ID, GraphID: t.GraphID, Now: time.Now()}
	if len(in.Data) > 0 {
		q.Data = fieldOf("", in.Data)
	}
	if write && in.IsQuestion() && t.GraphID != "" {
		q.Form, q.Choices = formOf(in)
	}
	if q.Form == "fields" || q.Form == "decision" && q.May("edit") {
		q.Value = answerForm(t.ID, in, nil)
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
	return "fields", nil
}

func indented(data json.RawMessage) string {
	f := fieldOf("", data)
	return f.Text
}

// read reads the answer from the form of the question, which then shows what was entered. It
// returns an error of the form if the answer has a mistake.
func (q *question) read(form url.Values) (value json.RawMessage, err error) {
	kind, _ := formOf(q.Interrupt)
	q.Mistake, q.Answer = "", form.Get("answer")
	switch {
	case kind == "fields" || kind == "decision" && form.Get("decision") == string(graph.DecisionEdit):
		q.Value = answerForm(q.Thread, q.Interrupt, form)
		var ok bool
		if value, ok = q.Value.read(form); !ok {
			q.Mistake = q.Value.mistake
			break
		}
		value = editTo(q.Interrupt, value)
	case kind == "decision":
		d := graph.Decision{Type: graph.DecisionType(form.Get("decision"))}
		if q.Message = form.Get("message"); d.Type != graph.DecisionApprove {
			d.Message = q.Message
		}
		if value, err = json.Marshal(d); err != nil {
			return nil, err
		}
	case kind == "text":
		if value, err = json.Marshal(q.Answer); err != nil {
			return nil, err
		}
	default:
		if value = json.RawMessage(strings.TrimSpace(q.Answer)); !json.Valid(value) {
			q.Mistake = fmt.Sprintf("the answer must be JSON (got %.100q)", value)
		}
	}
	if q.Mistake == "" {
		q.Mistake = refusal(q.Interrupt, value)
	}
	if q.Mistake != "" {
		return nil, &requestError{http.StatusUnprocessableEntity, q.Mistake}
	}
	return value, nil
}

// refusal returns why an answer does not fit a question, or "".
func refusal(in graph.Interrupt, answer json.RawMessage) string {
	if err := in.Accepts(answer); err != nil {
		return strings.TrimPrefix(err.Error(), "graph: ")
	}
	return ""
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
		var mistakes *wrongForm
		if err == nil || errors.As(err, &wrong) || errors.As(err, &mistakes) || time.Now().After(deadline) {
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

// asked returns a question of a thread that is still open.
func (r *request) asked(t Thread, id string) (in graph.Interrupt, err error) {
	head, err := graph.Inspect(r.Context(), t.Store, checkpoint.Key{Thread: t.ID})
	if err != nil && !errors.Is(err, graph.ErrUnknownThread) {
		return in, err
	}
	i := slices.IndexFunc(head.Interrupts, func(in graph.Interrupt) bool { return in.ID == id && in.IsQuestion() })
	if i < 0 {
		return in, &requestError{http.StatusConflict, "the question is not open any more: " + r.answerer(t, id)}
	}
	return head.Interrupts[i], nil
}

// isClosed reports whether asked has failed since the question is not open any more, and what
// became of it.
func isClosed(err error) (text string, ok bool) {
	if bad := (*requestError)(nil); errors.As(err, &bad) && bad.status == http.StatusConflict {
		return bad.text, true
	}
	return "", false
}

// answerOnce answers a question that is still open. An answer with mistakes shows its form again,
// at an address that only takes forms: the page does not follow the list.
func (r *request) answerOnce(t Thread) error {
	in, err := r.asked(t, r.PostForm.Get("question"))
	if err != nil {
		return err
	}
	q := questionOf(t, in, true)
	q.View = r.PostForm.Get("view")
	value, err := q.read(r.PostForm)
	if err != nil {
		return &wrongForm{view: r.questionPage(r.question(q))}
	}
	return r.source.Answer(r.Context(), t, in.ID, value)
}

// answerer returns who has answered a question.
func (r *request) answerer(t Thread, question string) string {
	if t.Graph != nil {
		for d, err := range t.Graph.Thread(t.ID).Decisions(r.Context()) {
			if err == nil && d.Question == question {
				return "it was answered by " + byWhom(d) + " at " + utc(d.Time) + " UTC: " + resultOf(d)
			}
		}
	}
	return "it was answered, or the thread went on"
}

// byWhom names who made a decision, and where.
func byWhom(d graph.DecisionRecord) string {
	return cmp.Or(d.By, "a caller without a name") + " over " + cmp.Or(d.Via, "an unknown interface")
}
