package graph

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
	"github.com/weftrun/weft/state"
)

// Config holds for every run of a compiled graph. The zero Config is usable: no
// store, generous limits.
type Config struct {
	// Store keeps the checkpoints; nil means that nothing survives the run. The
	// caller opens and closes it.
	//
	// What [checkpoint.Sealed] returns keeps values encrypted, or within other limits.
	Store checkpoint.Store

	// Migrate brings values that an older version of the program stored up to date, by
	// the wire name of the field: see [state.Migration]. Each field with a later version
	// than 1 must be here, and no other.
	Migrate map[string]state.Migration

	// MaxSteps bounds the supersteps of one call of Invoke, Resume or Stream;
	// 0 means 10,000. Beyond it a run fails with [ErrSteps].
	MaxSteps int
	// MaxTasks bounds the tasks of one superstep; 0 means 10,000. Beyond it a run
	// fails with [ErrFanOut].
	MaxTasks int
	// MaxState bounds the state, in bytes as it is stored; 0 means no limit. A step that
	// goes beyond it is not committed and the run fails with [ErrStateSize]. Without a
	// Store it costs an encoding of the whole state a step.
	MaxState int
	// Timeout bounds the wall clock of one call; 0 means no limit. Beyond it a run
	// fails with [ErrTimeout].
	Timeout time.Duration
	// Concurrency bounds the tasks that run at once in one run; 0 means 64. It does
	// not depend on the number of processors: nodes mostly wait.
	Concurrency int
	// Grace is how long a node may go on after its context was cancelled before the run stops
	// waiting for it; 0 means that the run waits until the node returns, as for any Go function.
	// It also holds for a node that exceeds its Policy.Timeout or Policy.Idle, and for a run that
	// exceeds Timeout; there 0 means 1 second. Late writes are dropped.
	Grace time.Duration

	// Nested is how long the state of this graph lives when it runs inside another.
	Nested Lifetime

	// InterruptBefore and InterruptAfter name nodes at which a run pauses, before
	// or after a step in which they run. "*" means every node.
	InterruptBefore, InterruptAfter []string

	// Cache keeps the results of nodes made by [Cache] for other runs; nil means that
	// these nodes just run. A subgraph without one uses that of the graph around it. The
	// caller opens and closes it.
	Cache CacheStore
	// Limits are the bounds that Policy.Limit names. They may be shared with other graphs.
	Limits *Limits

	// TTL lets a thread expire, with all its subgraphs, when so long nothing was committed
	// to it; 0 means never. The store must be a checkpoint.Expirer.
	TTL time.Duration
	// Keep selects the commits of a thread that stay: every 64 commits all others are dropped,
	// with those of the subgraphs, while the next step runs. See [checkpoint.Prune]. The
	// zero Keep keeps all. The store must be a checkpoint.Dropper. A drop that fails is
	// tried again 64 commits later. In a subgraph, the Keep of the graph at the root holds.
	Keep checkpoint.Keep
	// Trace records in each commit the answers and results (Once, Call) of its step, so
	// that [StoredThread.Replay] can run it again. It costs the bytes of these.
	Trace bool

	// Pin pins each thread that the graph begins to its Program: a run or an edit with another
	// program is a [*PinnedError]. The function [Pin] pins other threads, and unpins.
	Pin bool

	// Observer watches the runs of the graph and of the subgraphs in them, for traces and metrics;
	// nil costs nothing. In a subgraph, the Observer of the graph at the root holds.
	Observer Observer

	// Timers keeps when threads go on by themselves: when questions expire, when people are
	// reminded, when a [Sleep] ends, and when a failed run is tried again. Then package wake
	// resumes the thread. nil means that threads wait until a caller resumes them.
	Timers Timers
	// RunRetry is how often, and how soon, package wake tries a run again that has ended with the
	// failure of a node, after the retries of that node. Attempts counts the runs that failed at
	// the same step, of any caller: a step that is committed begins a new count. It needs Timers
	// and a Store. A run that was cancelled, or has come to a limit of the Config, is not tried
	// again. In a subgraph, the RunRetry of the graph at the root holds. An engine that drives the
	// graph has retries of its own.
	RunRetry Retry

	// Schemas are the JSON Schemas that [Untyped].Schemas returns in place of those that it makes
	// of the state.
	Schemas Schemas

	// Configure completes the input of a run that has settings as JSON, such as a run of a server,
	// before the run is created. context are the settings themselves. configurable may have other
	// things, such as the ids of the run. nil leaves the input as it is.
	Configure func(input json.RawMessage, context, configurable map[string]json.RawMessage) (json.RawMessage, error)

	// Now gives the time that is written into checkpoints; nil means time.Now. It is
	// safe for concurrent use, and so is NewID.
	Now func() time.Time
	// NewID gives the ids of runs, from which commits and tasks have theirs; no two may
	// be equal. nil means random UUIDs.
	NewID func() string
	// Rand gives the numbers, from 0 up to but not 1, by which Retry.Jitter varies waits;
	// nil means math/rand/v2. It is safe for concurrent use.
	Rand func() float64
}

