package message_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

type chat struct {
	Messages message.Log `json:"messages"`
}

// two compiles a chat in which two nodes answer at once.
func two(t *testing.T, store checkpoint.Store, one, other func(context.Context, *chat) error) *graph.Graph[chat] {
	t.Helper()
	b := graph.New[chat]("chat")
	b.Node("a", graph.Func(one))
	b.Node("b", graph.Func(other))
	for _, n := range []string{"a", "b"} {
		b.Edge(graph.Start, n)
		b.Edge(n, graph.End)
	}
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func yes(_ context.Context, s *chat) error { return s.Messages.Add(message.Assistant("yes")) }

func TestLog_TurnsOfAThreadContinueIt(t *testing.T) {
	store := new(checkpoint.Memory)
	g := two(t, store, yes, yes)
	in := chat{Messages: message.LogOf(message.User("sure?"))}
	for range 2 {
		if _, err := g.Invoke(t.Context(), in, graph.RunOptions{Thread: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	again := two(t, new(checkpoint.Memory), yes, yes)
	for range 2 {
		if _, err := again.Invoke(t.Context(), in, graph.RunOptions{Thread: "other"}); err != nil {
			t.Fatal(err)
		}
	}
	one, _, err := g.Thread("t").State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := again.Thread("other").State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if one.Messages.Len() != 6 {
		t.Errorf("got %s, want two questions with two answers each", one.Messages)
	}
	if one.Messages.String() != other.Messages.String() {
		t.Errorf("the same run gave\n%s and\n%s", one.Messages, other.Messages)
	}
}

func TestUpdates_HaveOnlyTheWritesOfTheTask(t *testing.T) {
	g := two(t, new(checkpoint.Memory), yes, func(_ context.Context, s *chat) error {
		return s.Messages.Remove(s.Messages.At(0).ID)
	})
	var got []string
	in := chat{Messages: message.LogOf(user("q", "a long question"))}
	for ev, err := range g.Stream(t.Context(), in, graph.RunOptions{Thread: "t", Modes: graph.Updates}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(ev.Writes))
	}
	all := strings.Join(got, "\n")
	if !strings.Contains(all, `"yes"`) || !strings.Contains(all, `{"messages":[{"remove":"q"}]}`) || strings.Contains(all, "long question") {
		t.Errorf("got %s", all)
	}
}

func TestInput_InvalidIsRefusedByTheRun(t *testing.T) {
	g := two(t, new(checkpoint.Memory), yes, yes)
	var invalid *message.InvalidError
	if _, err := g.Invoke(t.Context(), chat{Messages: message.LogOf(message.User(""))}, graph.RunOptions{Thread: "t"}); !errors.As(err, &invalid) {
		t.Errorf("got %v, want an *InvalidError", err)
	}
}

// A message a step, edits and removals now and then: the bytes of a step stay those of
// its writes, whatever the length of the conversation, and every state comes back.
func TestLog_StoredBytesDoNotGrowWithTheConversation(t *testing.T) {
	schema, err := state.SchemaOf[chat]()
	if err != nil {
		t.Fatal(err)
	}
	store := new(checkpoint.Memory)
	key := checkpoint.Key{Thread: "t"}
	chain, err := checkpoint.Open(t.Context(), store, key, schema)
	if err != nil {
		t.Fatal(err)
	}
	run, text := chain.State, strings.Repeat("x", 1000)
	log := &run.State.(*chat).Messages
	biggest := 0
	for i := range 1000 {
		view := *log
		err := view.Add(user(fmt.Sprint("m", i), text))
		switch i % 10 {
		case 3:
			err = errors.Join(err, view.Add(user(fmt.Sprint("m", i-2), "edited")))
		case 6:
			err = errors.Join(err, view.Remove(fmt.Sprint("m", i-4)))
		case 9:
			err = errors.Join(err, view.Replace(fmt.Sprint("m", i-3), user(fmt.Sprint("r", i), "other")))
		}
		if err == nil {
			err = log.Channel().Fold([]state.Channel{view.Channel()})
		}
		if err == nil {
			err = chain.Commit(t.Context(), fmt.Sprint(i), &checkpoint.Record{Step: i + 1}, run, []bool{true})
		}
		if err != nil {
			t.Fatal(err)
		}
		if f := chain.Record.Fields[0]; f.Chunks > 0 {
			biggest = max(biggest, f.ChunkBytes/f.Chunks)
		}
	}
	if biggest > 1400 {
		t.Errorf("a chunk has %d bytes on average, want not much more than the message of a step", biggest)
	}
	if f := chain.Record.Fields[0]; f.Chunks == 0 {
		t.Errorf("the log is stored whole: %+v", f)
	}
	back, err := checkpoint.Open(t.Context(), store, key, schema)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.State.State.(*chat).Messages.String(); got != log.String() {
		t.Error("the log that was stored does not come back")
	}
}
