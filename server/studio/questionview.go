package studio

import (
	"net/url"
	"time"

	h "github.com/weftrun/weft/internal/markup"
)

// question is an open question with the form for its answer.
func (r *request) question(q question) h.Part {
	pause := ""
	if !q.IsQuestion() {
		pause = " pauses " + q.Kind + " it runs"
	}
	person := q.AskedOf(q.Now)
	return h.Section(h.ID(questionID(q.Thread, q.ID)), h.Class("question"), h.Tabindex("-1"), h.Aria("label", "Question of "+q.Node+" on thread "+q.Thread+", "+q.ID),
		h.P(h.B(h.Text(q.Node)), h.Text(pause+" · thread "), link(r.threadPath(q.Thread), q.Thread),
			h.If(q.GraphID != "", h.Text(" · "+q.GraphID)),
			h.If(person != "", h.Text(" · asks "), link(r.base+"/inbox?to="+url.QueryEscape(person), person)),
			h.If(!q.Expires.IsZero(), h.Text(" · "), h.Time(h.Datetime(q.Expires.UTC().Format(time.RFC3339Nano)), h.Data("until", ""), h.Text("expires "+utc(q.Expires)+" UTC"))),
			h.If(overdue(q.Interrupt, q.Now), h.Text(" · "), h.Span(h.Class("status", "status-error"), h.Text("overdue"))),
			h.If(q.IsQuestion(), h.Text(" · "), h.A(h.Href(r.questionPath(q)), h.Data("page", ""), h.Text("link")))),
		h.If(q.Prompt != "", h.P(h.Class("prompt"), h.Text(q.Prompt))),
		h.If(q.Detail != "", h.Pre(h.Tabindex("0"), h.Text(q.Detail))),
		h.If(q.Data.Text != "", h.P(q.Data.value())),
		h.If(q.Action != nil, h.P(h.Text("Action: "), h.Code(h.Text(q.actionName())))),
		h.If(q.args() != "" && q.Value == nil, h.Pre(h.Tabindex("0"), h.Text(q.args()))),
		h.If(q.Mistake != "", h.P(h.Class("error"), h.Role("alert"), h.Text(q.Mistake))),
		q.answers(r),
	)
}

// questionPath returns the address of a question.
func (r *request) questionPath(q question) string {
	return r.base + escapedPath("inbox", q.Thread, q.ID)
}

func (q question) actionName() string {
	if q.Action == nil {
		return ""
	}
	return q.Action.Name
}

// args are the arguments of the action; "" without any.
func (q question) args() string {
	if q.Action == nil || len(q.Action.Args) == 0 {
		return ""
	}
	return indented(q.Action.Args)
}

// answers are the forms of the question.
func (q question) answers(r *request) h.Part {
	if q.Form == "" {
		return nil
	}
	form := func(inputs ...h.Part) h.Part {
		return h.Form(h.Method("post"), h.Action(r.threadPath(q.Thread)+"/answer"),
			hidden("question", q.ID), h.If(q.View == "chat", inChat()), h.Parts(inputs))
	}
	if q.Form == "fields" {
		return q.fields(r, "Send", "Send this JSON", form)
	}
	if q.Value == nil {
		return form(q.inputs())
	}
	edit := func(inputs ...h.Part) h.Part { return form(hidden("decision", "edit"), h.Parts(inputs)) }
	return h.Parts{form(q.inputs()), h.Details(h.Data("key", "e"), h.If(q.Mistake != "", h.Open(true)), h.Summary(h.Text("Edit")),
		q.fields(r, "Approve with these arguments", "Approve with this JSON", edit))}
}

// fields is the form of a value, as fields and as JSON.
func (q question) fields(r *request, text, rawText string, form func(...h.Part) h.Part) h.Part {
	f := q.Value
	return h.Custom("weft-form", h.Data("input", r.threadPath(q.Thread)+"/answer/input"), h.Data("filled", ""),
		form(f.form.inputs(), h.P(h.Class("buttons"), h.Button(h.Class("main"), h.Text(text))),
			h.If(f.form.Kind == "object", h.Details(h.Summary(h.Text("As JSON")), f.rawField(f.form.Label, "6"), h.P(h.Class("buttons"), button("from", "json", rawText))))))
}

// inputs are the fields and the buttons of the form.
func (q question) inputs() h.Part {
	send := h.P(h.Class("buttons"), h.Button(h.Text("Send")))
	switch q.Form {
	case "decision":
		return q.decision()
	case "yesno":
		return h.P(h.Class("buttons"), key("a", "answer", "true", "Yes"), h.Text(" "), key("r", "answer", "false", "No"))
	case "choice":
		return h.P(h.Class("buttons"), h.Each(q.Choices, func(c string) h.Part { return h.Parts{button("answer", c, c), h.Text(" ")} }))
	case "number":
		return h.Parts{
			h.Label(h.Text("Answer "), h.Input(h.Name("answer"), h.Type("number"), h.Step("any"), h.Required(true), h.Value(q.Answer))), h.Text(" "), h.Button(h.Text("Send")),
		}
	}
	return h.Parts{h.Label(h.Text("Answer "), h.Textarea(h.Name("answer"), h.Rows("3"), h.Text(q.Answer))), send}
}

// decision are the fields and the buttons of an approval.
func (q question) decision() h.Part {
	return h.Parts{
		h.If(q.May("reject") || q.May("respond"), h.Label(h.Text("Reason or text "), h.Textarea(h.Name("message"), h.Rows("2"), h.Text(q.Message)))),
		h.P(h.Class("buttons"), h.If(q.May("approve"), h.Button(h.Class("main"), h.Name("decision"), h.Value("approve"), h.Data("key", "a"), h.Text("Approve")), h.Text("\n")),
			h.If(q.May("reject"), key("r", "decision", "reject", "Reject"), h.Text("\n")), h.If(q.May("respond"), button("decision", "respond", "Respond"))),
	}
}

// button is a button that sends its form with a value.
func button(name, value, text string) h.Part {
	return h.Button(h.Name(name), h.Value(value), h.Text(text))
}

// key is such a button, which the inbox also presses for a key.
func key(letter, name, value, text string) h.Part {
	return h.Button(h.Name(name), h.Value(value), h.Data("key", letter), h.Text(text))
}
