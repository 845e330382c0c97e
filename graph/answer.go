package graph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// Answers close open questions. The zero Answers closes none: Resume then goes on
// with what failed or was cut off, and with questions that have expired.
type Answers struct {
	given []given
}

type given struct {
	id       string // "" is the only open question
	value    any
	declined string // why there is no value; "" if there is one
	by       string // who gives it; "" is who makes the call
}

// Answer closes the question with this id. The value is stored as JSON; a
// json.RawMessage is taken as it is. false, 0 and "" are answers.
func Answer(id string, value any) Answers { return Answers{}.Answer(id, value) }

// Reply closes the only open question. If several are open, Resume returns an
// ErrAmbiguous that lists them.
func Reply(value any) Answers { return Answers{}.Answer("", value) }

// Decline closes the question with this id without an answer: Ask returns an
// ErrDeclined with the reason to the node.
func Decline(id, reason string) Answers { return Answers{}.Decline(id, reason) }

// Answer returns a with one more answer.
func (a Answers) Answer(id string, value any) Answers { return a.add(given{id: id, value: value}) }

// Decline returns a with one more question declined.
func (a Answers) Decline(id, reason string) Answers {
	return a.add(given{id: id, declined: refusedBy + reason})
}

// By returns a with a name for the author of its answers, in place of RunOptions.By. Answers that
// have a name retain it:
//
//	graph.Answer(id, true).By("anna").Answer(other, false).By("ben")
func (a Answers) By(name string) Answers {
	a.given = slices.Clone(a.given)
	for i := range a.given {
		a.given[i].by = cmp.Or(a.given[i].by, name)
	}
	return a
}

func (a Answers) add(g given) Answers {
	a.given = append(slices.Clip(a.given), g)
	return a
}

// answer is what closed a question.
type answer struct {
	data    json.RawMessage
	refusal string // why there is no data; "" if there is some

	by       string          // who gave it in this call; "" is who made the call
	decision *DecisionRecord // nil if it was not recorded
}

const (
	lapsed    = "expired"
	refusedBy = "declined: "
)

// err returns the error of Ask for a question that was closed without an answer.
func (a answer) err(q Question) error {
	if a.refusal == lapsed {
		return fmt.Errorf("%w: %q", ErrExpired, q.Prompt)
	}
	return fmt.Errorf("%w: %q: %s", ErrDeclined, q.Prompt, a.refusal[len(refusedBy):])
}

// digest identifies an answer.
func (a answer) digest() string {
	if a.refusal != "" {
		return hash("refusal", a.refusal)
	}
	return hash(string(a.data))
}

// answers are answers by the id of their question.
type answers map[string]answer

// entries returns the form in which answers are stored.
func (a answers) entries() (entries []checkpoint.Entry) {
	for _, id := range slices.Sorted(maps.Keys(a)) {
		e := checkpoint.Entry{Slot: slotAnswer + id, Data: a[id].data}
		if why := a[id].refusal; why != "" {
			e.Slot = slotRefusal + id
			e.Data, _ = json.Marshal(why)
		}
		entries = append(entries, e)
	}
	return entries
}

// match pairs each answer with its open question and checks that it fits. An answer
// that this turn already had is no mistake: the same command may be given again
// after a crash. Questions that have expired are closed, unless an answer is given to
// one, which is an ErrExpired.
func (a Answers) match(open []Interrupt, now time.Time, had func(id, digest string) bool) (answers, error) {
	matched, byID := answers{}, map[string]*Interrupt{}
	for i, in := range open {
		byID[in.ID] = &open[i]
		if in.expired(now) {
			matched[in.ID] = answer{refusal: lapsed}
		}
	}
	for _, g := range a.given {
		given, err := g.answer()
		if err == nil {
			err = checkBy(g.by)
		}
		if err != nil {
			return nil, err
		}
		id := g.id
		switch {
		case id == "" && len(open) > 1:
			return nil, fmt.Errorf("%w:\n%s", ErrAmbiguous, list(open))
		case id == "" && len(open) == 1:
			id = open[0].ID
		}
		switch in := byID[id]; {
		case in != nil:
			if err := matched.add(in, given); err != nil {
				return nil, err
			}
		case had(id, given.digest()):
		case len(open) == 0:
			return nil, fmt.Errorf("%w %q: none is open", ErrUnknownQuestion, id)
		default:
			return nil, fmt.Errorf("%w %q; open are:\n%s", ErrUnknownQuestion, id, list(open))
		}
	}
	return matched, nil
}

