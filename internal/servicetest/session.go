package servicetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
)

type (
	// call is a call on a session.
	call struct {
		Name string // "append", "turn" or "log"
		Text string // the text to append
	}
	// result is the result of a call.
	result struct {
		Conflict bool
		Count    int    // the length of the log after the call
		Log      string // the log that the call read
	}
)

// next returns the log after a call, and whether the result is possible.
func next(log string, c call, r result) (bool, string) {
	grown := strings.TrimSpace(log + " " + c.Text)
	switch {
	case c.Name == "log":
		return r.Log == log, log
	case r.Conflict:
		return c.Name == "turn", log
	case c.Name == "turn" && r.Log != log:
		return false, log
	}
	return r.Count == len(strings.Fields(grown)), grown
}

// race is a race on session s.
var race = Race[call, result]{
	Env: "WEFT_SESSION_CHILD", Calls: 25, Client: newClient,
	Rule: "a session loses no message, and a turn appends after the log that it read",
	Spec: porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			return next(state.(string), input.(call), output.(result))
		},
	},
}

type client struct {
	m     *session.Manager
	n     int
	calls int
	rnd   *rand.Rand
}

func newClient(docs document.Store, n int, seed uint64) Client[call, result] {
	m, err := session.New(session.Config{Store: docs, TTL: time.Hour})
	if err != nil {
		panic(err) // the configuration is valid
	}
	return &client{m: m, n: n, rnd: rand.New(rand.NewPCG(seed, uint64(n)))}
}

// Choose implements Client.
func (c *client) Choose() call {
	c.calls++
	text := fmt.Sprintf("%d/%d", c.n, c.calls)
	switch n := c.rnd.IntN(10); {
	case n < 4:
		return call{"append", text}
	case n < 7:
		return call{"turn", text}
	}
	return call{Name: "log"}
}

// Do implements Client.
func (c *client) Do(ctx context.Context, in call) (r result, err error) {
	switch in.Name {
	case "append":
		done, err := c.m.Append(ctx, "s", message.User(in.Text))
		return result{Count: done.Messages}, err
	case "turn":
		done, err := c.m.Turn(ctx, "s", func(_ context.Context, view message.Fitted) ([]message.Message, error) {
			r.Log = strings.Join(textsOf(view.Messages), " ")
			return []message.Message{message.Assistant(in.Text)}, nil
		})
		if errors.Is(err, session.ErrConflict) {
			return result{Conflict: true}, nil
		}
		r.Count = done.Messages
		return r, err
	}
	log, err := c.m.Log(ctx, "s")
	return result{Log: strings.Join(textsOf(log), " ")}, err
}

// RunProcesses runs writers in this process and in another one on one session. It checks that no
// message is lost, and that no turn appends after messages that it did not read. The store at the
// address must have no session s. TestMain must call Worker.
//
// The conformance suite of document stores writes from one process. This test opens the store in
// two, and checks conditional batches, their order and queries between them.
func RunProcesses(t *testing.T, address string, open Open) {
	race.Processes(t, address, open, func(docs document.Store) { createSession(t, docs) })
}

// Worker must be called at the beginning of TestMain. It does not return in a process that
// RunProcesses started.
func Worker(open Open) { race.Worker(open) }

func createSession(t testing.TB, docs document.Store) {
	t.Helper()
	m, err := session.New(session.Config{Store: docs, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(t.Context(), session.Start{ID: "s"}); err != nil {
		t.Fatal(err)
	}
}
