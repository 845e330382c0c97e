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

// Answer is what a [Scripted] model says once.
type Answer struct {
	Text  string
	Calls []message.Call
	// Stop is why it ends; "" is StopCalls where there are calls, and StopEnd otherwise.
	Stop Stop
	// Usage is what it says it cost; nil is nothing said.
	Usage *message.Usage
	// Err, if it is set, comes in the place of the end, after text and calls.
	Err error
	// CutOff leaves out the end.
	CutOff bool
	// Before is how long it takes to begin, and Between to go on after each word.
	Before, Between time.Duration
	// Hang lets it never come to an end: it waits until the context has ended.
	Hang bool
}

// Say is the Answer of a text.
func Say(text string) Answer { return Answer{Text: text} }

// Ask is the Answer that asks for tools.
func Ask(calls ...message.Call) Answer { return Answer{Calls: calls} }

// Fail is the Answer that is a failure.
func Fail(err error) Answer { return Answer{Err: err} }

// Scripted is a Model that says what it was given, for tests and demonstrations. It streams word by word.
// It is safe for concurrent use.
type Scripted struct {
	reply func(ctx context.Context, r Request) Answer

	mu       sync.Mutex
	answers  []Answer
	requests []Request
}

// ScriptError is returned by a [Scripted] model that is asked more often than it has answers.
type ScriptError struct {
	Asked int // how often, this time included
}

func (e *ScriptError) Error() string {
	return fmt.Sprintf("model: the script has no answer left for request %d", e.Asked)
}

// Script returns a model that gives these answers, one for each request, in order. After the last it
// fails with a [*ScriptError].
func Script(answers ...Answer) *Scripted { return &Scripted{answers: answers} }

// ScriptFunc returns a model whose answers are those of a function of the request.
func ScriptFunc(reply func(ctx context.Context, r Request) Answer) *Scripted {
	return &Scripted{reply: reply}
}

// Requests returns what the model was asked so far, in order.
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

// say yields the answer, and returns the error that is to be yielded last.
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

// wait waits, or returns why the context has ended.
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
