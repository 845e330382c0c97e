package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

type jsAgent struct {
	Messages  message.Log         `json:"messages"`
	Shared    state.Value[string] `json:"sharedStateValue"`
	Stored    state.Value[any]    `json:"sharedStateFromStoreConfig"`
	Interrupt state.Value[bool]   `json:"interrupt"`
	KeyOne    state.Value[string] `json:"keyOne"`
	KeyTwo    state.Value[string] `json:"keyTwo"`
	Sleep     state.Value[any]    `json:"sleep"`
}

type simpleAgent struct {
	Messages message.Log          `json:"messages"`
	KeyOne   state.Value[string]  `json:"key_one"`
	KeyTwo   state.Value[string]  `json:"key_two"`
	Sleep    state.Value[float64] `json:"sleep"`
}

// fakeModel answers each thread with its answers in turn.
type fakeModel struct {
	answers []string
	mu      sync.Mutex
	calls   map[string]int // by thread
}

func newModel(answers ...string) *fakeModel {
	return &fakeModel{answers: answers, calls: map[string]int{}}
}

// invoke streams the next answer to the thread of ctx, a character at a time.
func (m *fakeModel) invoke(ctx context.Context) (message.Message, error) {
	thread := settings(ctx).Thread
	m.mu.Lock()
	answer := m.answers[m.calls[thread]%len(m.answers)]
	m.calls[thread]++
	m.mu.Unlock()
	return stream(ctx, characters(answer), 0)
}

// settings returns the settings of the run of ctx.
func settings(ctx context.Context) server.Settings {
	s, _ := graph.Settings(ctx).(server.Settings) // none where a test runs a graph by itself
	return s
}

// configured returns a text of the configuration of the run of ctx; "" if there is none.
func configured(ctx context.Context, name string) (text string) {
	_ = json.Unmarshal(settings(ctx).Configurable[name], &text)
	return text
}

// addAgents adds the agents that the suites js and auth share.
func addAgents(b *builder) {
	b.config.Defaults = map[string]server.Defaults{
		"agent":          {Config: configOf("model_name", "openai")},
		"simple_runtime": {Context: objectOf("model", "unknown")},
	}
	addJSAgent(b)
	addSimpleAgent(b)
}

func addJSAgent(b *builder) {
	items, model := b.config.Memory, newModel("begin", "end")
	g := graph.New[jsAgent]("agent")
	g.Node("agent", graph.Func(func(ctx context.Context, s *jsAgent) error {
		if s.Interrupt.Get() {
			if _, err := graph.Ask[any](ctx, graph.Question{Data: "i want to interrupt"}); err != nil {
				return err
			}
		}
		if last, ok := s.Messages.Last(); ok && last.Role == message.RoleUser {
			if err := rest(ctx, s.Sleep.Get()); err != nil {
				return err
			}
		}
		m, err := model.invoke(ctx)
		if err != nil {
			return err
		}
		if s.Stored.Get() == nil {
			user := object{"id": configured(ctx, "user_id")}
			if _, err := items.Put(ctx, []string{"sharedState", "data"}, "user_id", encoded(user), memory.Options{}); err != nil {
				return err
			}
		}
		s.Interrupt.Set(false)
		return s.Messages.Add(m)
	}))
	g.Node("tool", graph.Func(func(ctx context.Context, s *jsAgent) error {
		stored, err := item(ctx, items, []string{"sharedState", "data"}, "user_id")
		if err != nil {
			return err
		}
		if stored != nil {
			s.Stored.Set(stored)
		}
		last, _ := s.Messages.Last()
		return s.Messages.Add(message.Tool(message.ResultOf("tool_call_id", "tool_call__"+last.Text())))
	}))
	g.Node("checkSharedState", graph.Func(func(ctx context.Context, _ *jsAgent) error {
		stored, err := item(ctx, items, []string{"inputtedState", "data"}, "my_key")
		if err == nil && stored["isTrue"] != true {
			err = &namedError{"Error", "Value is not true"}
		}
		return err
	}))
	g.Edge(graph.Start, "agent")
	g.Branch("agent", func(_ context.Context, s *jsAgent) (graph.Command, error) {
		last, _ := s.Messages.Last()
		switch first := s.Messages.At(0).Text(); {
		case first == "should_end":
			return graph.Goto(graph.End), nil
		case first == "___check_state_value":
			return graph.Goto("checkSharedState"), nil
		case last.Text() == "end":
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("tool"), nil
	}, "tool", "checkSharedState", graph.End)
	g.Edge("tool", "agent")
	g.Edge("checkSharedState", graph.End)
	add(b, "agent", g, graph.Config{Schemas: agentSchemas})
}

// rest waits as the input asks: so many seconds, or in steps of milliseconds that it reports.
func rest(ctx context.Context, how any) error {
	switch how := how.(type) {
	case float64:
		return sleep(ctx, time.Duration(how*float64(time.Second)))
	case object:
		steps, _ := how["steps"].(float64)
		ms, _ := how["ms"].(float64)
		for i := range int(steps) {
			if err := graph.Emit(ctx, object{"type": "sleep", "step": i}); err != nil {
				return err
			}
			if err := sleep(ctx, time.Duration(ms*float64(time.Millisecond))); err != nil {
				return err
			}
		}
	}
	return nil
}

// item returns an item of the memory; nil if there is none.
func item(ctx context.Context, items memory.Store, namespace []string, key string) (v object, err error) {
	i, err := items.Get(ctx, namespace, key)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(i.Value, &v)
	}
	return v, err
}

