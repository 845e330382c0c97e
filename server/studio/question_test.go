package studio

import (
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// approval is a question that asks to approve an action.
func approval(allow ...graph.DecisionType) graph.Interrupt {
	return graph.Interrupt{ID: "q", Node: "refund", Kind: "question", Action: &graph.Action{Name: "refund", Args: json.RawMessage(`{"amount":3}`), Allow: allow}}
}

func withSchema(schema string) graph.Interrupt {
	return graph.Interrupt{ID: "q", Node: "ask", Kind: "question", Schema: json.RawMessage(schema)}
}

func TestAnswers_OfForms(t *testing.T) {
	fields := approval(graph.DecisionApprove, graph.DecisionEdit)
	fields.Action.Args = json.RawMessage(`{"amount":3,"to":"Bob","note":"n"}`)
	fields.Action.Schema = json.RawMessage(`{"type":"object","required":["amount"],"properties":{"amount":{"type":"integer"},"to":{"type":"string"}}}`)
	fields.Schema = json.RawMessage(`{"type":"object","properties":{"args":` + string(fields.Action.Schema) + `}}`)
	only := approval(graph.DecisionApprove)
	only.Schema = json.RawMessage(`{"type":"object","properties":{"type":{"enum":["approve"]}}}`)
	all := approval(graph.DecisionApprove, graph.DecisionEdit, graph.DecisionReject, graph.DecisionRespond)
	for _, c := range []struct {
		name, form string
		in         graph.Interrupt
		sent       url.Values
		want       string // "" for an error
	}{
		{"approve", "decision", all, url.Values{"decision": {"approve"}, "value:": {"{"}, "message": {"m"}}, `{"type":"approve"}`},
		{"edit", "decision", all, url.Values{"decision": {"edit"}, "value:": {` {"amount":4} `}}, `{"type":"edit","args":{"amount":4}}`},
		{"edit of no JSON", "decision", all, url.Values{"decision": {"edit"}, "value:": {"{"}}, ""},
		{"edit of nothing", "decision", all, url.Values{"decision": {"edit"}}, ""},
		{"edit of fields", "decision", fields, url.Values{"decision": {"edit"}, "value:amount": {"4"}, "value:to": {"Ada"}}, `{"type":"edit","args":{"amount":4,"note":"n","to":"Ada"}}`},
		{"edit of a field that is left empty", "decision", fields, url.Values{"decision": {"edit"}, "value:amount": {"4"}}, `{"type":"edit","args":{"amount":4,"note":"n"}}`},
		{"edit of a field with a mistake", "decision", fields, url.Values{"decision": {"edit"}, "value:amount": {"x"}}, ""},
		{"edit as JSON", "decision", fields, url.Values{"decision": {"edit"}, "value:amount": {"x"}, "from": {"json"}, "raw": {`{"amount":5}`}}, `{"type":"edit","args":{"amount":5}}`},
		{"edit as JSON of another type", "decision", fields, url.Values{"decision": {"edit"}, "from": {"json"}, "raw": {`{"amount":"5"}`}}, ""},
		{"a decision that is not allowed", "decision", only, url.Values{"decision": {"reject"}}, ""},
		{"reject", "decision", all, url.Values{"decision": {"reject"}, "message": {"too much"}}, `{"type":"reject","message":"too much"}`},
		{"respond", "decision", all, url.Values{"decision": {"respond"}, "message": {"later"}}, `{"type":"respond","message":"later"}`},
		{"yes", "yesno", withSchema(`{"type":"boolean"}`), url.Values{"answer": {"true"}}, "true"},
		{"number", "number", withSchema(`{"type":"integer"}`), url.Values{"answer": {"12"}}, "12"},
		{"no number", "number", withSchema(`{"type":"number"}`), url.Values{"answer": {"x"}}, ""},
		{"text", "text", withSchema(`{"type":"string"}`), url.Values{"answer": {" \"a\" "}}, `" \"a\" "`},
		{"choice", "choice", withSchema(`{"enum":["a",2]}`), url.Values{"answer": {`"a"`}}, `"a"`},
		{"object", "fields", withSchema(`{"type":"object"}`), url.Values{"value:": {`{"a":1}`}}, `{"a":1}`},
		{"fields", "fields", withSchema(`{"type":"object","properties":{"a":{"type":"integer"}}}`), url.Values{"value:a": {"1"}}, `{"a":1}`},
		{"several types", "fields", withSchema(`{"type":["string","null"]}`), url.Values{"value:": {"null"}}, "null"},
		{"without a schema", "fields", graph.Interrupt{Kind: "question"}, url.Values{"value:": {""}}, ""},
	} {
		if form, _ := formOf(c.in); form != c.form {
			t.Errorf("%s: got the form %s, want %s", c.name, form, c.form)
		}
		q := questionOf(Thread{ID: "t", GraphID: "g"}, c.in, true)
		got, err := q.read(c.sent)
		if string(got) != c.want || (err == nil) == (c.want == "") {
			t.Errorf("%s: got %s, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestQuestion_Forms(t *testing.T) {
	r := &request{base: "/studio"}
	render := func(in graph.Interrupt, write bool) string {
		return h.String(r.question(questionOf(Thread{ID: "t", GraphID: "g"}, in, write)))
	}
	whole := render(approval(graph.DecisionApprove, graph.DecisionEdit, graph.DecisionReject), true)
	for _, want := range []string{`value="approve"`, `value="edit"`, `value="reject"`, `name="message"`, `{&#34;amount&#34;:3}</textarea>`, `value="q"`, `id="q-t-q"`, `for="q-t-q-value-"`} {
		if !strings.Contains(whole, want) {
			t.Errorf("the form has no %s:\n%s", want, whole)
		}
	}
	if plain := render(approval(graph.DecisionApprove), true); strings.Contains(plain, "textarea") || !strings.Contains(plain, "<pre") {
		t.Errorf("the form lets the arguments be edited:\n%s", plain)
	}
	if choices := render(withSchema(`{"enum":["a","b"]}`), true); strings.Count(choices, "<button") != 2 {
		t.Errorf("got the choices\n%s", choices)
	}
	for schema, typed := range map[string]string{`{"type":"string","minLength":99}`: "<a text>", `{"type":"number","maximum":1}`: "12"} {
		q := questionOf(Thread{ID: "t", GraphID: "g"}, withSchema(schema), true)
		_, err := q.read(url.Values{"answer": {typed}})
		if shown := h.String(r.question(q)); err == nil || !strings.Contains(shown, html.EscapeString(typed)) {
			t.Errorf("an answer that is refused (%v) is not shown again:\n%s", err, shown)
		}
	}
	for _, in := range []graph.Interrupt{{Node: "n", Kind: "before"}, approval(graph.DecisionApprove)} {
		if shown := render(in, in.Kind == "before"); strings.Contains(shown, "<form") {
			t.Errorf("a pause, or a question that is only shown, has a form:\n%s", shown)
		}
	}
}
