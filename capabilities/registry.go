package capabilities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrUnknown is returned when no capability has the name.
	ErrUnknown = errors.New("capabilities: no such capability")
	// ErrRequires is returned when a capability is to run without a context that it
	// requires. It did not run.
	ErrRequires = errors.New("capabilities: a required context is missing")
	// ErrProvides is returned when a capability did not return what it promised, or
	// returned what it did not declare.
	ErrProvides = errors.New("capabilities: the result is not what was declared")
)

// Registry holds capabilities that fit together. It does not change and is safe
// for concurrent use.
type Registry struct {
	byName map[string]Capability
	order  []string
}

// NewRegistry returns a registry of these capabilities. Its error joins every
// mistake: a missing or doubled name, a missing description, a requirement that
// nobody provides, capabilities that require each other in a circle.
func NewRegistry(all ...Capability) (*Registry, error) {
	r := &Registry{byName: map[string]Capability{}}
	var errs []error
	for i, c := range all {
		info := c.Info()
		switch _, taken := r.byName[info.Name]; {
		case info.Name == "":
			errs = append(errs, fmt.Errorf("capabilities: number %d has no name", i+1))
			continue
		case taken:
			errs = append(errs, fmt.Errorf("capabilities: the name %q is taken twice", info.Name))
			continue
		case info.Description == "":
			errs = append(errs, fmt.Errorf("capabilities: %q has no description; planners choose by it", info.Name))
		}
		r.byName[info.Name] = c
	}
	errs = append(errs, r.arrange()...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// arrange puts the capabilities in an order in which each comes after a provider of
// all it requires; equals go by name.
func (r *Registry) arrange() (errs []error) {
	provided := map[string]bool{}
	left := make([]string, 0, len(r.byName))
	offered := map[string]bool{}
	for name, c := range r.byName {
		left = append(left, name)
		for _, t := range c.Info().Provides {
			offered[t] = true
		}
	}
	slices.Sort(left)
	for {
		ready := slices.IndexFunc(left, func(name string) bool {
			return !slices.ContainsFunc(r.byName[name].Info().Requires, func(t string) bool { return !provided[t] })
		})
		if ready < 0 {
			break
		}
		for _, t := range r.byName[left[ready]].Info().Provides {
			provided[t] = true
		}
		r.order = append(r.order, left[ready])
		left = slices.Delete(left, ready, ready+1)
	}
	var circle []string
	for _, name := range left {
		missing := slices.DeleteFunc(slices.Clone(r.byName[name].Info().Requires), func(t string) bool { return offered[t] })
		for _, t := range missing {
			errs = append(errs, fmt.Errorf("capabilities: %q requires %q, which nobody provides", name, t))
		}
		if len(missing) == 0 {
			circle = append(circle, name)
		}
	}
	if len(circle) > 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("capabilities: %s wait for each other", strings.Join(circle, ", ")))
	}
	return errs
}

// Names returns the names in an order in which each capability comes after the
// providers of what it requires.
func (r *Registry) Names() []string { return slices.Clone(r.order) }

// Get returns the capability with this name.
func (r *Registry) Get(name string) (c Capability, ok bool) {
	c, ok = r.byName[name]
	return c, ok
}

// Run runs a capability and holds it to what it declared. Errors name it; a panic is
// the caller's to catch.
func (r *Registry) Run(ctx context.Context, name string, in Contexts) (Contexts, error) {
	c, ok := r.byName[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q; there are %s", ErrUnknown, name, strings.Join(r.order, ", "))
	}
	info := c.Info()
	for _, t := range info.Requires {
		if !in.Has(t) {
			return nil, fmt.Errorf("%w: %q requires %q", ErrRequires, name, t)
		}
	}
	out, err := c.Run(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("capability %q: %w", name, err)
	}
	for _, t := range info.Provides {
		if !out.Has(t) {
			return nil, fmt.Errorf("%w: %q returned no %q", ErrProvides, name, t)
		}
	}
	for t := range out {
		if !slices.Contains(info.Provides, t) {
			return nil, fmt.Errorf("%w: %q returned a %q", ErrProvides, name, t)
		}
	}
	return out, nil
}