const baseMessage = "BaseMessage<MessageStructure<MessageToolSet>,MessageType>"

var agentSchemas = graph.Schemas{
	State: encoded(object{
		"$schema": draft7, "type": "object",
		"properties": object{"messages": object{"type": "array", "items": object{"$ref": "#/definitions/" + baseMessage}}},
		"definitions": object{baseMessage: object{
			"description": "Base class for all types of messages in a conversation. It includes properties like `content`, `name`, and `additional_kwargs`. It also includes methods like `toDict()` and `_getType()`.",
			"oneOf":       []object{{"$ref": "#/definitions/RemoveMessage"}},
		}},
	}),
	Settings: encoded(object{"$schema": draft7, "type": "object", "properties": object{"model_name": object{"type": "string"}}}),
}

func addSimpleAgent(b *builder) {
	items, model := b.config.Memory, newModel("begin", "end\u2028")
	g := graph.New[simpleAgent]("agent_simple")
	g.Node("agent", graph.Func(func(ctx context.Context, s *simpleAgent) error {
		if header := configured(ctx, "x-configurable-header"); header != "" {
			return s.Messages.Add(message.User("end: " + header))
		}
		namespace := []string{"ALL"}
		if who := settings(ctx).Identity.Name; who != "" {
			namespace = []string{who}
		}
		stored, err := item(ctx, items, namespace, "key_one")
		if err != nil {
			return err
		}
		if last, ok := s.Messages.Last(); ok && stored == nil {
			if _, err := items.Put(ctx, namespace, "key_one", encoded(object{"text": last.Text()}), memory.Options{}); err != nil {
				return err
			}
		}
		m, err := model.invoke(ctx)
		if err != nil {
			return err
		}
		return s.Messages.Add(m)
	}))
	g.Node("tool", graph.Worker(func(_ context.Context, s *simpleAgent, last string) error {
		return s.Messages.Add(message.Tool(message.ResultOf("tool_call_id", "tool_call__"+last)))
	}))
	g.Edge(graph.Start, "agent")
	g.Branch("agent", func(_ context.Context, s *simpleAgent) (graph.Command, error) {
		last, _ := s.Messages.Last()
		if strings.HasPrefix(last.Text(), "end") {
			return graph.Goto(graph.End), nil
		}
		return new(graph.Command).Send("tool", last.Text()), nil
	}, "tool", graph.End)
	g.Edge("tool", "agent")
	add(b, "agent_simple", g, graph.Config{})
}
