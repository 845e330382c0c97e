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

// faulty is a correct bus with some methods replaced.
type faulty struct {
	*topic.Local
	publish func(b *topic.Local, ctx context.Context, name string, data []byte) error
	remove  func(b *topic.Local, ctx context.Context, name string) error
	last    func(b *topic.Local, ctx context.Context, name string) (uint64, error)
	event   func(e *topic.Event, err *error)
	after   func(after uint64) uint64
	name    func(name string) string
}

func (t faulty) named(name string) string {
	if t.name != nil {
		return t.name(name)
	}
	return name
}

func (t faulty) Publish(ctx context.Context, name string, data []byte) error {
	if t.publish != nil {
		return t.publish(t.Local, ctx, t.named(name), data)
	}
	return t.Local.Publish(ctx, t.named(name), data)
}

func (t faulty) Last(ctx context.Context, name string) (uint64, error) {
	if t.last != nil {
		return t.last(t.Local, ctx, t.named(name))
	}
	return t.Local.Last(ctx, t.named(name))
}

func (t faulty) Delete(ctx context.Context, name string) error {
	if t.remove != nil {
		return t.remove(t.Local, ctx, t.named(name))
	}
	return t.Local.Delete(ctx, t.named(name))
}

func (t faulty) Follow(ctx context.Context, name string, after uint64) iter.Seq2[topic.Event, error] {
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

// shared returns the same slice to all subscribers of an event.
func shared() faulty {
	var mu sync.Mutex
	seen := map[uint64][]byte{}
	return faulty{event: func(e *topic.Event, _ *error) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := seen[e.Position]; !ok {
			seen[e.Position] = e.Data
		}
		e.Data = seen[e.Position]
	}}
}

func TestSuite_CatchesBrokenBuses(t *testing.T) {
	caught := map[string]bool{}
	for name, b := range map[string]struct {
		bus   faulty
		rules []string
	}{
		"counts from 0":       {faulty{event: func(e *topic.Event, _ *error) { e.Position-- }}, []string{"events are ordered", "a subscriber continues"}},
		"begins at the start": {faulty{after: func(uint64) uint64 { return 0 }}, []string{"a subscriber continues", "a position can be"}},
		"has one topic": {faulty{name: func(name string) string {
			if name == "" || len(name) > topic.MaxName {
				return name
			}
			return "all"
		}}, []string{"topics are separate"}},
		"spoils data":         {faulty{event: func(e *topic.Event, _ *error) { e.Data = []byte(strings.ToUpper(string(e.Data))) }}, []string{"a subscriber waits"}},
		"hides missed events": {faulty{event: func(_ *topic.Event, err *error) { *err = nil }}, []string{"a slow subscriber"}},
		"shares data":         {shared(), []string{"data is copied"}},
		"takes any name":      {faulty{name: func(name string) string { return "n" + name[:min(len(name), 100)] }}, []string{"names are checked"}},
		"ignores contexts": {faulty{publish: func(b *topic.Local, _ context.Context, name string, data []byte) error {
			return b.Publish(context.Background(), name, data)
		}}, []string{"an ended context"}},
		"removes nothing": {faulty{remove: func(*topic.Local, context.Context, string) error { return nil }}, []string{"a topic can be removed"}},
		"doubles what is published": {faulty{publish: func(b *topic.Local, ctx context.Context, name string, data []byte) error {
			if err := b.Publish(ctx, name, data); err != nil {
				return err
			}
			return b.Publish(ctx, name, data)
		}}, []string{"many publishers"}},
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
