package studio

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
	"github.com/weftrun/weft/state/message"
)

// view is the page of a chat. The parts are replaced while a run is under way, and the text that is
// being written is appended to the drafts in between.
func (c *conversation) view(r *request) view {
	path := r.threadPath(c.ID)
	to := &composer{action: r.chatPath(c.ID), graph: c.GraphID, thread: c.ID, field: c.Messages, busy: c.Status == "busy"}
	if c.At != c.Newest {
		to.at = c.At
	}
	if i := indexOf(c.List, c.Edit); i >= 0 && c.Edit != "" {
		to.edit, to.text = c.Edit, c.List[i].Text()
	}
	return view{"/threads", "Chat " + c.ID, h.Custom("weft-run", h.Data("events", path+"/events"), h.Data("position", fmt.Sprint(c.Log.position)),
		h.Link(h.Rel("modulepreload"), h.Href(r.asset("chat.js"))),
		h.Custom("weft-chat",
			part("summary", c.summary(r)),
			h.Div(h.Class("log"), h.Role("log"), h.Aria("label", "Conversation"), h.Tabindex("0"),
				part("messages", c.messages(r)),
				h.Div(h.ID("drafts"), h.Class("part"), h.Data("part", ""), h.Data("position", fmt.Sprint(c.Log.position)), h.Each(c.Log.drafts, c.draft)),
				part("asked", c.asked(r)),
			),
			h.If(r.write, part("stop", c.stop(r)), to.form()),
		),
	)}
}

func (c *conversation) summary(r *request) h.Part {
	return h.Parts{
		h.P(statusMark(c.Status), h.If(c.GraphID != "", h.Text(" · graph "), link(r.graphPath(c.GraphID), c.GraphID)),
			h.If(c.At != 0 && c.At != c.Newest, h.Text(fmt.Sprintf(" · as of checkpoint %d of %d, ", c.At, c.Newest)), link(r.chatPath(c.ID), "go to the newest")),
			h.Text(" · "), link(r.threadPath(c.ID), "show in the graph"),
			h.If(c.GraphID != "" && r.write, h.Text(" · "), link(r.graphPath(c.GraphID)+"/chat", "new chat"))),
		h.If(c.Error != "", h.P(h.Class("error"), h.Text(c.Error))),
	}
}

func (c *conversation) messages(r *request) h.Part {
	if len(c.List) == 0 && len(c.Log.drafts) == 0 {
		return muted("There are no messages yet.")
	}
	var all h.Parts
	if c.Before != "" {
		all = append(all, h.P(neighbour(c.Before, "prev", "earlier messages")))
	}
	for _, m := range c.List[c.From:] {
		if m.Role != message.RoleTool {
			all = append(all, c.message(r, m))
		}
	}
	return all
}

// speakers are the roles as a page shows them.
var speakers = map[message.Role]string{message.RoleUser: "You", message.RoleAssistant: "Assistant", message.RoleSystem: "System"}

// message is a message with the cards of its tools.
func (c *conversation) message(r *request, m message.Message) h.Part {
	name := speakers[m.Role]
	if m.Name != "" {
		name = m.Name
	}
	turn, begins := c.Turns[m.ID]
	return h.Article(h.ID("m-"+m.ID), h.Class("message", "by-"+string(m.Role)), h.Aria("label", "Message of "+name),
		h.P(h.Class("who"), h.B(h.Text(name)), h.If(!m.Created.IsZero(), h.Text(" "), moment(m.Created)),
			h.If(begins && len(turn.Others) > 1, c.switcher(r, turn)),
			h.If(begins, h.Text(" "), link(fmt.Sprintf("%s?at=%d", r.threadPath(c.ID), turn.Commit), "in the graph")),
			h.If(begins && r.write && c.Status != "busy", h.Text(" "), h.A(h.Href(r.with("/threads/"+url.PathEscape(c.ID)+"/chat", "edit", m.ID)+"#message"), h.Text("edit")))),
		h.If(c.Log.thoughts[m.ID] != "", thoughts(c.Log.thoughts[m.ID])),
		h.Each(m.Content, contentPart),
		h.Each(m.Calls, c.call),
		h.If(m.Usage != nil, h.P(h.Class("muted", "usage"), h.Text(usageOf(m.Usage)))),
	)
}

