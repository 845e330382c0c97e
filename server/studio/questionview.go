package studio

import (
	h "github.com/weftrun/weft/internal/markup"
)

// question is an open question with the form for its answer.
func (r *request) question(q question) h.Part {
	pause := ""
	if q.Kind != "question" {
		pause = " pauses " + q.Kind + " it runs"
	}
	return h.Section(h.Class("question"), h.Aria("label", "Question of "+q.Node+" on thread "+q.Thread+", "+q.ID),
		h.P(h.B(h.Text(q.Node)), h.Text(pause+" · thread "), link(r.threadPath(q.Thread), q.Thread),
			h.If(q.GraphID != "", h.Text(" · "+q.GraphID)),
			h.If(!q.Expires.IsZero(), h.Text(" · expires "+utc(q.Expires)+" UTC"))),
		h.If(q.Prompt != "", h.P(h.Class("prompt"), h.Text(q.Prompt))),
		h.If(q.Detail != "", h.Pre(h.Tabindex("0"), h.Text(q.Detail))),
		h.If(q.Data.Text != "", h.P(q.Data.value())),
		h.If(q.Action != nil, h.P(h.Text("Action: "), h.Code(h.Text(q.actionName())))),
		h.If(q.Args != "" && !q.May("edit"), h.Pre(h.Tabindex("0"), h.Text(q.Args))),
		h.If(q.Form != "", h.Form(h.Method("post"), h.Action(r.threadPath(q.Thread)+"/answer"),
			h.Input(h.Type("hidden"), h.Name("question"), h.Value(q.ID)), h.If(q.View != "", inChat()), q.inputs())),
	)
}

func (q question) actionName() string {
	if q.Action == nil {
		return ""
	}
	return q.Action.Name
}

// inputs are the fields and the buttons of the form.
func (q question) inputs() h.Part {
	send := h.P(h.Class("buttons"), h.Button(h.Text("Send")))
	switch q.Form {
	case "decision":
		return q.decision()
	case "yesno":
		return h.P(h.Class("buttons"), button("answer", "true", "Yes"), h.Text(" "), button("answer", "false", "No"))
	case "choice":
		return h.P(h.Class("buttons"), h.Each(q.Choices, func(c string) h.Part { return h.Parts{button("answer", c, c), h.Text(" ")} }))
	case "number":
		return h.Parts{
			h.Label(h.Text("Answer "), h.Input(h.Name("answer"), h.Type("number"), h.Step("any"), h.Required(true))), h.Text(" "), h.Button(h.Text("Send")),
		}
	case "text":
		return h.Parts{h.Label(h.Text("Answer "), h.Textarea(h.Name("answer"), h.Rows("3"))), send}
	}
	return h.Parts{h.Label(h.Text("Answer, as JSON "), h.Textarea(h.Name("answer"), h.Rows("4"), h.Spellcheck("false"), h.Required(true))), send}
}

// decision are the fields and the buttons of an approval.
func (q question) decision() h.Part {
	one := func(decision, text string) h.Part {
		return h.If(q.May(decision), button("decision", decision, text), h.Text("\n"))
	}
	return h.Parts{
		h.If(q.May("edit"), h.Label(h.Text("Arguments "), h.Textarea(h.Name("args"), h.Rows("6"), h.Spellcheck("false"), h.Text(q.Args)))),
		h.If(q.May("reject") || q.May("respond"), h.Label(h.Text("Reason or text "), h.Textarea(h.Name("message"), h.Rows("2")))),
		h.P(h.Class("buttons"), h.If(q.May("approve"), h.Button(h.Class("main"), h.Name("decision"), h.Value("approve"), h.Text("Approve")), h.Text("\n")), one("edit", "Approve with these arguments"), one("reject", "Reject"), one("respond", "Respond")),
	}
}

// button is a button that sends its form with a value.
func button(name, value, text string) h.Part {
	return h.Button(h.Name(name), h.Value(value), h.Text(text))
}
