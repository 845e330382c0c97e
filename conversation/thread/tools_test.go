package thread_test

import (
	"testing"

	"github.com/weftrun/weft/conversation/thread"
)

func TestIsToolEnabled_Listed(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	for tool, want := range map[string]bool{"dice": true, "map": true, "Dice": false, "dic": false, "": false} {
		p.Same("a tool is enabled if it is listed: "+tool, s.IsToolEnabled(p.Context(), "t1", tool), want)
	}
	p.quiet("asking for a tool loads the thread", func() { p.load(s, "t1") })
}

// Requirement: a disabled tool is offered to the model
func TestIsToolEnabled_NotListed(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	for _, c := range []thread.Config{{}, {"enabledTools": []string{}}, {"enabledTools": nil}, {"enabledTools": []string{"map"}}} {
		p.Done("set", s.SetConfig(p.Context(), "t1", c))
		p.Same("a tool that is not listed is not enabled", s.IsToolEnabled(p.Context(), "t1", "dice"), false)
		p.silent("a tool that is not listed")
	}
	for _, c := range []thread.Config{{"enabledTools": "dice"}, {"enabledTools": map[string]any{"dice": true}}, {"enabledTools": []any{"dice", 1}}} {
		p.Done("set", s.SetConfig(p.Context(), "t1", c))
		p.Same("an invalid list enables no tool", s.IsToolEnabled(p.Context(), "t1", "dice"), false)
		p.warned("an invalid list", "enabledTools")
	}
}

func TestIsToolEnabled_Failures(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	p.Same("the tools of an unknown thread are disabled", s.IsToolEnabled(p.Context(), "unknown", "dice"), false)
	p.warned("with one warning", "unknown", "dice", "SetConfig")
	p.Same("the tools of no thread are disabled", s.IsToolEnabled(p.Context(), "", "dice"), false)
	p.warned("with one warning", "dice", "empty")
	defer p.down()()
	p.Same("tools that cannot be asked for are disabled", s.IsToolEnabled(p.Context(), "t1", "dice"), false)
	p.warned("with one warning", "t1", "dice", "down")
}

func TestTools_Enable(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	th := p.load(s, "t1")
	p.quiet("an empty call is rejected without a call of the store", func() {
		p.Fails("an empty thread id is rejected", s.EnableTools(p.Context(), "", "x"), thread.ErrThreadID)
		p.Fails("an empty list is rejected", s.EnableTools(p.Context(), "t1"), thread.ErrTools)
	})
	p.Fails("an unknown thread is not found", s.EnableTools(p.Context(), "unknown", "x"), thread.ErrThreadNotFound)
	p.Done("enable", s.EnableTools(p.Context(), "t1", "rope", "dice", "rope", "axe"))
	p.Same("the list is a union in order", tools(p, s), "[dice map rope axe]")
	p.Same("the session has it", th.Config["enabledTools"], "[dice map rope axe]")
	p.Same("other values stay", th.Config["historyLimit"], 20)
	fresh, err := p.repo().Config(p.Context(), "t1")
	p.Done("the configuration can be read", err)
	p.Same("and so has the store", fresh["enabledTools"], "[dice map rope axe]")
	p.Done("set", s.SetConfig(p.Context(), "t1", thread.Config{}))
	p.Done("enable", s.EnableTools(p.Context(), "t1", "axe"))
	p.Same("a list is made where there is none", tools(p, s), "[axe]")
	p.Done("set", s.SetConfig(p.Context(), "t1", thread.Config{"enabledTools": 7}))
	p.Fails("an invalid list is not changed", s.EnableTools(p.Context(), "t1", "axe"), thread.ErrConfig)
}

func TestTools_Disable(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	p.Fails("an empty thread id is rejected", s.DisableTools(p.Context(), "", "x"), thread.ErrThreadID)
	p.Fails("an empty list is rejected", s.DisableTools(p.Context(), "t1"), thread.ErrTools)
	p.Fails("an unknown thread is not found", s.DisableTools(p.Context(), "unknown", "x"), thread.ErrThreadNotFound)
	p.Done("enable", s.EnableTools(p.Context(), "t1", "rope"))
	p.Done("disable", s.DisableTools(p.Context(), "t1", "map", "unknown"))
	p.Same("the others keep their order", tools(p, s), "[dice rope]")
	p.Same("a disabled tool is disabled", s.IsToolEnabled(p.Context(), "t1", "map"), false)
}

func TestTools_Enabled(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	_, err := s.EnabledTools(p.Context(), "")
	p.Fails("an empty thread id is rejected", err, thread.ErrThreadID)
	_, err = s.EnabledTools(p.Context(), "unknown")
	p.Fails("an unknown thread is not found", err, thread.ErrThreadNotFound)
	p.Same("the tools of a thread", tools(p, s), "[dice map]")
	p.Done("set", s.SetConfig(p.Context(), "t1", thread.Config{}))
	list, err := s.EnabledTools(p.Context(), "t1")
	p.Same("no list is an empty list", []any{list != nil, len(list), err}, "[true 0 <nil>]")
}

func tools(p *probe, s *session) []string {
	p.Helper()
	list, err := s.EnabledTools(p.Context(), "t1")
	p.Done("the tools can be read", err)
	return list
}