func usageOf(u *message.Usage) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("%d tokens in, %d out", u.Input, u.Output)
}

// switcher leads to the other turns that begin at the same place.
func (c *conversation) switcher(r *request, t chatTurn) h.Part {
	to := func(i int, rel, sign, label string) h.Part {
		if i < 0 || i >= len(t.Others) {
			return h.Span(h.Class("muted"), h.Text(sign))
		}
		return h.A(h.Href(fmt.Sprintf("%s?at=%d", r.chatPath(c.ID), t.Others[i])), h.Rel(rel), h.Data("swap", ""), h.Aria("label", label), h.Text(sign))
	}
	return h.Span(h.Class("switch"), h.Text(" "), to(t.Place-1, "prev", "‹", "earlier version"), h.Text(fmt.Sprintf(" %d/%d ", t.Place+1, len(t.Others))), to(t.Place+1, "next", "›", "later version"))
}

func thoughts(text string) h.Part {
	return h.Details(h.Class("thoughts"), h.Summary(h.Text("Reasoning")), h.Div(h.Class("thought"), h.Text(text)))
}

// contentPart is a part of a message.
func contentPart(p message.Part) h.Part {
	switch {
	case p.Type == message.TypeText:
		return h.Div(h.Class("text"), markdown(p.Text))
	case p.Type == message.TypeImage && len(p.Bytes) > 0 && h.IsImage(p.MIME):
		return h.Img(h.ImageData(p.MIME, p.Bytes), h.Alt("an image of the message"))
	case p.Type == message.TypeImage && p.URL != "":
		return h.P(link(p.URL, "an image at "+p.URL)) // it is not loaded from elsewhere
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil
	}
	return folded("Part of the type "+p.Type, indented(data))
}

// call is the card of a tool.
func (c *conversation) call(call message.Call) h.Part {
	state, words, took := "running", "is called", ""
	result, ended := c.Results[call.ID]
	if run := c.Log.tools[call.ID]; run != nil {
		switch run.state {
		case graph.Started, graph.Handling:
			words = "is running"
		case graph.Asking:
			state, words = "asking", "waits for a person"
		case graph.Retrying, graph.Failing:
			state, words = "failed", "has failed: "+run.note
		}
		if run.end.After(run.start) && run.state == graph.Finished {
			took = " in " + picture.Duration(run.end.Sub(run.start))
		}
	}
	switch {
	case ended && result.IsError:
		state, words = "failed", "has failed"+took
	case ended:
		state, words = "done", "has returned"+took
	}
	var answer h.Part
	if ended {
		answer = folded("Result", resultText(result))
	}
	arguments := string(call.Arguments)
	if json.Valid(call.Arguments) {
		arguments = indented(call.Arguments)
	}
	return h.Div(h.Class("card", "card-"+state), h.ID("call-"+call.ID),
		h.P(h.B(h.Text(call.Name)), h.Text(" "+words),
			h.If(call.Edited != nil, h.Text(", with arguments that a person changed"))),
		h.If(arguments != "" && arguments != "{}", folded("Arguments", arguments)), answer)
}

func resultText(r message.Result) string {
	var b strings.Builder
	for _, p := range r.Content {
		switch p.Type {
		case message.TypeText:
			b.WriteString(p.Text)
		case message.TypeData:
			b.WriteString(indented(p.Data))
		default:
			fmt.Fprintf(&b, "[%s]", p.Type)
		}
	}
	return b.String()
}

