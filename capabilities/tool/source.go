package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Source offers tools that are known only while a run works, such as those of a server. It must be
// safe for concurrent use.
type Source interface {
	// Name begins the names of the tools, followed by "_".
	Name() string
	// Tools returns the tools. A Set calls it until it succeeds, and keeps the result.
	Tools(ctx context.Context) ([]Tool, error)
}

// WithSources returns a set that also has the tools of sources. [Set.Only] takes the name of a
// source for all of its tools.
func (s *Set) WithSources(all ...Source) *Set {
	if s == nil {
		s = &Set{}
	}
	own := *s
	own.sources = slices.Clone(s.sources)
	for _, one := range all {
		own.sources = append(own.sources, &loaded{Source: one})
	}
	return &own
}

// Has reports whether the set has a tool of this name, or a source of which it may be.
func (s *Set) Has(name string) bool {
	if s == nil {
		return false
	}
	_, ok := s.tools[name]
	return ok || s.source(name) != nil
}

// Load gets the tools of all sources. The error names the source that failed; another attempt may
// succeed.
func (s *Set) Load(ctx context.Context) error {
	if s == nil {
		return nil
	}
	for _, l := range s.sources {
		if err := l.load(ctx); err != nil {
			return err
		}
	}
	return nil
}

// source returns the source with this name, or the one that a tool with this name is of, or nil.
func (s *Set) source(name string) *loaded {
	for _, l := range s.sources {
		if own := l.Name(); name == own || strings.HasPrefix(name, own+"_") {
			return l
		}
	}
	return nil
}

// find returns a tool, of a source if that has been loaded.
func (s *Set) find(name string) (checked, bool) {
	if s == nil {
		return checked{}, false
	}
	if c, ok := s.tools[name]; ok {
		return c, true
	}
	if l := s.source(name); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		c, ok := l.tools[name]
		return c, ok
	}
	return checked{}, false
}

// known returns the names of the tools, with those of sources that have been loaded.
func (s *Set) known() []string {
	names := slices.Clone(s.order)
	for _, l := range s.sources {
		l.mu.Lock()
		names = append(names, l.order...)
		l.mu.Unlock()
	}
	return names
}

// loaded is a source with its tools.
type loaded struct {
	Source

	mu    sync.Mutex
	tools map[string]checked // nil before they are loaded
	order []string
}

// load gets the tools once.
func (l *loaded) load(ctx context.Context) error {
	l.mu.Lock()
	done := l.tools != nil
	l.mu.Unlock()
	if done {
		return nil
	}
	all, err := l.Source.Tools(ctx)
	if err != nil {
		return err
	}
	set, err := NewSet(all...)
	if err != nil {
		return err
	}
	for _, name := range set.order {
		if !strings.HasPrefix(name, l.Name()+"_") {
			return fmt.Errorf("%w: %q is not a name of a tool of %q", ErrTool, name, l.Name())
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools, l.order = set.tools, set.order
	return nil
}
