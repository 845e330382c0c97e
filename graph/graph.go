package graph

import (
	"context"
	"iter"

	"github.com/weftrun/weft/checkpoint"
)

// Graph is a compiled graph over the state S. It does not change and is safe for
// concurrent use: any number of runs may share it. The zero Graph has no name and draws
// nothing; all else it answers with [ErrNotCompiled].
type Graph[S any] struct{ p *program }

// Result is how a run ended.
type Result[S any] struct {
	Status Status
	// State is the state at the end, a copy of the caller's own. After an error it
	// is the state after the last step whose results were folded; if its commit
	// failed, the store is one step behind.
	State S
	// Interrupts lists the open questions and static interrupts at which the run pauses, in
	// canonical order. Beside an error it lists the questions that are open: those of the failed
	// step, or those of the thread where an answer or an input was refused.
	Interrupts []Interrupt
	// Drained is why the run stopped before it was done, if that was for a Drain; the
	// Status is then Pending, or Interrupted where questions are open too.
	Drained string
	// Starved names the nodes whose join some sources reached, but never all.
	Starved []string
	// Steps counts the supersteps of this call.
	Steps int
	// Checkpoint is the number of the thread's newest commit; 0 without a store.
	Checkpoint uint64
	// Run is the id of this call.
	Run string
}

// Name returns the graph's name.
func (g *Graph[S]) Name() string {
	if g.p == nil {
		return ""
	}
	return g.p.name
}

// compiled returns ErrNotCompiled for the zero Graph.
func (p *program) compiled() error {
	if p == nil {
		return ErrNotCompiled
	}
	return nil
}

// kept returns the store of p, or why there is none.
func (p *program) kept() (checkpoint.Store, error) {
	if err := p.compiled(); err != nil {
		return nil, err
	}
	if p.cfg.Store == nil {
		return nil, ErrNoStore
	}
	return p.cfg.Store, nil
}

// Invoke runs the graph with an input and returns how it ended. What the input
// wrote is folded into the thread's state, after the fields of the last turn were
// reset; work that the last turn left unfinished is dropped, also at a static
// interrupt. While questions are open it returns ErrWaiting, unless RunOptions.OnOpenQuestions says
// otherwise.
//
// So Invoke is not the call to make after a crash: its tasks would have new ids, and what
// was charged under the old ones would be charged again. [Graph.Resume] goes on, and begins
// nothing; a program that cannot know tries it first:
//
//	res, err := g.Resume(ctx, graph.Answers{}, run)
//	if errors.Is(err, graph.ErrUnknownThread) {
//		res, err = g.Invoke(ctx, input, run)
//	}
//
// Two callers who do so at once may both find no thread: the later Invoke is refused while
// the other runs (RunOptions.Lease), and begins a second turn if it waited or came after it. Where a
// thread has several turns, [Graph.InputHash] tells whether it is in the middle of just this one.
//
// A pause is a Status and not an error. An error comes with the state so far.
//
// Invoke waits for its nodes, also for one that does not stop when ctx ends. A call that has a Grace or a
// Config.Timeout does not wait longer than these allow, and takes a goroutine of its own for that. In
// all other calls the caller's goroutine runs the steps of a single task: there runtime.Goexit in a
// node, which is an error elsewhere, ends the caller.
func (g *Graph[S]) Invoke(ctx context.Context, input S, o RunOptions) (Result[S], error) {
	out, err := g.p.drive(ctx, o, invokes(g.p, input))
	return resultOf[S](out), err
}

// Resume goes on with a thread where it stopped: after a pause with answers, after
// a failure or a crash without. Tasks that had finished do not run again, nor do
// those whose questions stay open. A thread that has nothing left to do gives its
// state.
func (g *Graph[S]) Resume(ctx context.Context, a Answers, o RunOptions) (Result[S], error) {
	out, err := g.p.drive(ctx, o, request{op: opResume, answers: a})
	return resultOf[S](out), err
}

// Stream is Invoke with somebody watching: it yields the events of o.Modes, then
// the Ended event, or an error. The reader may stop early; the run is then
// cancelled and has ended when the loop has. A slow reader slows the run. Each loop
// is a run of its own. For several readers, and for one that may leave, see Start.
func (g *Graph[S]) Stream(ctx context.Context, input S, o RunOptions) iter.Seq2[Event, error] {
	return g.p.stream(ctx, o, invokes(g.p, input))
}

// StreamResume is Resume with somebody watching.
func (g *Graph[S]) StreamResume(ctx context.Context, a Answers, o RunOptions) iter.Seq2[Event, error] {
	return g.p.stream(ctx, o, request{op: opResume, answers: a})
}

func (p *program) stream(ctx context.Context, o RunOptions, q request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := p.watched(ctx, o, q)
		defer f.wait()
		defer f.root.cancel(errLeft) // the reader has left, or panicked, or all is over
		f.events.readers(o.reader(), f.start)(yield)
	}
}

func resultOf[S any](o outcome) Result[S] {
	res := Result[S]{Status: o.status, Interrupts: o.interrupts, Drained: o.drained, Starved: o.starved,
		Steps: o.steps, Checkpoint: o.checkpoint, Run: o.id}
	if s, ok := o.state.(*S); ok {
		res.State = *s
	}
	return res
}
