package graph

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/schedule"
)

// scope is a piece of running code that has an id: a node in a task, or a call that is made from
// one. The ids of its questions, calls and results are derived from its own, so they are the
// same each time the code runs.
type scope struct {
	task  *task
	up    *scope           // of a call: the scope that made it
	ident string           // the id of a call; "" for the node itself, whose id is the task's
	part  string           // of the node itself: the alternative of a Fallback that runs; "" is the first
	own   *schedule.Permit // of a call; nil for the node itself, which has that of its task

	mu     sync.Mutex
	over   bool           // the code has returned: it cannot ask or call any more
	asked  keyUses        // how often each key was used
	places [][]Interrupt  // the open questions, in the order in which the code came to them
	room   [1][]Interrupt // where places begins
	works  []*work        // what was started here
}

// permit returns the permit of the goroutine that runs the code.
func (s *scope) permit() *schedule.Permit {
	if s.own != nil {
		return s.own
	}
	return s.task.permit
}

type scopeKey struct{}

// scopeOf returns the innermost scope that ctx belongs to, or nil.
func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// id returns the id from which those of all that happens in the scope are derived. The parts of a
// node, the alternatives of a Fallback and the handler, have ids of their own.
func (s *scope) id() string {
	if s.ident != "" {
		return s.ident
	}
	s.mu.Lock()
	part := s.partName()
	s.mu.Unlock()
	if part != "" {
		return s.task.id() + partMark + part
	}
	return s.task.id()
}

// partMark is between the id of a task and the name of a part in the id of the part's scope. The
// ids of tasks are hexadecimal.
const partMark = "!"

// partHandler is the part that handles a failure. The parts of a Fallback have numbers.
const partHandler = "handler"

// isHandler reports whether id is the id of the scope of a task's handler.
func isHandler(id string) bool {
	_, part, _ := strings.Cut(id, partMark)
	return part == partHandler
}

// Thread returns the name of the thread of the running task. It is "" outside a node, and in a run
// without a thread.
func Thread(ctx context.Context) string {
	t := taskOf(ctx)
	if t == nil {
		return ""
	}
	return t.run.opts.Thread
}

// Metadata returns the metadata that the checkpoints of the run have: see RunOptions.Metadata. It
// is nil outside a node. The caller must not change it.
func Metadata(ctx context.Context) map[string]string {
	t := taskOf(ctx)
	if t == nil {
		return nil
	}
	return t.run.metadata()
}

// StoreOf returns the Config.Store of the run that ctx belongs to, or nil.
func StoreOf(ctx context.Context) checkpoint.Store {
	t := taskOf(ctx)
	if t == nil {
		return nil
	}
	return t.run.cfg.Store
}

// TaskID returns the id of the running task: the same in every attempt and after every crash,
// and different for every other task, of this thread and of any other. It is the idempotency key
// to give to the outside world. A branch of the thread ([RunOptions.At]) runs the tasks of the
// same places again, under the same ids: going back does not take back what was done, and who
// knows the id of an effect does not do it again. It is "" outside a node.
func TaskID(ctx context.Context) string {
	t := taskOf(ctx)
	if t == nil {
		return ""
	}
	return t.id()
}

// Place is where a task runs: its node, in a superstep of its graph.
type Place struct {
	Node  string
	Step  int // of the graph of the node
	Index int // among the Sends of the step; -1 for a task that an edge has started
}

// Places returns the places of the tasks that ctx belongs to: that of the outermost graph first,
// then those of its subgraphs, and the running task last. It is nil outside a node.
func Places(ctx context.Context) (all []Place) {
	for t := taskOf(ctx); t != nil; t = t.around() {
		all = append(all, Place{t.node.name, t.step, t.index})
	}
	slices.Reverse(all)
	return all
}

// ExecutionID returns the id of what runs here: in a function that was given to [Once],
// [Call] or [Go] an id of its own, else that of the task. Like [TaskID] it is the same in
// every attempt and after every crash, and on a branch of the thread: give it to the outside
// world as an idempotency key. It is "" outside a node, also in a test that calls the node.
func ExecutionID(ctx context.Context) string {
	s := scopeOf(ctx)
	if s == nil {
		return ""
	}
	return s.id()
}

