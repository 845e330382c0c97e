package capabilities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

type dose struct {
	Pill string `json:"pill"`
	N    int    `json:"n,omitempty"`
}

func (d *dose) Validate() error {
	if d.N > 3 {
		return errors.New("no more than 3")
	}
	return nil
}

func TestApprove_InvalidEditIsAskedAboutAgain(t *testing.T) {
	c := call(t, at(agent.Step{}), agent.Step{ContextKey: "k"})
	ask := func() (dose, error) {
		again := c // each attempt begins from its top, with all decisions
		return capabilities.Approve(&again, agent.ApprovalRequest{Type: "dose", Message: "Take it?"}, dose{Pill: "a"})
	}
	needed := func(message string) *capabilities.ApprovalNeeded {
		t.Helper()
		_, err := ask()
		var n *capabilities.ApprovalNeeded
		if !errors.As(err, &n) {
			t.Fatalf("got %v, want a question", err)
		}
		if n.Request.Message != message || string(n.Request.Data) != `{"pill":"a"}` {
			t.Errorf("got %q about %s, want %q", n.Request.Message, n.Request.Data, message)
		}
		return n
	}
	agree := func(n *capabilities.ApprovalNeeded, data string) {
		decide(&c, n.ID, data)
	}
	first := needed("Take it?")
	var schema struct {
		Required []string
	}
	if err := json.Unmarshal(first.Request.Schema, &schema); err != nil || len(schema.Required) != 1 || schema.Required[0] != "pill" {
		t.Errorf("the schema is %s", first.Request.Schema)
	}
	agree(first, `{"pill":"b","n":4}`)
	second := needed("That decision cannot be applied: no more than 3.\n\nTake it?")
	if first.ID == second.ID {
		t.Error("both questions have one id")
	}
	agree(second, `{"pill":"b","n":3}`)
	if got, err := ask(); err != nil || got != (dose{"b", 3}) {
		t.Errorf("got %+v, %v", got, err)
	}
	c.Decisions = map[string]graph.Decision{first.ID: c.Decisions[first.ID], second.ID: {Type: graph.DecisionReject}}
	var no *capabilities.Rejected
	if _, err := ask(); !errors.As(err, &no) {
		t.Errorf("got %v, want a no", err)
	}
	if _, err := capabilities.Approve(&c, agent.ApprovalRequest{}, dose{N: 4}); err == nil || errors.As(err, new(*capabilities.ApprovalNeeded)) {
		t.Errorf("got %v for a value that makes no sense", err)
	}
	if _, err := capabilities.Approve(&c, agent.ApprovalRequest{}, make(chan int)); err == nil || errors.As(err, new(*capabilities.ApprovalNeeded)) {
		t.Errorf("got %v for a value without JSON", err)
	}
}

func TestApprove_SchemaFollowsFromTheData(t *testing.T) {
	for _, c := range []struct{ data, schema, want string }{
		{`"x"`, "", `{"type":"string"}`}, {`7`, "", `{"type":"number"}`}, {`null`, "", `{}`}, {`[1]`, "", `{"type":"array"}`}, {`true`, "", `{"type":"boolean"}`},
		{`{"a":1,"b":null}`, "", `{"properties":{"a":{"type":"number"}},"type":"object"}`}, {`7`, `{"maximum":9}`, `{"maximum":9}`}, {"", `{"maximum":9}`, ""},
	} {
		own := call(t, at(agent.Step{}), agent.Step{})
		_, err := own.Approve(agent.ApprovalRequest{Data: []byte(c.data), Schema: json.RawMessage(c.schema)[:len(c.schema):len(c.schema)]})
		var n *capabilities.ApprovalNeeded
		if c.schema == "" {
			_, err = own.Approve(agent.ApprovalRequest{Data: []byte(c.data)})
		}
		if !errors.As(err, &n) || string(n.Request.Schema) != c.want {
			t.Errorf("%s: got %v with %s, want %s", c.data, err, n.Request.Schema, c.want)
		}
	}
	own := call(t, at(agent.Step{}), agent.Step{})
	for _, r := range []agent.ApprovalRequest{{Data: []byte(`{`)}, {Data: []byte(`1`), Schema: json.RawMessage(`{"type":7}`)}, {Data: []byte(`1`), Schema: json.RawMessage(`{"$ref":"#/gone"}`)}} {
		if _, err := own.Approve(r); err == nil || errors.As(err, new(*capabilities.ApprovalNeeded)) {
			t.Errorf("%s of %s: got %v, want it refused", r.Data, r.Schema, err)
		}
	}
	_, err := capabilities.NewRegistry(capabilities.Func(capabilities.Info{Name: "a", Description: "d", Parameters: json.RawMessage(`{"type":7}`)},
		func(context.Context, *capabilities.Call) error { return nil }))
	if err == nil {
		t.Error("a capability with a broken schema is taken")
	}
}

