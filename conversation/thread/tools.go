package thread

import (
	"context"
	"slices"
)

// IsToolEnabled reports whether the configuration of a thread lists a tool. If the configuration
// cannot be read, it logs a warning and returns false.
func (s *Session[S]) IsToolEnabled(ctx context.Context, thread, tool string) bool {
	tools, err := s.EnabledTools(ctx, thread)
	if err != nil {
		s.log.WarnContext(ctx, "thread: a tool is disabled because the configuration cannot be read", "thread", thread, "tool", tool, "error", err)
		return false
	}
	return slices.Contains(tools, tool)
}

// EnabledTools returns the tools that the configuration of a thread lists.
func (s *Session[S]) EnabledTools(ctx context.Context, thread string) ([]string, error) {
	c, err := s.config(ctx, thread)
	if err != nil {
		return nil, err
	}
	return c.Tools()
}

// EnableTools adds tools to the list of a thread, in their order, each once. It is atomic and does
// not drop tools that another process enables at the same time.
func (s *Session[S]) EnableTools(ctx context.Context, thread string, tools ...string) error {
	return s.editTools(ctx, thread, tools, func(list []string) []string {
		union := []string{}
		for _, tool := range slices.Concat(list, tools) {
			if !slices.Contains(union, tool) {
				union = append(union, tool)
			}
		}
		return union
	})
}

// DisableTools removes tools from the list of a thread. The others keep their order. Unknown tools
// are ignored.
func (s *Session[S]) DisableTools(ctx context.Context, thread string, tools ...string) error {
	return s.editTools(ctx, thread, tools, func(list []string) []string {
		return slices.DeleteFunc(list, func(tool string) bool { return slices.Contains(tools, tool) })
	})
}

func (s *Session[S]) editTools(ctx context.Context, thread string, named []string, change func([]string) []string) error {
	if err := s.enter(thread); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if len(named) == 0 {
		return ErrTools
	}
	c, err := s.repo.EditConfig(ctx, thread, func(c Config) error {
		list, err := c.Tools()
		if err == nil {
			c[enabledTools] = change(list)
		}
		return err
	})
	if err != nil {
		return err
	}
	if e := s.loaded[thread]; e != nil {
		e.thread.Config = c
	}
	return nil
}