// reserve counts one more use of a key, and keeps a place for the questions that it may
// lead to.
func (s *scope) reserve(key string) (n, place int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.task.isGivenUp():
		return 0, 0, ErrTimeout
	case s.over:
		return 0, 0, errOver
	}
	use := useKey{key: key}
	if s.ident == "" {
		use.part = s.partName()
	}
	if s.places == nil {
		s.places = s.room[:0]
	}
	s.places = append(s.places, nil)
	return s.asked.next(use), len(s.places) - 1, nil
}

// keyUses counts how often keys were used. Most scopes have one or two.
type keyUses struct {
	few [2]struct {
		useKey
		n int
	}
	many map[useKey]int // of the other keys
}

type useKey struct{ part, key string }

// next counts one more use of a key, and returns which it is.
func (u *keyUses) next(key useKey) int {
	for i := range u.few {
		f := &u.few[i]
		if f.n == 0 {
			f.useKey = key
		}
		if f.useKey == key {
			f.n++
			return f.n
		}
	}
	if u.many == nil {
		u.many = map[useKey]int{}
	}
	u.many[key]++
	return u.many[key]
}

// asks notes open questions at a place. A scope that is over cannot ask any more.
func (s *scope) asks(place int, open ...Interrupt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errOver
	}
	s.places[place] = open
	return nil
}

// unanswered returns the open questions in order, each once.
func (s *scope) unanswered() (open []Interrupt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range slices.Concat(s.places...) {
		if !slices.ContainsFunc(open, func(o Interrupt) bool { return o.ID == in.ID && in.ID != "" }) {
			open = append(open, in)
		}
	}
	return open
}

// body runs the code of a call, with a context of this scope.
func (s *scope) body(ctx context.Context, fn func(context.Context) (any, error)) (v any, err error) {
	defer func() { err = s.close(err) }()
	defer recovered(&err)
	return fn(context.WithValue(ctx, scopeKey{}, s))
}

// close waits for what the code, which ended with err, has started; a failure cancels it. If one of
// those failed and the code did not wait for it, that is how the code ended.
func (s *scope) close(err error) error {
	defer s.shut()
	return s.awaitWorks(err)
}

// awaitWorks is close for a part of the code: another part follows.
func (s *scope) awaitWorks(err error) error {
	failed := err != nil && !errors.Is(err, ErrInterrupted)
	for i := 0; ; i++ {
		w, all := s.started(i)
		if w == nil {
			return err
		}
		for _, w := range all {
			if failed {
				w.cancel(errStopped)
			}
		}
		s.await(w)
		if !w.waited.Load() && err == nil && w.err != nil && !errors.Is(w.err, ErrInterrupted) {
			err, failed = w.err, true
		}
	}
}

// started returns what was started as number i, or nil, and all from there on.
func (s *scope) started(i int) (*work, []*work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i >= len(s.works) {
		return nil, nil
	}
	return s.works[i], s.works[i:]
}

// await waits until w has ended, and releases the permit meanwhile.
func (s *scope) await(w *work) {
	select {
	case <-w.done:
		return
	default:
	}
	s.permit().Release()
	<-w.done
	s.permit().Acquire(s.task.run.ctx)
}

// shut ends the scope.
func (s *scope) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// isOver reports whether the scope has ended.
func (s *scope) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// setPart sets the alternative of a Fallback that runs, from 0: its questions and subgraphs are
// its own.
func (s *scope) setPart(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = ""
	if i > 0 {
		s.part = strconv.Itoa(i + 1)
	}
}

// dropQuestions forgets what a part of the node asked that has failed.
func (s *scope) dropQuestions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.open = nil
	clear(s.places)
}

// partName returns which part of the node runs: "" is its function, or the first alternative of a
// Fallback. The caller holds mu.
func (s *scope) partName() string {
	if s.task.isHandling() {
		return partHandler
	}
	return s.part
}
