package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// fields100 is a state of 100 counters.
type fields100 struct {
	C00, C01, C02, C03, C04, C05, C06, C07, C08, C09 state.Value[int]
	C10, C11, C12, C13, C14, C15, C16, C17, C18, C19 state.Value[int]
	C20, C21, C22, C23, C24, C25, C26, C27, C28, C29 state.Value[int]
	C30, C31, C32, C33, C34, C35, C36, C37, C38, C39 state.Value[int]
	C40, C41, C42, C43, C44, C45, C46, C47, C48, C49 state.Value[int]
	C50, C51, C52, C53, C54, C55, C56, C57, C58, C59 state.Value[int]
	C60, C61, C62, C63, C64, C65, C66, C67, C68, C69 state.Value[int]
	C70, C71, C72, C73, C74, C75, C76, C77, C78, C79 state.Value[int]
	C80, C81, C82, C83, C84, C85, C86, C87, C88, C89 state.Value[int]
	C90, C91, C92, C93, C94, C95, C96, C97, C98, C99 state.Value[int]
}

// addAll adds one to each counter.
func (s *fields100) addAll() {
	for _, v := range [...]*state.Value[int]{
		&s.C00, &s.C01, &s.C02, &s.C03, &s.C04, &s.C05, &s.C06, &s.C07, &s.C08, &s.C09,
		&s.C10, &s.C11, &s.C12, &s.C13, &s.C14, &s.C15, &s.C16, &s.C17, &s.C18, &s.C19,
		&s.C20, &s.C21, &s.C22, &s.C23, &s.C24, &s.C25, &s.C26, &s.C27, &s.C28, &s.C29,
		&s.C30, &s.C31, &s.C32, &s.C33, &s.C34, &s.C35, &s.C36, &s.C37, &s.C38, &s.C39,
		&s.C40, &s.C41, &s.C42, &s.C43, &s.C44, &s.C45, &s.C46, &s.C47, &s.C48, &s.C49,
		&s.C50, &s.C51, &s.C52, &s.C53, &s.C54, &s.C55, &s.C56, &s.C57, &s.C58, &s.C59,
		&s.C60, &s.C61, &s.C62, &s.C63, &s.C64, &s.C65, &s.C66, &s.C67, &s.C68, &s.C69,
		&s.C70, &s.C71, &s.C72, &s.C73, &s.C74, &s.C75, &s.C76, &s.C77, &s.C78, &s.C79,
		&s.C80, &s.C81, &s.C82, &s.C83, &s.C84, &s.C85, &s.C86, &s.C87, &s.C88, &s.C89,
		&s.C90, &s.C91, &s.C92, &s.C93, &s.C94, &s.C95, &s.C96, &s.C97, &s.C98, &s.C99,
	} {
		v.Set(v.Get() + 1)
	}
}

// wideCounters is a loop whose every step writes each of 100 fields.
func wideCounters(steps int) Workload {
	return Workload{Name: fmt.Sprintf("100 fields written, %d steps", steps), Unit: "step", Units: steps, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return floorCounters(steps) }},
		{weft, func(context.Context) (Job, error) { return weftCounters(steps) }},
		{weftRecord, func(context.Context) (Job, error) { return recordCounters(steps) }},
	}}
}

// weftRecord is the runner whose state is a record.Record, the state of graphs in YAML.
const weftRecord = "Weft, record"

func floorCounters(steps int) (Job, error) {
	return job(func(context.Context) error {
		all := make(map[string]int, 100)
		for i := range 100 {
			all[fieldNames[i]] = 0
		}
		for range steps {
			for name := range all {
				all[name]++
			}
		}
		return is(all["c99"], steps)
	})
}

// fieldNames are the names of 100 fields.
var fieldNames = func() (names [100]string) {
	for i := range names {
		names[i] = fmt.Sprintf("c%02d", i)
	}
	return names
}()

func weftCounters(steps int) (Job, error) {
	g, err := repeat(func(s *fields100) (bool, error) {
		s.addAll()
		return s.C99.Get() < steps, nil
	})
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		res, err := g.Invoke(ctx, fields100{}, graph.RunOptions{MaxSteps: steps})
		if err != nil {
			return err
		}
		return firstOf(is(res.State.C00.Get(), steps), is(res.State.C99.Get(), steps))
	})
}

// repeat returns a graph of one node that runs as long as step returns true.
func repeat[S any](step func(*S) (more bool, err error)) (*graph.Graph[S], error) {
	b := graph.New[S]("repeat")
	b.Node("step", graph.Router(again(step), "step", graph.End))
	b.Edge(graph.Start, "step")
	return b.Compile(graph.Config{})
}