// Schemas are the JSON Schemas of a graph, as objects of draft-07. One that is nil is not known.
//
// They describe, and check nothing: a graph checks what it gets by the types of its channels.
type Schemas struct {
	// Input is what Invoke takes, Output what it returns, and State what a commit has.
	Input, Output, State json.RawMessage
	// Settings is what the nodes read of RunOptions.Settings. No Go type shows it: see
	// Config.Schemas.
	Settings json.RawMessage
}

// newID returns a random UUID. It allocates only its text.
func newID() string {
	var id uuid.UUID
	crand.Read(id[:])         // it never fails
	id[6] = id[6]&0x0f | 4<<4 // version 4
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id.String()
}

func (c Config) withDefaults() Config {
	if c.MaxSteps == 0 {
		c.MaxSteps = 10_000
	}
	if c.MaxTasks == 0 {
		c.MaxTasks = 10_000
	}
	if c.Concurrency == 0 {
		c.Concurrency = 64
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = newID
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	return c
}

func (c Config) check() error {
	if _, expires := c.Store.(checkpoint.Expirer); c.TTL != 0 && !expires {
		return fmt.Errorf("threads are to expire after %v, and the store %T cannot do that", c.TTL, c.Store)
	}
	if c.TTL < 0 {
		return fmt.Errorf("a TTL of %v is less than nothing", c.TTL)
	}
	if err := c.checkKeep(); err != nil {
		return err
	}
	if c.MaxSteps < 0 || c.MaxTasks < 0 || c.MaxState < 0 || c.Concurrency < 0 || c.Timeout < 0 || c.Grace < 0 {
		return fmt.Errorf("a limit is negative: %d steps, %d tasks, %d bytes, %d at once, %v, grace %v",
			c.MaxSteps, c.MaxTasks, c.MaxState, c.Concurrency, c.Timeout, c.Grace)
	}
	if err := c.RunRetry.Check(); err != nil {
		return fmt.Errorf("RunRetry: %w", err)
	}
	if c.Nested < PerCall || c.Nested > Stateless {
		return fmt.Errorf("%d is no Lifetime", c.Nested)
	}
	if c.Nested == Stateless && len(c.InterruptBefore)+len(c.InterruptAfter) > 0 {
		return errors.New("a Stateless graph begins anew after a pause, so it would come to its static interrupts again and again")
	}
	return nil
}

// RunOptions are the options of one call, such as Invoke, Resume or Stream.
type RunOptions struct {
	// ID, if it is not "", is the id of the run: see [PlanRequest]. A caller that stores it first
	// finds the run's commits after a crash, by their label "run". A call that goes on with the run
	// after a crash has the same ID, and pauses again at a static interrupt at which that call has
	// paused.
	ID string
	// Thread names the thread whose state the run goes on with. It needs a Store;
	// without one it must be empty.
	Thread string
	// Namespace names a subgraph's checkpoints; see [Namespaces]. [Graph.Edit] and [Graph.Patch],
	// called on the graph of that subgraph, change them. [Graph.Resume], called on the thread's
	// own graph, goes back to the commit At of them: the thread begins a branch before the step
	// whose task runs the subgraph, and the subgraph goes on from there. It must be empty
	// elsewhere.
	Namespace string
	// At names the commit to go on from; 0 means the newest. An older one begins a new
	// branch of the thread, from which everything goes on; the old one stays in the
	// history. Nothing that was stored beside that commit counts: its questions are asked again.
	// The newest one begins a branch too where a question of it was declined or has expired, and
	// no other is open.
	At uint64
	// If, if it is not nil, is the number that the thread's newest commit must have, 0 for a
	// thread that does not exist yet. Otherwise nothing is run or written, and the error is
	// ErrMoved. Use it for optimistic concurrency: pass the commit number that you read last.
	If *uint64
	// Lease is what happens when another run owns the thread: the zero value
	// returns a [*checkpoint.BusyError]. While a run lasts it owns its thread, if the
	// store has leases, so no other run repeats its tasks.
	Lease checkpoint.HoldOptions
	// Durability is when the steps of the run are committed; the zero value is Sync.
	// It holds for subgraphs too.
	Durability Durability
	// MaxSteps, if it is not 0, bounds the supersteps of this call in place of Config.MaxSteps.
	// Subgraphs keep the bounds of their own Config.
	MaxSteps int
	// InterruptBefore and InterruptAfter, where they are not nil, replace those of the Config for
	// this call. Subgraphs keep their own.
	InterruptBefore, InterruptAfter []string
	// Settings are values for the nodes of the run and its subgraphs, which read them with the
	// function [Settings]. They are not stored: each call passes its own.
	Settings any
	// Modes selects the events that Stream yields; 0 means Updates. Only Stream and StreamResume
	// read it, and Depth.
	Modes Mode
	// Depth limits the depth of Stream: 1 leaves out the events of subgraphs, 2 those
	// of subgraphs in subgraphs, and so on; 0 means all.
	Depth int
	// Hold lets Start return before the run begins, so that readers can join who see all
	// of it. It begins with the first loop over events, or the first Wait.
	Hold bool
	// Drain, if it is requested, stops the run at the end of the superstep; several
	// runs may share one. What is left to do is for Resume.
	Drain *Drain
	// OnOpenQuestions is what Invoke does while questions of the last turn are open; the
	// zero value refuses the input.
	OnOpenQuestions OnOpenQuestions
	// By is who makes the call: it is recorded with each decision that the call brings, unless the
	// answer names another ([Answers.By]). It is a claim, and is not checked. At most 256 bytes of
	// text.
	By string
	// Via is the interface through which the call came, recorded beside By: [ViaGo] where it is "".
	Via string
	// StopAtTaskQueue stops the run before a step with a task whose Policy has a TaskQueue or is
	// Child, as a Drain does, but with Drained "". The Status is Pending, and a driver runs the
	// step: see [Untyped.Plan].
	StopAtTaskQueue bool
	// Grace, if it is not 0, is the Grace of this call in place of Config.Grace, in subgraphs too.
	Grace time.Duration
	// Metadata is written into every checkpoint of the run.
	Metadata map[string]string

	signer signer // of WithSigner
}

// reader returns the reader of a Stream.
func (o RunOptions) reader() Reader { return Reader{Modes: o.Modes, Depth: o.Depth} }

// Settings returns RunOptions.Settings of the run that the context of a node or a branch belongs
// to; nil outside of a run.
func Settings(ctx context.Context) any {
	if t := taskOf(ctx); t != nil {
		return t.run.opts.Settings
	}
	return nil
}

type graceKey struct{}

// WithGrace returns a context in which RunOptions.Grace is d where a call leaves it 0, for programs
// that do not make the calls themselves. A call that a node makes does not see it.
func WithGrace(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, graceKey{}, d)
}

