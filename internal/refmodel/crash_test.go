package refmodel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

var errDead = errors.New("refmodel: the process is dead")

// mortal is a store whose process dies at a write: before it is done, or after. From then
// on all its writes fail, until it is revived.
type mortal struct {
	checkpoint.Store
	mu      sync.Mutex
	left    int  // writes until the one at which it dies
	applied bool // that write is done, and only its reply is lost
	dead    bool
	stored  map[string]bool // the tasks whose results are stored
	commits map[string]int  // by namespace and number
}

func newMortal() *mortal {
	return &mortal{Store: new(checkpoint.Memory), left: 1 << 30, stored: map[string]bool{}, commits: map[string]int{}}
}

// write makes one write, and notes it when it is done.
func (m *mortal) write(do func() error, note func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left--
	dies := m.left == 0
	if m.dead = m.dead || dies; m.dead && !(dies && m.applied) {
		return errDead
	}
	err := do()
	if err == nil {
		note()
	}
	if dies {
		return errDead
	}
	return err
}

func (m *mortal) Commit(ctx context.Context, c checkpoint.Commit) error {
	return m.write(func() error { return m.Store.Commit(ctx, c) }, func() {
		m.commits[fmt.Sprint(c.Namespace, " ", c.Seq())]++
	})
}

func (m *mortal) Put(ctx context.Context, p checkpoint.Pending) error {
	return m.write(func() error { return m.Store.Put(ctx, p) }, func() { m.note(p.Entries) })
}

// note remembers which tasks have a stored result.
func (m *mortal) note(entries []checkpoint.Entry) {
	for _, e := range entries {
		switch e.Slot {
		case "result":
			m.stored[e.Task] = true
		case slotInvalid:
			clear(m.stored)
		}
	}
}

// revive lets it live for some more writes.
func (m *mortal) revive(writes int, applied bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.applied, m.dead = writes, applied, false
}

// counting counts the runs of tasks, and lists tasks that ran despite a stored result.
type counting struct {
	mu    sync.Mutex
	ran   map[string]int
	twice []string
}

func (l *counting) enter(m *mortal) func(context.Context, string, string) error {
	return func(_ context.Context, task, node string) error {
		m.mu.Lock()
		stored := m.stored[task]
		m.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ran == nil {
			l.ran = map[string]int{}
		}
		l.ran[task]++
		if stored {
			l.twice = append(l.twice, node)
		}
		return nil
	}
}

// A process that dies at any write, again and again, and is replaced by another with a graph
// of its own, leaves the same history as one that never died. No finished task runs again
// once its result is stored.
//
// Requirement: Siblings keep their work
func TestSimulation_CrashesAreInvisible(t *testing.T) {
	atRandom(t, 3_000, func(_ *testing.T, sp *Spec, seed uint64) error {
		in := NewInterpreter(sp)
		want := ends(Play(sp, in, seed, true))
		r := rand.New(rand.NewPCG(seed, 7))
		store, led, deaths := newMortal(), new(counting), 0
		shop := &Workshop{Spec: sp, Enter: led.enter(store)}
		compile := func() (*graph.Graph[State], error) {
			ids := 0
			name := fmt.Sprint("process", deaths)
			return shop.Compile(graph.Config{Store: store, Concurrency: 1 + r.IntN(4), NewID: func() string {
				ids++
				return fmt.Sprint(name, "/", ids)
			}})
		}
		g, err := compile()
		if err != nil {
			return err
		}
		e := NewEngine(context.Background(), g, store)
		e.Retry = func(err error) bool {
			if !errors.Is(err, errDead) {
				return false
			}
			if deaths++; deaths < 40 {
				store.revive(1+r.IntN(8), r.IntN(2) == 0)
			} else {
				store.revive(1<<30, false)
			}
			e.Graph, err = compile()
			return err == nil
		}
		store.revive(1+r.IntN(8), r.IntN(2) == 0)
		got := ends(Play(sp, e, seed, true))
		store.revive(1<<30, false)
		if err := differ(fmt.Sprintf("after %d crashes", deaths), got, want); err != nil {
			return err
		}
		if err := differ("history", strings.Join(e.History(), "\n"), strings.Join(in.History(), "\n")); err != nil {
			return err
		}
		return led.check(store)
	})
}

func (l *counting) check(m *mortal) error {
	if len(l.twice) > 0 {
		return fmt.Errorf("nodes %v ran again although their results were stored", l.twice)
	}
	for at, n := range m.commits {
		if n != 1 {
			return fmt.Errorf("commit %s was made %d times", at, n)
		}
	}
	return nil
}

// ends returns how each turn ended. It omits pauses, which depend on the notifications before a
// crash.
func ends(seen []Outcome) string {
	var last []Outcome
	for _, o := range seen {
		switch o.Status {
		case "done", "broken", "conflict", "fanout":
			o.Steps = 0
			last = append(last, o)
		}
	}
	return Trace(last)
}
