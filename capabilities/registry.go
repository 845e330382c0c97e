package capabilities

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

// Registry holds capabilities that fit together. It is immutable and safe for concurrent use.
type Registry struct {
	byName  map[string]Capability
	given   []string // in the order of registration
	order   []string // each after the providers of its requirements
	leftOut []string // the reasons, for optional ones
}

// NewRegistry returns a registry of these capabilities. Its error joins every mistake: a nil
// capability or function; a missing or repeated name; a missing description; an invalid policy; a
// requirement without a provider; capabilities that require each other in a cycle.
func NewRegistry(all ...Capability) (*Registry, error) {
	changes := make([]Change, len(all))
	for i, c := range all {
		changes[i] = Add(c)
	}
	return (&Registry{}).Extend(changes...)
}

// Change is a difference between two registries: see [Registry.Extend].
type Change struct {
	what  string // add, override, exclude
	c     Capability
	names []string
}

// Add adds a capability. A name that is taken is an error.
func Add(c Capability) Change { return Change{what: "add", c: c} }

// Override replaces the capability with the same name. A name that does not exist is an error.
func Override(c Capability) Change { return Change{what: "override", c: c} }

// Exclude removes capabilities. A name that does not exist is an error.
func Exclude(names ...string) Change { return Change{what: "exclude", names: names} }

// Extend returns a registry with these changes, applied in order; r is not changed. The error joins
// every mistake, as with [NewRegistry].
func (r *Registry) Extend(changes ...Change) (*Registry, error) {
	next := &Registry{byName: map[string]Capability{}, given: slices.Clone(r.given), leftOut: slices.Clone(r.leftOut)}
	for name, c := range r.byName {
		next.byName[name] = c
	}
	var errs []error
	for i, ch := range changes {
		if ch.what == "exclude" {
			errs = append(errs, next.exclude(ch.names))
			continue
		}
		errs = append(errs, next.take(i+1, ch))
	}
	next.dropUnmet()
	errs = append(errs, next.arrange()...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return next, nil
}

func (r *Registry) exclude(names []string) error {
	var errs []error
	for _, name := range names {
		if _, ok := r.byName[name]; !ok {
			errs = append(errs, fmt.Errorf("capabilities: there is no %q to exclude; there are %s", name, list(r.given)))
		}
		r.drop(name)
	}
	return errors.Join(errs...)
}

func (r *Registry) drop(name string) {
	delete(r.byName, name)
	r.given = slices.DeleteFunc(r.given, func(n string) bool { return n == name })
}

// take adds or overrides a capability, number n of the changes, unless it is broken.
func (r *Registry) take(n int, ch Change) error {
	if ch.c == nil {
		return fmt.Errorf("capabilities: capability %d must not be nil", n)
	}
	info := ch.c.Info()
	_, taken := r.byName[info.Name]
	switch {
	case info.Name == "":
		return fmt.Errorf("capabilities: capability %d must have a name", n)
	case taken && ch.what == "add":
		return fmt.Errorf("capabilities: the name %q is used twice", info.Name)
	case !taken && ch.what == "override":
		return fmt.Errorf("capabilities: there is no %q to override; there are %s", info.Name, list(r.given))
	}
	if err := check(ch.c, info); err != nil {
		if !info.Optional {
			return err
		}
		r.leftOut = append(r.leftOut, fmt.Sprintf("%v; it is optional and left out", err))
		r.drop(info.Name)
		return nil
	}
	if !taken {
		r.given = append(r.given, info.Name)
	}
	r.byName[info.Name] = ch.c
	return nil
}

// check returns all mistakes of one capability.
func check(c Capability, i Info) error {
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("capabilities: %q "+format, append([]any{i.Name}, args...)...))
	}
	if i.Description == "" {
		fail("has no description; planners choose by it")
	}
	if b, ok := c.(interface{ broken() bool }); ok && b.broken() {
		fail("has no function")
	}
	if m := i.constraint(); m != agent.Hard && m != agent.Soft {
		fail("has the constraint %q; it is hard or soft", m)
	}
	if err := i.Retry.Check(); err != nil {
		fail("has an invalid retry policy: %w", err)
	}
	if i.Parameters != nil {
		if err := resolves(i.Parameters); err != nil {
			fail("has an invalid schema of parameters: %w", err)
		}
	}
	if !slices.Contains([]Approval{NoApproval, AlwaysApproval, MemoryApproval}, i.Approval) {
		fail("has the approval %q, which does not exist", i.Approval)
	}
	if !slices.Contains([]Rejection{FailStep, SkipStep, Replan, EndTurn}, i.OnReject) {
		fail("has the rejection %q, which does not exist", i.OnReject)
	}
	for _, t := range slices.Concat(i.Requires, i.Provides) {
		if t == "" || strings.Contains(t, "/") {
			fail("names the type %q: %w", t, state.ErrContextName)
		}
	}
	return errors.Join(errs...)
}

// dropUnmet removes the optional capabilities that lack a provider, and then those that require
// them.
func (r *Registry) dropUnmet() {
	for {
		at := slices.IndexFunc(r.given, func(name string) bool {
			i := r.byName[name].Info()
			return i.Optional && len(r.unmet(i)) > 0
		})
		if at < 0 {
			return
		}
		name := r.given[at]
		r.leftOut = append(r.leftOut, fmt.Sprintf("capabilities: %q requires %s, which no capability provides; it is optional and left out", name, list(r.unmet(r.byName[name].Info()))))
		r.drop(name)
	}
}

