package topic_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
)

// countedTable is a table in memory that counts how often it is asked.
type countedTable struct {
	mu      sync.Mutex
	events  map[string][]topic.Event
	version uint64
	failing bool
	asked   int // calls of Last
}

func (c *countedTable) Append(_ context.Context, name string, data []byte, _ int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events[name] = append(c.events[name], topic.Event{Position: uint64(len(c.events[name]) + 1), Data: data})
	c.version++
	return nil
}

func (c *countedTable) Last(_ context.Context, names ...string) ([]uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if c.failing {
		return nil, checkpoint.ErrUnavailable
	}
	last := make([]uint64, len(names))
	for i, name := range names {
		last[i] = uint64(len(c.events[name]))
	}
	return last, nil
}

func (c *countedTable) Read(_ context.Context, name string, after uint64, _ int) ([]topic.Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failing {
		return nil, checkpoint.ErrUnavailable
	}
	list := c.events[name]
	return list[min(after, uint64(len(list))):], nil
}

func (c *countedTable) Remove(context.Context, string) error { return nil }

func (c *countedTable) Version(context.Context) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failing {
		return 0, checkpoint.ErrUnavailable
	}
	return c.version, nil
}

// lose removes the newest events of a topic.
func (c *countedTable) lose(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events[name] = c.events[name][:len(c.events[name])-n]
	c.version++
}

func (c *countedTable) fail(failing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing = failing
}

func (c *countedTable) looks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

func TestOver_AsksForPositionsWhenTheVersionIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &countedTable{events: map[string][]topic.Event{}, version: 1}
		bus, other := topic.Over(table, 0, time.Second), topic.Over(table, 0, time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		got := 0
		var followers sync.WaitGroup
		followers.Go(func() {
			for _, err := range bus.Follow(ctx, "a", 0) {
				if err != nil {
					t.Error(err)
				}
				got++
			}
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := table.looks(); n != 1 {
			t.Errorf("in a minute without events the bus asks for the positions %d times, want 1", n)
		}
		for want := 1; want <= 3; want++ { // of another process
			if err := other.Publish(t.Context(), "a", nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if got != want {
				t.Fatalf("the follower has %d events, want %d", got, want)
			}
		}
		time.Sleep(time.Minute)
		if n := table.looks(); n != 4 {
			t.Errorf("after three events the bus has asked for the positions %d times, want 4", n)
		}
		table.fail(true)
		time.Sleep(5 * time.Second)
		if n := table.looks(); n < 8 {
			t.Errorf("while the storage is unavailable the bus has asked %d times, want once a second", n)
		}
		table.fail(false)
		if err := other.Publish(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got != 4 {
			t.Errorf("after the failure the follower has %d events, want 4", got)
		}
		cancel()
		followers.Wait()
	})
}

// Requirement: a failover loses acknowledged commits
func TestOver_FollowerLearnsThatTheStorageLostEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &countedTable{events: map[string][]topic.Event{}, version: 1}
		bus := topic.Over(table, 0, time.Second)
		publish := func(data string) {
			if err := bus.Publish(t.Context(), "a", []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			publish("old")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		var followers sync.WaitGroup
		followers.Go(func() {
			for e, err := range bus.Follow(ctx, "a", 0) {
				var missed *topic.MissedError
				if errors.As(err, &missed) {
					got = append(got, fmt.Sprint("missed ", missed.From, " ", missed.Count))
				} else {
					got = append(got, fmt.Sprint(e.Position, " ", string(e.Data), " ", err))
				}
			}
		})
		time.Sleep(time.Minute)
		table.lose("a", 2)
		time.Sleep(time.Minute)
		publish("new")
		synctest.Wait()
		want := []string{"1 old <nil>", "2 old <nil>", "3 old <nil>", "missed 4 0", "1 old <nil>", "2 new <nil>"}
		if !slices.Equal(got, want) {
			t.Errorf("rule: a follower learns that the storage has lost what it had read\n got: %q\nwant: %q", got, want)
		}
		time.Sleep(time.Minute)
		if n := table.looks(); n > 5 {
			t.Errorf("the bus has asked for the positions %d times, want only after a change", n)
		}
		cancel()
		followers.Wait()
	})
}