// An approval does not change the parameters. Numbers are those of a stored plan, on every level.
// Whole numbers that a float64 cannot represent stay exact.
func TestApproval_ParametersAreThoseOfThePlan(t *testing.T) {
	var got map[string]any
	reg, err := capabilities.NewRegistry(capabilities.Func(capabilities.Info{Name: "a", Description: "d", Approval: capabilities.AlwaysApproval},
		func(_ context.Context, c *capabilities.Call) error { got = c.Step.Parameters; return nil }))
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range []string{"", `{"deep":{"n":3,"list":[1,2.50,{"m":1e3}]},"share":1.0}`} {
		want := map[string]any{"deep": map[string]any{"n": 3.0, "list": []any{1.0, 2.5, map[string]any{"m": 1000.0}}}, "share": 1.0}
		c := call(t, at(agent.Step{}), agent.Step{ContextKey: "k", Parameters: want})
		var n *capabilities.ApprovalNeeded
		if err := reg.Run(t.Context(), "a", c); !errors.As(err, &n) {
			t.Fatalf("got %v, want a question", err)
		}
		c.Decisions = nil
		decide(&c, n.ID, edit)
		if err := reg.Run(t.Context(), "a", c); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("edited into %q: got %#v, %v\nwant %#v", edit, got, err, want)
		}
		decide(&c, n.ID, `{"deep":{"id":9007199254740993}}`)
		want = map[string]any{"deep": map[string]any{"id": json.Number("9007199254740993")}}
		if err := reg.Run(t.Context(), "a", c); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %#v, %v\nwant %#v", got, err, want)
		}
	}
}

// eraser asks about each of the files, all with one type, and erases the approved ones.
func eraser(files []string, erased *[]string) capabilities.Capability {
	return capabilities.Func(capabilities.Info{Name: "erase", Description: "erases files"}, func(_ context.Context, c *capabilities.Call) error {
		var approved []string
		for _, file := range files {
			data, _ := json.Marshal(file) // a string
			d, err := c.Approve(agent.ApprovalRequest{Type: "erase", Data: data})
			if err != nil {
				return err
			}
			approved = append(approved, string(d.Args))
		}
		*erased = append(*erased, approved...)
		return nil
	})
}

func TestApprove_RepeatedRequestHasItsOwnQuestion(t *testing.T) {
	var erased []string
	reg := registry(t, eraser([]string{"a", "b", "c"}, &erased))
	c := call(t, at(agent.Step{}), agent.Step{ContextKey: "k"})
	ids := map[string]bool{}
	for _, want := range []string{`"a"`, `"b"`, `"c"`} {
		var n *capabilities.ApprovalNeeded
		if err := reg.Run(t.Context(), "erase", c); !errors.As(err, &n) || string(n.Request.Data) != want {
			t.Fatalf("got %v, want a question about %s", err, want)
		}
		if ids[n.ID] {
			t.Fatalf("the question %q comes twice", n.ID)
		}
		if len(erased) != 0 {
			t.Fatalf("erased %v before all was decided", erased)
		}
		ids[n.ID] = true
		decide(&c, n.ID, "")
	}
	if err := reg.Run(t.Context(), "erase", c); err != nil || fmt.Sprint(erased) != `["a" "b" "c"]` {
		t.Errorf("got %v and erased %v", err, erased)
	}
}

// An approval of one request must not count for a second one of the same type.
func TestApprove_DecisionCountsOnce(t *testing.T) {
	c := call(t, at(agent.Step{}), agent.Step{ContextKey: "k"})
	first := agent.ApprovalRequest{Type: "erase", Data: []byte(`"a"`)}
	second := agent.ApprovalRequest{Type: "erase", Data: []byte(`"b"`)}
	var n *capabilities.ApprovalNeeded
	asking := c
	if _, err := asking.Approve(first); !errors.As(err, &n) {
		t.Fatalf("got %v, want a question", err)
	}
	c.Decisions = nil
	decide(&c, n.ID, "")
	if d, err := c.Approve(first); err != nil || string(d.Args) != `"a"` {
		t.Fatalf("got %s, %v for what was approved", d.Args, err)
	}
	if d, err := c.Approve(second); !errors.As(err, &n) || string(n.Request.Data) != `"b"` {
		t.Errorf("rule: a decision counts for one request\n got: %s, %v\nwant: a question about the second request", d.Args, err)
	}
}

// A capability that continues although a decision is open does not get the decision of another
// request.
func TestApprove_OpenRequestKeepsItsNumber(t *testing.T) {
	c := call(t, at(agent.Step{}), agent.Step{ContextKey: "k"})
	ask := func(c *capabilities.Call, file string) (string, error) {
		d, err := c.Approve(agent.ApprovalRequest{Type: "erase", Data: []byte(`"` + file + `"`)})
		return string(d.Args), err
	}
	once := c
	_, _ = ask(&once, "a") // its question is dropped
	_, err := ask(&once, "b")
	var n *capabilities.ApprovalNeeded
	if !errors.As(err, &n) {
		t.Fatalf("got %v, want a question", err)
	}
	c.Decisions = nil
	decide(&c, n.ID, "")
	if got, err := ask(&c, "a"); !errors.As(err, &n) {
		t.Errorf("got %s, %v for a file that was never decided about", got, err)
	}
	if got, err := ask(&c, "b"); err != nil || got != `"b"` {
		t.Errorf("got %s, %v for the file that was approved", got, err)
	}
}

// decide adds an approval of a request, edited if data is not "".
func decide(c *capabilities.Call, id, data string) {
	all := maps.Clone(c.Decisions)
	if all == nil {
		all = map[string]graph.Decision{}
	}
	d := graph.Decision{Type: graph.DecisionApprove}
	if data != "" {
		d = graph.Decision{Type: graph.DecisionEdit, Args: []byte(data)}
	}
	all[id] = d
	c.Decisions = all
}
