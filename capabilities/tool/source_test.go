package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/state/message"
)

// rack is a source of tools that do nothing.
type rack struct {
	name  string
	tools []string
	err   error
}

func (r rack) Name() string { return r.name }

func (r rack) Tools(context.Context) ([]tool.Tool, error) {
	var tools []tool.Tool
	for _, name := range r.tools {
		tools = append(tools, idle(name))
	}
	return tools, r.err
}

func idle(name string) tool.Tool {
	return tool.Func(tool.Info{Name: name, Description: name}, func(context.Context, struct{}) (string, error) { return "", nil })
}

func TestSources_LongestNameHasTheTool(t *testing.T) {
	plain, err := tool.NewSet(idle("web_plain"))
	if err != nil {
		t.Fatal(err)
	}
	down := errors.New("the server is down")
	s := plain.WithSources(rack{name: "web", tools: []string{"web_find"}}, rack{name: "web_search", tools: []string{"web_search_find"}})
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"web": "web_find", "web_search": "web_search_find", "web_plain": "web_plain"} {
		var got []string
		for _, spec := range s.Only(name).Specs(t.Context()) {
			got = append(got, spec.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Only(%q) has the tools %q, want %q", name, got, want)
		}
		if _, _, err := s.Check(t.Context(), message.Call{ID: "1", Name: want}); err != nil {
			t.Errorf("Check of %s: %v", want, err)
		}
	}
	off := plain.WithSources(rack{name: "web", err: down})
	if _, _, err := off.Check(t.Context(), message.Call{ID: "1", Name: "web_plain"}); err != nil {
		t.Errorf("a tool of no source needs no source: %v", err)
	}
	if _, _, err := off.Check(t.Context(), message.Call{ID: "1", Name: "web_find"}); !errors.Is(err, down) {
		t.Errorf("got %v, want the error of the source", err)
	}
}

func TestSources_NamesThatClashAreRefused(t *testing.T) {
	plain, err := tool.NewSet(idle("web_find"))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*tool.Set{
		"a tool of the set":      plain.WithSources(rack{name: "web", tools: []string{"web_find"}}),
		"a tool of another one":  (*tool.Set)(nil).WithSources(rack{name: "web", tools: []string{"web_search_find"}}, rack{name: "web_search"}),
		"two sources of a name":  (*tool.Set)(nil).WithSources(rack{name: "web"}, rack{name: "web", tools: []string{"web_find"}}),
		"a name without prefix":  (*tool.Set)(nil).WithSources(rack{name: "web", tools: []string{"find"}}),
		"one name for two tools": (*tool.Set)(nil).WithSources(rack{name: "web", tools: []string{"web_find", "web_find"}}),
	} {
		if err := s.Load(t.Context()); !errors.Is(err, tool.ErrTool) || !strings.Contains(err.Error(), `"web"`) {
			t.Errorf("%s: got %v, want an ErrTool that names the source", name, err)
		}
	}
}
