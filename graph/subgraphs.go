package graph

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/weftrun/weft/internal/journal"
)

// subgraphs is what a task needs to know of the subgraphs that its node has run, when it ends
// otherwise than with a result. A nil one is empty.
type subgraphs struct {
	mu      sync.Mutex
	unsaved []*journal.Journal // of those that are done and not stored
	some    atomic.Bool        // there are unsaved ones
	open    []Interrupt        // the open questions of those that failed
}

// ownSubgraphs returns what t knows of its subgraphs, to add to it.
func (t *task) ownSubgraphs() *subgraphs {
	s := t.scope()
	if s.subgraphs.Load() == nil {
		s.subgraphs.CompareAndSwap(nil, new(subgraphs))
	}
	return s.subgraphs.Load()
}

// mayNeed notes the journal of a subgraph that is done and not stored. The commit of the task's
// step makes it needless.
func (s *subgraphs) mayNeed(child *journal.Journal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsaved = append(s.unsaved, child)
	s.some.Store(true)
}

// hasUnsaved reports whether subgraphs are done and not stored.
func (s *subgraphs) hasUnsaved() bool { return s != nil && s.some.Load() }

// save stores the subgraphs that are done, because their task is not.
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
		if in.Kind == "question" {
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

// setQuestions replaces the open questions, for a task that runs again or was restored.
func (s *subgraphs) setQuestions(open []Interrupt) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
}
