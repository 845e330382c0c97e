package graph

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

const longestValue = 64 << 10 // bytes of a value that is stored

// mostDecisions bounds the stored decisions of a thread.
var mostDecisions = 10_000

// DecisionRecord records a decision about a thread: a question was answered, declined, discarded
// or has expired, or the state was edited by hand. It is stored as long as the thread.
type DecisionRecord struct {
	Type DecisionType `json:"type"`
	// Question is the id of the question; "" for an edit by hand. Namespace, Node and Prompt are
	// those of the question.
	Question  string `json:"question,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Node      string `json:"node,omitempty"` // of an edit by hand: the node in whose name it was made
	Prompt    string `json:"prompt,omitempty"`
	// Value is the answer as it was given. It is nil if there is none, if it is longer than
	// 64 KiB, and if the question is Secret and the store does not encrypt.
	Value   json.RawMessage `json:"value,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`    // as in Decision
	Message string          `json:"message,omitempty"` // as in Decision; of a decline the reason
	Secret  bool            `json:"secret,omitempty"`  // the value is not to be shown
	Fields  []string        `json:"fields,omitempty"`  // of an edit by hand: the fields that it wrote
	// By is the name of the person. It is what the caller claims, and proves nothing.
	By   string    `json:"by,omitempty"`
	Via  string    `json:"via"` // the interface: one of the Via constants, or that of a program
	Time time.Time `json:"time"`
	// Checkpoint is the commit beside which an answer was given, or the commit that an edit made.
	Checkpoint uint64 `json:"checkpoint"`
	Branch     uint64 `json:"branch,omitempty"` // as in CommitInfo
	Run        string `json:"run"`              // the id of the call that brought it
	// Signature is nil unless the call had a key, see WithSigner.
	Signature *Signature `json:"signature,omitempty"`
	// Prev is the hash of the decision before it, if commits carry hashes and a commit has it; see
	// checkpoint.WithHashes.
	Prev string `json:"prev,omitempty"`
}

// Decision returns what was decided, by whom and when.
func (d DecisionRecord) Decision() Decision {
	return Decision{Type: d.Type, Args: d.Args, Message: d.Message, By: d.By, Via: d.Via, Time: d.Time}
}

// UnmarshalJSON reads a record. It also reads the members kind and reason, which earlier versions
// stored as type and message.
func (d *DecisionRecord) UnmarshalJSON(data []byte) error {
	type plain DecisionRecord
	var r struct {
		plain
		Kind   DecisionType `json:"kind"`
		Reason string       `json:"reason"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	*d = DecisionRecord(r.plain)
	if d.Type == "" {
		d.Type, d.Message = r.Kind, r.Reason
	}
	return nil
}

// signed returns what the signature of a decision signs.
func (d DecisionRecord) signed() ([]byte, error) {
	s := *d.Signature
	s.Value, d.Signature, d.Prev = nil, &s, ""
	data, err := json.Marshal(d)
	return append([]byte("weft decision\n"), data...), err
}

// hide removes the answer.
func (d *DecisionRecord) hide() {
	d.Value, d.Args = nil, nil
	if d.Type == DecisionRespond {
		d.Message = ""
	}
}

// read sets the type, the arguments and the message, if the value is a decision.
func (d *DecisionRecord) read() {
	if d.Type != DecisionRespond {
		return
	}
	if given, _, err := readDecision(d.Value); err == nil {
		d.Type, d.Args, d.Message = given.Type, given.Args, given.Message
	}
}

// slot returns the slot of a decision about a question: the same answer to the same question is
// stored once.
func (a answer) slot(id string) string { return checkpoint.SlotDecision + id + "/" + a.digest() }

func (d *DecisionRecord) expire() { d.Type, d.By, d.Via = DecisionExpire, "", ViaExpiry }

// readDecisions gives stored answers the decisions that brought them.
func (a answers) readDecisions(entries []checkpoint.Entry) {
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Slot, checkpoint.SlotDecision)
		id, digest, _ := strings.Cut(rest, "/")
		given, known := a[id]
		if !ok || !known || given.digest() != digest {
			continue
		}
		var d DecisionRecord
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

// Decide is [Ask] that also returns what was decided, by whom, when and through which interface,
// as the answer claims. In a test that calls the node, By, Via and Time are zero.
func Decide[T any](ctx context.Context, q Question) (T, Decision, error) {
	answer, given, err := ask[T](ctx, q, nil)
	return answer, given.decided(err), err
}

// decided returns the decision of an answer, which Ask returned with an error.
func (a answer) decided(err error) Decision {
	if a.decision != nil {
		return a.decision.Decision()
	}
	d := DecisionRecord{Type: DecisionRespond, Value: a.data}
	switch {
	case errors.Is(err, ErrExpired):
		d.Type = DecisionExpire
	case errors.Is(err, ErrDeclined):
		d.Type = DecisionDecline
	}
	d.read()
	return d.Decision()
}
