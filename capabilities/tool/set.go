package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

// ErrTool is returned for a tool that cannot be part of a set.
var ErrTool = errors.New("tool: invalid tool")

var errAnswer = errors.New("this must be answered by a person")

// Set holds tools by name. It is immutable and safe for concurrent use.
type Set struct {
	tools   map[string]checked
	order   []string
	sources []*lazySource
	enabled func(ctx context.Context, name string) (bool, error)
	around  func(ctx context.Context, info Info, in Input, call func(context.Context) (Output, error)) (Output, error)
}

// checked is a tool with its schemas.
type checked struct {
	Tool
	info         Info
	args, answer *jsonschema.Resolved // answer may be nil
}

// NewSet returns a set, or an error that joins all mistakes: names that are used twice or that
// providers refuse, and invalid schemas.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{tools: map[string]checked{}}
	var errs []error
	for i, t := range tools {
		c, err := check(t)
		if err == nil && s.tools[c.info.Name].Tool != nil {
			err = errors.New("the name is used twice")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %d, %q: %w", ErrTool, i, c.info.Name, err))
			continue
		}
		s.tools[c.info.Name] = c
		s.order = append(s.order, c.info.Name)
	}
	return s, errors.Join(errs...)
}

// With returns a set that has more tools, or the errors of [NewSet]. A nil Set has none.
func (s *Set) With(tools ...Tool) (*Set, error) {
	if s == nil {
		return NewSet(tools...)
	}
	all := make([]Tool, 0, len(s.order)+len(tools))
	for _, name := range s.order {
		all = append(all, s.tools[name].Tool)
	}
	more, err := NewSet(append(all, tools...)...)
	more.sources = s.sources
	more.enabled, more.around = s.enabled, s.around
	return more, err
}

var names = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func check(t Tool) (c checked, err error) {
	if t == nil {
		return c, errors.New("it must not be nil")
	}
	c = checked{Tool: t, info: t.Info()}
	if own, ok := t.(interface{ broken() error }); ok && own.broken() != nil {
		return c, own.broken()
	}
	if !names.MatchString(c.info.Name) {
		return c, errors.New("the name must have 1 to 64 letters, digits, _ and -")
	}
	if !slices.Contains([]Mode{Free, Permit, Answer}, c.info.Mode) {
		return c, fmt.Errorf("there is no mode %q", c.info.Mode)
	}
	if c.info.Schema == nil {
		c.info.Schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if c.args, err = resolve(c.info.Schema); err != nil {
		return c, fmt.Errorf("the schema of the arguments: %w", err)
	}
	if c.info.Answer != nil {
		if c.answer, err = resolve(c.info.Answer); err != nil {
			return c, fmt.Errorf("the schema of the answer: %w", err)
		}
	}
	return c, nil
}

func resolve(schema json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// Enable returns a set of the same tools. A tool may be used only if ask returns true at the time
// of the call. An error of ask counts as false.
func (s *Set) Enable(ask func(ctx context.Context, name string) (bool, error)) *Set {
	own := *s
	own.enabled = ask
	return &own
}

// Around returns a set of the same tools. A function runs each of their calls: call calls the tool
// within its limits. If s has such a function too, call calls that one, which calls the tool.
func (s *Set) Around(run func(ctx context.Context, info Info, in Input, call func(context.Context) (Output, error)) (Output, error)) *Set {
	own := *s
	own.around = run
	if before := s.around; before != nil {
		own.around = func(ctx context.Context, info Info, in Input, call func(context.Context) (Output, error)) (Output, error) {
			return run(ctx, info, in, func(ctx context.Context) (Output, error) { return before(ctx, info, in, call) })
		}
	}
	return &own
}

// Only returns a set of the same tools, of which only those with these names may be used, and only
// if they may be used in s. The name of a source means all of its tools.
func (s *Set) Only(names ...string) *Set {
	before := s.enabled
	return s.Enable(func(ctx context.Context, name string) (bool, error) {
		if l := s.source(name); !slices.Contains(names, name) && (l == nil || !slices.Contains(names, l.Name())) {
			return false, nil
		}
		if before == nil {
			return true, nil
		}
		return before(ctx, name)
	})
}

// allowed returns why a tool may not be used now, or nil.
func (s *Set) allowed(ctx context.Context, name string) error {
	if s.enabled == nil {
		return nil
	}
	ok, err := s.enabled(ctx, name)
	switch {
	case err != nil:
		return fmt.Errorf("checking whether %q is enabled: %w", name, err)
	case !ok:
		return fmt.Errorf("the tool %q is not enabled", name)
	}
	return nil
}

// Names returns the names of the tools, in the order in which they were given, and then those of
// the sources.
func (s *Set) Names() []string {
	all := slices.Clone(s.order)
	for _, l := range s.sources {
		all = append(all, l.Name())
	}
	return all
}

// Info returns the Info of a tool. Those of sources are known after [Set.Load].
func (s *Set) Info(name string) (Info, bool) {
	c, ok := s.find(name)
	return c.info, ok
}

// Specs returns the enabled tools for a model. Those of sources are known after [Set.Load].
func (s *Set) Specs(ctx context.Context) (specs []model.Tool) {
	for _, name := range s.known() {
		if s.allowed(ctx, name) == nil {
			i, _ := s.Info(name)
			specs = append(specs, model.Tool{Name: i.Name, Description: i.Description, Schema: i.Schema})
		}
	}
	return specs
}

// Check returns the tool of a call and its arguments, or an error with a text for the model.
func (s *Set) Check(ctx context.Context, c message.Call) (Info, json.RawMessage, error) {
	if l := s.source(c.Name); l != nil {
		if err := s.load(ctx, l); err != nil {
			return Info{}, nil, err
		}
	}
	t, ok := s.find(c.Name)
	if !ok {
		return Info{}, nil, fmt.Errorf("there is no tool %q; there are: %s", c.Name, strings.Join(s.known(), ", "))
	}
	if err := s.allowed(ctx, c.Name); err != nil {
		return t.info, nil, err
	}
	args := c.Arguments
	if len(strings.TrimSpace(string(args))) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	if err := fits(t.args, args); err != nil {
		return t.info, nil, fmt.Errorf("the arguments of %q do not fit: %w; the schema is %s", c.Name, err, t.info.Schema)
	}
	return t.info, args, nil
}

func fits(schema *jsonschema.Resolved, data json.RawMessage) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("they must be JSON: %w", err)
	}
	if schema == nil {
		return nil
	}
	return schema.Validate(v)
}