// checkKeep returns the reason why Keep is invalid.
func (c Config) checkKeep() error {
	switch k := c.Keep; {
	case k.Last < 0 || k.For < 0:
		return fmt.Errorf("the Keep is negative: the last %d, for %v", k.Last, k.For)
	case k.Fence != "":
		return errors.New("the Keep has a fence; a run prunes under its own")
	case journal.KeepsAll(k):
		return nil
	}
	if _, drops := c.Store.(checkpoint.Dropper); !drops {
		return fmt.Errorf("old commits are to be dropped, and the store %T cannot do that", c.Store)
	}
	return nil
}

// check checks the options of a call of p; inside is true if p runs as a subgraph.
func (o *RunOptions) check(p *program, inside bool) error {
	switch {
	case o.MaxSteps < 0:
		return fmt.Errorf("graph %q: RunOptions.MaxSteps must not be negative (got %d)", p.name, o.MaxSteps)
	case o.ID != "" && checkRun(o.ID) != nil:
		return fmt.Errorf("graph %q: RunOptions.ID: %w", p.name, checkRun(o.ID))
	case !inside && slices.ContainsFunc(slices.Concat(o.InterruptBefore, o.InterruptAfter), p.isUnknown):
		return fmt.Errorf("graph %q: RunOptions.InterruptBefore and InterruptAfter must name nodes or be * (got %q and %q)",
			p.name, o.InterruptBefore, o.InterruptAfter)
	case o.Grace < 0:
		return fmt.Errorf("graph %q: RunOptions.Grace must not be negative (got %v)", p.name, o.Grace)
	case p.cfg.Store == nil && (o.Thread != "" || o.If != nil) && !inside:
		return fmt.Errorf("%w: thread %q could not be stored", ErrNoStore, o.Thread)
	case p.cfg.Store == nil:
		return nil
	}
	if err := errors.Join(checkpoint.CheckThread(o.Thread), checkBy(o.By, o.Via), o.signer.check()); err != nil {
		return err
	}
	if err := state.CheckText(o.Metadata); err != nil {
		return fmt.Errorf("graph %q: thread %q: RunOptions.Metadata: %w", p.name, o.Thread, err)
	}
	return nil
}

