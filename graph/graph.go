package graph

import (
	"context"
	"fmt"
	"iter"
	"net/url"
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
func (g *Graph[S]) Name() string { return g.p.graphName() }

// Program returns the hash of nodes, edges and the fields of the state that the graph's commits
// have as CommitInfo.Program.
func (g *Graph[S]) Program() string { return g.p.programHash() }

// Invoke runs the graph with an input and returns how it ended. What the input wrote is folded
// into the thread's state, after the fields of the last turn were reset; work that the last turn
// left unfinished is dropped, also at a static interrupt. While questions are open it returns
// ErrWaiting, unless RunOptions.OnOpenQuestions allows otherwise.
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
// Two callers who do so at once may both find no thread: the later Invoke is refused while the
// other runs (RunOptions.Lease), and begins a second turn if it waited or came after it. Where a
// thread has several turns, [Graph.InputHash] reports whether it is in the middle of just this
// one.
//
// A pause is a Status and not an error. An error comes with the state so far.
//
// Invoke waits for its nodes, also for one that does not stop when ctx ends. A call that has a
// Grace or a Config.Timeout does not wait longer than these allow, and takes a goroutine of its
// own for that. In all other calls the caller's goroutine runs the steps of a single task: there
// runtime.Goexit in a node, which is an error elsewhere, ends the caller.
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

// Stream is Invoke with a reader: it yields the events of o.Modes, then
// the Ended event, or an error. The reader may stop early; the run is then
// cancelled and has ended when the loop has. A slow reader slows the run. Each loop
// is a run of its own. For several readers, and for one that may leave, see Start.
func (g *Graph[S]) Stream(ctx context.Context, input S, o RunOptions) iter.Seq2[Event, error] {
	return g.p.stream(ctx, o, invokes(g.p, input))
}

// StreamResume is Resume with a reader.
func (g *Graph[S]) StreamResume(ctx context.Context, a Answers, o RunOptions) iter.Seq2[Event, error] {
	return g.p.stream(ctx, o, request{op: opResume, answers: a})
}

func resultOf[S any](o outcome) Result[S] {
	res := Result[S]{Status: o.status, Interrupts: o.interrupts, Drained: o.drained, Starved: o.starved,
		Steps: o.steps, Checkpoint: o.checkpoint, Run: o.id}
	if s, ok := o.state.(*S); ok {
		res.State = *s
	}
	return res
}

// Start is Invoke without waiting: it returns a handle of the run. ctx bounds the whole
// run, not only the call. If the run cannot begin, Wait and its readers get the error.
func (g *Graph[S]) Start(ctx context.Context, input S, o RunOptions) *Handle[S] {
	return &Handle[S]{f: g.p.live(ctx, o, invokes(g.p, input))}
}

// StartResume is Resume without waiting.
func (g *Graph[S]) StartResume(ctx context.Context, a Answers, o RunOptions) *Handle[S] {
	return &Handle[S]{f: g.p.live(ctx, o, request{op: opResume, answers: a})}
}

// Untyped returns the graph without the type of its state.
func (g *Graph[S]) Untyped() Untyped {
	if g == nil { // beside the error of Compile
		return untyped{}
	}
	return untyped{g.p}
}

// EncodeState returns a state as one JSON object by wire name, in the order of its
// fields.
func (g *Graph[S]) EncodeState(s S) ([]byte, error) {
	if err := g.p.compiled(); err != nil {
		return nil, err
	}
	return g.p.schema.Encode(g.p.schema.Over(&s))
}

// DecodeInput reads a JSON object by wire name as an input. Unknown fields and
// values of the wrong type are errors, all of them at once.
func (g *Graph[S]) DecodeInput(data []byte) (s S, err error) {
	v, err := g.p.decodeInput(data)
	if v.State != nil {
		s = *v.State.(*S)
	}
	return s, err
}

// InputHash returns the hash that a turn with this input has in its Points: the way
// to find out whether a thread is in the middle of just this turn.
func (g *Graph[S]) InputHash(input S) (string, error) {
	if err := g.p.compiled(); err != nil {
		return "", err
	}
	return g.p.hashInput(g.p.schema.Over(&input))
}

// ClearCache drops what the cache holds of these nodes of the graph, or of all.
func (g *Graph[S]) ClearCache(ctx context.Context, nodes ...string) error {
	return g.p.clearCache(ctx, nodes)
}

func (p *program) clearCache(ctx context.Context, nodes []string) error {
	if err := p.compiled(); err != nil {
		return err
	}
	cache := p.cfg.Cache
	if cache == nil {
		return ErrNoCache
	}
	var prefixes []string
	for _, name := range nodes {
		if _, ok := p.find(name); !ok {
			return fmt.Errorf("graph %q: its cache is to be cleared of %q, which is not a node", p.name, name)
		}
		prefixes = append(prefixes, cachePrefix(p.name, name))
	}
	if len(nodes) == 0 {
		prefixes = []string{url.PathEscape(p.name) + "/"}
	}
	for _, prefix := range prefixes {
		if err := cache.Clear(ctx, prefix); err != nil {
			return fmt.Errorf("graph %q: clearing the cache: %w", p.name, err)
		}
	}
	return nil
}
