package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/record"
)

const booking = `
version: 1
types: {Guest: {name: string, age: {type: int, default: 30}}}
state: {hotel: string, room: string, nights: int, guests: list<Guest>, extras: list<string>, note: string}
input: [hotel]
nodes:
  a:
    ask:
      title: A room at ${{ state.hotel }}?
      show: Rooms are scarce.
      form:
        room: {type: string, title: Room, enum: [small, large]}
        nights: {type: int, min: 1, max: 30, default: 2}
        guests: list<Guest>
        extras: {type: list<string>, enum: [bath, view], optional: true}
        note: {type: string, max_length: 5, pattern: "^[a-z]*$", optional: true}
      expires: {after: 1h, then: {room: small, guests: []}}
    output: {room: "${{ result.room }}", nights: "${{ result.nights }}", guests: "${{ result.guests }}"}
    next: END
`

// open starts a run that asks, and returns its one question.
func (f flow) open(input string) graph.Interrupt {
	f.Helper()
	res, err := f.start(input)
	if err != nil || res.Status != graph.Interrupted || len(res.Interrupts) != 1 {
		f.Fatalf("status %q, open %v, %v; want one question", res.Status, res.Interrupts, err)
	}
	return res.Interrupts[0]
}

func TestForm_QuestionHasItsSchema(t *testing.T) {
	in := parse(t, booking).open(`{"hotel": "Ritz"}`)
	const want = `{"type":"object","properties":{"room":{"type":"string","title":"Room","enum":["small","large"]},` +
		`"nights":{"type":"integer","minimum":1,"maximum":30,"default":2},` +
		`"guests":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},` +
		`"age":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}},"required":["name"],"additionalProperties":false}},` +
		`"extras":{"type":"array","items":{"type":"string","enum":["bath","view"]},"uniqueItems":true},` +
		`"note":{"type":"string","maxLength":5,"pattern":"^[a-z]*$"}},"required":["room","guests"],"additionalProperties":false}`
	if in.Prompt != "A room at Ritz?" || in.Detail != "Rooms are scarce." || string(in.Schema) != want {
		t.Errorf("asked %q %q\n%s\nwant\n%s", in.Prompt, in.Detail, in.Schema, want)
	}
}

func TestAsk_NamesWhoIsAsked(t *testing.T) {
	in := parse(t, `
version: 1
state: {boss: string, days: int}
input: [boss]
nodes:
  a:
    ask:
      title: How many days?
      answer: int
      to: ana
      remind: 4h
      escalate: [{after: 24h, to: "${{ state.boss }}"}]
    output: {days: "${{ result }}"}
    next: END
`).open(`{"boss": "ben"}`)
	if want := []graph.Escalation{{After: 24 * time.Hour, To: "ben"}}; in.To != "ana" || in.Remind != 4*time.Hour || !slices.Equal(in.Escalate, want) || in.Asked.IsZero() {
		t.Errorf("got %+v", in)
	}
}

func TestForm_ChecksAnswers(t *testing.T) {
	f := parse(t, booking)
	in := f.open(`{"hotel": "Ritz"}`)
	for _, bad := range []string{
		`"small"`, `{"room": "huge", "guests": []}`, `{"room": "small"}`, `{"room": "small", "guests": [], "nights": 0}`,
		`{"room": "small", "guests": [], "more": 1}`, `{"room": "small", "guests": [{}]}`,
		`{"room": "small", "guests": [], "note": "ABC"}`, `{"room": "small", "guests": [], "extras": ["view", "view"]}`,
	} {
		_, err := f.Resume(t.Context(), graph.Answer(in.ID, json.RawMessage(bad)), thread)
		if !errors.Is(err, graph.ErrAnswer) {
			t.Errorf("%s: got %v, want it refused", bad, err)
		}
	}
	res, err := f.Resume(t.Context(), graph.Answer(in.ID, json.RawMessage(`{"room": "large", "guests": [{"name": "Ada"}]}`)), thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"hotel":"Ritz","room":"large","nights":2,"guests":[{"age":30,"name":"Ada"}],"extras":null,"note":null}`)
}

// clocked compiles f with a clock that the test moves.
func clocked(t *testing.T, f flow) (*graph.Graph[record.Record], func(time.Duration)) {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g, err := f.Compile(graph.Config{Store: new(checkpoint.Memory), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return g, func(d time.Duration) { now = now.Add(d) }
}

func TestForm_ExpiryHasItsAnswer(t *testing.T) {
	f := parse(t, booking)
	var pass func(time.Duration)
	f.Graph, pass = clocked(t, f)
	f.open(`{"hotel": "Ritz"}`)
	pass(time.Hour)
	res, err := f.Resume(context.Background(), graph.Answers{}, thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"hotel":"Ritz","room":"small","nights":2,"guests":[],"extras":null,"note":null}`)
}

