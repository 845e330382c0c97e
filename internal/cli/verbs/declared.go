package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/nodes/turn"
	msg "github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/state/record"
	"github.com/weftrun/weft/wake"
)

// Graph opens a graph in Go over a store.
type Graph = func(ctx context.Context, store checkpoint.Store) (graph.Untyped, error)

// declared is a graph that this program can run: from a workflow file, in Go, or of an agent.
type declared struct {
	graph.Untyped
	flow  *workflow.Workflow          // nil if the graph is not from a file
	typed *graph.Graph[record.Record] // of the flow
	agent turn.Untyped                // nil if the graph is not an agent's
}

// has reports whether this program has a graph with the name, in Go or of an agent.
func (a *app) has(name string) bool {
	return a.config.Graphs[name] != nil || a.config.Chats[name] != nil
}

// opening opens a graph over a store.
type opening func(context.Context, checkpoint.Store) (declared, error)

// declared finds the graph with a name: a graph or an agent of this program, or else a workflow
// file. It reports mistakes in a file before a store is opened. Its runs are those of the engine
// that the command line names.
func (a *app) declared(name string) (opening, error) {
	open, err := a.local(name)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, store checkpoint.Store) (declared, error) {
		d, err := open(ctx, store)
		if err != nil {
			return d, err
		}
		return a.onEngine(ctx, store, name, d)
	}, nil
}

// local finds the graph with a name, whose runs are those of this process. They are observed, if
// the command line asks for it.
func (a *app) local(name string) (opening, error) {
	open, err := a.unobserved(name)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, store checkpoint.Store) (declared, error) {
		d, err := open(ctx, store)
		if err != nil {
			return d, err
		}
		return a.observed(ctx, d)
	}, nil
}

// unobserved finds the graph with a name.
func (a *app) unobserved(name string) (opening, error) {
	switch {
	case a.config.Graphs[name] != nil:
		return func(ctx context.Context, store checkpoint.Store) (declared, error) {
			g, err := a.config.Graphs[name](ctx, store)
			return whole(name, declared{Untyped: g}, err)
		}, nil
	case a.config.Chats[name] != nil:
		return func(ctx context.Context, store checkpoint.Store) (d declared, err error) {
			if d.agent, err = a.config.Chats[name](ctx, store); err == nil && d.agent != nil {
				d.Untyped = d.agent.Graph()
			}
			return whole(name, d, err)
		}, nil
	}
	flow, err := a.load(name)
	if err != nil {
		return nil, a.orNames(name, err)
	}
	return func(_ context.Context, store checkpoint.Store) (declared, error) {
		g, err := flow.Compile(graph.Config{Store: store, Timers: timersOf(store), Trace: true}) // replay needs the answers
		if err != nil {
			return declared{}, err
		}
		return declared{Untyped: g.Untyped(), flow: flow, typed: g}, nil
	}, nil
}

// timersOf returns the timers of a store; nil if it has none.
func timersOf(store checkpoint.Store) graph.Timers {
	timers, err := wake.Open(store)
	if err != nil {
		return nil
	}
	return timers
}

const nextUnopened = "the program has to be mended or set up so that it can open it; nothing was changed"

// whole returns an error if a graph in Go is nil, or has another name than a thread would look for.
func whole(name string, d declared, err error) (declared, error) {
	switch {
	case err != nil:
		return d, reports.Usage(nextUnopened, "the graph %q cannot be used: %w", name, err)
	case d.Untyped == nil:
		return d, reports.Usage(nextUnopened, "the graph %q cannot be used: it was opened as nil", name)
	case d.Name() != name:
		return d, reports.Usage("register it under that name", "the graph that this program calls %q calls itself %q, so its threads would not find it", name, d.Name())
	}
	return d, nil
}

// orNames adds the graphs of this program to the error of a missing file.
func (a *app) orNames(file string, err error) error {
	if _, there := os.Lstat(file); there == nil {
		return err
	}
	names := slices.Sorted(maps.Keys(a.config.Graphs))
	if f := (*reports.Failure)(nil); len(names) > 0 && errors.As(err, &f) && f.Code == reports.ExitUsage {
		return reports.Usage(f.Next+", or name a graph of this program: "+strings.Join(names, ", "), "%w", f.Err)
	}
	return err
}

// checkEnv returns an error that names what is missing in the environment.
func (d declared) checkEnv() error {
	if d.flow == nil {
		return nil
	}
	return d.flow.CheckEnv()
}

// takesSetting reports whether the config of a workflow has a field with the name that takes the
// value.
func (d declared) takesSetting(name string, value json.RawMessage) bool {
	return d.flow != nil && d.flow.TakesSetting(name, value)
}

// begin returns the input of a turn, as the JSON of a state.
func (d declared) begin(given, config map[string]json.RawMessage) (json.RawMessage, error) {
	if d.flow == nil {
		input, err := json.Marshal(given)
		if err == nil {
			_, err = d.InputHash(input)
		}
		return input, err
	}
	rec, err := d.flow.InputWith(given, config)
	if err != nil {
		return nil, err
	}
	return d.typed.EncodeState(rec)
}

// takes lists the flags of the input. The error of a graph in Go names its fields already.
func (d declared) takes() string {
	if d.flow == nil {
		return "write it as --input FIELD=VALUE"
	}
	var flags []string
	for _, f := range d.flow.Inputs() {
		value := strings.ToUpper(f.Type)
		if f.Type == record.BlobType.String() {
			value = "@FILE"
		}
		flags = append(flags, fmt.Sprintf("--input %s=%s", f.Name, value))
	}
	for _, f := range d.flow.Settings() {
		flags = append(flags, fmt.Sprintf("--config %s=%s", f.Name, strings.ToUpper(f.Type)))
	}
	if flags == nil {
		return "the workflow takes no input"
	}
	return "it takes " + strings.Join(flags, " ")
}

// output returns the result of a finished thread: the outputs of a workflow, the last message of an
// agent, or the whole state.
func (d declared) output(ctx context.Context, thread string, end json.RawMessage) (workflow.Values, error) {
	switch {
	case d.flow != nil:
		rec, err := d.typed.DecodeInput(end)
		return d.flow.Output(&rec), err
	case d.agent != nil:
		past, err := d.agent.History(ctx, thread, 1)
		if err != nil || len(past.Messages) == 0 || past.Messages[0].Role != msg.RoleAssistant {
			return nil, err
		}
		return workflow.Values{{Name: "reply", Value: past.Messages[0].Text()}}, nil
	}
	return members(end)
}
