package redis

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
)

var busPublishScript = adding(newScript(true, "bus_publish"))

const (
	busPage  = 128         // events that a follower reads at once
	busBlock = time.Second // how long a pump waits in the server for the next event

	// busWaits is how many pumps may wait in the server at once. Each needs a connection for it,
	// and the pool has ten for each processor. The others ask now and then, at most once per
	// busPoll, and all together about once per busShare.
	busWaits = 4
	busPoll  = 50 * time.Millisecond
	busShare = time.Millisecond
)

// bus is a topic.Bus for all processes that use the same server and prefix.
//
// A topic is a stream, not a channel of Redis's pub/sub, so each follower has a position. An event
// that is published while the follower's connection is lost is delivered after it is back. An event
// of this process reaches its followers at once. For those of others, a pump looks after each topic
// that has followers.
type bus struct {
	store *Store
	keep  int
	waits chan struct{} // has an element for each pump that waits in the server

	mu    sync.Mutex
	pumps map[string]*pump // of the topics that have followers
}

// Bus returns a bus that stores at least the newest keep events of each topic, and about a hundred
// more; 0 means 10,000. The bus is usable until the Store is closed. Publish and Last retry for
// Config.RetryFor; a follower retries until its context ends.
func (s *Store) Bus(keep int) topic.Bus {
	if keep <= 0 {
		keep = 10_000
	}
	return &bus{store: s, keep: keep, waits: make(chan struct{}, busWaits), pumps: map[string]*pump{}}
}

func (b *bus) key(name string) string { return b.store.cfg.Prefix + ":b:{" + encode(name) + "}" }

// Publish implements topic.Bus, in one round trip.
func (b *bus) Publish(ctx context.Context, name string, data []byte) error {
	if err := topic.CheckName(name); err != nil {
		return err
	}
	if len(data) > b.store.cfg.MaxBytes {
		return fmt.Errorf("%w: redis: topic %q: the event has %d bytes, Config.MaxBytes is %d", checkpoint.ErrTooLarge, name, len(data), b.store.cfg.MaxBytes)
	}
	reply, err := b.store.call(ctx, busPublishScript, b.key(name), []any{string(data), b.keep})
	if err != nil {
		return err
	}
	b.mu.Lock()
	p := b.pumps[name]
	b.mu.Unlock()
	if text, ok := reply.(string); ok && p != nil {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			p.published(n)
		}
	}
	return nil
}

// Last implements topic.Bus.
func (b *bus) Last(ctx context.Context, name string) (uint64, error) {
	if err := topic.CheckName(name); err != nil {
		return 0, err
	}
	events, err := b.read(ctx, name, "xrevrange", b.key(name), "+", "-", "count", 1)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return events[0].Position, nil
}

// Delete implements topic.Bus.
func (b *bus) Delete(ctx context.Context, name string) error {
	if err := topic.CheckName(name); err != nil {
		return err
	}
	if _, err := b.store.notify(ctx, b.key(name), "unlink", b.key(name)); err != nil {
		return fmt.Errorf("topic %q: %w", name, err)
	}
	return nil
}

// Follow implements topic.Bus.
func (b *bus) Follow(ctx context.Context, name string, after uint64) iter.Seq2[topic.Event, error] {
	return func(yield func(topic.Event, error) bool) {
		err := topic.CheckName(name)
		if err == nil {
			f := follower{bus: b, name: name, at: after, yield: yield}
			err = f.run(ctx)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, errEnough) {
			yield(topic.Event{}, err)
		}
	}
}

// errEnough ends a follower whose reader has left the loop.
var errEnough = errors.New("redis: the reader left")

// follower is one loop over a topic.
type follower struct {
	bus   *bus
	name  string
	at    uint64
	yield func(topic.Event, error) bool
}