// again routes to the node itself as long as step returns true.
func again[S any](step func(*S) (more bool, err error)) func(context.Context, *S) (graph.Command, error) {
	return func(_ context.Context, s *S) (graph.Command, error) {
		if more, err := step(s); more || err != nil {
			return graph.Goto("step"), err
		}
		return graph.Goto(graph.End), nil
	}
}

// repeatRecord is repeat for a record with fields of one kind and type.
func repeatRecord(kind state.Kind, typ string, names []string, step func(*record.Record) (bool, error)) (*graph.Graph[record.Record], record.Record, error) {
	t, err := record.ParseType(typ, nil)
	if err != nil {
		return nil, record.Record{}, err
	}
	fields := make([]record.Field, len(names))
	for i, name := range names {
		fields[i] = record.Field{Name: name, Kind: kind, Type: t}
	}
	shape, err := record.NewShape(fields...)
	if err != nil {
		return nil, record.Record{}, err
	}
	b := graph.NewRecord("repeat", shape)
	b.Node("step", graph.Router(again(step), "step", graph.End))
	b.Edge(graph.Start, "step")
	g, err := b.Compile(graph.Config{})
	return g, shape.New(), err
}

func recordCounters(steps int) (Job, error) {
	g, in, err := repeatRecord(state.KindValue, "int", fieldNames[:], func(s *record.Record) (more bool, err error) {
		for _, name := range fieldNames {
			v, _ := s.Get(name)
			n, _ := v.(int64)
			if err := s.Write(name, n+1); err != nil {
				return false, err
			}
			more = n+1 < int64(steps)
		}
		return more, nil
	})
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		res, err := g.Invoke(ctx, in, graph.RunOptions{MaxSteps: steps})
		if err != nil {
			return err
		}
		v, _ := res.State.Get("c99")
		return is(v, any(int64(steps)))
	})
}

// lists25 is a state of 25 lists.
type lists25 struct {
	L00, L01, L02, L03, L04, L05, L06, L07, L08, L09 state.List[string]
	L10, L11, L12, L13, L14, L15, L16, L17, L18, L19 state.List[string]
	L20, L21, L22, L23, L24                          state.List[string]
}

func (s *lists25) all() [25]*state.List[string] {
	return [...]*state.List[string]{
		&s.L00, &s.L01, &s.L02, &s.L03, &s.L04, &s.L05, &s.L06, &s.L07, &s.L08, &s.L09,
		&s.L10, &s.L11, &s.L12, &s.L13, &s.L14, &s.L15, &s.L16, &s.L17, &s.L18, &s.L19,
		&s.L20, &s.L21, &s.L22, &s.L23, &s.L24,
	}
}

// tenTexts is what a step appends to each list.
var tenTexts = strings.Fields("one two three four five six seven eight nine ten")

// growingLists is a loop whose every step appends ten texts to each of 25 lists.
func growingLists(steps int) Workload {
	return Workload{Name: fmt.Sprintf("25 lists that grow to %d", 10*steps), Unit: "step", Units: steps, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return floorLists(steps) }},
		{weft, func(context.Context) (Job, error) { return weftLists(steps) }},
		{weftRecord, func(context.Context) (Job, error) { return recordLists(steps) }},
	}}
}

func floorLists(steps int) (Job, error) {
	return job(func(context.Context) error {
		all := make([][]string, 25)
		for range steps {
			for i := range all {
				all[i] = append(all[i], tenTexts...)
			}
		}
		return is(len(all[24]), 10*steps)
	})
}

func weftLists(steps int) (Job, error) {
	g, err := repeat(func(s *lists25) (bool, error) {
		for _, l := range s.all() {
			l.Append(tenTexts...)
		}
		return s.L24.Len() < 10*steps, nil
	})
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		res, err := g.Invoke(ctx, lists25{}, graph.RunOptions{MaxSteps: steps})
		if err != nil {
			return err
		}
		return firstOf(is(res.State.L00.Len(), 10*steps), is(res.State.L24.At(10*steps-1), "ten"))
	})
}

func recordLists(steps int) (Job, error) {
	ten := make([]any, len(tenTexts))
	for i, text := range tenTexts {
		ten[i] = text
	}
	g, in, err := repeatRecord(state.KindList, "list<string>", fieldNames[:25], func(s *record.Record) (bool, error) {
		for _, name := range fieldNames[:25] {
			if err := s.Write(name, ten); err != nil {
				return false, err
			}
		}
		return lengthOf(s, fieldNames[24]) < 10*steps, nil
	})
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		res, err := g.Invoke(ctx, in, graph.RunOptions{MaxSteps: steps})
		if err != nil {
			return err
		}
		return is(lengthOf(&res.State, fieldNames[24]), 10*steps)
	})
}