func (g given) answer() (answer, error) {
	if err := errors.Join(state.CheckText(g.declined), state.CheckText(g.value)); err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if g.declined != "" {
		return answer{refusal: g.declined, by: g.by}, nil
	}
	data, err := json.Marshal(g.value)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return answer{data: data, by: g.by}, nil
}

// add closes an open question.
func (a answers) add(in *Interrupt, given answer) error {
	if given.refusal == "" {
		if err := in.Accepts(given.data); err != nil {
			return err
		}
	}
	switch other, twice := a[in.ID]; {
	case twice && other.refusal == lapsed:
		return fmt.Errorf("%w at %v: %q (%s); resume without an answer to go on", ErrExpired, in.Expires, in.Prompt, in.ID)
	case twice && other.digest() != given.digest() && in.Secret:
		return fmt.Errorf("%w: two answers to %q (%s)", ErrAnswer, in.Prompt, in.ID)
	case twice && other.digest() != given.digest():
		return fmt.Errorf("%w: two answers, %s and %s, to %q (%s)", ErrAnswer,
			other, given, in.Prompt, in.ID)
	}
	a[in.ID] = given
	return nil
}

func (a answer) String() string {
	if a.refusal != "" {
		return a.refusal
	}
	return string(a.data)
}

// expired reports whether an answer would come too late.
func (in *Interrupt) expired(now time.Time) bool {
	return !in.Expires.IsZero() && !now.Before(in.Expires)
}

