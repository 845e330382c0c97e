package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// Tools returns the tools of a set, whose calls a [Recorder] of their context records or replays.
// Without a Recorder they are those of the set. What a tool does, such as the calls of a workflow,
// is not recorded: a replayed tool does not run.
func Tools(set *tool.Set) *tool.Set {
	if set == nil {
		return nil
	}
	return set.Around(func(ctx context.Context, info tool.Info, in tool.Input, do func(context.Context) (tool.Output, error)) (tool.Output, error) {
		r := of(ctx)
		if r == nil {
			return do(ctx)
		}
		request, err := parseJSON(in.Arguments)
		if err != nil {
			return nil, fmt.Errorf("recording: the arguments of %s: %w", info.Name, err)
		}
		old, m, err := r.begin(ctx, kindTool, info.Name, request)
		if err != nil {
			return nil, err
		}
		if old != nil {
			return old.returns(ctx)
		}
		out, err := do(without(ctx))
		if errors.Is(err, graph.ErrInterrupted) {
			r.drop(m)
			r.refuse(&AskError{m.node, m.String()})
			return out, err
		}
		if err != nil {
			r.end(m, outcome{nil, errorValue(ctx, err)})
			return out, err
		}
		result, jerr := valueOf([]message.Part(out))
		if jerr != nil {
			r.refuse(fmt.Errorf("recording: the result of %s has no JSON: %w", info.Name, jerr))
			return out, nil
		}
		if out == nil {
			result = &value{kind: list}
		}
		if len(out) == 1 && out[0].Type == message.TypeText && out[0].Extra == nil {
			result = textOf(out[0].Text)
		}
		r.end(m, outcome{result, nil})
		return out, nil
	})
}

// output returns the recorded result of a tool.
func (c *call) output() (out tool.Output, err error) {
	if c.result.kind == text {
		return tool.Text(c.result.text), nil
	}
	var parts []message.Part
	err = into(c.result, &parts)
	return parts, err
}

// returns returns the recorded result or error of a tool.
func (c *call) returns(ctx context.Context) (tool.Output, error) {
	if c.err != nil {
		return nil, c.fails(ctx)
	}
	return c.output()
}

// Source returns a source of tools whose list a [Recorder] of the context records or replays, so
// that a replay does not ask the server for it. Without a Recorder it is the source.
func Source(s tool.Source) tool.Source { return source{s} }

type source struct{ tool.Source }

// Tools implements [tool.Source].
func (s source) Tools(ctx context.Context) ([]tool.Tool, error) {
	r := of(ctx)
	if r == nil {
		return s.Source.Tools(ctx)
	}
	if old := r.list(s.Name()); old != nil {
		infos, err := old.infos()
		if err != nil {
			return nil, err
		}
		all := make([]tool.Tool, len(infos))
		for i, info := range infos {
			all[i] = listed{info.of(), s}
		}
		return all, nil
	}
	if !r.o.Record {
		return nil, r.missing(s.Name())
	}
	all, err := s.Source.Tools(without(ctx))
	if err != nil {
		return nil, err // a list is recorded when it is there
	}
	infos := make([]listedInfo, len(all))
	for i, t := range all {
		infos[i] = listing(t.Info())
	}
	v, err := valueOf(infos)
	if err != nil {
		return nil, fmt.Errorf("recording: the tools of %s: %w", s.Name(), err)
	}
	r.add(s.Name(), v)
	return all, nil
}

// listed is a tool of a recorded list. It is called if another call than the recorded ones is made
// while recording.
type listed struct {
	info tool.Info
	from source
}

// Info implements [tool.Tool].
func (t listed) Info() tool.Info { return t.info }

// Call implements [tool.Tool].
func (t listed) Call(ctx context.Context, in tool.Input) (tool.Output, error) {
	all, err := t.from.Source.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, own := range all {
		if own.Info().Name == t.info.Name {
			return own.Call(ctx, in)
		}
	}
	return nil, fmt.Errorf("%s does not have the recorded tool %q any more", t.from.Name(), t.info.Name)
}

// listedInfo is a [tool.Info] as it is recorded.
type listedInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Mode        tool.Mode       `json:"mode,omitempty"`
	Prompt      string          `json:"prompt,omitempty"`
	Answer      json.RawMessage `json:"answer,omitempty"`
	Within      string          `json:"within,omitempty"`
	Timeout     string          `json:"timeout,omitempty"`
	MaxResult   int             `json:"max_result,omitempty"`
	Direct      bool            `json:"direct,omitempty"`
}

func listing(i tool.Info) listedInfo {
	l := listedInfo{Name: i.Name, Description: i.Description, Schema: i.Schema, Mode: i.Mode, Prompt: i.Prompt, Answer: i.Answer, MaxResult: i.MaxResult, Direct: i.Direct}
	if i.Within > 0 {
		l.Within = i.Within.String()
	}
	if i.Timeout > 0 {
		l.Timeout = i.Timeout.String()
	}
	return l
}

func (l listedInfo) of() tool.Info {
	i := tool.Info{Name: l.Name, Description: l.Description, Schema: l.Schema, Mode: l.Mode, Prompt: l.Prompt, Answer: l.Answer, MaxResult: l.MaxResult, Direct: l.Direct}
	i.Within, _ = time.ParseDuration(l.Within) // infos has checked both
	i.Timeout, _ = time.ParseDuration(l.Timeout)
	return i
}

// infos returns a recorded list.
func (c *call) infos() (all []listedInfo, err error) {
	if err := into(c.result, &all); err != nil {
		return nil, err
	}
	for _, l := range all {
		for _, d := range []string{l.Within, l.Timeout} {
			if _, err := time.ParseDuration(d); d != "" && err != nil {
				return nil, &FileError{Line: c.result.line, Reason: err.Error()}
			}
		}
	}
	return all, nil
}

// list returns the recorded tools of a source, of the file or of this run, or nil.
func (r *Recorder) list(name string) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.lists[name]; m != nil {
		return m.call
	}
	for _, old := range r.old {
		if old.kind == kindTools && old.name == r.clean(name) {
			m := &made{call: &call{index: -1, kind: kindTools, name: old.name, outcome: old.outcome}, done: true, reused: true}
			r.lists[name] = m
			r.made = append(r.made, m)
			return old
		}
	}
	return nil
}

// add records the tools of a source, unless another task has: several may ask for them at once.
func (r *Recorder) add(name string, v *value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lists[name] != nil {
		return
	}
	m := &made{call: &call{index: -1, kind: kindTools, name: r.clean(name)}, order: len(r.made) + len(r.differ)}
	if r.ended(m, outcome{v, nil}) {
		r.lists[name] = m
		r.made = append(r.made, m)
	}
}

// missing notes that the tools of a source are not recorded.
func (r *Recorder) missing(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := &Difference{Path: r.path, Number: 1, Call: "list of tools of " + name}
	r.differ = append(r.differ, &found{Difference: d, order: len(r.made) + len(r.differ)})
	return d
}