// draft is a message that is being written. A script appends to it.
func (c *conversation) draft(d *draft) h.Part {
	return h.Article(h.Class("message", "by-assistant", "draft"), h.Data("message", d.id), h.Aria("label", "Message that is being written"),
		h.P(h.Class("who"), h.B(h.Text(speakers[message.RoleAssistant])), h.Text(" is writing")),
		h.Details(h.Class("thoughts"), h.Hidden(d.reasoning == ""), h.Summary(h.Text("Reasoning")), h.Div(h.Class("thought"), h.Text(d.reasoning))),
		h.Div(h.Class("text"), markdown(d.text)), h.Div(h.Class("tail")),
		h.Div(h.Class("calls"), h.Each(d.calls, func(call message.Call) h.Part {
			return h.Div(h.Class("card", "card-running"), h.P(h.B(h.Text(call.Name)), h.Text(" is called")), h.Pre(h.Tabindex("0"), h.Text(string(call.Arguments))))
		})))
}

// asked are the open questions and the failures of the newest turn.
func (c *conversation) asked(r *request) h.Part {
	var failures h.Parts
	for _, f := range c.Failures {
		failures = append(failures, h.P(h.Class("error"), h.B(h.Text(f.Node)), h.Text(": "+f.Message)))
	}
	if failures != nil && r.write {
		failures = append(failures, h.Form(h.Method("post"), h.Action(r.threadPath(c.ID)+"/rerun"), inChat(),
			h.P(h.Class("buttons"), h.Button(h.Text("Try again")))))
	}
	return h.Parts{h.Each(c.Questions, r.question), failures}
}

// inChat leads the form of a thread back to the chat.
func inChat() h.Part { return h.Input(h.Type("hidden"), h.Name("view"), h.Value("chat")) }

// stop cancels what is under way.
func (c *conversation) stop(r *request) h.Part {
	if c.Status != "busy" {
		return nil
	}
	return h.Form(h.Method("post"), h.Action(r.threadPath(c.ID)+"/cancel"), inChat(),
		h.P(h.Class("buttons"), h.Button(h.Class("danger"), h.ID("stop-run"), h.Text("Stop")),
			h.Span(h.Class("muted", "noscript"), h.Text("The answer is being written. Reload the page to see more of it."))))
}

// composer is the form of a message.
type composer struct {
	action, graph, thread, field string
	at                           uint64
	edit, text                   string
	busy                         bool
}

func (c *composer) form() h.Part {
	label, send := "Message", "Send"
	if c.edit != "" {
		label, send = "In place of the message", "Send as a branch"
	}
	hidden := func(name, value string) h.Part {
		return h.If(value != "" && value != "0", h.Input(h.Type("hidden"), h.Name(name), h.Value(value)))
	}
	return h.Form(h.Class("composer"), h.Method("post"), h.Action(c.action), h.Enctype("multipart/form-data"),
		hidden("at", fmt.Sprint(c.at)), hidden("edit", c.edit),
		h.Label(h.For("message"), h.Text(label)), h.Textarea(h.ID("message"), h.Name("message"), h.Rows("3"), h.Text(c.text)),
		h.Div(h.Class("buttons"), h.Button(h.Class("main"), h.Disabled(c.busy), h.Text(send)),
			h.Label(h.Class("files"), h.Text("Images or text files "), h.Input(h.Type("file"), h.Name("file"), h.Multiple(true), h.Accept("image/png,image/jpeg,image/gif,image/webp,text/*,.md,.json,.yaml"))),
			h.If(c.edit != "", h.A(h.Class("button"), h.Href(c.action), h.Text("Leave it as it is")))),
		h.Details(h.Summary(h.Text("As a command")), copied(c.curl())),
	)
}

// curl is the request of the public interface that sends the message. A script keeps its text that
// of the form.
func (c *composer) curl() string {
	text := c.text
	if text == "" {
		text = "Hello"
	}
	body, err := json.Marshal(map[string]any{
		"assistant_id": c.graph, "if_not_exists": "create",
		"input": map[string]any{c.field: []any{map[string]string{"role": string(roleUser), "content": text}}},
	})
	if err != nil {
		return ""
	}
	path := "/runs/wait"
	if c.thread != "" {
		path = "/threads/" + c.thread + "/runs/wait"
	}
	return fmt.Sprintf(`curl -X POST "$WEFT%s" -H 'Content-Type: application/json' -d %s`, path, quoted(string(readable(body))))
}
