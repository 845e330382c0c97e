package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// Approval pauses the run until a person has approved or rejected something.
//
//	approve:
//	  approval:
//	    title: Publish the report?
//	    show: ${{ state.report }}
//	    expires: {after: 48h, then: reject}
//	  next:
//	    - if: result.approved
//	      to: publish
//	    - else: END
//
// The answer on resume is true, false, or a [graph.Decision] as {"type": …, "args": …, "message":
// …}. The question may be answered days later, in another process.
//
// Allow lists the types of answers: approve, edit, reject and respond. An edit has args that
// replace those of the action. A reject may have a message, and a respond has one.
//
//	approve:
//	  approval:
//	    title: Send this mail?
//	    action: {name: send, args: {to: "${{ state.to }}", text: "${{ state.draft }}"}}
//	    allow: [approve, edit, reject]
//	  next:
//	    - {if: result.approved, to: send}     # with result.args
//	    - {else: END}
//
// A declined question fails the node with the code declined. An expired question fails it with the
// code expired, unless Expires.Then is set.
type Approval struct {
	// Title is the question, one line.
	Title string `json:"title"`
	// Show is text to read before answering.
	Show string `json:"show,omitempty"`
	// Data is for programs that show the question, such as a form.
	Data any `json:"data,omitempty"`
	// Action is the action to approve.
	Action *Action `json:"action,omitempty"`
	// Allow lists the types of answers: approve, edit, reject and respond; nil is approve and
	// reject.
	Allow []string `json:"allow,omitempty"`
	// Expires limits the wait for an answer.
	Expires Expiry `json:"expires,omitzero"`
	// Key distinguishes this question from others of the same node, so that an answer to one does
	// not close another. It has what the question is about, such as a price.
	Key string `json:"key,omitempty"`
	// To is who should answer, such as an address or a group.
	To string `json:"to,omitempty"`
	// Remind is the interval between reminders to To, such as 4h.
	Remind Interval `json:"remind,omitempty"`
	// Escalate lists who is asked in place of To while the question stays open.
	Escalate []Escalation `json:"escalate,omitempty"`
}

// Escalation names who is asked when a question has been open for some time.
type Escalation struct {
	// After is how long the question has been open, such as 24h.
	After PositiveDuration `json:"after"`
	// To is who is asked from then on.
	To string `json:"to"`
}

// Action is the action of an Approval.
type Action struct {
	Name string `json:"name"`
	Args any    `json:"args,omitempty"`
}

// ApprovalResult is the result of an Approval.
type ApprovalResult struct {
	Approved bool `json:"approved"` // whether Type is approve or edit
	// Type is approve, edit, reject or respond.
	Type string `json:"type"`
	// Args are the args of the action, perhaps edited.
	Args any `json:"args"`
	// Message is the person's message.
	Message string `json:"message"`
	// Expired is true if the question expired.
	Expired bool `json:"expired"`
}

var answerTypes = []string{"approve", "edit", "reject", "respond"}

// Check implements [workflow.Checker]. It rejects types in Allow that are unknown or listed twice,
// and an invalid Expires.Then or Escalate.
func (a *Approval) Check(given func(string) bool) error {
	var errs []error
	for i, t := range a.Allow {
		if !slices.Contains(answerTypes, t) {
			errs = append(errs, fmt.Errorf("allow must list %s (got %q)", strings.Join(answerTypes, ", "), t))
		} else if slices.Contains(a.Allow[:i], t) {
			errs = append(errs, fmt.Errorf("allow lists %s twice", t))
		}
	}
	if len(a.Allow) > 0 || !given("allow") || a.Expires.Then == "edit" {
		errs = append(errs, a.checkThen())
	}
	for i, e := range a.Escalate {
		if e.After <= 0 || e.To == "" {
			errs = append(errs, fmt.Errorf("escalate[%d] must have a positive after and a to (got %v and %q)", i, time.Duration(e.After), e.To))
		}
	}
	return errors.Join(errs...)
}

// checkThen returns an error if Expires.Then is not a type that Allow lists, or is edit, which
// needs args.
func (a *Approval) checkThen() error {
	switch then := a.Expires.Then; {
	case then == "" || then != "edit" && slices.Contains(a.allowed(), then):
		return nil
	case then == "edit":
		return errors.New("expires.then must not be edit, which needs args")
	case len(a.Allow) == 0:
		return fmt.Errorf("expires.then must be approve or reject (got %q)", then)
	default:
		return fmt.Errorf("expires.then must be listed in allow (got %q)", then)
	}
}

// MayReject implements [workflow.Decider].
func (a *Approval) MayReject(given func(string) bool) bool {
	return slices.Contains(a.Allow, "reject") || !given("allow")
}

// Run implements [workflow.Runner]. It asks the question and returns an [ApprovalResult].
func (a *Approval) Run(ctx context.Context, _ workflow.Env) (any, error) {
	if err := a.checkThen(); err != nil { // Check does not see the value of an expression
		return nil, graph.Permanent(err)
	}
	q := graph.Question{Prompt: a.Title, Detail: a.Show, Data: a.data(), Key: a.Key, Timeout: time.Duration(a.Expires.After),
		To: a.To, Remind: time.Duration(a.Remind)}
	for _, e := range a.Escalate {
		q.Escalate = append(q.Escalate, graph.Escalation{After: time.Duration(e.After), To: e.To})
	}
	res, err := a.ask(ctx, q)
	if errors.Is(err, graph.ErrExpired) && a.Expires.Then != "" {
		res, err = ApprovalResult{Type: a.Expires.Then, Expired: true}, nil
	}
	if err != nil {
		return nil, err
	}
	res.Approved = res.Type == "approve" || res.Type == "edit"
	if a.Action != nil && res.Type != "edit" {
		res.Args = a.Action.Args
	}
	return res, nil
}

func (a *Approval) ask(ctx context.Context, q graph.Question) (res ApprovalResult, err error) {
	approval := graph.Approval[any]{Question: q}
	for _, t := range a.allowed() {
		approval.Allow = append(approval.Allow, graph.DecisionType(t))
	}
	if a.Action != nil {
		approval.Action, approval.Args = a.Action.Name, a.Action.Args
	}
	_, d, err := graph.Approve(ctx, approval)
	if err != nil {
		return res, err
	}
	res = ApprovalResult{Type: string(d.Type), Message: d.Message}
	if d.Args != nil {
		err = unmarshal(d.Args, &res.Args)
	}
	return res, err
}

// allowed returns the types of answers that the person can give.
func (a *Approval) allowed() []string {
	if len(a.Allow) == 0 {
		return []string{"approve", "reject"}
	}
	return a.Allow
}

// data returns the data for programs: Data, or a map of data, action and allow if Action or Allow
// is set.
func (a *Approval) data() any {
	if a.Action == nil && len(a.Allow) == 0 {
		return a.Data
	}
	all := map[string]any{}
	if a.Data != nil {
		all["data"] = a.Data
	}
	if a.Action != nil {
		all["action"] = a.Action
	}
	if len(a.Allow) > 0 {
		all["allow"] = a.Allow
	}
	return all
}
