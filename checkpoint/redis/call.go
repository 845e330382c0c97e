package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/brief"
)

// Between two tries of a call lies a pause, doubled each time, and then cut by chance so
// that many callers do not come back all at once.
const (
	firstPause   = 2 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// call runs a script on a key until there is an answer, a reason to give up, or no
// time left. beside goes out with the first try, before it, and is waited for. It is sent
// again behind the try, in case another process has undone it in between; and when the call is
// done, if it was lost. It plays no part in the answer. A reply that is nil is no error.
func (s *Store) call(ctx context.Context, sc *script, key string, args []any, beside ...*job) (any, error) {
	c := call{store: s, script: sc, key: key, args: args, size: sizeOf(args), writes: sc.writes, beside: beside}
	reply, err := c.run(ctx)
	for _, b := range beside {
		switch {
		case err != nil:
		case s.isLost(b):
			again := call{store: s, key: b.key, args: b.cmd.Args(), size: b.size, writes: true, budget: c.budget}
			_, _ = again.run(ctx) // it plays no part in the answer
		case b.pipeline != s.pipelines.of(key):
			s.start(b.pipeline, b.again())
		}
	}
	return reply, err
}

// isLost reports whether a job has ended, and asking again may help.
func (s *Store) isLost(j *job) bool {
	select {
	case <-j.done:
		err := j.cmd.Err()
		return err != nil && err != redis.Nil && s.fateOf(err) != refused
	default:
		return false
	}
}

// ask runs a plain command that changes nothing.
func (s *Store) ask(ctx context.Context, key string, args ...any) (any, error) {
	c := call{store: s, key: key, args: args, size: sizeOf(args)}
	return c.run(ctx)
}

// notify runs a plain command that writes and may be repeated.
func (s *Store) notify(ctx context.Context, key string, args ...any) (any, error) {
	c := call{store: s, key: key, args: args, size: sizeOf(args), writes: true}
	return c.run(ctx)
}

// call is one command and its tries.
type call struct {
	store  *Store
	script *script // nil for a plain command
	key    string
	args   []any
	size   int
	writes bool // it matters that the outcome is unknown
	beside []*job

	full    bool  // send the script's text: the server does not know it
	unknown bool  // a try was sent, got no reply, and may have written
	last    error // of the last try, when another one may follow

	budget *brief.Budget // of the method that makes this call, or own
	own    brief.Budget
}

// until returns when the time is over.
func (c *call) until() time.Time { return c.budget.Until(c.store.cfg.RetryFor) }

// run makes tries until the time is over. Every call of a Store goes this way. What is called
// with one context of [brief.OneCall] has one time.
func (c *call) run(ctx context.Context) (any, error) {
	if c.budget == nil {
		c.budget = brief.BudgetOf(ctx)
	}
	if c.budget == nil {
		c.budget = &c.own
		c.own.Start()
	} else if !time.Now().Before(c.until()) {
		c.last = brief.ErrTimeout
		return nil, c.failed()
	}
	var tries brief.Tries
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		begin := time.Now()
		reply, err := c.try(ctx)
		if c.last == nil {
			return reply, err
		}
		needed := time.Duration(0)
		switch f := c.store.fateOf(c.last); {
		case f == unloaded && !c.full:
			c.full = true
			continue
		case f == refused || f == unloaded:
			return nil, c.failed()
		case f == lost:
			c.unknown = c.unknown || c.writes
		default:
			needed = tries.Answered(time.Since(begin), c.store.cfg.RetryFor)
		}
		c.full = false
		wait := pause/2 + rand.N(pause/2)
		if brief.Ended(ctx) != nil {
			return nil, ended(ctx, c.unknown, c.last)
		}
		if time.Now().Add(wait + needed).After(c.until()) {
			return nil, c.failed()
		}
		if err := c.rest(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// try makes one round trip, perhaps with others'.
func (c *call) try(ctx context.Context) (any, error) {
	before := c.last
	c.last = nil
	if brief.Ended(ctx) != nil {
		return nil, ended(ctx, c.unknown, before)
	}
	if err := c.store.meet(ctx, c.key, c.until()); err != nil {
		if brief.Ended(ctx) == nil {
			c.last = brief.ErrTimeout
			return nil, err
		}
		return nil, ended(ctx, c.unknown, before)
	}
	l := c.store.pipelines.of(c.key)
	if before == nil && len(c.beside) == 0 && c.store.punctual && (c.script == nil || !c.script.adds) {
		if reply, err, done := c.sendMyself(ctx, l); done {
			return reply, err
		} else if brief.Ended(ctx) != nil {
			return nil, ended(ctx, c.unknown, nil)
		}
	}
	j := c.job()
	beside := c.beside
	c.beside = nil
	var along []*job // what goes the same way shares the trip
	for _, b := range beside {
		if other := c.store.pipelines.of(b.key); other == l {
			along = append(along, b)
		} else {
			c.store.start(other, b)
		}
	}
	jobs := append(along, j)
	for _, b := range along {
		again := b.again()
		jobs, beside = append(jobs, again), append(beside, again)
	}
	if !c.store.start(l, jobs...) {
		return nil, c.closed()
	}
	if !c.wait(ctx, j) {
		if sent := !l.withdraw(j); sent {
			c.unknown = c.unknown || c.writes
		}
		if brief.Ended(ctx) != nil {
			return nil, ended(ctx, c.unknown, before)
		}
		c.last = before
		if before == nil {
			c.last = brief.ErrTimeout
		}
		return nil, c.last
	}
	for _, b := range beside {
		c.wait(ctx, b)
	}
	return c.result(j.cmd)
}

// wait reports whether a job was done before the context ended and the time was over. The
// time before a job is sent does not count while other jobs of its pipeline get replies.
func (c *call) wait(ctx context.Context, j *job) bool {
	waiting, begin := c.budget.Wait(), time.Now()
	for last := c.until(); ; {
		timer := c.store.briefs.NewTimer(time.Until(last))
		done := false
		select {
		case <-j.done:
			done = true
		case <-ctx.Done():
			c.store.briefs.StopTimer(timer)
			return false
		case <-timer.C:
		}
		c.store.briefs.StopTimer(timer)
		sent, replied := j.pipeline.sent(j)
		if sent.After(begin) && replied.After(begin) {
			waiting.Uncount(sent)
		}
		if done {
			return true
		}
		last = c.until()
		if sent.IsZero() {
			last = replied.Add(c.store.cfg.RetryFor)
		}
		if !time.Now().Before(last) {
			return false
		}
	}
}

// result sorts out what a command brought.
func (c *call) result(cmd *redis.Cmd) (any, error) {
	reply, err := cmd.Result()
	if err == redis.Nil {
		return nil, nil
	}
	c.last = err
	return reply, err
}

// sendMyself makes the round trip on the caller's goroutine. It reports false when
// the pipeline must send it: the pipeline is busy, or the server did not answer in time.
func (c *call) sendMyself(ctx context.Context, l *pipeline) (reply any, err error, done bool) {
	if !c.store.enter() {
		return nil, c.closed(), true
	}
	defer c.store.calls.Done()
	if !l.claim() {
		return nil, nil, false
	}
	begin := time.Now()
	short := c.store.briefs.New(ctx, ownDeadline)
	cmd := redis.NewCmd(context.Background(), c.command()...)
	c.store.client.Process(short, cmd)
	short.End()
	took := time.Since(begin)
	if l.leave(took, hasReply(cmd.Err())) {
		c.store.calls.Go(func() { l.run(c.store) })
	}
	if err := cmd.Err(); err != nil && took >= ownDeadline {
		switch f := c.store.fateOf(err); f {
		case lost, notNow:
			c.unknown = c.unknown || f == lost && c.writes
			return nil, nil, false
		}
	}
	reply, err = c.result(cmd)
	return reply, err, true
}

// enter counts a call that is on its way. It reports false when the store is closed.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.calls.Add(1)
	}
	return !s.closed
}

func (c *call) job() *job { return newJob(c.key, c.size, c.command()...) }

// command returns the words of the command.
func (c *call) command() []any {
	if c.script == nil {
		return c.args
	}
	words := make([]any, 0, 4+len(c.script.tails)+len(c.args))
	if c.full {
		words = append(words, "eval", c.script.text)
	} else {
		words = append(words, "evalsha", c.script.sha)
	}
	words = append(words, 1+len(c.script.tails), c.key)
	for _, tail := range c.script.tails {
		words = append(words, c.key+tail)
	}
	return append(words, c.args...)
}

// start puts jobs on their pipeline. It reports false when the store is closed.
func (s *Store) start(l *pipeline, jobs ...*job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	for _, j := range jobs {
		j.pipeline = l
	}
	if l.add(jobs...) {
		s.calls.Go(func() { l.run(s) })
	}
	return true
}

// rest waits before the next try.
func (c *call) rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ended(ctx, c.unknown, c.last)
	case <-c.store.closing:
		return c.closed()
	}
}

func (c *call) closed() error {
	if c.unknown {
		return fmt.Errorf("%w: redis: %w while no reply had come", checkpoint.ErrUnknownOutcome, checkpoint.ErrClosed)
	}
	return fmt.Errorf("%w: redis", checkpoint.ErrClosed)
}

// failed is the error of a call that will not be tried again.
func (c *call) failed() error {
	err := c.store.typed(c.last)
	if c.unknown {
		return fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, err)
	}
	return err
}

func sizeOf(args []any) (n int) {
	for _, a := range args {
		n += 16
		switch a := a.(type) {
		case string:
			n += len(a)
		case []byte:
			n += len(a)
		}
	}
	return n
}
