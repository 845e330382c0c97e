package react_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/message"
)

// lossy is a store of documents that makes a batch and loses its reply, or refuses it.
type lossy struct {
	document.Store
	loses func(c []document.Change) bool
}

// tooLarge is a text that lossy refuses to store, as stores refuse a value that is too large.
const tooLarge = "Llanfairpwllgwyngyll"

func (l lossy) Batch(ctx context.Context, p document.Place, c []document.Change) ([]document.Doc, error) {
	if has(c, tooLarge) {
		return nil, document.ErrTooLarge
	}
	docs, err := l.Store.Batch(ctx, p, c)
	if err == nil && l.loses(c) {
		return nil, checkpoint.ErrUnknownOutcome
	}
	return docs, err
}

// has reports whether a batch stores a text.
func has(c []document.Change, text string) bool {
	for _, one := range c {
		if strings.Contains(string(one.Value), text) {
			return true
		}
	}
	return false
}

func newDelivering(t *testing.T, loses func(c []document.Change) bool, answers ...func(model.Request) model.Answer) *toolAgent {
	t.Helper()
	docs := &document.Map{}
	d := toolAgentOver(t, &checkpoint.Memory{}, docs, turn.Config{}, answers...)
	var err error
	d.services.Log, d.services.Within = slog.New(slog.DiscardHandler), time.Minute
	if d.services.Sessions, err = session.New(session.Config{Store: lossy{docs, loses}, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	return d
}

// wantDelivered checks that the session has the messages of the thread.
func (d *toolAgent) wantDelivered(t *testing.T, ms []message.Message) {
	t.Helper()
	log, err := d.services.Sessions.Log(t.Context(), "t1")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range log {
		got = append(got, m.ID)
	}
	for _, m := range ms {
		want = append(want, m.ID)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("rule: the next turn delivers what the session misses\n got: %q\nwant: %q", got, want)
	}
}

// A reply of the store is lost while the session gets a call or its result: the session has all
// messages after the next turn.
func TestWork_DeliversAfterALostReply(t *testing.T) {
	t.Parallel()
	for _, of := range []string{`"tool_calls"`, `"tool_results"`} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			lost := false
			loses := func(c []document.Change) bool {
				if lost || !has(c, of) {
					return false
				}
				lost = true
				return true
			}
			d := newDelivering(t, loses, calls("1", "look", `{"city":"Oslo"}`), answerOf("rain"), answerOf("two"), answerOf("three"))
			d.say(t, "first")
			d.say(t, "second")
			r := d.say(t, "third")
			if !lost {
				t.Fatal("no reply was lost")
			}
			d.wantDelivered(t, r.State.Messages.Slice())
		})
	}
}

// A call that a session refuses, because it is too large, does not keep the later messages from it.
// The model gets the call and its result all the same.
func TestWork_DeliversAfterARefusedMessage(t *testing.T) {
	t.Parallel()
	var seen []message.Message
	last := func(r model.Request) model.Answer { seen = r.Messages; return answerOf("two")(r) }
	d := newDelivering(t, func([]document.Change) bool { return false }, calls("1", "look", `{"city":"`+tooLarge+`"}`), answerOf("one"), last)
	d.say(t, "first")
	r := d.say(t, "second")
	ms := r.State.Messages.Slice()
	if len(ms) != 6 || len(ms[1].Calls) != 1 || len(ms[2].Results) != 1 {
		t.Fatalf("got %d messages, want two turns of which the first calls a tool", len(ms))
	}
	d.wantDelivered(t, append(ms[:1:1], ms[3:]...))
	same := func(a, b message.Message) bool { return a.ID == b.ID }
	if len(seen) < 5 || !slices.EqualFunc(seen[len(seen)-5:], ms[:5], same) {
		t.Errorf("the model got %d messages in the second turn, want the first 5 of the thread", len(seen))
	}
}
