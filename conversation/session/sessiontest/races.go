package sessiontest

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
	"github.com/weftrun/weft/internal/racing"
	"github.com/weftrun/weft/state/message"
)

type (
	// did is a call on a session.
	did struct {
		What string // "append", "turn" or "log"
		Text string // that is appended
	}
	// saw is how it ended.
	saw struct {
		Conflict bool
		Count    int    // of the log after it
		Log      string // that was read, or that a turn saw
	}
)

// next returns a log after a call, and whether the call could end so.
func next(log string, d did, s saw) (bool, string) {
	grown := strings.TrimSpace(log + " " + d.Text)
	switch {
	case d.What == "log":
		return s.Log == log, log
	case s.Conflict:
		return d.What == "turn", log
	case d.What == "turn" && s.Log != log:
		return false, log
	}
	return s.Count == len(strings.Fields(grown)), grown
}

// race is of clients on session s.
var race = racing.Race[document.Store, did, saw]{
	Env: "WEFT_SESSION_CHILD", Calls: 25, Client: newClient,
	Rule: "what racing workers see of a session can be told as one story: nothing is lost, and no turn answers what it has not seen",
	Spec: porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			return next(state.(string), input.(did), output.(saw))
		},
	},
}

type client struct {
	m    *session.Manager
	n    int
	said int
	rnd  *rand.Rand
}

func newClient(store document.Store, n int, seed uint64) racing.Client[did, saw] {
	m, err := session.New(session.Config{Store: store, TTL: time.Hour})
	if err != nil {
		panic(err) // it has a store
	}
	return &client{m: m, n: n, rnd: rand.New(rand.NewPCG(seed, uint64(n)))}
}

// Choose implements racing.Client.
func (c *client) Choose() did {
	c.said++
	text := fmt.Sprintf("%d/%d", c.n, c.said)
	switch n := c.rnd.IntN(10); {
	case n < 4:
		return did{"append", text}
	case n < 7:
		return did{"turn", text}
	}
	return did{What: "log"}
}

// Do implements racing.Client.
func (c *client) Do(ctx context.Context, d did) (s saw, err error) {
	switch d.What {
	case "append":
		done, err := c.m.Append(ctx, "s", message.User(d.Text))
		return saw{Count: done.Messages}, err
	case "turn":
		done, err := c.m.Turn(ctx, "s", func(_ context.Context, view message.Fitted) ([]message.Message, error) {
			s.Log = strings.Join(textsOf(view.Messages), " ")
			return []message.Message{message.Assistant(d.Text)}, nil
		})
		if errors.Is(err, session.ErrConflict) {
			return saw{Conflict: true}, nil
		}
		s.Count = done.Messages
		return s, err
	}
	log, err := c.m.Log(ctx, "s")
	return saw{Log: strings.Join(textsOf(log), " ")}, err
}

// RunProcesses lets workers in this process and in another one work on one session at once, and
// judges whether what both saw can be told as one story. The store at the address has no session s.
// TestMain has to call Worker.
func RunProcesses(t *testing.T, address string, open racing.Open[document.Store]) {
	race.Processes(t, address, open, func(store document.Store) { createS(t, store) })
}

// Worker is to be called at the beginning of TestMain. In a process that RunProcesses has started
// it does not return.
func Worker(open racing.Open[document.Store]) { race.Worker(open) }

func createS(t testing.TB, store document.Store) {
	t.Helper()
	m, err := session.New(session.Config{Store: store, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(t.Context(), session.Start{ID: "s"}); err != nil {
		t.Fatal(err)
	}
}