func (f *follower) run(ctx context.Context) error {
	var p *pump
	defer func() { f.bus.leave(p) }()
	for woken := false; ; {
		news, last, err := p.listen() // before reading, so that nothing comes between
		if err != nil {
			return err
		}
		var events []topic.Event
		if p == nil || woken || last != f.at {
			if events, err = f.page(ctx); err == nil {
				err = f.pass(events)
			}
			if err != nil {
				return err
			}
		}
		switch {
		case len(events) > 0:
			woken = false
		case p == nil:
			if p, err = f.bus.join(f.name, f.at); err != nil {
				return err
			}
		case woken:
			if err := f.lost(ctx); err != nil {
				return err
			}
			woken = false
		default:
			select {
			case <-news:
				woken = true
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// lost checks whether the server has lost the topic, so that its last event is before the
// follower's position. If so, the follower starts again at the first event.
func (f *follower) lost(ctx context.Context) error {
	last, err := f.bus.Last(ctx, f.name)
	if err != nil && f.bus.store.passes(err) {
		return nil
	}
	if err != nil || last >= f.at {
		return err
	}
	missed := &topic.MissedError{Name: f.name, From: f.at + 1}
	f.at = 0
	if !f.yield(topic.Event{}, missed) {
		return errEnough
	}
	return nil
}

// page reads what comes next, again and again while the server cannot be reached.
func (f *follower) page(ctx context.Context) ([]topic.Event, error) {
	for {
		events, err := f.bus.read(ctx, f.name, "xrange", f.bus.key(f.name), "("+id(f.at), "+", "count", busPage)
		if err == nil || ctx.Err() != nil || !f.bus.store.passes(err) {
			return events, err
		}
		if err := f.bus.store.nap(ctx, longestPause); err != nil {
			return nil, err
		}
	}
}

func (f *follower) pass(events []topic.Event) error {
	for _, e := range events {
		if e.Position > f.at+1 {
			missed := &topic.MissedError{Name: f.name, From: f.at + 1, Count: e.Position - f.at - 1}
			if !f.yield(topic.Event{}, missed) {
				return errEnough
			}
		}
		f.at = e.Position
		if !f.yield(e, nil) {
			return errEnough
		}
	}
	return nil
}

// passes reports whether an error may be over when one asks again.
func (s *Store) passes(err error) bool {
	return !errors.Is(err, checkpoint.ErrClosed) && !errors.Is(err, checkpoint.ErrCorrupt) && s.fateOf(err) != refused
}

// nap waits, unless the context or the store ends.
func (s *Store) nap(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return fmt.Errorf("%w: redis", checkpoint.ErrClosed)
	}
}

func id(n uint64) string { return decimal(n) + "-0" }

// read runs a command whose reply are entries of a stream.
func (b *bus) read(ctx context.Context, name string, args ...any) ([]topic.Event, error) {
	reply, err := b.store.ask(ctx, b.key(name), args...)
	if err != nil {
		return nil, err
	}
	list, _ := reply.([]any)
	events := make([]topic.Event, len(list))
	for i, entry := range list {
		if events[i], err = event(entry); err != nil {
			return nil, fmt.Errorf("%w: redis: topic %q: %w", checkpoint.ErrCorrupt, name, err)
		}
	}
	return events, nil
}

// event reads an entry: its id, and a list of names and values.
func event(entry any) (topic.Event, error) {
	parts, _ := entry.([]any)
	if len(parts) != 2 {
		return topic.Event{}, fmt.Errorf("%.100v is no entry", entry)
	}
	text, _ := parts[0].(string)
	number, ok := strings.CutSuffix(text, "-0")
	n, err := strconv.ParseUint(number, 10, 64)
	fields, _ := parts[1].([]any)
	if !ok || err != nil || len(fields) != 2 || fields[0] != "d" {
		return topic.Event{}, fmt.Errorf("the entry %q is not this package's", text)
	}
	data, _ := fields[1].(string)
	return topic.Event{Position: n, Data: []byte(data)}, nil
}
