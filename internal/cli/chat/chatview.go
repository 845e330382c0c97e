package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// reply is the answer of an agent.
type reply = turn.Reply[json.RawMessage]

// chatView shows a conversation.
type chatView interface {
	past(turn.History)
	event(graph.Event)
	close() // after the last event of a turn
	reply(thread string, r reply) error
}

// newChatView returns the view for an output.
func newChatView(o *reports.Output) chatView {
	if o.JSON {
		return &chatJSON{Output: o}
	}
	return &chatText{out: o.Stdout, beside: o.Stderr, term: terminal.Of(o.Progress)}
}

// chatText shows a conversation as text: answers on out, plan and progress on beside.
type chatText struct {
	out, beside io.Writer
	term        *terminal.Terminal // nil if there is none
	streamed    strings.Builder
	id          string // of the message that is being streamed
	notice      string // shown before the turn ran
}

func (v *chatText) past(p turn.History) {
	for _, m := range p.Messages {
		fmt.Fprintf(v.beside, "%s: %s\n", m.Role, strings.ReplaceAll(m.Text(), "\n", "\n  "))
	}
	if len(p.Questions) > 0 {
		fmt.Fprintln(v.out, turn.FormatQuestions(p.Questions))
	}
}

func (v *chatText) event(ev graph.Event) {
	if ev.Mode == graph.Messages {
		v.token(ev.Token)
	}
	switch p := ev.Payload.(type) {
	case agent.Plan:
		for i, s := range p.Steps {
			v.progress("%d. %s: %s", i+1, s.Capability, cmp.Or(s.Objective, "no objective"))
		}
	case agent.StatusUpdate:
		v.status(p)
	case turn.Notice:
		v.notice = string(p)
		fmt.Fprintf(v.out, "%s\n\n", v.notice)
	}
}

func (v *chatText) status(u agent.StatusUpdate) {
	if u.Metadata["phase"] == "Execution" && u.Metadata["failed"] == "" {
		line := fmt.Sprintf("[%s/%s] %s", u.Metadata["step"], u.Metadata["total"], u.Node)
		if decided := u.Metadata["decided"]; decided != "" {
			line += ", " + decided
		}
		v.progress("%s", line)
	} else {
		v.progress("%s", u.Message)
	}
}

// progress prints a grey line beside the answer.
func (v *chatText) progress(format string, args ...any) {
	v.close()
	line := "  " + fmt.Sprintf(format, args...)
	if v.term == nil {
		fmt.Fprintln(v.beside, line)
		return
	}
	clean := terminal.Escaper{Writer: new(strings.Builder)}
	fmt.Fprint(clean, line)
	fmt.Fprintln(v.term, v.term.Paint(terminal.Grey, fmt.Sprint(clean.Writer)))
}

// token writes the next part of an answer. An answer that restarts is written again.
func (v *chatText) token(t graph.Token) {
	if t.Streamed && t.Delta == "" {
		return
	}
	if t.ID != v.id || t.Index == 0 {
		v.close()
		v.streamed.Reset()
		v.id = t.ID
	}
	text := cmp.Or(t.Delta, t.Text)
	v.streamed.WriteString(text)
	fmt.Fprint(v.out, text)
}

// close ends the line of an answer.
func (v *chatText) close() {
	if v.id != "" {
		fmt.Fprintln(v.out)
	}
	v.id = ""
}

// reply shows the part of an answer that was neither in a notice nor streamed.
func (v *chatText) reply(_ string, r reply) error {
	text := strings.TrimSpace(strings.TrimPrefix(r.Text, v.notice))
	if said := strings.TrimSpace(v.streamed.String()); said != "" {
		text = strings.TrimSpace(strings.TrimSuffix(text, said))
	}
	v.streamed.Reset()
	v.notice = ""
	if text != "" {
		fmt.Fprintln(v.out, text)
	}
	for _, word := range r.UI {
		switch word {
		case "exit":
		case "clear":
			if v.term != nil {
				fmt.Fprint(v.term, "\x1b[H\x1b[2J")
			}
		default:
			fmt.Fprintf(v.beside, "the agent wants %q, which a terminal cannot do\n", word)
		}
	}
	_, err := fmt.Fprintln(v.out)
	return err
}

// chatJSON shows a conversation as JSON, one object a line.
type chatJSON struct {
	*reports.Output
	err error
}

// chatLine is one line of it. Event is message, status, plan, token or reply.
type chatLine struct {
	Event     string            `json:"event"`
	Thread    string            `json:"thread,omitempty"`
	Kind      turn.Kind         `json:"kind,omitempty"`   // reply
	Status    graph.Status      `json:"status,omitempty"` // reply: of the turn; none where nothing ran
	Role      string            `json:"role,omitempty"`   // message
	Node      string            `json:"node,omitempty"`   // status
	ID        string            `json:"id,omitempty"`     // token
	Delta     string            `json:"delta,omitempty"`  // token
	Begins    bool              `json:"begins,omitempty"` // token: it begins the message, perhaps anew
	Text      string            `json:"text,omitempty"`
	Plan      []agent.Step      `json:"plan,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"` // status
	Questions []graph.Interrupt `json:"questions,omitempty"`
	UI        []string          `json:"ui,omitempty"`
}

func (v *chatJSON) print(l chatLine) {
	if err := v.PrintJSON(l); v.err == nil {
		v.err = err
	}
}

func (v *chatJSON) past(p turn.History) {
	for _, m := range p.Messages {
		v.print(chatLine{Event: "message", Role: string(m.Role), Text: m.Text()})
	}
}

func (v *chatJSON) event(ev graph.Event) {
	if t := ev.Token; ev.Mode == graph.Messages && (t.Delta != "" || !t.Streamed) {
		v.print(chatLine{Event: "token", ID: t.ID, Delta: cmp.Or(t.Delta, t.Text), Begins: t.Index == 0})
	}
	switch p := ev.Payload.(type) {
	case agent.Plan:
		v.print(chatLine{Event: "plan", Plan: p.Steps})
	case agent.StatusUpdate:
		v.print(chatLine{Event: "status", Node: p.Node, Text: p.Message, Metadata: p.Metadata})
	}
}

func (v *chatJSON) close() {}

func (v *chatJSON) reply(thread string, r reply) error {
	line := chatLine{Event: "reply", Thread: thread, Kind: r.Kind, Status: r.Status, Text: r.Text, Questions: r.Questions, UI: r.UI}
	if r.Failure != nil {
		line.Status = graph.Failed
	}
	v.print(line)
	return v.err
}
