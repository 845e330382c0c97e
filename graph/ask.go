package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weftrun/weft/state"
)

// Ask asks a person and returns the answer. If there is none yet, it returns
// [ErrInterrupted], which the node returns in turn: the run pauses, and after
// Resume the node runs again from its top, where Ask now has the answer. So do what
// must not be done twice after the last Ask, or in a node of its own.
//
// A node may ask several questions, one after the other or, going on after
// ErrInterrupted, all at once. Without a Store the run pauses all the same, but
// nothing can resume it. T is checked: an answer that does not fit is refused
// by Resume, and the question stays open. One that fits the schema of T and yet
// cannot be read as a T opens the question again.
func Ask[T any](ctx context.Context, q Question) (T, error) {
	v, _, err := ask[T](ctx, q, nil)
	return v, err
}

// terms are what the answer to an approval must observe.
type terms[T any] struct {
	action *Action
	check  func(T) error // returns why an answer cannot be applied
}

// read reads an answer.
func (t *terms[T]) read(data []byte, v *T) error {
	err := json.Unmarshal(data, v)
	if err == nil && t != nil {
		err = t.check(*v)
	}
	return err
}

// ask is Ask, with the answer as it was given. on is nil unless the question is an approval.
func ask[T any](ctx context.Context, q Question, on *terms[T]) (v T, given answer, err error) {
	s := scopeOf(ctx)
	if s == nil {
		return rehearsed(ctx, q, on)
	}
	t := s.task
	t.consult()
	n, place, err := s.reserve(q.Key)
	if err != nil {
		return v, given, err
	}
	id := hash("question", s.id(), q.Key, strconv.Itoa(n))
	given, ok := t.run.questions.given[id]
	if !ok {
		given, ok = ownerOf(t).rewound().answer(id)
	}
	switch {
	case given.refusal == lapsed && q.Default != nil:
		t.alive()
		if v, err = defaultOf(q, on); err != nil {
			err = fmt.Errorf("%w: %q: %w", ErrQuestion, q.Prompt, err)
		}
		return v, given, err
	case given.refusal != "":
		t.alive()
		return v, given, given.err(q)
	case ok:
		unfit := on.read(given.data, &v)
		if unfit == nil {
			t.alive()
			return v, given, nil
		}
		if on != nil && !q.Secret {
			q.Detail = strings.TrimSpace(fmt.Sprintf("That decision cannot be applied: %v.\n\n%s", unfit, q.Detail))
		}
	}
	v = *new(T) // without what a half-read answer left
	schema := q.Schema
	if schema == nil {
		schema, err = schemaOf[T]()
	}
	if err != nil {
		return v, given, fmt.Errorf("graph: the answer to %q cannot be of type %T: %w", q.Prompt, v, err)
	}
	in := Interrupt{ID: id, Namespace: t.run.ns(), Node: t.node.name, Kind: kindQuestion,
		Prompt: q.Prompt, Detail: q.Detail, Schema: schema, Refused: given.data, Secret: q.Secret,
		To: q.To, Remind: q.Remind, Escalate: q.Escalate, Timer: !q.until.IsZero()}
	if on != nil {
		action := *on.action
		action.Name = cmp.Or(action.Name, in.Node)
		in.Action = &action
	}
	in.Asked, in.Expires = q.times(t.run, id)
	err = errors.Join(state.CheckText(q.Prompt), state.CheckText(q.Detail), state.CheckText(q.Schema), q.checkTimes())
	if err == nil && q.Default != nil {
		if _, err = defaultOf(q, on); err == nil {
			in.Default, err = encode(q.Default)
		}
	}
	if err != nil {
		return v, given, fmt.Errorf("%w: %q: %w", ErrQuestion, q.Prompt, err)
	}
	if q.Data != nil {
		if in.Data, err = encode(q.Data); err != nil {
			return v, given, fmt.Errorf("graph: data of the question %q: %w", q.Prompt, err)
		}
	}
	in.Task = t.id()
	if err := s.asks(place, in); err != nil {
		return v, given, err
	}
	return v, given, ErrInterrupted
}

type rehearsalKey struct{}

// rehearsal holds the answers of a test that have not been asked for.
type rehearsal struct {
	mu   sync.Mutex
	left []any
}

// Rehearse returns a context in which Ask returns these answers, one after the other,
// so that a node that asks can be tested without a run. They pass through JSON, as
// real answers do.
func Rehearse(ctx context.Context, answers ...any) context.Context {
	return context.WithValue(ctx, rehearsalKey{}, &rehearsal{left: answers})
}

