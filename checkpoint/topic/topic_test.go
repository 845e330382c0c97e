package topic_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/checkpoint/topic/topictest"
)

func TestLocal(t *testing.T) {
	topictest.Run(t, func(t testing.TB) topictest.World {
		return topictest.World{Bus: &topic.Local{Keep: topictest.Keep}, Keep: topictest.Keep}
	})
}

type order struct{ Total int }

func TestPublish_TextThatIsNotUTF8(t *testing.T) {
	names := topic.Topic[[]string]{Bus: &topic.Local{}, Name: "names"}
	if err := names.Publish(t.Context(), []string{"a", "caf\xe9"}); err == nil || !strings.Contains(err.Error(), `"names": [1]: `) {
		t.Errorf("got %v, want an error with the place", err)
	}
}

func TestSubscribe_YieldsMatchingValues(t *testing.T) {
	orders := topic.Topic[order]{Bus: &topic.Local{}, Name: "orders"}
	orders.Publish(t.Context(), order{1000}) // before the subscription
	sub := orders.Subscribe(t.Context(), func(o order) bool { return o.Total > 100 })
	for _, n := range []int{50, 250, 99, 300} {
		if err := orders.Publish(t.Context(), order{n}); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for e, err := range sub {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e.Value.Total); len(got) == 2 {
			break
		}
	}
	if want := []int{250, 300}; !slices.Equal(got, want) {
		t.Errorf("rule: a subscription begins with the call and yields matching values\n got: %v\nwant: %v", got, want)
	}
}

func TestSubscribe_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orders := topic.Topic[order]{Bus: &topic.Local{}, Name: "orders"}
		ctx, cancel := context.WithCancel(t.Context())
		sub := orders.Subscribe(ctx, nil)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range sub {
			}
		})
		synctest.Wait() // the loop waits for events
		cancel()
		wg.Wait()
	})
}

func TestFrom_ContinuesAfterAnInvalidValue(t *testing.T) {
	var bus topic.Local
	orders := topic.Topic[order]{Bus: &bus, Name: "orders"}
	bus.Publish(t.Context(), "orders", []byte("{"))
	orders.Publish(t.Context(), order{7})
	var text string
	for e, err := range orders.From(t.Context(), 0, nil) {
		if err != nil {
			text = err.Error()
			continue
		}
		if e.Value.Total != 7 || e.Position != 2 {
			t.Errorf("got %+v, want total 7 at position 2", e)
		}
		break
	}
	if !strings.Contains(text, `"orders": event 1`) {
		t.Errorf("rule: an event that cannot be decoded is an error with its place\n got: %q", text)
	}
}

func TestSubscribe_ErrorsAtOnce(t *testing.T) {
	orders := topic.Topic[order]{Bus: &topic.Local{}, Name: ""}
	n := 0
	for _, err := range orders.Subscribe(t.Context(), nil) {
		if n++; !errors.Is(err, topic.ErrName) {
			t.Errorf("got %v, want ErrName", err)
		}
	}
	if n != 1 {
		t.Errorf("got %d rounds, want the error alone", n)
	}
	if err := orders.Publish(t.Context(), order{}); !errors.Is(err, topic.ErrName) {
		t.Errorf("got %v, want ErrName", err)
	}
	if err := (topic.Topic[chan int]{Bus: &topic.Local{}, Name: "x"}).Publish(t.Context(), nil); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("rule: a value that cannot be encoded is an error with the topic's name\n got: %v", err)
	}
}
