package topictest

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/internal/testreport"
)

func TestLocal(t *testing.T) {
	Run(t, func(testing.TB) World { return World{Bus: &topic.Local{Keep: Keep}, Keep: Keep} })
}

// twisted is a sound bus with some methods of its own.
type twisted struct {
	*topic.Local
	publish func(b *topic.Local, ctx context.Context, name string, data []byte) error
	last    func(b *topic.Local, ctx context.Context, name string) (uint64, error)
	event   func(e *topic.Event, err *error)
	after   func(after uint64) uint64
	name    func(name string) string
}

func (t twisted) named(name string) string {
	if t.name != nil {
		return t.name(name)
	}
	return name
}

func (t twisted) Publish(ctx context.Context, name string, data []byte) error {
	if t.publish != nil {
		return t.publish(t.Local, ctx, t.named(name), data)
	}
	return t.Local.Publish(ctx, t.named(name), data)
}

func (t twisted) Last(ctx context.Context, name string) (uint64, error) {
	if t.last != nil {
		return t.last(t.Local, ctx, t.named(name))
	}
	return t.Local.Last(ctx, t.named(name))
}

func (t twisted) Follow(ctx context.Context, name string, after uint64) iter.Seq2[topic.Event, error] {
	if t.after != nil {
		after = t.after(after)
	}
	events := t.Local.Follow(ctx, t.named(name), after)
	return func(yield func(topic.Event, error) bool) {
		for e, err := range events {
			if t.event != nil {
				t.event(&e, &err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// shared hands out one slice to all who ask for an event.
func shared() twisted {
	var mu sync.Mutex
	seen := map[uint64][]byte{}
	return twisted{event: func(e *topic.Event, _ *error) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := seen[e.Position]; !ok {
			seen[e.Position] = e.Data
		}
		e.Data = seen[e.Position]
	}}
}

func TestBrokenBusesAreCaught(t *testing.T) {
	caught := map[string]bool{}
	for name, b := range map[string]struct {
		bus   twisted
		rules []string
	}{
		"counts from 0":       {twisted{event: func(e *topic.Event, _ *error) { e.Position-- }}, []string{"events come in order", "a follower goes on"}},
		"begins at the start": {twisted{after: func(uint64) uint64 { return 0 }}, []string{"a follower goes on", "a position in the future"}},
		"has one topic": {twisted{name: func(name string) string {
			if name == "" || len(name) > topic.MaxName {
				return name
			}
			return "all"
		}}, []string{"topics are apart"}},
		"spoils data":         {twisted{event: func(e *topic.Event, _ *error) { e.Data = []byte(strings.ToUpper(string(e.Data))) }}, []string{"a follower waits"}},
		"hides what was lost": {twisted{event: func(_ *topic.Event, err *error) { *err = nil }}, []string{"who is behind"}},
		"shares data":         {shared(), []string{"data is nobody else's"}},
		"takes any name":      {twisted{name: func(name string) string { return "n" + name[:min(len(name), 100)] }}, []string{"names are checked"}},
		"is deaf to contexts": {twisted{publish: func(b *topic.Local, _ context.Context, name string, data []byte) error {
			return b.Publish(context.Background(), name, data)
		}}, []string{"an ended context"}},
		"doubles what is published": {twisted{publish: func(b *topic.Local, ctx context.Context, name string, data []byte) error {
			if err := b.Publish(ctx, name, data); err != nil {
				return err
			}
			return b.Publish(ctx, name, data)
		}}, []string{"many publish"}},
	} {
		for _, r := range Rules {
			for _, want := range b.rules {
				if !strings.HasPrefix(r.Name, want) {
					continue
				}
				caught[r.Name] = true
				bus := b.bus
				bus.Local = &topic.Local{Keep: Keep}
				if testreport.Of(t, func(tb testing.TB) { r.Test(tb, World{Bus: bus, Keep: Keep}) }) == "" {
					t.Errorf("rule: a bus that %s is caught by %q\n got: silence", name, r.Name)
				}
			}
		}
	}
	for _, r := range Rules {
		if !caught[r.Name] {
			t.Errorf("rule: each rule can fail\n got: no broken bus for %q", r.Name)
		}
	}
}
