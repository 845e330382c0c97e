package topictest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
)

// Keep is how many events a bus under test should store, if that can be set.
const Keep = 64

// World is a bus under test, empty.
type World struct {
	Bus   topic.Bus
	Other topic.Bus // a connection of another process to the same topics; nil means Bus
	// Keep is the least number of events that the bus stores. 8 * Keep more events must make it
	// drop some. 0 leaves the rule out.
	Keep int
}

// Rule is one guarantee.
type Rule struct {
	Name string
	test func(t testing.TB, w World)
}

// Rules are all guarantees of a bus.
var Rules = []Rule{
	{"events are ordered and numbered", inOrder},
	{"a subscriber continues from a position", goesOn},
	{"a subscriber waits for events", waits},
	{"topics are separate", apart},
	{"a slow subscriber gets a MissedError", missed},
	{"a position can be in the future", future},
	{"data is copied", copies},
	{"a topic can be removed", removed},
	{"many publishers and subscribers", many},
	{"names are checked", names},
	{"an ended context ends all", ends},
}

// Run tests a bus against the guarantees of package topic. open returns a new World each time.
func Run(t *testing.T, open func(t testing.TB) World) {
	for _, r := range Rules {
		t.Run(r.Name, func(t *testing.T) { r.Test(t, open(t)) })
	}
}

// Test tests a bus by one rule.
func (r Rule) Test(t testing.TB, w World) {
	if w.Other == nil {
		w.Other = w.Bus
	}
	r.test(t, w)
}

func publish(t testing.TB, b topic.Bus, name string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := b.Publish(t.Context(), name, []byte(text)); err != nil {
			t.Fatalf("publish: %v", err)
		}
	}
}

// take reads n events, and stops.
func take(t testing.TB, b topic.Bus, name string, after uint64, n int) (got []string) {
	t.Helper()
	for e, err := range b.Follow(t.Context(), name, after) {
		if err != nil {
			t.Errorf("follow: %v", err)
			return got
		}
		if got = append(got, fmt.Sprint(e.Position, " ", string(e.Data))); len(got) == n {
			break
		}
	}
	return got
}

func want(t testing.TB, rule string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("rule: %s\n got: %q\nwant: %q", rule, got, want)
	}
}

func last(t testing.TB, b topic.Bus, name string) uint64 {
	t.Helper()
	n, err := b.Last(t.Context(), name)
	if err != nil {
		t.Fatalf("last: %v", err)
	}
	return n
}

func inOrder(t testing.TB, w World) {
	if n := last(t, w.Other, "a"); n != 0 {
		t.Errorf("a new topic has position %d, want 0", n)
	}
	publish(t, w.Bus, "a", "x", "", "z")
	want(t, "events are numbered from 1", take(t, w.Other, "a", 0, 3), "1 x", "2 ", "3 z")
	if n := last(t, w.Other, "a"); n != 3 {
		t.Errorf("after three events the topic has position %d", n)
	}
}

func goesOn(t testing.TB, w World) {
	publish(t, w.Bus, "a", "x", "y", "z")
	want(t, "a subscriber gets the events after its position", take(t, w.Other, "a", 1, 2), "2 y", "3 z")
}

func waits(t testing.TB, w World) {
	var wg sync.WaitGroup
	begun := make(chan struct{})
	publish(t, w.Bus, "a", "first")
	var got []string
	wg.Go(func() {
		for e, err := range w.Other.Follow(t.Context(), "a", 0) {
			if err != nil {
				t.Errorf("follow: %v", err)
				return
			}
			if got = append(got, string(e.Data)); len(got) == 1 {
				close(begun)
			}
			if len(got) == 2 {
				return
			}
		}
	})
	<-begun
	publish(t, w.Bus, "a", "second")
	wg.Wait()
	want(t, "a waiting subscriber gets new events", got, "first", "second")
}

func apart(t testing.TB, w World) {
	publish(t, w.Bus, "a", "x")
	publish(t, w.Bus, "a:b {c}", "y")
	want(t, "each topic has its own events", take(t, w.Other, "a", 0, 1), "1 x")
	want(t, "a name may have any characters", take(t, w.Other, "a:b {c}", 0, 1), "1 y")
}

func missed(t testing.TB, w World) {
	if w.Keep == 0 {
		return
	}
	total := 9 * w.Keep
	for i := range total {
		publish(t, w.Bus, "a", fmt.Sprint(i+1))
	}
	var gap *topic.MissedError
	next, n := uint64(0), 0
	for e, err := range w.Other.Follow(t.Context(), "a", 2) {
		if errors.As(err, &gap) {
			next = gap.From + gap.Count
			if n > 0 || gap.From != 3 || gap.Count == 0 {
				t.Errorf("rule: the MissedError comes first, from the position on\n got: %v after %d events", gap, n)
			}
			continue
		}
		if err != nil || e.Position != next || string(e.Data) != fmt.Sprint(e.Position) {
			t.Fatalf("rule: after the MissedError come the stored events in order\n got: %d %q, %v\nwant: %d", e.Position, e.Data, err, next)
		}
		next++
		if n++; e.Position == uint64(total) {
			break
		}
	}
	if gap == nil || n < w.Keep {
		t.Errorf("rule: at least %d events are stored\n got: %d, gap %v", w.Keep, n, gap)
	}
}

