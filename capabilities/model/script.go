package model

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/state/message"
)

// Answer is one answer of a [Scripted] model.
type Answer struct {
	Text  string
	Calls []message.Call
	// Stop is why the answer ends; "" is StopCalls with calls, and StopEnd without.
	Stop Stop
	// Usage is the reported cost; nil reports nothing.
	Usage *message.Usage
	// Err is returned instead of the end, after text and calls.
	Err error
	// CutOff leaves out the end.
	CutOff bool
	// Before is the delay before the first word, and Between the delay between words.
	Before, Between time.Duration
	// Hang makes the answer wait until the context ends.
	Hang bool
}

// Say returns an Answer with a text.
func Say(text string) Answer { return Answer{Text: text} }

// Ask returns an Answer that calls tools.
func Ask(calls ...message.Call) Answer { return Answer{Calls: calls} }

// Fail returns an Answer that fails.
func Fail(err error) Answer { return Answer{Err: err} }

// Scripted is a Model with prepared answers, for tests and demonstrations. It streams word by word.
// It is safe for concurrent use.
type Scripted struct {
	reply func(ctx context.Context, r Request) Answer

	mu       sync.Mutex
	answers  []Answer
	requests []Request
}

// ScriptError is returned by a [Scripted] model that gets more requests than it has answers.
type ScriptError struct {
	Asked int // the number of requests, with this one
}

func (e *ScriptError) Error() string {
	return fmt.Sprintf("model: the script has no answer left for request %d", e.Asked)
}

// Script returns a model with these answers, one for each request, in order. After the last it
// fails with a [*ScriptError].
func Script(answers ...Answer) *Scripted { return &Scripted{answers: answers} }

// ScriptFunc returns a model that calls a function for each request.
func ScriptFunc(reply func(ctx context.Context, r Request) Answer) *Scripted {
	return &Scripted{reply: reply}
}

// Requests returns the requests so far, in order.
func (s *Scripted) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Left returns how many answers are left.
func (s *Scripted) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.answers)
}

// Stream implements Model.
func (s *Scripted) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		a := s.next(ctx, r)
		if err := a.say(ctx, yield); err != nil {
			yield(Chunk{}, err)
		}
	}
}

func (s *Scripted) next(ctx context.Context, r Request) Answer {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	n := len(s.requests)
	if s.reply != nil {
		s.mu.Unlock()
		return s.reply(ctx, r)
	}
	defer s.mu.Unlock()
	if len(s.answers) == 0 {
		return Fail(&ScriptError{n})
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a
}

// say yields the answer, and returns the error to yield last.
func (a Answer) say(ctx context.Context, yield func(Chunk, error) bool) error {
	if err := wait(ctx, a.Before); err != nil {
		return err
	}
	for word := range strings.SplitAfterSeq(a.Text, " ") {
		if word == "" {
			continue
		}
		if !yield(Chunk{Text: word}, nil) {
			return nil
		}
		if err := wait(ctx, a.Between); err != nil {
			return err
		}
	}
	for i, c := range a.Calls {
		d := &CallDelta{Index: i, ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)}
		if !yield(Chunk{Call: d}, nil) {
			return nil
		}
	}
	if a.Hang {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if a.Err == nil && !a.CutOff {
		yield(Chunk{Usage: a.Usage, Stop: a.stop()}, nil)
	}
	return a.Err
}

func (a Answer) stop() Stop {
	switch {
	case a.Stop != "":
		return a.Stop
	case len(a.Calls) > 0:
		return StopCalls
	}
	return StopEnd
}

// wait waits, or returns the cause of the context's end.
func wait(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