func TestAsk_ExpiredAndDeclinedHaveCodes(t *testing.T) {
	text := `
version: 1
state: {why: string}
nodes:
  a:
    ask: {title: "Well?", expires: 1h}
    on_error: {to: b, set: {why: "${{ error.code }}"}}
    next: END
  b: {set: {}, next: END}
`
	f := parse(t, text)
	var pass func(time.Duration)
	f.Graph, pass = clocked(t, f)
	f.open(`{}`)
	pass(2 * time.Hour)
	res, err := f.Resume(context.Background(), graph.Answers{}, thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"why":"expired"}`)
	f = parse(t, text)
	in := f.open(`{}`)
	if res, err = f.Resume(t.Context(), graph.Decline(in.ID, "busy"), thread); err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"why":"declined"}`)
}

func TestAsk_AnswerIsOneValue(t *testing.T) {
	f := parse(t, `
version: 1
state: {n: int, text: string}
nodes:
  a: {ask: {title: "How many?", answer: int}, output: {n: "${{ result }}"}, next: b}
  b: {ask: {title: "Why?"}, output: {text: "${{ result | upper() }}"}, next: END}
`)
	in := f.open(`{}`)
	if _, err := f.Resume(t.Context(), graph.Answer(in.ID, "3"), thread); !errors.Is(err, graph.ErrAnswer) {
		t.Errorf("a text for an int: %v", err)
	}
	if _, err := f.Resume(t.Context(), graph.Answer(in.ID, 3), thread); err != nil {
		t.Fatal(err)
	}
	res, err := f.Resume(t.Context(), graph.Reply("so"), thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"n":3,"text":"SO"}`)
}

// A whole number may fit the schema and no int all the same: JSON has no bounds.
func TestAsk_InvalidAnswerAsksAgain(t *testing.T) {
	f := parse(t, `
version: 1
state: {n: int}
nodes: {a: {ask: {title: "How many?", answer: int}, output: {n: "${{ result }}"}, next: END}}
`)
	in := f.open(`{}`)
	res, err := f.Resume(t.Context(), graph.Answer(in.ID, json.RawMessage(`9223372036854775808`)), thread)
	if errors.Is(err, graph.ErrAnswer) {
		return // the schema saw it
	}
	if err != nil || res.Status != graph.Interrupted || !strings.Contains(res.Interrupts[0].Detail, "refused") {
		t.Errorf("status %q, open %v, %v; want the question again, with why", res.Status, res.Interrupts, err)
	}
}

const approving = `
version: 1
state: {to: string, result: any}
input: [to]
output: [result]
nodes:
  a:
    approval:
      title: Send it?
      action: {name: send, args: {to: "${{ state.to }}"}}
      allow: [approve, edit, reject, respond]
      expires: {after: 1h, then: reject}
    output: {result: "${{ result }}"}
    next: END
`

func TestApproval_Variants(t *testing.T) {
	for given, want := range map[string]string{
		`{"type": "approve"}`:                        `{"approved":true,"args":{"to":"Ada"},"expired":false,"message":"","type":"approve"}`,
		`{"type": "edit", "args": {"to": "Bob"}}`:    `{"approved":true,"args":{"to":"Bob"},"expired":false,"message":"","type":"edit"}`,
		`{"type": "reject", "message": "no"}`:        `{"approved":false,"args":{"to":"Ada"},"expired":false,"message":"no","type":"reject"}`,
		`{"type": "respond", "message": "whom?"}`:    `{"approved":false,"args":{"to":"Ada"},"expired":false,"message":"whom?","type":"respond"}`,
		`{"type": "edit"}`:                           "",
		`{"type": "respond"}`:                        "",
		`{"type": "ignore"}`:                         "",
		`{"type": "approve", "args": {"to": "Eve"}}`: "",
		`{"decisions": [{"type": "edit", "edited_action": {"name": "send", "args": {"to": "Bob"}}}]}`: `{"approved":true,"args":{"to":"Bob"},"expired":false,"message":"","type":"edit"}`,
		`{"decisions": [{"type": "edit", "edited_action": {"name": "post", "args": {"to": "Bob"}}}]}`: "",
		`true`:  `{"approved":true,"args":{"to":"Ada"},"expired":false,"message":"","type":"approve"}`,
		`"yes"`: "",
	} {
		f := parse(t, approving)
		in := f.open(`{"to": "Ada"}`)
		if string(in.Data) != `{"action":{"name":"send","args":{"to":"Ada"}},"allow":["approve","edit","reject","respond"]}` {
			t.Errorf("data is %s", in.Data)
		}
		res, err := f.Resume(t.Context(), graph.Answer(in.ID, json.RawMessage(given)), thread)
		switch {
		case want == "" && !errors.Is(err, graph.ErrAnswer):
			t.Errorf("%s: got %v, want it refused", given, err)
		case want != "" && err != nil:
			t.Errorf("%s: %v", given, err)
		case want != "":
			f.ended(res, `{"result":`+want+`}`)
		}
	}
}

// Requirement: deadlines and forms of questions are ignored
func TestApproval_ExpiryFollowsTheFile(t *testing.T) {
	f := parse(t, approving)
	var pass func(time.Duration)
	f.Graph, pass = clocked(t, f)
	f.open(`{"to": "Ada"}`)
	pass(time.Hour)
	res, err := f.Resume(context.Background(), graph.Answers{}, thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"result":{"approved":false,"args":{"to":"Ada"},"expired":true,"message":"","type":"reject"}}`)
}