// rehearsed answers a question outside a run.
func rehearsed[T any](ctx context.Context, q Question, on *terms[T]) (v T, given answer, err error) {
	r, ok := ctx.Value(rehearsalKey{}).(*rehearsal)
	if !ok {
		return v, given, fmt.Errorf("%w: Ask %q; a test gives answers with Rehearse", ErrNoTask, q.Prompt)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) == 0 {
		return v, given, ErrInterrupted
	}
	data, err := json.Marshal(r.left[0])
	if err == nil {
		err = on.read(data, &v)
	}
	r.left = r.left[1:]
	if err != nil {
		return v, given, fmt.Errorf("%w: %q: %w", ErrAnswer, q.Prompt, err)
	}
	return v, answer{data: data}, nil
}

// schemaOf returns the JSON Schema of T.
func schemaOf[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// Accepts returns an ErrAnswer with the reason why an answer, as JSON, does not fit the
// question's schema, or nil.
func (in *Interrupt) Accepts(data json.RawMessage) error {
	if len(in.Schema) == 0 {
		return nil
	}
	var schema jsonschema.Schema
	err := json.Unmarshal(in.Schema, &schema)
	if err != nil {
		return fmt.Errorf("graph: question %s: its schema: %w", in.ID, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("graph: question %s: its schema: %w", in.ID, err)
	}
	plain := data
	if in.Action != nil {
		plain, err = in.Action.normalize(data)
	}
	var value any
	if err == nil {
		err = json.Unmarshal(plain, &value)
	}
	if err == nil {
		err = misfit(&schema, resolved.Validate(value))
	}
	switch {
	case err != nil && in.Secret: // what is wrong with a value may repeat it
		return fmt.Errorf("%w: to %q (%s)", ErrAnswer, in.Prompt, in.ID)
	case err != nil:
		return fmt.Errorf("%w: %s to %q (%s): %w", ErrAnswer, data, in.Prompt, in.ID, err)
	}
	return nil
}

// misfit explains, for the person who answers, why a value does not fit a schema.
func misfit(schema *jsonschema.Schema, err error) error {
	switch {
	case err == nil:
		return nil
	case schema.Type == "boolean" && len(schema.Enum) == 0 && schema.Const == nil:
		return errors.New("want true or false")
	case strings.Contains(err.Error(), "<anonymous schema>"): // it lists forms that have no names
		return errors.New("it has none of the forms that the question takes")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
}

// list names open questions, a line each.
func list(open []Interrupt) string {
	lines := make([]string, len(open))
	for i, in := range open {
		lines[i] = fmt.Sprintf("\t%s  %s: %s", in.ID, in.Node, in.Prompt)
	}
	return strings.Join(lines, "\n")
}

// times returns when the question, which a task of r asks under an id, was first asked and when it
// expires; both are zero if no time matters for it.
func (q *Question) times(r *run, id string) (asked, expires time.Time) {
	if q.Timeout <= 0 && q.until.IsZero() && q.Remind == 0 && len(q.Escalate) == 0 {
		return asked, expires
	}
	asked, expires = r.cfg.Now().UTC(), q.until
	if q.Timeout > 0 {
		expires = asked.Add(q.Timeout)
	}
	for around := r; ; around = around.inside.run { // a run without checkpoints has no record of it
		if before, ok := around.questions.asked[id]; ok {
			if !before.Expires.IsZero() {
				expires = before.Expires
			}
			if !before.Asked.IsZero() {
				asked = before.Asked
			}
			return asked, expires
		}
		if around.inside == nil {
			return asked, expires
		}
	}
}

// defaultOf returns the Default of a question whose time has passed.
func defaultOf[T any](q Question, on *terms[T]) (v T, err error) {
	data, err := encode(q.Default)
	if err == nil {
		err = on.read(data, &v)
	}
	if err != nil {
		return *new(T), fmt.Errorf("its Default: %w", err)
	}
	return v, nil
}

// shortestRemind bounds how often people are reminded.
const shortestRemind = time.Second

// checkTimes returns why the time limit, reminders and escalations of the question cannot be.
func (q *Question) checkTimes() error {
	errs := []error{state.CheckText(q.To)}
	if q.Timeout < 0 {
		errs = append(errs, fmt.Errorf("its Timeout must not be negative (got %v)", q.Timeout))
	}
	if q.Remind != 0 && q.Remind < shortestRemind {
		errs = append(errs, fmt.Errorf("its Remind must be at least %v (got %v)", shortestRemind, q.Remind))
	}
	for _, e := range q.Escalate {
		if e.After <= 0 || e.To == "" {
			errs = append(errs, fmt.Errorf("an Escalation must have a positive After and a To (got %v and %q)", e.After, e.To))
		}
		errs = append(errs, state.CheckText(e.To))
	}
	return errors.Join(errs...)
}
