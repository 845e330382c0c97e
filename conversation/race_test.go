package conversation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/internal/servicetest"
	"github.com/weftrun/weft/internal/testreport"
)

// input is a call on a thread. "add" adds two messages, "put" replaces the message "shared", and
// "get" reads the last Last messages, or all with Last 0.
type input struct {
	Call, Text string
	Last       int
}

// next returns the thread after a call, and whether the call could read these messages. A thread is
// its messages with spaces between them, which is cheap for a search that tries many orders.
func next(thread string, in input, read string) (bool, string) {
	switch in.Call {
	case "get":
		return read == last(thread, in.Last), thread
	case "put":
		if before, after, found := strings.Cut(" "+thread, " shared:"); found {
			_, after, more := strings.Cut(after, " ")
			thread = join(strings.TrimPrefix(before, " "), "shared:"+in.Text)
			if more {
				thread = join(thread, after)
			}
			return true, thread
		}
		return true, join(thread, "shared:"+in.Text)
	}
	return true, join(thread, in.Text+":"+in.Text+" "+in.Text+"+:"+in.Text)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

// last returns the last n messages of a thread, or all with n 0.
func last(thread string, n int) string {
	end := len(thread)
	for ; n > 0; n-- {
		if end = strings.LastIndexByte(thread[:end], ' '); end < 0 {
			return thread
		}
		if n == 1 {
			return thread[end+1:]
		}
	}
	return thread
}

// race is a race on thread t. All its messages have one time.
var race = servicetest.Race[input, string]{
	Env: "WEFT_CONVERSATION_CHILD", Calls: 25, Client: newClient,
	Rule: "concurrent adds and reads of a thread are linearizable",
	Spec: servicetest.Spec{
		Init: func() any { return "" },
		Step: func(state, in, output any) (bool, any) {
			ok, after := next(state.(string), in.(input), output.(string))
			return ok, after
		},
	},
}

type client struct {
	repo  *conversation.Repository
	n     int
	calls int
	rnd   *rand.Rand
}

func newClient(docs document.Store, n int, seed uint64) servicetest.Client[input, string] {
	repo, err := conversation.NewRepository(docs)
	if err != nil {
		panic(err) // the store is not nil
	}
	return &client{repo: repo, n: n, rnd: rand.New(rand.NewPCG(seed, uint64(n)))}
}

// Choose implements servicetest.Client.
func (c *client) Choose() input {
	c.calls++
	text := fmt.Sprintf("%d/%d", c.n, c.calls)
	switch n := c.rnd.IntN(10); {
	case n < 4:
		return input{Call: "add", Text: text}
	case n < 6:
		return input{Call: "put", Text: text}
	}
	return input{Call: "get", Last: c.rnd.IntN(2) * 5}
}

// Do implements servicetest.Client.
func (c *client) Do(ctx context.Context, in input) (read string, err error) {
	m := at(in.Text, 0)
	m.Content[0].Text = in.Text
	switch in.Call {
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
	if in.Last > 0 {
		o.Limit = new(in.Last)
	}
	ms, err := c.repo.Get(ctx, "t", o)
	var list []string
	for _, m := range ms {
		list = append(list, m.ID+":"+m.Text())
	}
	return strings.Join(list, " "), err
}

func TestRace_Goroutines(t *testing.T) {
	for seed := range uint64(10) {
		race.Goroutines(t, new(document.Map), seed)
	}
}

// Requirement: two processes lose nothing of a conversation or a session
func TestRace_TwoProcesses(t *testing.T) {
	race.Processes(t, filepath.Join(t.TempDir(), "threads.db"), openPath, func(document.Store) {})
}

func TestRace_JudgesWrongHistories(t *testing.T) {
	a := operation(0, input{Call: "add", Text: "a"}, "", 1, 2)
	for name, history := range map[string][]servicetest.Operation[input, string]{
		"a message is lost":       {a, operation(1, input{Call: "get"}, "a:a", 3, 4)},
		"an Add is split":         {a, operation(1, input{Call: "add", Text: "b"}, "", 1, 2), operation(0, input{Call: "get"}, "a:a b:b a+:a b+:b", 3, 4)},
		"an old text comes back":  {operation(0, input{Call: "put", Text: "1"}, "", 1, 2), operation(0, input{Call: "put", Text: "2"}, "", 3, 4), operation(1, input{Call: "get"}, "shared:1", 5, 6)},
		"the last one is wrong":   {a, operation(1, input{Call: "get", Last: 1}, "a:a", 3, 4)},
		"a read sees a later Add": {operation(0, input{Call: "get"}, "a:a a+:a", 1, 2), operation(1, input{Call: "add", Text: "a"}, "", 3, 4)},
	} {
		if testreport.Of(t, func(tb testing.TB) { race.Judge(tb, history) }) == "" {
			t.Errorf("%s: Judge reports nothing", name)
		}
	}
}

func operation(client int, in input, read string, start, end int64) servicetest.Operation[input, string] {
	return servicetest.Operation[input, string]{Client: client, In: in, Out: read, Call: start, Return: end}
}
