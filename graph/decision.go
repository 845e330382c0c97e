package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// DecisionType is what was decided.
type DecisionType string

// The types of decisions. The first four answer an [Approval].
const (
	DecisionApprove DecisionType = "approve"
	DecisionEdit    DecisionType = "edit" // approve Decision.Args in place of the arguments of the action
	DecisionReject  DecisionType = "reject"
	DecisionRespond DecisionType = "respond" // answer with Decision.Message; in records any other answer
	DecisionDecline DecisionType = "decline" // the question was closed without an answer
	DecisionExpire  DecisionType = "expire"  // no answer came in time
	DecisionDiscard DecisionType = "discard" // a new input, an edit by hand or a branch closed the question
	DecisionChange  DecisionType = "change"  // the state was edited by hand
)

// The interfaces through which decisions come, for RunOptions.Via.
const (
	ViaGo          = "go" // the default
	ViaCommandLine = "cli"
	ViaChat        = "chat"
	ViaHTTP        = "http"
	ViaExpiry      = "expiry" // the time of a question was over
)

// Decision is what a person decided about an action. It answers an [Approval]; the answer has a
// Type and, if the type needs them, Args and Message:
//
//	graph.Answer(id, graph.Decision{Type: graph.DecisionReject, Message: "too expensive"})
//
// Its JSON form is {"type": …, "args": …, "message": …}. See [Decision.UnmarshalJSON] for the other
// forms that it reads.
type Decision struct {
	Type DecisionType `json:"type"`
	// Args of an edit are approved instead of the arguments of the action.
	Args json.RawMessage `json:"args,omitempty"`
	// Message is the reason of a rejection, or the text of a response.
	Message string `json:"message,omitempty"`
	// By is the name of the person, as the caller claims, Via the interface, and Time the time of
	// the answer. The runtime sets them. In an answer they have no effect.
	By   string    `json:"by,omitempty"`
	Via  string    `json:"via,omitempty"`
	Time time.Time `json:"time,omitzero"`
}

// Approved reports whether the action may run: the decision is to approve or to edit.
func (d Decision) Approved() bool { return d.Type == DecisionApprove || d.Type == DecisionEdit }

// UnmarshalJSON reads a decision that answers an approval. A decision that contradicts itself, such
// as an edit without args, is an error. It reads:
//
//   - {"type": "approve"}, {"type": "edit", "args": …}, {"type": "reject", "message": …} and
//     {"type": "respond", "message": …}
//   - true and false, for approve and reject
//   - {"decisions": [{"type": "edit", "edited_action": {"name": …, "args": …}}]} with one decision,
//     as LangChain's inboxes answer
//   - [{"type": "accept", "args": …}] with one decision, as LangChain's agent inbox answers; its
//     types are accept, edit, ignore and response
//   - {"action": …, "arguments": …, "feedback": …}, {"action": …, "plan": …, "feedback": …} and
//     {"decision": …, "edited": …, "feedback": …}, which earlier versions stored
func (d *Decision) UnmarshalJSON(data []byte) error {
	read, _, err := readDecision(data)
	if err == nil {
		*d = read
	}
	return err
}

// decisionForms are the names of the members of a decision: of today, and of earlier versions.
var decisionForms = []struct{ word, args, message string }{
	{"type", "args", "message"}, {"decision", "edited", "feedback"}, {"action", "arguments", "feedback"},
}

// readDecision reads a decision. action is the name of the edited action, if the form has one.
func readDecision(data []byte) (d Decision, action string, err error) {
	switch data = bytes.TrimSpace(data); {
	case string(data) == "true":
		return Decision{Type: DecisionApprove}, "", nil
	case string(data) == "false":
		return Decision{Type: DecisionReject}, "", nil
	case bytes.HasPrefix(data, []byte("[")):
		return readInboxDecision(data)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return d, "", fmt.Errorf("graph: a decision must be true, false or an object with a type (got %.100s)", data)
	}
	if list, ok := members["decisions"]; ok && len(members) == 1 {
		var all []json.RawMessage
		if err := json.Unmarshal(list, &all); err != nil || len(all) != 1 {
			return d, "", fmt.Errorf("graph: decisions must hold one decision (got %.100s)", list)
		}
		return readDecision(all[0])
	}
	for _, f := range decisionForms {
		if _, ok := members[f.word]; !ok {
			continue
		}
		if _, ok := members["plan"]; ok && f.word == "action" {
			f.args = "plan"
		}
		return readMembers(members, f.word, f.args, f.message)
	}
	return d, "", errors.New("graph: a decision must have a type: approve, edit, reject or respond")
}

// readMembers reads a decision from an object whose members have these names.
func readMembers(members map[string]json.RawMessage, word, args, message string) (d Decision, action string, err error) {
	var edited struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	into := map[string]any{
		word: &d.Type, args: &d.Args, message: &d.Message, "edited_action": &edited, "by": &d.By, "via": &d.Via, "time": &d.Time,
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		field, ok := into[name]
		if !ok {
			return d, "", fmt.Errorf("graph: a decision has no member %q", name)
		}
		if err := json.Unmarshal(members[name], field); err != nil {
			return d, "", fmt.Errorf("graph: member %q of a decision: %w", name, err)
		}
	}
	switch {
	case edited.Args != nil && d.Args != nil:
		return d, "", errors.New("graph: a decision must not have both args and edited_action")
	case edited.Args != nil:
		d.Args = edited.Args
	case string(d.Args) == "null" && d.Type != DecisionEdit:
		d.Args = nil
	}
	return d, edited.Name, d.check()
}

// readInboxDecision reads the form of LangChain's agent inbox.
func readInboxDecision(data []byte) (d Decision, action string, err error) {
	var all []struct {
		Type string          `json:"type"`
		Args json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(data, &all); err != nil || len(all) != 1 {
		return d, "", fmt.Errorf("graph: a list of decisions must hold one decision (got %.100s)", data)
	}
	switch one := all[0]; one.Type {
	case "accept":
		d.Type = DecisionApprove
	case "ignore":
		d.Type = DecisionReject
	case "response":
		d.Type = DecisionRespond
		if json.Unmarshal(one.Args, &d.Message) != nil {
			d.Message = string(one.Args)
		}
	case "edit":
		var edited struct {
			Action string          `json:"action"`
			Args   json.RawMessage `json:"args"`
		}
		if err := json.Unmarshal(one.Args, &edited); err != nil {
			return d, "", fmt.Errorf("graph: the args of an edit: %w", err)
		}
		d.Type, d.Args, action = DecisionEdit, edited.Args, edited.Action
	default:
		return d, "", fmt.Errorf("graph: the type in a list of decisions must be accept, edit, ignore or response (got %q)", one.Type)
	}
	return d, action, d.check()
}

// check returns an error if the decision cannot answer an approval.
func (d Decision) check() error {
	switch d.Type {
	case DecisionApprove, DecisionReject, DecisionRespond, DecisionEdit:
	default:
		return fmt.Errorf("graph: a decision must be approve, edit, reject or respond (got %q)", d.Type)
	}
	switch {
	case d.Type == DecisionEdit && d.Args == nil:
		return errors.New("graph: the decision edit must have args")
	case d.Type != DecisionEdit && d.Args != nil:
		return fmt.Errorf("graph: the decision %s must not have args", d.Type)
	case d.Type == DecisionRespond && d.Message == "":
		return errors.New("graph: the decision respond must have a message")
	}
	return nil
}
