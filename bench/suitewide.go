package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// event is what the lists of the wide states hold: a JSON object of objects of arrays.
type event = map[string]any

// wide is a state of 15 fields of which every step writes some.
type wide struct {
	Messages        state.List[event]      `json:"messages"`
	TriggerEvents   state.List[event]      `json:"trigger_events"`
	Medium          state.Value[string]    `json:"primary_issue_medium"`
	Autoresponse    state.Value[event]     `json:"autoresponse"`
	Issue           state.Value[event]     `json:"issue"`
	RelevantRules   state.Value[[]event]   `json:"relevant_rules"`
	MemoryDocs      state.Value[[]event]   `json:"memory_docs"`
	Categorizations state.List[event]      `json:"categorizations"`
	Responses       state.List[event]      `json:"responses"`
	UserInfo        state.Value[event]     `json:"user_info"`
	CRMInfo         state.Value[event]     `json:"crm_info"`
	EmailThread     state.Value[string]    `json:"email_thread_id"`
	Slack           state.Map[string, any] `json:"slack_participants"`
	Bot             state.Value[string]    `json:"bot_id"`
	Notified        state.Map[string, any] `json:"notified_assignees"`
}

// wideEvent returns the event of a size, and how many of them the lists have in the end.
func wideEvent(n int) (e event, messages, responses int) {
	outer, inner := 2, 2
	switch n {
	case 300:
		outer, inner = 5, 5
	case 600:
		outer, inner = 3, 5
	case 1200:
		outer, inner = 3, 3
	}
	e = event{}
	for i := range outer {
		in := event{}
		for j := range inner {
			var all []any
			for range 5 {
				all = append(all, strings.Repeat("hi?", 10), true, int64(1), int64(6327816386138), nil)
			}
			in[strings.Repeat(fmt.Sprint(j), 10)] = all
		}
		e[strings.Repeat(fmt.Sprint(i), 10)] = in
	}
	messages = 1
	for triggers := 0; messages <= n; {
		triggers += messages
		responses += triggers
		messages += responses
	}
	return e, messages, responses
}

// wideEdges adds the edges of both graphs; more reports whether messages are missing.
func wideEdges[S any](b *graph.Builder[S], more func(*S) bool) {
	b.Edge(graph.Start, "one")
	b.Edge("one", "two")
	b.Edge("two", "three")
	b.Edge("two", "four")
	b.Join("five", "three", "four")
	b.Edge("five", "six")
	b.Branch("six", func(_ context.Context, s *S) (graph.Command, error) {
		if more(s) {
			return graph.Goto("one"), nil
		}
		return graph.Goto(graph.End), nil
	}, "one", graph.End)
}

// merge puts all of e.
func merge(m *state.Map[string, any], e event) {
	for k, v := range e {
		m.Put(k, v)
	}
}

func wideState(n int, k keeping) (Job, error) {
	e, messages, responses := wideEvent(n)
	id := strings.Repeat("q", n)
	b := graph.New[wide]("wide")
	node := func(name string, fn func(s *wide)) {
		b.Node(name, graph.Func(func(_ context.Context, s *wide) error { fn(s); return nil }))
	}
	node("one", func(s *wide) { s.TriggerEvents.Append(s.Messages.Slice()...); s.Medium.Set(id) })
	node("two", func(s *wide) {
		last, _ := s.TriggerEvents.Last()
		s.Autoresponse.Set(last)
		s.Issue.Set(last)
	})
	node("three", func(s *wide) { s.RelevantRules.Set([]event{s.Autoresponse.Get()}) })
	node("four", func(s *wide) {
		all := s.TriggerEvents.Slice()
		s.Categorizations.Append(all...)
		s.Responses.Append(all...)
		s.MemoryDocs.Set(all)
	})
	node("five", func(s *wide) {
		last, _ := s.Categorizations.Last()
		s.UserInfo.Set(last)
		s.CRMInfo.Set(last)
		s.EmailThread.Set(id)
		merge(&s.Slack, last)
		s.Bot.Set(id)
		merge(&s.Notified, last)
	})
	node("six", func(s *wide) { s.Messages.Append(s.Responses.Slice()...) })
	wideEdges(b, func(s *wide) bool { return s.Messages.Len() <= n })
	return stored(b, k, func() wide { return wide{Messages: state.ListOf(e)} }, func(s *wide) error {
		last, _ := s.Messages.Last()
		if !reflect.DeepEqual(last, e) || !reflect.DeepEqual(s.UserInfo.Get(), e) {
			return wrong(last, e)
		}
		return firstOf(is(s.Messages.Len(), messages), is(s.Responses.Len(), responses), is(s.Bot.Get(), id), is(s.Slack.Len(), len(e)))
	})
}

