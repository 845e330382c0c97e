package graph

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/weftrun/weft/internal/journal"
)

// subgraphs is what a task that fails or asks needs to know of the subgraphs that its node has run.
// hasUnsaved, questions and setQuestions treat a nil *subgraphs as empty.
type subgraphs struct {
	mu      sync.Mutex
	unsaved []*journal.Journal // of those that are done and not stored
	some    atomic.Bool        // unsaved is not empty
	open    []Interrupt        // the open questions of those that failed
}

// ownSubgraphs returns the subgraphs of t, and creates them if there are none. It never returns
// nil.
func (t *task) ownSubgraphs() *subgraphs {
	s := t.scope()
	if s.subgraphs.Load() == nil {
		s.subgraphs.CompareAndSwap(nil, new(subgraphs))
	}
	return s.subgraphs.Load()
}

// addUnsaved adds the journal of a subgraph that is done and not stored. It need not be stored once
// the step of the task is committed.
func (s *subgraphs) addUnsaved(child *journal.Journal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsaved = append(s.unsaved, child)
	s.some.Store(true)
}

// hasUnsaved reports whether subgraphs are done and not stored.
func (s *subgraphs) hasUnsaved() bool { return s != nil && s.some.Load() }

// save stores the unsaved subgraphs, for a task that fails or asks: the commit of its step will not
// include them.
func (s *subgraphs) save() error {
	s.mu.Lock()
	unsaved := s.unsaved
	s.unsaved = nil
	s.some.Store(false)
	s.mu.Unlock()
	var errs []error
	for _, child := range unsaved {
		errs = append(errs, child.Flush())
	}
	return errors.Join(errs...)
}

// noteOpen notes the open questions of a subgraph that failed. If its task fails too, they are
// listed beside the failure.
func (s *subgraphs) noteOpen(open []Interrupt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range open {
		if in.IsQuestion() {
			s.open = append(s.open, in)
		}
	}
}

// questions returns the open questions of the subgraphs that failed.
func (s *subgraphs) questions() []Interrupt {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// setQuestions replaces the open questions: with none for a task that runs again, and with the
// stored ones for a task that is restored.
func (s *subgraphs) setQuestions(open []Interrupt) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
}
