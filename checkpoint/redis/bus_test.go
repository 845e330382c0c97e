package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/checkpoint/topic/topictest"
)

func TestBus(t *testing.T) {
	topictest.Run(t, func(t testing.TB) topictest.World {
		s, prefix := common(t)
		cfg := redis.Config{Prefix: prefix}
		return topictest.World{
			Bus:   storeOf(t, s.quick(t), cfg).Bus(topictest.Keep),
			Other: storeOf(t, s.client(t), cfg).Bus(topictest.Keep),
			Keep:  topictest.Keep,
		}
	})
}

// listener follows a topic on a goroutine of its own.
type listener struct {
	wg     sync.WaitGroup
	got    chan uint64
	missed chan *topic.MissedError
}

func listen(t testing.TB, b topic.Bus, name string) *listener {
	l := &listener{got: make(chan uint64, 1000), missed: make(chan *topic.MissedError, 10)}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(l.wg.Wait)
	t.Cleanup(cancel)
	l.wg.Go(func() {
		for e, err := range b.Follow(ctx, name, 0) {
			var gap *topic.MissedError
			switch {
			case errors.As(err, &gap):
				l.missed <- gap
			case err != nil:
				t.Errorf("follow: %v", err)
			default:
				l.got <- e.Position
			}
		}
	})
	return l
}

