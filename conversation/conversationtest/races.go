package conversationtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/internal/racing"
)

// did is a call on a thread: two messages are added, the message "shared" is written over, or the
// last Last messages are read, all with Last 0.
type did struct {
	What, Text string
	Last       int
}

// next returns a thread after a call, and whether reading it could give what was read.
func next(thread []string, d did, read string) (bool, []string) {
	switch d.What {
	case "get":
		if d.Last > 0 {
			return read == strings.Join(thread[max(0, len(thread)-d.Last):], " "), thread
		}
		return read == strings.Join(thread, " "), thread
	case "put":
		grown := append([]string(nil), thread...)
		for i, m := range grown {
			if strings.HasPrefix(m, "shared:") {
				grown[i] = "shared:" + d.Text
				return true, grown
			}
		}
		return true, append(grown, "shared:"+d.Text)
	}
	return true, append(append([]string(nil), thread...), d.Text+":"+d.Text, d.Text+"+:"+d.Text)
}

// race is of clients on thread t, whose messages have one instant.
var race = racing.Race[document.Store, did, string]{
	Env: "WEFT_CONVERSATION_CHILD", Calls: 25, Client: newClient,
	Rule: "what racing writers see of a conversation can be told as one story",
	Spec: porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			ok, after := next(strings.Fields(state.(string)), input.(did), output.(string))
			return ok, strings.Join(after, " ")
		},
	},
}

type client struct {
	repo *conversation.Repository
	n    int
	said int
	rnd  *rand.Rand
}

func newClient(store document.Store, n int, seed uint64) racing.Client[did, string] {
	repo, err := conversation.NewRepository(store)
	if err != nil {
		panic(err) // it has a store
	}
	return &client{repo: repo, n: n, rnd: rand.New(rand.NewPCG(seed, uint64(n)))}
}

// Choose implements racing.Client.
func (c *client) Choose() did {
	c.said++
	text := fmt.Sprintf("%d/%d", c.n, c.said)
	switch n := c.rnd.IntN(10); {
	case n < 4:
		return did{What: "add", Text: text}
	case n < 6:
		return did{What: "put", Text: text}
	}
	return did{What: "get", Last: c.rnd.IntN(2) * 5}
}

// Do implements racing.Client.
func (c *client) Do(ctx context.Context, d did) (read string, err error) {
	m := at(d.Text, 0)
	m.Content[0].Text = d.Text
	switch d.What {
	case "add":
		second := m.Clone()
		second.ID += "+"
		_, err = c.repo.Add(ctx, "t", m, second)
		return "", err
	case "put":
		m.ID = "shared"
		_, err = c.repo.Add(ctx, "t", m)
		return "", err
	}
	var o conversation.Options
	if d.Last > 0 {
		o.Limit = new(d.Last)
	}
	ms, err := c.repo.Get(ctx, "t", o)
	var list []string
	for _, m := range ms {
		list = append(list, m.ID+":"+m.Text())
	}
	return strings.Join(list, " "), err
}

// RunProcesses lets writers in this process and in another one work on one conversation at once,
// and judges whether what both saw can be told as one story. The store at the address has nothing
// of thread t. TestMain has to call Worker.
func RunProcesses(t *testing.T, address string, open racing.Open[document.Store]) {
	race.Processes(t, address, open, func(document.Store) {})
}

// Worker is to be called at the beginning of TestMain. In a process that RunProcesses has started
// it does not return.
func Worker(open racing.Open[document.Store]) { race.Worker(open) }
