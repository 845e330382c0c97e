package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ran counts what the nodes of a graph did, beside the runtime. The nodes of all runtimes report to
// it, so what the page shows does not depend on how a runtime keeps its state.
type ran struct {
	mu    sync.Mutex
	times map[string]int
}

// add counts an event, and returns how often it has happened.
func (r *ran) add(event string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.times == nil {
		r.times = map[string]int{}
	}
	r.times[event]++
	return r.times[event]
}

// of returns how often an event has happened.
func (r *ran) of(event string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.times[event]
}

// events returns the events so far, sorted.
func (r *ran) events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.times))
}

// after counts an event together with what had happened before it.
func (r *ran) after(event string) {
	before := slices.DeleteFunc(r.events(), func(e string) bool { return strings.Contains(e, " ") })
	r.add(event + " after " + strings.Join(before, " "))
}

// String lists the events and how often they happened.
func (r *ran) String() string {
	var list []string
	for _, e := range r.events() {
		list = append(list, fmt.Sprintf("%s ×%d", e, r.of(e)))
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// and is the events, and how the run ended.
func (r *ran) and(how string) string { return r.String() + "; " + how }

// gate is where one node waits for what others do. No wait is longer than atMost, because a runtime
// may also run the nodes one after the other.
type gate chan struct{}

func (g gate) open() {
	select {
	case <-g:
	default:
		close(g)
	}
}

func (g gate) wait() {
	select {
	case <-g:
	case <-time.After(atMost):
	}
}

var (
	errBoom = errors.New("boom")
	// errWaits marks a run that waits for an answer, where a runtime has no error for that.
	errWaits = errors.New(waits)
	// changing matches what differs from run to run in an error, such as ids and addresses.
	changing = regexp.MustCompile(`0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|\b\d+(\.\d+)?(ns|µs|ms|s)\b`)
)

// failed describes how a run ended: without an error, with that of its context, or with another.
func failed(err error) string {
	switch {
	case err == nil:
		return ended
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "error of the context"
	}
	return "error: " + short(err.Error())
}

// short is the beginning of a text, on one line, without what differs from run to run.
func short(text string) string {
	text = changing.ReplaceAllString(strings.Join(strings.Fields(text), " "), "…")
	text = strings.NewReplacer("|", "/", "`", "'").Replace(text)
	const most = 160
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// orders runs a graph 60 times, and compares the orders of its results. In each run another of
// three nodes is the slowest.
func orders(run func(slowest int) ([]string, error)) string {
	seen := map[string]bool{}
	for i := range 60 {
		order, err := run(i % 3)
		if err != nil {
			return failed(err)
		}
		if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, []string{"a", "b", "c"}) {
			return "the list is " + strings.Join(order, " ")
		}
		seen[strings.Join(order, " ")] = true
	}
	if len(seen) == 1 {
		return oneOrder
	}
	return manyOrders
}

// pace is how a node is the slowest.
func pace(node, slowest int) {
	if node == slowest {
		time.Sleep(time.Millisecond)
	}
}

// crowd runs a graph 200 times at once. run returns whether the result for an input is right.
func crowd(run func(input int) (bool, error)) string {
	var wg sync.WaitGroup
	var right atomic.Int32
	for i := range 200 {
		wg.Go(func() {
			if ok, err := run(i); ok && err == nil {
				right.Add(1)
			}
		})
	}
	wg.Wait()
	if right.Load() < 200 {
		return "not all are right"
	}
	return "200 of 200 right"
}

// looped describes how a loop with a limit of 50 steps ended. Its node returns an error after 300
// runs if no limit has ended the loop by then.
func looped(r *ran, err error, isLimit func(error) bool) string {
	switch n := r.of("n"); {
	case n >= enough:
		return "no limit: went on until the node failed"
	case err == nil:
		return "no error, as if it had ended"
	case isLimit(err):
		return limited
	}
	return failed(err)
}

const enough = 300

// spin is a node that leads to itself and ignores its context.
func spin(r *ran) error {
	if r.add("n") >= enough {
		return errBoom
	}
	return nil
}

// spinAndCancel is spin whose tenth run cancels the caller's context.
func spinAndCancel(r *ran, cancel func()) error {
	if r.of("n") == 9 {
		cancel()
	}
	return spin(r)
}

// cancelled describes how a loop ended whose context was cancelled in the tenth run.
func cancelled(r *ran, err error) string {
	how := failed(err)
	switch n := r.of("n"); {
	case n >= enough:
		return "ignored the context: went on until the node failed"
	case n == 10:
		return "no further step; " + how
	case n < 10:
		return "ended before the tenth run; " + how
	}
	return "went on for a few steps; " + how
}

// named reports whether an error names the node.
func named(err error, node string) string {
	switch {
	case err == nil:
		return "no error"
	case strings.Contains(err.Error(), node):
		return names
	}
	return "error without the node: " + short(err.Error())
}

const (
	nodeTimeout = 50 * time.Millisecond
	atMost      = 3 * time.Second
	// settle is time in which a runtime may note that a node has ended before another one fails.
	settle = 20 * time.Millisecond
)

// slow is a node that is slower than its timeout.
func slow(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * nodeTimeout):
		return nil
	}
}

// failsFirst is a node, b, that fails in its first run, after done was opened.
func failsFirst(r *ran, done gate) error {
	if r.of("b fails") > 0 {
		r.add("b")
		return nil
	}
	done.wait()
	time.Sleep(settle)
	r.add("b fails")
	return errBoom
}

// cutter has the nodes a, b and c of a graph: c stops the first run when a and b have ended.
type cutter struct {
	r      *ran
	cancel func()
}

func (c *cutter) run(ctx context.Context, name string) error {
	if name != "c" || c.r.of("c cut off") > 0 {
		c.r.add(name)
		return nil
	}
	for began := time.Now(); time.Since(began) < atMost && (c.r.of("a") == 0 || c.r.of("b") == 0); {
		time.Sleep(settle / 2)
	}
	time.Sleep(settle)
	c.r.add("c cut off")
	c.cancel()
	select {
	case <-ctx.Done():
	case <-time.After(settle):
	}
	return context.Canceled
}

// newest describes a checkpoint that has so many of ten steps.
func newest(steps int) string {
	return fmt.Sprintf("the newest checkpoint has %d of 10 steps", steps)
}

// refused reports whether the answer no to a question was accepted.
func refused(err error) string {
	if err == nil {
		return "no is taken"
	}
	return "no is refused"
}
