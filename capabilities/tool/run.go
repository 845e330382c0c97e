package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// Limits limit calls. The zero Limits are usable.
type Limits struct {
	// Parallel is how many calls run at once; 0 is 8.
	Parallel int
	// Timeout limits a call of a tool without a timeout of its own; 0 is one minute.
	Timeout time.Duration
	// MaxResult limits the result of a tool without a limit of its own, in bytes; 0 is 64 KiB. A
	// longer result is cut, with a note.
	MaxResult int
	// Grace is how long Run waits for a call that does not stop at its timeout; 0 is one second.
	Grace time.Duration
}

func (l Limits) or() Limits {
	if l.Parallel <= 0 {
		l.Parallel = 8
	}
	if l.Timeout <= 0 {
		l.Timeout = time.Minute
	}
	if l.MaxResult <= 0 {
		l.MaxResult = 64 << 10
	}
	if l.Grace <= 0 {
		l.Grace = time.Second
	}
	return l
}

// Run runs calls in parallel and returns their results, in the order of the calls, when all have
// ended. The tools get the IDs of the calls. A call that needs a person does not run, and neither
// does one that has not started when ctx ends. Their results state that.
func (s *Set) Run(ctx context.Context, calls []message.Call, l Limits) []message.Result {
	results := make([]message.Result, len(calls))
	place := make(chan struct{}, l.or().Parallel)
	var wg sync.WaitGroup
	for i, c := range calls {
		select {
		case place <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			results[i] = message.Failed(c.ID, "it was not run: "+context.Cause(ctx).Error())
			continue
		}
		wg.Go(func() {
			defer func() { <-place }()
			if need, ok := s.Needs(ctx, c); ok {
				results[i] = message.Failed(c.ID, fmt.Sprintf("it was not run: %q waits for a person", need.Call.Name))
				return
			}
			if info, ok := s.Info(c.Name); ok && info.Mode != Free { // unusable when its question was due, even if it is usable now
				results[i] = message.Failed(c.ID, unusable(ctx, s, c))
				return
			}
			results[i] = s.Do(ctx, c, c.ID, l)
		})
	}
	wg.Wait()
	return results
}

// unusable returns why a call that needs a person raised no question.
func unusable(ctx context.Context, s *Set, c message.Call) string {
	if _, _, err := s.Check(ctx, c); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("it was not run: %q waits for a person", c.Name)
}

// Do runs one call, whatever its mode; the caller has asked the person if necessary. id is the ID
// for the tool: see [Input]. Every failure is a result. A tool that asks a person itself fails: see
// [Set.Try].
func (s *Set) Do(ctx context.Context, c message.Call, id string, l Limits) message.Result {
	r, err := s.Try(ctx, c, id, l)
	if err != nil {
		return message.Failed(c.ID, "it was not run to its end: it asks a person, which is not possible here")
	}
	return r
}

// Try is Do for a task of a graph. It returns [graph.ErrInterrupted] if the tool asks a person by
// [graph.Ask]. The task returns that too, and calls Try again when there is an answer.
func (s *Set) Try(ctx context.Context, c message.Call, id string, l Limits) (message.Result, error) {
	info, args, err := s.Check(ctx, c)
	if err != nil {
		return message.Failed(c.ID, err.Error()), nil
	}
	l = l.or()
	if info.Timeout > 0 {
		l.Timeout = info.Timeout
	}
	if info.MaxResult > 0 {
		l.MaxResult = info.MaxResult
	}
	t, _ := s.find(c.Name)
	inner, end := graph.Observe(ctx, graph.Activity{Kind: graph.ToolActivity, Name: c.Name, Call: c.ID})
	in := Input{ID: id, Arguments: args}
	do := func(ctx context.Context) (Output, error) { return call(ctx, t.Tool, in, l) }
	var out Output
	if s.around != nil {
		out, err = s.around(inner, info, in, do)
	} else {
		out, err = do(inner)
	}
	if errors.Is(err, graph.ErrInterrupted) {
		end(graph.Outcome{})
	} else {
		end(graph.Outcome{Err: err})
	}
	switch {
	case errors.Is(err, graph.ErrInterrupted):
		return message.Result{}, graph.ErrInterrupted
	case err != nil:
		return message.Failed(c.ID, strings.ToValidUTF8(cut(err.Error(), l.MaxResult), "\uFFFD")), nil
	}
	return message.Result{CallID: c.ID, Content: bound(out, l.MaxResult)}, nil
}

// outcome is the result or error of a call.
type outcome struct {
	out Output
	err error
}

// call calls a tool within its timeout. It stops waiting for a tool that does not stop.
func call(outer context.Context, t Tool, in Input, l Limits) (Output, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(outer, idKey{}, in.ID), l.Timeout)
	defer cancel()
	done := make(chan outcome, 1)
	go safely(ctx, t, in, done)
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		late := time.NewTimer(l.Grace)
		defer late.Stop()
		select {
		case o = <-done:
		case <-late.C:
			o.err = errors.New("it did not stop")
		}
	}
	if o.err != nil && ctx.Err() != nil && outer.Err() == nil {
		return nil, fmt.Errorf("it exceeded its timeout of %s: %w", l.Timeout, o.err)
	}
	return o.out, o.err
}

// safely calls a tool and sends its outcome to done, also after a panic or runtime.Goexit.
func safely(ctx context.Context, t Tool, in Input, done chan<- outcome) {
	o := outcome{err: errors.New("the tool ended its goroutine")}
	defer func() {
		if p := recover(); p != nil {
			o = outcome{err: fmt.Errorf("the tool panicked: %v", p)}
		}
		done <- o
	}()
	out, err := t.Call(ctx, in)
	if err == nil {
		err = state.CheckText(out)
	}
	o = outcome{out, err}
}

// bound cuts a result to limit bytes. A part is left out if it cannot be cut, or if no message can
// have it. The limit counts neither such a part nor the notes.
func bound(out Output, limit int) []message.Part {
	left := limit
	var parts []message.Part
	for _, p := range out {
		data, err := json.Marshal(p)
		size := len(data)
		if p.Type == message.TypeText {
			size = len(p.Text)
		}
		why := wrong(p)
		switch {
		case err != nil:
			p, size = message.Text(fmt.Sprintf("(a part of the result has no JSON: %v)", err)), 0
		case why != nil:
			p, size = message.Text(fmt.Sprintf("(a part of the result is left out: %v)", why)), 0
		case size <= left:
		case p.Type == message.TypeText:
			p = message.Text(cut(p.Text, left))
		default:
			p, size = message.Text(fmt.Sprintf("(a part of %d bytes is left out: the result may have %d)", size, limit)), 0
		}
		left = max(left-size, 0)
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		parts = Text("(nothing)")
	}
	return parts
}

// wrong returns why no message can have a part, or nil. A run could not go on if its state refused
// the stored result of a call.
func wrong(p message.Part) error {
	m := message.Tool(message.Result{CallID: "call", Content: []message.Part{p}})
	m.ID = "result"
	return new(message.Log).Add(m)
}

// cut returns a text of at most limit bytes, with a note of what was cut.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	at := limit
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return fmt.Sprintf("%s\n(cut: %d of %d bytes are shown)", s[:at], at, len(s))
}