func TestBus_ListenerContinuesAfterLostConnections(t *testing.T) {
	s, prefix := common(t)
	p := startProxy(t, s.addr)
	cfg := redis.Config{Prefix: prefix}
	l := listen(t, storeOf(t, connectTo(t, p.addr), cfg).Bus(0), "a")
	bus := storeOf(t, s.quick(t), cfg).Bus(0)
	for i := range uint64(20) {
		if err := bus.Publish(t.Context(), "a", []byte(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			p.cutAll() // the listener may wait in the server, or read, or be between the two
		}
	}
	for want := uint64(1); want <= 20; want++ {
		if got := <-l.got; got != want {
			t.Fatalf("rule: nothing is lost and nothing doubled by a lost connection\n got: event %d\nwant: event %d", got, want)
		}
	}
}

func TestBus_ListenerLearnsThatTheServerLostTheTopic(t *testing.T) {
	s, prefix := common(t)
	bus := storeOf(t, s.quick(t), redis.Config{Prefix: prefix}).Bus(0)
	l := listen(t, bus, "a")
	for range 3 {
		if err := bus.Publish(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		<-l.got
	}
	s.do(t, "del", prefix+":b:{a}")
	if gap := <-l.missed; gap.From != 4 || gap.Count != 0 {
		t.Errorf("got %v, want that what came after position 3 is not known", gap)
	}
	if err := bus.Publish(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	if got := <-l.got; got != 1 {
		t.Errorf("rule: the listener goes on with what comes after a loss\n got: event %d\nwant: event 1", got)
	}
}

// TestBus_SlowServerDoublesNoEvent blocks the server for longer than a caller waits that sends its
// command itself.
func TestBus_SlowServerDoublesNoEvent(t *testing.T) {
	s, prefix := common(t)
	bus := storeOf(t, s.quick(t), redis.Config{Prefix: prefix}).Bus(0)
	if err := bus.Publish(t.Context(), "a", nil); err != nil { // and the connection is there
		t.Fatal(err)
	}
	busy := occupy(t, s)
	for published := uint64(1); ; {
		select {
		case err := <-busy:
			if err != nil {
				t.Fatal(err)
			}
			if last, err := bus.Last(t.Context(), "a"); err != nil || last != published {
				t.Errorf("rule: what is published once comes once, unless a connection breaks\n got: %d events, %v\nwant: %d", last, err, published)
			}
			return
		default:
		}
		if err := bus.Publish(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		published++
	}
}

// occupy keeps a server at work for 300 ms, and sends when it is done.
func occupy(t testing.TB, s *server) (busy chan error) {
	busy = make(chan error, 1)
	go func() {
		// TIME does not advance in a script of Redis 8, and Redis 7.0 has no os.clock.
		const loop = `local ok, clock = pcall(function() return os.clock end)
local function now() if ok then return clock() * 1000 end; local t = redis.call('TIME'); return t[1] * 1000 + t[2] / 1000 end
local from = now(); while now() < from + 300 do end; return 1`
		busy <- s.client(t).Eval(context.Background(), loop, nil).Err()
	}()
	return busy
}

func TestBus_ManyListenersShareAConnection(t *testing.T) {
	s, prefix := common(t)
	p := startProxy(t, s.addr)
	c := connectTo(t, p.addr)
	bus := storeOf(t, c, redis.Config{Prefix: prefix}).Bus(0)
	var ls []*listener
	for range 50 {
		ls = append(ls, listen(t, bus, "a"))
	}
	for range 3 {
		if err := bus.Publish(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		for _, l := range ls {
			<-l.got
		}
	}
	if n := c.PoolStats().TotalConns; n > 10 {
		t.Errorf("rule: listeners of a topic wait in one connection\n got: %d connections for %d listeners", n, len(ls))
	}
}

func TestBus_ListenersOfManyTopicsLeaveConnections(t *testing.T) {
	s, prefix := common(t)
	c := connectTo(t, s.addr)
	bus := storeOf(t, c, redis.Config{Prefix: prefix}).Bus(0)
	other := storeOf(t, connectTo(t, s.addr), redis.Config{Prefix: prefix}).Bus(0) // of another process
	ls := map[string]*listener{}
	for i := range 100 {
		name := fmt.Sprint("topic-", i)
		ls[name] = listen(t, bus, name)
	}
	for _, publisher := range []topic.Bus{bus, other} {
		for name, l := range ls {
			if err := publisher.Publish(t.Context(), name, nil); err != nil {
				t.Fatal(err)
			}
			<-l.got
		}
	}
	if stats := c.PoolStats(); stats.Timeouts > 0 {
		t.Errorf("rule: listeners leave connections to others\n got: %d calls that found none in time", stats.Timeouts)
	}
	info, err := c.Info(t.Context(), "clients").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "blocked_clients:"); ok && len(n) > 1 {
			t.Errorf("rule: few listeners wait in the server\n got: %s connections that wait", n)
		}
	}
}

func TestBus_ListenersEndWithTheStore(t *testing.T) {
	s, prefix := common(t)
	store := storeOf(t, s.quick(t), redis.Config{Prefix: prefix})
	begun, ended := make(chan bool), make(chan error)
	bus := store.Bus(0)
	go func() {
		var last error
		for _, err := range bus.Follow(context.Background(), "a", 0) {
			if last = err; err == nil {
				begun <- true
			}
		}
		ended <- last
	}()
	if err := bus.Publish(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	<-begun
	store.Close()
	wantError(t, "a listener ends with the store", <-ended, checkpoint.ErrClosed)
	wantError(t, "a closed store publishes nothing", bus.Publish(t.Context(), "a", nil), checkpoint.ErrClosed)
	for _, err := range bus.Follow(t.Context(), "a", 0) {
		wantError(t, "a closed store cannot be followed", err, checkpoint.ErrClosed)
	}
}

func TestBus_ForeignKeyEndsTheListener(t *testing.T) {
	s, prefix := common(t)
	bus := storeOf(t, s.quick(t), redis.Config{Prefix: prefix}).Bus(0)
	s.do(t, "set", prefix+":b:{a}", "something else")
	rounds := 0
	for _, err := range bus.Follow(t.Context(), "a", 0) {
		rounds++
		wantError(t, "a key of another program ends the loop", err, checkpoint.ErrUnavailable, "belongs to another program")
	}
	if rounds != 1 {
		t.Errorf("got %d rounds, want 1", rounds)
	}
	s.do(t, "del", prefix+":b:{a}")
	s.do(t, "xadd", prefix+":b:{a}", "7-7", "k", "v")
	for _, err := range bus.Follow(t.Context(), "a", 0) {
		wantError(t, "an entry of another program ends the loop", err, checkpoint.ErrCorrupt, `topic "a"`, "7-7")
	}
	wantError(t, "an event has a limit", storeOf(t, s.quick(t), redis.Config{MaxBytes: 10}).Bus(0).Publish(t.Context(), "a", make([]byte, 11)), checkpoint.ErrTooLarge, `topic "a"`)
}

func connectTo(t testing.TB, addr string) *goredis.Client {
	return connect(t, goredis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1})
}