func future(t testing.TB, w World) {
	publish(t, w.Bus, "a", "1")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for range w.Other.Follow(ctx, "never", 0) {
			t.Error("an event of nothing")
		}
	})
	publish(t, w.Bus, "a", "2")
	want(t, "the newest position has nothing after it but what comes", take(t, w.Other, "a", 1, 1), "2 2")
}

func copies(t testing.TB, w World) {
	data := []byte("mine")
	if err := w.Bus.Publish(t.Context(), "a", data); err != nil {
		t.Fatal(err)
	}
	data[0] = 'X'
	for e := range w.Bus.Follow(t.Context(), "a", 0) {
		e.Data[1] = 'Y'
		break
	}
	want(t, "what is done to a slice before or after does not show", take(t, w.Other, "a", 0, 1), "1 mine")
}

func removed(t testing.TB, w World) {
	publish(t, w.Bus, "a", "x", "y")
	publish(t, w.Bus, "b", "z")
	for range 2 { // the second time it is gone
		if err := w.Other.Delete(t.Context(), "a"); err != nil {
			t.Fatalf("delete: %v", err)
		}
	}
	if n := last(t, w.Bus, "a"); n != 0 {
		t.Errorf("rule: a removed topic has no events\n got: position %d, want 0", n)
	}
	publish(t, w.Bus, "a", "new")
	want(t, "a topic of the same name begins again", take(t, w.Other, "a", 0, 1), "1 new")
	want(t, "other topics stay", take(t, w.Other, "b", 0, 1), "1 z")
}

func many(t testing.TB, w World) {
	const writers, each = 4, 10 // fewer than Keep
	var wg sync.WaitGroup
	seen := make([][]string, 3)
	for i := range seen {
		wg.Go(func() { seen[i] = take(t, w.Other, "a", 0, writers*each) })
	}
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				publish(t, w.Bus, "a", fmt.Sprint(i, "/", j))
			}
		})
	}
	wg.Wait()
	for _, got := range seen[1:] {
		want(t, "all see one order", got, seen[0]...)
	}
	for i := range writers {
		j := 0
		for _, text := range seen[0] {
			if strings.HasSuffix(text, fmt.Sprint(" ", i, "/", j)) {
				j++
			}
		}
		if j != each {
			t.Errorf("rule: the events of a publisher come in its order\n got: %q", seen[0])
		}
	}
}

func names(t testing.TB, w World) {
	for _, name := range []string{"", strings.Repeat("n", topic.MaxName+1)} {
		if err := w.Bus.Publish(t.Context(), name, nil); !errors.Is(err, topic.ErrName) {
			t.Errorf("publish to a name of %d bytes: got %v, want ErrName", len(name), err)
		}
		if _, err := w.Bus.Last(t.Context(), name); !errors.Is(err, topic.ErrName) {
			t.Errorf("last of a name of %d bytes: got %v, want ErrName", len(name), err)
		}
		if err := w.Bus.Delete(t.Context(), name); !errors.Is(err, topic.ErrName) {
			t.Errorf("delete a name of %d bytes: got %v, want ErrName", len(name), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a bus that takes the name waits for events
		rounds := 0
		for _, err := range w.Bus.Follow(ctx, name, 0) {
			rounds++
			if !errors.Is(err, topic.ErrName) {
				t.Errorf("follow a name of %d bytes: got %v, want ErrName", len(name), err)
				break
			}
		}
		cancel()
		if rounds != 1 {
			t.Errorf("follow a name of %d bytes: %d rounds, want 1", len(name), rounds)
		}
	}
}

func ends(t testing.TB, w World) {
	publish(t, w.Bus, "a", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Bus.Publish(ctx, "a", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("publish: got %v, want that the context ended", err)
	}
	if _, err := w.Bus.Last(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("last: got %v, want that the context ended", err)
	}
	if err := w.Bus.Delete(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("delete: got %v, want that the context ended", err)
	}
	for e, err := range w.Bus.Follow(ctx, "a", 0) {
		t.Errorf("rule: a context that ended yields nothing\n got: %v, %v", e, err)
	}
	if n := last(t, w.Other, "a"); n != 1 {
		t.Errorf("the topic has position %d, want 1", n)
	}
}