// unmet returns the requirements without a provider. For soft requirements one provider is enough.
func (r *Registry) unmet(i Info) (missing []string) {
	for _, t := range i.Requires {
		if !slices.ContainsFunc(r.given, func(n string) bool { return slices.Contains(r.byName[n].Info().Provides, t) }) {
			missing = append(missing, t)
		}
	}
	if i.constraint() == agent.Soft && len(missing) < len(i.Requires) {
		return nil
	}
	return missing
}

// arrange orders the capabilities so that each comes after the providers of its requirements, and
// otherwise by name.
func (r *Registry) arrange() (errs []error) {
	provided := map[string]bool{}
	left := slices.Sorted(slices.Values(r.given))
	for {
		at := slices.IndexFunc(left, func(name string) bool { return ready(r.byName[name].Info(), provided) })
		if at < 0 {
			break
		}
		for _, t := range r.byName[left[at]].Info().Provides {
			provided[t] = true
		}
		r.order = append(r.order, left[at])
		left = slices.Delete(left, at, at+1)
	}
	for _, name := range left {
		for _, t := range r.unmet(r.byName[name].Info()) {
			errs = append(errs, fmt.Errorf("capabilities: %q requires %q, which no capability provides", name, t))
		}
	}
	if len(left) > 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("capabilities: %s wait for each other", strings.Join(left, ", ")))
	}
	return errs
}

func ready(i Info, provided map[string]bool) bool {
	has := func(t string) bool { return provided[t] }
	if i.constraint() == agent.Soft {
		return len(i.Requires) == 0 || slices.ContainsFunc(i.Requires, has)
	}
	return !slices.ContainsFunc(i.Requires, func(t string) bool { return !has(t) })
}

// Validate returns all mistakes that concern an agent: types that are not registered, and names of
// its nodes, such as router.
func (r *Registry) Validate(types *agent.Types, reserved ...string) error {
	var errs []error
	for _, name := range r.given {
		i := r.byName[name].Info()
		if slices.Contains(reserved, name) {
			errs = append(errs, fmt.Errorf("capabilities: %q is the name of a node of the agent", name))
		}
		for _, t := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(i.Requires, i.Provides)))) {
			if !types.Has(t) {
				errs = append(errs, fmt.Errorf("capabilities: %q: %w", name, &agent.UnknownTypeError{Type: t, Valid: types.Names()}))
			}
		}
	}
	return errors.Join(errs...)
}

// Warnings returns what was left out, and guides that are missing for a model.
func (r *Registry) Warnings() []string {
	all := slices.Clone(r.leftOut)
	for _, name := range r.given {
		i := r.byName[name].Info()
		if i.Plan == nil {
			all = append(all, fmt.Sprintf("capabilities: %q has no planning guide; a planner has to guess", name))
		}
		if i.Match == nil && !i.AlwaysActive {
			all = append(all, fmt.Sprintf("capabilities: %q has no matching guide; a classifier skips it", name))
		}
	}
	return all
}

// Names returns the names in an order in which each capability comes after the providers of its
// requirements.
func (r *Registry) Names() []string { return slices.Clone(r.order) }

// Get returns the capability with this name.
func (r *Registry) Get(name string) (c Capability, ok bool) {
	c, ok = r.byName[name]
	return c, ok
}

// Active returns the names of the capabilities of a turn, each once. They are the ones that are
// always active and then the chosen ones, in order of registration. A chosen name that does not
// exist is an error.
func (r *Registry) Active(chosen ...string) (names []string, err error) {
	for _, name := range chosen {
		if _, ok := r.byName[name]; !ok {
			err = errors.Join(err, fmt.Errorf("%w: %q; there are %s", ErrUnknown, name, list(r.given)))
		}
	}
	for _, always := range []bool{true, false} {
		for _, name := range r.given {
			if a := r.byName[name].Info().AlwaysActive; a == always && (a || slices.Contains(chosen, name)) {
				names = append(names, name)
			}
		}
	}
	return names, err
}

// Guided returns the infos of these capabilities for a prompt. They are ordered by the priority of
// their planning guides, and then by name. Capabilities without a guide come last.
func (r *Registry) Guided(names ...string) (infos []Info) {
	for _, name := range names {
		if c, ok := r.byName[name]; ok {
			infos = append(infos, c.Info())
		}
	}
	slices.SortStableFunc(infos, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Name, b.Name))
	})
	return infos
}

func (i Info) rank() int {
	if i.Plan == nil {
		return math.MaxInt
	}
	return i.Plan.Priority
}

// Rules returns the rules for a plan with these active capabilities. The caller adds what the
// registry does not know: Have, Types, Infrastructure, Terminal.
func (r *Registry) Rules(active ...string) agent.PlanRules {
	return agent.PlanRules{
		Active: active,
		Known:  func(name string) bool { _, ok := r.byName[name]; return ok },
		Provides: func(name string) []string {
			c, ok := r.byName[name]
			if !ok {
				return nil
			}
			return c.Info().Provides
		},
		Needs: func(name string) (agent.Mode, []string) {
			c, ok := r.byName[name]
			if !ok {
				return agent.Hard, nil
			}
			return c.Info().constraint(), c.Info().Requires
		},
	}
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
