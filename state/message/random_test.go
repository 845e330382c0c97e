package message_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/state/message"
)

// talk is a random conversation on a log, with calls, removals, and summaries beside it. must are
// the ids that the log has to have, in order.
type talk struct {
	*rapid.T
	log  message.Log
	must []string
	n    int
}

// TestLog_RandomWritesLeaveNoOrphans checks after each write that the log has all messages that
// were not removed. It also checks that neither a window nor a summary has a result without its
// call.
func TestLog_RandomWritesLeaveNoOrphans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, w := &talk{T: t}, windows.Draw(t, "window")
		for range rapid.IntRange(1, 40).Draw(t, "moves") {
			c.move()
			if got := idsIn(&c.log); !slices.Equal(got, c.must) {
				t.Fatalf("rule: what is not removed and not summed up is in the log\n got: %q\nwant: %q", got, c.must)
			}
			fit, err := w.Fit(c.log.Slice())
			var large *message.TooLargeError
			if err != nil && !errors.As(err, &large) {
				t.Fatal(err)
			}
			c.sendable(fit.Messages)
		}
	})
}

func idsIn(l *message.Log) (ids []string) {
	for _, m := range l.All() {
		ids = append(ids, m.ID)
	}
	return ids
}

func (c *talk) sendable(ms []message.Message) {
	if _, results := message.Orphans(ms); len(results) > 0 {
		c.Fatalf("rule: no model is sent a result without its call\n got: %v in %s", results, asJSON(c, ms))
	}
}

func (c *talk) ok(err error) {
	if err != nil {
		c.Fatal(err)
	}
}

func (c *talk) move() {
	switch n := rapid.IntRange(0, 11).Draw(c.T, "move"); {
	case n <= 5 || len(c.must) == 0:
		c.add(c.next())
	case n <= 7:
		id := rapid.SampledFrom(c.must).Draw(c.T, "removed")
		c.ok(c.log.Remove(id))
		c.must = without(c.must, id)
	case n == 8:
		id := rapid.SampledFrom(c.must).Draw(c.T, "replaced")
		m := message.User("edited")
		m.ID = id
		c.ok(c.log.Replace(id, m))
	case n == 9 && rapid.IntRange(0, 5).Draw(c.T, "all?") == 0:
		c.log.RemoveAll()
		c.must = nil
	default:
		c.sumUp()
	}
}

func (c *talk) add(m message.Message) {
	c.n++
	m.ID = fmt.Sprint("m", c.n)
	c.ok(c.log.Add(m))
	c.must = append(c.must, m.ID)
}

// next draws a question, an answer, calls, or results of calls that are open.
func (c *talk) next() message.Message {
	open, _ := message.Orphans(c.log.Slice())
	switch n := rapid.IntRange(0, 5).Draw(c.T, "said"); {
	case n <= 1 && len(open) > 0:
		return message.Tool(message.ResultOf(rapid.SampledFrom(open).Draw(c.T, "call").CallID, "r"))
	case n == 2:
		return message.Assistant("", message.Call{ID: fmt.Sprint("c", c.n, "a"), Name: "f"}, message.Call{ID: fmt.Sprint("c", c.n, "b"), Name: "f"})
	case n == 3:
		return message.Assistant("a")
	case n == 4:
		return message.System("note")
	}
	return message.User("q")
}

// sumUp plans a summary, lets the conversation go on, and applies it.
func (c *talk) sumUp() {
	s := message.Summarizer{Window: message.Window{MaxMessages: 4}, Write: func(_ context.Context, ms []message.Message) (string, error) {
		c.sendable(ms)
		return "short", nil
	}}
	plan, due, err := s.Plan(c.log.Slice())
	if c.ok(err); !due {
		return
	}
	sum, err := s.Summarize(c.Context(), plan)
	c.ok(err)
	for range rapid.IntRange(0, 2).Draw(c.T, "meanwhile") {
		c.move()
	}
	made, err := sum.Message()
	c.ok(err)
	var stale *message.StaleError
	if err := sum.Apply(&c.log); errors.As(err, &stale) {
		return
	} else if err != nil {
		c.Fatal(err)
	}
	at := slices.Index(c.must, plan.Messages[0].ID)
	c.must[at] = made.ID
	for _, m := range plan.Messages[1:] {
		c.must = without(c.must, m.ID)
	}
}

func without(ids []string, id string) []string {
	return slices.DeleteFunc(ids, func(o string) bool { return o == id })
}
