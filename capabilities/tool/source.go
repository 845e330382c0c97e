package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Source provides tools that are known only at run time, such as those of a server. It must be safe
// for concurrent use.
type Source interface {
	// Name is the prefix of each tool's name, which is NAME_TOOL. Load fails for any other name.
	Name() string
	// Tools returns the tools. A Set calls it until it succeeds, and uses that result. First calls
	// at the same time may call it more than once.
	Tools(ctx context.Context) ([]Tool, error)
}

// WithSources returns a set that also has the tools of sources. A nil Set has none of its own. In
// [Set.Only] the name of a source means all of its tools.
func (s *Set) WithSources(sources ...Source) *Set {
	if s == nil {
		s = &Set{}
	}
	own := *s
	own.sources = slices.Clone(s.sources)
	for _, src := range sources {
		own.sources = append(own.sources, &lazySource{Source: src})
	}
	return &own
}

// Has reports whether name is a tool, a source, or begins as the tools of a source do, loaded or
// not.
func (s *Set) Has(name string) bool {
	if s == nil {
		return false
	}
	_, ok := s.tools[name]
	return ok || s.source(name) != nil
}

// Load loads the tools of all sources that are not loaded yet. It stops at the first error, and may
// be called again. It returns an [ErrTool] if a tool of a source has the name of a tool of the set
// or of another source. A name that begins with the longer name of another source and "_" is
// refused too.
func (s *Set) Load(ctx context.Context) error {
	if s == nil {
		return nil
	}
	for _, l := range s.sources {
		if err := s.load(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// load loads the tools of a source. Each of their names must lead to this source.
func (s *Set) load(ctx context.Context, l *lazySource) error {
	if err := l.load(ctx); err != nil {
		return err
	}
	for _, name := range l.order {
		if s.source(name) != l {
			return fmt.Errorf("%w: %q of source %q is also a name of another source or of a tool of its own", ErrTool, name, l.Name())
		}
	}
	return nil
}

// source returns the source that is called name, or the one with the longest name that is a prefix
// of it. It is nil if there is none, or if the set has a tool of that name that is of no source.
func (s *Set) source(name string) *lazySource {
	if _, ok := s.tools[name]; ok {
		return nil
	}
	var found *lazySource
	for _, l := range s.sources {
		own := l.Name()
		if (name == own || strings.HasPrefix(name, own+"_")) && (found == nil || len(own) > len(found.Name())) {
			found = l
		}
	}
	return found
}

// find returns the tool with this name. Tools of a source are found after it is loaded.
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

// known returns the names of all tools, including those of loaded sources.
func (s *Set) known() []string {
	names := slices.Clone(s.order)
	for _, l := range s.sources {
		l.mu.Lock()
		names = append(names, l.order...)
		l.mu.Unlock()
	}
	return names
}

// lazySource is a source whose tools are loaded on first use.
type lazySource struct {
	Source

	mu    sync.Mutex
	tools map[string]checked // nil before they are loaded
	order []string
}

// load gets the tools, unless it has them.
func (l *lazySource) load(ctx context.Context) error {
	l.mu.Lock()
	done := l.tools != nil
	l.mu.Unlock()
	if done {
		return nil
	}
	tools, err := l.Source.Tools(ctx)
	if err != nil {
		return err
	}
	set, err := NewSet(tools...)
	if err != nil {
		return fmt.Errorf("tools of %q: %w", l.Name(), err)
	}
	for _, name := range set.order {
		if !strings.HasPrefix(name, l.Name()+"_") {
			return fmt.Errorf("%w: tools of source %[2]q must have names that begin with %[2]s_ (got %[3]q)", ErrTool, l.Name(), name)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tools == nil {
		l.tools, l.order = set.tools, set.order
	}
	return nil
}