// checkRoot returns an error if the options name the commits of a subgraph, which does not run by
// itself.
func (o *RunOptions) checkRoot(graph string) error {
	if o.Namespace == "" {
		return nil
	}
	return fmt.Errorf("graph %q: thread %q: %w: the namespace %q belongs to a subgraph, which runs with its thread: Resume goes back to its commits, and Edit changes them",
		graph, o.Thread, ErrEdit, o.Namespace)
}

// Lifetime is how long the state of a graph lives that runs inside another: how its
// checkpoints are stored. At the root it has no effect.
type Lifetime int

const (
	// PerCall gives each call of the child a state of its own. A question inside pauses
	// the whole run, and the child goes on where it stopped.
	PerCall Lifetime = iota
	// PerThread gives the child one state on the thread, for each node and each graph
	// that the node calls: each call is a turn of it, and its state grows from call to
	// call and from turn to turn of the parent, but for its turn-scoped fields. It needs
	// a Store. Two tasks of one step, or two calls at once, cannot use it together: that is an
	// [ErrShared].
	PerThread
	// Stateless keeps no checkpoints. After a question inside, or a crash, the child runs
	// again from its beginning, with the answers; the results of [Once] and [Call] in it stay.
	Stateless
)

// OnOpenQuestions is what Invoke does on a thread whose questions are open.
type OnOpenQuestions string

const (
	// Refuse returns ErrWaiting and changes nothing. It is the default.
	Refuse OnOpenQuestions = ""
	// Discard drops the questions with the rest of the turn's unfinished work.
	Discard OnOpenQuestions = "discard"
	// Queue stores the input and returns with the Status Queued. It begins a turn of its
	// own when the turns before it have ended: in the call of Resume that ends them. While
	// another call works on the thread, Invoke waits for it; see RunOptions.Lease.
	Queue OnOpenQuestions = "queue"
)