// Next returns when the question next needs attention after a time: when it expires, or the next
// reminder or escalation is due. It is zero if it only waits for an answer. A question that has
// expired is due when it expired.
func (in *Interrupt) Next(after time.Time) time.Time {
	if in.expired(after) {
		return in.Expires
	}
	var next time.Time
	earlier := func(t time.Time) {
		if !t.IsZero() && t.After(after) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	earlier(in.Expires)
	if in.Remind > 0 {
		earlier(in.Asked.Add((max(0, after.Sub(in.Asked))/in.Remind + 1) * in.Remind))
	}
	for _, e := range in.Escalate {
		earlier(in.Asked.Add(e.After))
	}
	return next
}

// AskedOf returns who should answer the question at a time; "" is anybody.
func (in *Interrupt) AskedOf(at time.Time) string {
	to, longest := in.To, time.Duration(-1)
	for _, e := range in.Escalate {
		if e.After > longest && !at.Before(in.Asked.Add(e.After)) {
			to, longest = e.To, e.After
		}
	}
	return to
}

// IsQuestion reports whether the interrupt waits for an answer. Any other is a static interrupt,
// which a Resume without an answer passes.
func (in *Interrupt) IsQuestion() bool { return in.Kind == kindQuestion }

// kindQuestion is the Kind of a question.
const kindQuestion = "question"

// isOpen reports whether a question has no answer yet. One whose answer could not be
// read is open again.
func (in *Interrupt) isOpen(given answers) bool {
	a, ok := given[in.ID]
	return in.IsQuestion() && (!ok || a.refusal == "" && bytes.Equal(a.data, in.Refused))
}

// Question is what a node asks a person.
type Question struct {
	// Prompt is one line: what is asked.
	Prompt string
	// Detail is text to read before answering, such as a report or a plan.
	Detail string
	// Data is anything a program that shows the question may want; it must survive
	// JSON.
	Data any
	// Key distinguishes questions of one task whose order is not fixed, as when
	// they are asked from several goroutines. Without it the order counts.
	//
	// The id of a question comes from its task and its Key, not from its text: on a branch of
	// the thread (RunOptions.At) it is the same, and after a [Graph.Patch] it stays. A Key that
	// names what is asked, such as a price, keeps an answer from closing a question about
	// another.
	Key string
	// Timeout limits the wait for an answer; 0 means no limit, and less is an ErrQuestion.
	// Later answers are refused, and when the thread goes on, Ask returns ErrExpired to the
	// node. With Config.Timers it goes on by itself.
	Timeout time.Duration
	// Default, if it is not nil, is what Ask returns after Timeout in place of ErrExpired. It must
	// survive JSON as a T.
	Default any
	// To is who should answer, such as an address or a group; "" is anybody.
	To string
	// Remind is how often to remind those who should answer, and Escalate who else is asked when no
	// answer comes. The times count from when the question was first asked. Package wake sends the
	// notices; it needs Config.Timers.
	Remind   time.Duration
	Escalate []Escalation
	// Secret hides the answer from readers of the decision and from errors that refuse it. A store
	// that does not encrypt omits the answer from the record of decisions. A value that the node
	// makes of the answer, such as a field of the state, is stored as any other value.
	Secret bool
	// Schema is the JSON Schema of the answer, if it is stricter than the type T of
	// Ask; nil means the schema of T.
	Schema json.RawMessage

	until time.Time // of Sleep: it needs no answer
}

// Interrupt is why a run pauses: an open question, or a static interrupt.
type Interrupt struct {
	// ID names the question: the same after each resume, unlike any other.
	ID        string `json:"id"`
	Namespace string `json:"namespace,omitempty"`
	Node      string `json:"node"`
	Task      string `json:"task,omitempty"`
	// Kind is "question", "before" or "after".
	Kind   string          `json:"kind"`
	Prompt string          `json:"prompt,omitempty"`
	Detail string          `json:"detail,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
	Secret bool            `json:"secret,omitempty"` // see Question.Secret
	// Schema is the JSON Schema of the answer. If Action is not nil, the answer may also have the
	// other forms that a Decision has.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Action is what the question asks to approve; nil if it is no [Approval].
	Action *Action `json:"action,omitempty"`
	// Refused is the last answer, where it fitted the schema and yet could not be
	// read, such as the time "soon".
	Refused json.RawMessage `json:"refused,omitempty"`
	// Expires is when an answer comes too late; the zero time means never.
	Expires time.Time `json:"expires,omitzero"`
	// Default is what the node gets when no answer comes in time; nil means an ErrExpired.
	Default json.RawMessage `json:"default,omitempty"`
	// Timer is true if the node only waits until Expires; see [Sleep]. Any answer ends the wait.
	Timer bool `json:"timer,omitempty"`
	// Asked is when the question was first asked, if that matters for the following fields or
	// for Expires. They are those of the Question.
	Asked    time.Time     `json:"asked,omitzero"`
	To       string        `json:"to,omitempty"`
	Remind   time.Duration `json:"remind,omitempty"`
	Escalate []Escalation  `json:"escalate,omitempty"`
	// Seen is true when the question was shown to a person; see MarkSeen. It is set by
	// Inspect and its kin.
	Seen bool `json:"seen,omitempty"`
}

// jsonAnswer is an answer as JSON.
type jsonAnswer struct {
	ID       string          `json:"id,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Declined *string         `json:"declined,omitempty"` // the reason
	By       string          `json:"by,omitempty"`
}

// IsZero reports whether a closes no question.
func (a Answers) IsZero() bool { return len(a.given) == 0 }

// MarshalJSON returns the answers as a list, each with the id of its question, the value or why it
// was declined, and who gave it.
func (a Answers) MarshalJSON() ([]byte, error) {
	list := make([]jsonAnswer, len(a.given))
	for i, g := range a.given {
		given, err := g.answer()
		if err != nil {
			return nil, err
		}
		list[i] = jsonAnswer{ID: g.id, Value: given.data, By: g.by}
		if why, declined := strings.CutPrefix(g.declined, refusedBy); declined {
			list[i].Declined = &why
		}
	}
	return json.Marshal(list)
}

// UnmarshalJSON parses the output of MarshalJSON.
func (a *Answers) UnmarshalJSON(data []byte) error {
	var list []jsonAnswer
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	*a = Answers{}
	for _, l := range list {
		g := given{id: l.ID, by: l.By}
		switch {
		case l.Declined != nil:
			g.declined = refusedBy + *l.Declined
		case l.Value == nil:
			g.value = json.RawMessage("null")
		default:
			g.value = slices.Clone(l.Value)
		}
		a.given = append(a.given, g)
	}
	return nil
}