// firstOf returns the first error that is one.
func firstOf(errs ...error) error {
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// wideShape is the state of wideDict, whose fields have names and no Go types.
func wideShape() (*record.Shape, error) {
	var fields []record.Field
	for _, f := range []struct {
		kind  state.Kind
		typ   string
		names string
	}{
		{state.KindList, "list<any>", "messages trigger_events categorizations responses"},
		{state.KindMap, "map<any>", "slack_participants notified_assignees"},
		{state.KindValue, "any", "autoresponse issue relevant_rules memory_docs user_info crm_info"},
		{state.KindValue, "string", "primary_issue_medium email_thread_id bot_id"},
	} {
		typ, err := record.ParseType(f.typ, nil)
		if err != nil {
			return nil, err
		}
		for _, name := range strings.Fields(f.names) {
			fields = append(fields, record.Field{Name: name, Kind: f.kind, Type: typ})
		}
	}
	return record.NewShape(fields...)
}

// wideDict is wideState with a record.Record, as graphs in YAML have it.
func wideDict(n int, k keeping) (Job, error) {
	shape, err := wideShape()
	if err != nil {
		return Job{}, err
	}
	e, messages, responses := wideEvent(n)
	id := strings.Repeat("q", n)
	b := graph.NewRecord("wide", shape)
	node := func(name, read string, write ...string) {
		b.Node(name, graph.Func(func(_ context.Context, s *record.Record) error {
			v, _ := s.Get(read)
			return writeWide(s, v, id, write)
		}))
	}
	node("one", "messages", "trigger_events", "primary_issue_medium")
	node("two", "trigger_events", "autoresponse", "issue")
	node("three", "autoresponse", "relevant_rules")
	node("four", "trigger_events", "categorizations", "responses", "memory_docs")
	node("five", "categorizations", "user_info", "crm_info", "email_thread_id", "slack_participants", "bot_id", "notified_assignees")
	node("six", "responses", "messages")
	wideEdges(b, func(s *record.Record) bool { return lengthOf(s, "messages") <= n })
	in := shape.New()
	if err := in.Write("messages", []any{e}); err != nil {
		return Job{}, err
	}
	return stored(b, k, func() record.Record { return in }, func(s *record.Record) error {
		v, _ := s.Get("messages")
		all, _ := v.([]any)
		if len(all) == 0 || !reflect.DeepEqual(all[len(all)-1], any(e)) {
			return wrong(len(all), messages)
		}
		bot, _ := s.Get("bot_id")
		return firstOf(is(len(all), messages), is(lengthOf(s, "responses"), responses), is(bot, any(id)))
	})
}

func lengthOf(s *record.Record, name string) int {
	v, _ := s.Get(name)
	all, _ := v.([]any)
	return len(all)
}

// writeWide writes the value read: the whole to lists, the last item to objects, and a text to
// other fields.
func writeWide(s *record.Record, read any, text string, names []string) error {
	all, ok := read.([]any)
	if !ok {
		all = []any{read}
	}
	for _, name := range names {
		var v any
		switch name {
		case "messages", "trigger_events", "categorizations", "responses", "memory_docs", "relevant_rules":
			v = all
		case "user_info", "crm_info", "slack_participants", "notified_assignees", "autoresponse", "issue":
			v = all[len(all)-1]
		default:
			v = text
		}
		if err := s.Write(name, v); err != nil {
			return err
		}
	}
	return nil
}
