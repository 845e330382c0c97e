package redis

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
)

// pump waits in the server for news of one topic, for all who follow it in this process.
type pump struct {
	bus     *bus
	name    string
	readers int // guarded by bus.mu; at 0 the pump ends soon

	mu   sync.Mutex
	last uint64 // position of the newest event
	err  error  // why there will be no more
	news chan struct{}
}

// join returns the pump of a topic, at work. at is where the caller found nothing after.
func (b *bus) join(name string, at uint64) (*pump, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.pumps[name]
	if p == nil {
		p = &pump{bus: b, name: name, last: at, news: make(chan struct{})}
		if !b.store.enter() {
			return nil, fmt.Errorf("%w: redis", checkpoint.ErrClosed)
		}
		b.pumps[name] = p
		go func() {
			defer b.store.calls.Done()
			p.run()
		}()
	}
	p.readers++
	return p, nil
}

func (b *bus) leave(p *pump) {
	if p == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p.readers--
}

// stops reports whether no reader is left, and if so removes the pump.
func (p *pump) stops() bool {
	p.bus.mu.Lock()
	defer p.bus.mu.Unlock()
	if p.readers > 0 {
		return false
	}
	delete(p.bus.pumps, p.name)
	return true
}

// run ends within busBlock and half of Config.RetryFor when no reader is left or the store closes.
func (p *pump) run() {
	for !p.stops() {
		last, err := p.ask()
		switch {
		case err == nil:
			p.notify(last, nil)
		case !p.bus.store.passes(err):
			p.notify(0, p.bus.store.typed(err))
			p.off()
			return
		default:
			p.bus.store.nap(context.Background(), longestPause)
		}
		if err := p.bus.store.nap(context.Background(), 0); err != nil {
			p.notify(0, err)
			p.off()
			return
		}
	}
}

// off takes the pump off at once: who comes later begins a new one.
func (p *pump) off() {
	p.bus.mu.Lock()
	defer p.bus.mu.Unlock()
	delete(p.bus.pumps, p.name)
}

// ask returns the newest position as soon as it is another one, or after busBlock. If too many
// pumps wait in the server, it returns the newest position after a while.
func (p *pump) ask() (uint64, error) {
	select {
	case p.bus.waits <- struct{}{}:
		defer func() { <-p.bus.waits }()
	default:
		if err := p.bus.store.nap(context.Background(), p.bus.pause()); err != nil {
			return 0, err
		}
		return p.bus.Last(context.Background(), p.name)
	}
	ctx, key := p.bus.store.briefs.New(context.Background(), busBlock+p.bus.store.share()), p.bus.key(p.name)
	defer ctx.End()
	found, err := p.bus.store.client.XRead(ctx, &redis.XReadArgs{Streams: []string{key, id(p.newest())}, Count: 1, Block: busBlock}).Result()
	if err != nil && err != redis.Nil {
		return 0, err
	}
	if last := p.newest(); len(found) == 1 && len(found[0].Messages) == 1 && found[0].Messages[0].ID == id(last) {
		return last, nil // this process has published it meanwhile
	}
	return p.bus.Last(context.Background(), p.name)
}

// pause is how long a pump sleeps that does not wait in the server.
func (b *bus) pause() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(max(busPoll, time.Duration(len(b.pumps))*busShare), busBlock)
}

// published wakes the followers for an event of this process.
func (p *pump) published(position uint64) {
	if position > p.newest() {
		p.notify(position, nil)
	}
}

func (p *pump) newest() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// notify sets the newest position, or the error, and wakes all followers that wait.
func (p *pump) notify(last uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last == p.last && err == nil {
		return
	}
	p.last, p.err = last, err
	close(p.news)
	p.news = make(chan struct{})
}

// listen returns a channel that is closed when the topic has a new event, and the position of the
// newest one. A nil pump has none.
func (p *pump) listen() (news <-chan struct{}, last uint64, err error) {
	if p == nil {
		return nil, 0, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.news, p.last, p.err
}
