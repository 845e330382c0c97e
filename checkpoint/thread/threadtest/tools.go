package threadtest

import (
	"github.com/weftrun/weft/checkpoint/thread"
)

var toolRows = []row{
	{"SM11", func(p *probe) {
		s := p.begin(thread.Implicit)
		for tool, want := range map[string]bool{"dice": true, "map": true, "Dice": false, "dic": false, "": false} {
			p.same("a tool is enabled if it is listed: "+tool, s.IsToolEnabled(p.Context(), "t1", tool), want)
		}
		p.quiet("asking for a tool loads the thread", func() { p.load(s, "t1") })
	}},
	{"SM12", func(p *probe) {
		s := p.begin(thread.Explicit)
		for _, c := range []thread.Config{{}, {"enabledTools": []string{}}, {"enabledTools": nil}, {"enabledTools": []string{"map"}}} {
			p.done("set", s.SetConfig(p.Context(), "t1", c))
			p.same("a tool that is not listed is not enabled", s.IsToolEnabled(p.Context(), "t1", "dice"), false)
			p.silent("a tool that is not listed")
		}
		for _, c := range []thread.Config{{"enabledTools": "dice"}, {"enabledTools": map[string]any{"dice": true}}, {"enabledTools": []any{"dice", 1}}} {
			p.done("set", s.SetConfig(p.Context(), "t1", c))
			p.same("a list that is none enables nothing", s.IsToolEnabled(p.Context(), "t1", "dice"), false)
			p.warned("a list that is none is told", "enabledTools")
		}
	}},
	{"SM13", func(p *probe) {
		s := p.begin(thread.Explicit)
		p.same("the tools of a thread that nobody made are disabled", s.IsToolEnabled(p.Context(), "nobody", "dice"), false)
		p.warned("with one warning", "nobody", "dice", "SetConfig")
		p.same("the tools of no thread are disabled", s.IsToolEnabled(p.Context(), "", "dice"), false)
		p.warned("with one warning", "dice", "empty")
		defer p.down()()
		p.same("tools that cannot be asked for are disabled", s.IsToolEnabled(p.Context(), "t1", "dice"), false)
		p.warned("with one warning", "t1", "dice", "down")
	}},
	{"SM45", func(p *probe) {
		s := p.begin(thread.Implicit)
		t := p.load(s, "t1")
		p.quiet("what enables nothing is refused at once", func() {
			p.fails("an empty thread id is refused", s.EnableTools(p.Context(), "", "x"), thread.ErrThreadID)
			p.fails("an empty list is refused", s.EnableTools(p.Context(), "t1"), thread.ErrTools)
		})
		p.fails("a thread that nobody made is not found", s.EnableTools(p.Context(), "nobody", "x"), thread.ErrThreadNotFound)
		p.done("enable", s.EnableTools(p.Context(), "t1", "rope", "dice", "rope", "axe"))
		p.same("the list is a union in order", tools(p, s), "[dice map rope axe]")
		p.same("the session has it", t.Config["enabledTools"], "[dice map rope axe]")
		p.same("other values stay", t.Config["historyLimit"], 20)
		fresh, err := p.repo().Config(p.Context(), "t1")
		p.done("the configuration can be read", err)
		p.same("and so has the store", fresh["enabledTools"], "[dice map rope axe]")
		p.done("set", s.SetConfig(p.Context(), "t1", thread.Config{}))
		p.done("enable", s.EnableTools(p.Context(), "t1", "axe"))
		p.same("a list is made where there is none", tools(p, s), "[axe]")
		p.done("set", s.SetConfig(p.Context(), "t1", thread.Config{"enabledTools": 7}))
		p.fails("what is no list is left alone", s.EnableTools(p.Context(), "t1", "axe"), thread.ErrConfig)
	}},
	{"SM46", func(p *probe) {
		s := p.begin(thread.Implicit)
		p.fails("an empty thread id is refused", s.DisableTools(p.Context(), "", "x"), thread.ErrThreadID)
		p.fails("an empty list is refused", s.DisableTools(p.Context(), "t1"), thread.ErrTools)
		p.fails("a thread that nobody made is not found", s.DisableTools(p.Context(), "nobody", "x"), thread.ErrThreadNotFound)
		p.done("enable", s.EnableTools(p.Context(), "t1", "rope"))
		p.done("disable", s.DisableTools(p.Context(), "t1", "map", "unknown"))
		p.same("the others keep their order", tools(p, s), "[dice rope]")
		p.same("a disabled tool is disabled", s.IsToolEnabled(p.Context(), "t1", "map"), false)
	}},
	{"SM47", func(p *probe) {
		s := p.begin(thread.Explicit)
		_, err := s.EnabledTools(p.Context(), "")
		p.fails("an empty thread id is refused", err, thread.ErrThreadID)
		_, err = s.EnabledTools(p.Context(), "nobody")
		p.fails("a thread that nobody made is not found", err, thread.ErrThreadNotFound)
		p.same("the tools of a thread", tools(p, s), "[dice map]")
		p.done("set", s.SetConfig(p.Context(), "t1", thread.Config{}))
		list, err := s.EnabledTools(p.Context(), "t1")
		p.same("no list is an empty list", []any{list != nil, len(list), err}, "[true 0 <nil>]")
	}},
}

func tools(p *probe, s *session) []string {
	p.Helper()
	list, err := s.EnabledTools(p.Context(), "t1")
	p.done("the tools can be read", err)
	return list
}
