package studio

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// valueForm is a value as fields, and beside them as JSON. The button that sends the form selects
// which of them counts.
type valueForm struct {
	noun    string // of the value, such as "input"
	form    *entry
	rest    json.RawMessage // the part of the value that has no field
	raw     string
	mistake string // of the JSON, or of the whole
}

// fromJSON reports whether the JSON of a form counts, and not its fields.
func fromJSON(form url.Values) bool { return form.Get("from") == "json" }

// read returns the value, of the fields or of the JSON beside them. Each shows what the other has.
// The value is nil if nothing was entered.
func (f *valueForm) read(form url.Values) (value json.RawMessage, ok bool) {
	if f.mistake = ""; fromJSON(form) {
		f.raw = form.Get("raw")
		if value = json.RawMessage(strings.TrimSpace(f.raw)); !json.Valid(value) {
			f.mistake = "the " + f.noun + " must be JSON"
			return nil, false
		}
		f.form.fill(value)
		return value, true
	}
	value, ok = f.form.read(form)
	value = f.form.merge(f.rest, value)
	if f.raw = cmp.Or(pretty(value), "{}"); !ok {
		f.mistake = "some fields have mistakes"
	}
	return value, ok
}

// rawField is the field of the JSON.
func (f *valueForm) rawField(label, rows string) h.Part {
	id := idOf(f.form.Owner + "raw-text")
	return h.Div(h.Class("fields"), h.Label(h.For(id), h.Text(label)), h.Textarea(h.ID(id), h.Name("raw"), h.Rows(rows), h.Spellcheck("false"), h.Text(f.raw)))
}

// answerForm returns the form of the answer to a question, or of the arguments of an edit. What was
// sent is nil for a form that has not been sent yet.
func answerForm(thread string, in graph.Interrupt, sent url.Values) *valueForm {
	f, text, value := &valueForm{noun: "answer"}, in.Schema, json.RawMessage(nil)
	if in.Action != nil {
		f.noun, text, value = "arguments", in.Action.Schema, in.Action.Args
	}
	s := new(schema)
	if json.Unmarshal(text, s) != nil || s.kind(0) != "object" {
		s = new(schema)
	}
	f.form = entryOf("value", "", strings.ToUpper(f.noun[:1])+f.noun[1:], s, true, 0)
	if f.form.own(questionID(thread, in.ID) + "-"); value != nil && !fromJSON(sent) { // JSON takes the place of all fields
		f.form.fill(value)
		f.rest, f.raw = f.form.beside(value), pretty(value)
	}
	return f
}

// editTo returns the answer to a question with the value of its form: for an approval, an edit.
func editTo(in graph.Interrupt, value json.RawMessage) json.RawMessage {
	if in.Action == nil {
		return value
	}
	data, _ := json.Marshal(graph.Decision{Type: graph.DecisionEdit, Args: value}) // of JSON
	return data
}
