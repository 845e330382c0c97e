package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weftrun/weft/checkpoint"
)

// DecisionKind is the kind of a decision.
type DecisionKind string

// The kinds of decisions.
const (
	DecisionApprove DecisionKind = "approve"
	DecisionEdit    DecisionKind = "edit" // approve, with Decision.Args in place of what was asked about
	DecisionReject  DecisionKind = "reject"
	DecisionRespond DecisionKind = "respond" // any other answer
	DecisionDecline DecisionKind = "decline" // the question was closed without an answer
	DecisionExpire  DecisionKind = "expire"  // no answer came in time
	DecisionDiscard DecisionKind = "discard" // a new input, an edit by hand or a branch closed the question
	DecisionChange  DecisionKind = "change"  // the state was edited by hand
)

// The interfaces through which decisions come, for RunOptions.Via.
const (
	ViaGo          = "go" // the default
	ViaCommandLine = "cli"
	ViaChat        = "chat"
	ViaHTTP        = "http"
	ViaExpiry      = "expiry" // the time of a question was over
)

// Decision is what was decided about a thread: a question was answered, declined, discarded or
// has expired, or the state was edited by hand. It is stored as long as the thread.
type Decision struct {
	Kind DecisionKind `json:"kind"`
	// Question is the id of the question; "" for an edit by hand. Namespace, Node and Prompt are
	// its own.
	Question  string `json:"question,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Node      string `json:"node,omitempty"` // of an edit by hand: in whose name it was made
	Prompt    string `json:"prompt,omitempty"`
	// Value is the answer as it was given. It is nil where there is none, where it is longer than
	// 64 KiB, and where the question is Secret and the store does not encrypt.
	Value  json.RawMessage `json:"value,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`   // of an edit: what was approved instead
	Reason string          `json:"reason,omitempty"` // of a rejection or a decline
	Secret bool            `json:"secret,omitempty"` // the value is not to be shown
	Fields []string        `json:"fields,omitempty"` // of an edit by hand: those that it wrote
	// By is who decided. It is what the caller claims, and proves nothing.
	By   string    `json:"by,omitempty"`
	Via  string    `json:"via"` // the interface: one of the Via constants, or a program's own
	Time time.Time `json:"time"`
	// Checkpoint is the commit beside which an answer was given, or the commit that an edit made.
	Checkpoint uint64 `json:"checkpoint"`
	Branch     uint64 `json:"branch,omitempty"` // as in CommitInfo
	Run        string `json:"run"`              // the id of the call that brought it
}

const (
	longestValue = 64 << 10 // bytes of a value that is stored
	longestBy    = 256      // bytes
)

// mostDecisions bounds the stored decisions of a thread.
var mostDecisions = 10_000

type claimKey struct{}

// claim is who makes the calls under a context, as they say.
type claim struct{ by, via string }

// AsCaller returns a context in which RunOptions.By and RunOptions.Via are by and via where a
// call leaves them empty, for programs that do not make the calls themselves. A call that a node
// makes does not see it.
func AsCaller(ctx context.Context, by, via string) context.Context {
	return context.WithValue(ctx, claimKey{}, claim{by, via})
}

// identify fills in who makes the call, and its Grace.
func (o *RunOptions) identify(ctx context.Context) {
	if d, ok := ctx.Value(graceKey{}).(time.Duration); ok && taskOf(ctx) == nil {
		o.Grace = cmp.Or(o.Grace, d)
	}
	if c, ok := ctx.Value(claimKey{}).(claim); ok && taskOf(ctx) == nil {
		o.By, o.Via = cmp.Or(o.By, c.by), cmp.Or(o.Via, c.via)
	}
	o.Via = cmp.Or(o.Via, ViaGo)
}

// checkBy returns an ErrBy unless a name is short text of one line that reads as it is.
func checkBy(names ...string) error {
	for _, s := range names {
		if len(s) > longestBy || !utf8.ValidString(s) || strings.ContainsFunc(s, misleads) {
			return fmt.Errorf("%w: at most %d bytes of UTF-8 without control characters and marks of direction (got %.300q)", ErrBy, longestBy, s)
		}
	}
	return nil
}

// misleads reports whether r is a control character, ends a line, or changes the direction of a
// text.
func misleads(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// read sets the fields that the value has.
func (d *Decision) read() {
	if d.Kind != DecisionRespond {
		return
	}
	var yes bool
	if json.Unmarshal(d.Value, &yes) == nil && string(d.Value) != "null" {
		if d.Kind = DecisionReject; yes {
			d.Kind = DecisionApprove
		}
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(d.Value, &members) != nil {
		return
	}
	for _, f := range decisionForms {
		var word string
		if json.Unmarshal(members[f.word], &word) != nil {
			continue
		}
		if k := DecisionKind(word); slices.Contains([]DecisionKind{DecisionApprove, DecisionEdit, DecisionReject, DecisionRespond}, k) {
			d.Kind, d.Args = k, members[f.args]
			_ = json.Unmarshal(members[f.reason], &d.Reason) // of another type it is no reason
			return
		}
	}
}

// decisionForms are the members of the answers that are decisions: about an approval, about the
// call of a tool, about what an agent asks for, and about a plan.
var decisionForms = []struct{ word, args, reason string }{
	{"type", "args", "message"}, {"action", "arguments", "feedback"}, {"decision", "edited", "feedback"}, {"action", "plan", "feedback"},
}

// slot returns the slot of a decision about a question: the same answer to the same question is
// stored once.
func (a answer) slot(id string) string { return checkpoint.SlotDecision + id + "/" + a.digest() }

func (d *Decision) expire() { d.Kind, d.By, d.Via = DecisionExpire, "", ViaExpiry }

// readDecisions gives stored answers the decisions that brought them.
func (a answers) readDecisions(entries []checkpoint.Entry) {
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Slot, checkpoint.SlotDecision)
		id, digest, _ := strings.Cut(rest, "/")
		given, known := a[id]
		if !ok || !known || given.digest() != digest {
			continue
		}
		var d Decision
		if json.Unmarshal(e.Data, &d) == nil {
			if d.Value == nil && given.refusal == "" {
				d.Value = given.data
				d.read()
			}
			given.decision = &d
			a[id] = given
		}
	}
}

// Decide is [Ask] that also returns who answered, when and through which interface, as the
// answer claims. In a test that calls the node it knows the kind alone.
func Decide[T any](ctx context.Context, q Question) (T, Decision, error) {
	answer, given, err := ask[T](ctx, q)
	if given.decision != nil {
		return answer, *given.decision, err
	}
	d := Decision{Kind: DecisionRespond, Prompt: q.Prompt, Secret: q.Secret, Value: given.data}
	switch {
	case errors.Is(err, ErrExpired):
		d.Kind = DecisionExpire
	case errors.Is(err, ErrDeclined):
		d.Kind = DecisionDecline
	}
	d.read()
	return answer, d, err
}
