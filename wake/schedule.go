package wake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
)

// Schedule begins runs of a graph, each on a thread of its own: at one time, or at those of a cron.
type Schedule struct {
	// Name names the schedule, and begins the names of its threads: see [Start]. It has at most
	// MaxScheduleName bytes.
	Name string `json:"name"`
	// Graph is the name of the graph, and Input the input of each run as [graph.Untyped] takes it.
	Graph string          `json:"graph"`
	Input json.RawMessage `json:"input,omitempty"`
	// At is when the only run begins. It must be zero with a Cron.
	At time.Time `json:"at,omitzero"`
	// Cron and Zone are when runs begin: see [ParseCron].
	Cron string `json:"cron,omitempty"`
	Zone string `json:"zone,omitempty"`
	// Until is when the last run may begin; the zero time means never.
	Until time.Time `json:"until,omitzero"`
}

// Start is a run that a schedule begins.
type Start struct {
	// Schedule is the name of the schedule, and At when the run was due.
	Schedule string    `json:"schedule"`
	At       time.Time `json:"at"`
	// Thread is the thread of the run: the name of the schedule, a slash, and At.
	Thread string          `json:"thread"`
	Graph  string          `json:"graph"`
	Input  json.RawMessage `json:"input,omitempty"`
	// Metadata is written into every checkpoint of the run. Schedules have none: a Config.Start may
	// set it.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Starts returns a Config.Start for graphs in this process.
func Starts(graphs ...graph.Untyped) func(context.Context, Start) error {
	return func(ctx context.Context, s Start) error {
		i := slices.IndexFunc(graphs, func(g graph.Untyped) bool { return g.Name() == s.Graph })
		if i < 0 {
			return fmt.Errorf("%w: %q, of schedule %.100q", ErrGraph, s.Graph, s.Schedule)
		}
		input := s.Input
		if input == nil {
			input = json.RawMessage("{}")
		}
		if takes, ok := graphs[i].(configurer); ok { // as for the runs of a server
			var err error
			if input, err = takes.Configure(input, nil, nil); err != nil {
				return err
			}
		}
		_, err := graphs[i].Invoke(ctx, input, graph.RunOptions{Thread: s.Thread, Via: Via, If: new(uint64), Metadata: s.Metadata, Lease: checkpoint.HoldOptions{TTL: leaseTime}})
		return err
	}
}

// configurer is what the graphs of package graph have beside their methods as an Untyped.
type configurer interface {
	Configure(input json.RawMessage, context, configurable map[string]json.RawMessage) (json.RawMessage, error)
}

// MaxScheduleName is the length of the longest name of a schedule, in bytes.
const MaxScheduleName = 100

// next returns when the schedule is due after a time; the zero time if it has ended.
func (s Schedule) next(after time.Time) (time.Time, error) {
	at := s.At
	if s.Cron != "" {
		c, err := ParseCron(s.Cron, s.Zone)
		if err != nil {
			return at, err
		}
		at = c.Next(after)
	}
	if !s.Until.IsZero() && at.After(s.Until) {
		return time.Time{}, nil
	}
	return at, nil
}

func (s Schedule) check() error {
	switch {
	case s.Name == "" || len(s.Name) > MaxScheduleName || s.Graph == "":
		return fmt.Errorf("%w: a schedule must have a Graph, and a Name of at most %d bytes (got %q and %.100q)", ErrConfig, MaxScheduleName, s.Graph, s.Name)
	case (s.Cron == "") == s.At.IsZero() || s.Zone != "" && s.Cron == "":
		return fmt.Errorf("%w: schedule %q must have either an At, or a Cron and perhaps a Zone", ErrConfig, s.Name)
	case s.Input != nil && !json.Valid(s.Input):
		return fmt.Errorf("%w: the Input of schedule %q must be JSON", ErrConfig, s.Name)
	}
	if s.Cron == "" {
		return nil
	}
	_, err := ParseCron(s.Cron, s.Zone)
	return err
}

// schedulePrefix begins the ids of the entries of schedules.
const schedulePrefix = "schedule:"

// Schedule stores a schedule, whose times count from now. A program may store the same one each
// time it begins: that changes nothing, and a time that has passed meanwhile stays due. Another one
// of that name takes its place. An ErrConfig or ErrCron is returned for one that is invalid.
func (t *Timers) Schedule(ctx context.Context, s Schedule, now time.Time) error {
	return t.schedule(ctx, entry{Schedule: &s}, now)
}

// schedule stores the entry of a schedule, whose timer follows from it.
func (t *Timers) schedule(ctx context.Context, next entry, now time.Time) error {
	s := *next.Schedule
	if err := s.check(); err != nil {
		return err
	}
	at, err := s.next(now)
	if err != nil {
		return err
	}
	for {
		old, err := t.read(ctx, schedulePrefix+s.Name)
		if err != nil || old.Schedule != nil && old.Schedule.equal(s) {
			return err
		}
		switch {
		case !at.IsZero():
			next.Timer = graph.Timer{Graph: s.Graph, At: at}
			_, err = t.replace(ctx, old, next)
		case old.version != 0: // s has ended
			err = t.remove(ctx, old)
		}
		if !errors.Is(err, document.ErrConflict) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func (s Schedule) equal(o Schedule) bool {
	if !s.At.Equal(o.At) || !s.Until.Equal(o.Until) {
		return false
	}
	s.At, s.Until, o.At, o.Until = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	a, err := json.Marshal(s) // with the Input as it is stored
	b, err2 := json.Marshal(o)
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

// Declare stores the schedules that a source has, such as a workflow file: all whose names begin
// with prefix. Others of such a name are removed. One that has ended stays, so that a source that
// still has it begins no run again. See [Timers.Schedule].
func (t *Timers) Declare(ctx context.Context, prefix string, schedules []Schedule, now time.Time) error {
	for _, s := range schedules {
		if !strings.HasPrefix(s.Name, prefix) {
			return fmt.Errorf("%w: the name of schedule %q must begin with %q", ErrConfig, s.Name, prefix)
		}
	}
	stored, err := t.Schedules(ctx)
	if err != nil {
		return err
	}
	for _, old := range stored {
		name := old.Schedule.Name
		if strings.HasPrefix(name, prefix) && !slices.ContainsFunc(schedules, func(s Schedule) bool { return s.Name == name }) {
			if err := t.Unschedule(ctx, name); err != nil {
				return err
			}
		}
	}
	for _, s := range schedules {
		if err := t.schedule(ctx, entry{Schedule: &s, Declared: true}, now); err != nil {
			return err
		}
	}
	return nil
}

// Schedules returns the schedules that are stored, in the order in which they are due next.
func (t *Timers) Schedules(ctx context.Context) ([]Timer, error) {
	docs, err := t.query(ctx, document.Query{Where: document.Filter{{Path: "schedule.name", Op: document.Gt, Value: ""}}})
	if err != nil {
		return nil, err
	}
	return timersIn(docs)
}

// Unschedule removes a schedule. Runs that have begun go on.
func (t *Timers) Unschedule(ctx context.Context, name string) error {
	docs, err := t.documents(ctx)
	if err == nil {
		err = docs.Delete(ctx, place, schedulePrefix+name)
	}
	return err
}

// fire passes what is due of a schedule to the entry of a thread of its own, and moves the schedule
// to its next time, in one write. Times that were missed become one. It returns the thread's entry.
func (t *Timers) fire(ctx context.Context, s stored, now time.Time) (stored, error) {
	if now.Before(s.At) { // the clock was set back
		now = s.At
	}
	next, err := s.Schedule.next(now)
	if err != nil {
		return s, err
	}
	if !next.After(s.At) { // it is due only once
		next = time.Time{}
	}
	thread := s.Schedule.Name + "/" + s.At.UTC().Format(time.RFC3339Nano)
	begin := entry{Timer: graph.Timer{Thread: thread, Graph: s.Schedule.Graph, At: s.At}, Since: s.At, Begun: true,
		Start: &Start{Schedule: s.Schedule.Name, At: s.At, Thread: thread, Graph: s.Schedule.Graph, Input: s.Schedule.Input}}
	moved := document.Change{ID: s.id(), If: &s.version}
	if next.IsZero() && s.Declared {
		next = never
	}
	if !next.IsZero() {
		later := s.entry
		later.At, later.Failures = next, 0
		if moved, err = later.change(s.version); err != nil {
			return s, err
		}
	}
	began, err := begin.change(0)
	if err != nil {
		return s, err
	}
	docs, err := t.documents(ctx)
	if err != nil {
		return s, err
	}
	made, err := docs.Batch(ctx, place, []document.Change{moved, began})
	if err == nil {
		return stored{begin, made[1].Version}, nil
	}
	if !errors.Is(err, document.ErrConflict) {
		return s, err
	}
	if old, readErr := t.get(ctx, thread); readErr != nil || old.version == 0 {
		return s, errors.Join(err, readErr)
	}
	// The thread was begun at this time before, and waits: an earlier schedule had the same name.
	_, moveErr := docs.Batch(ctx, place, []document.Change{moved})
	return s, errors.Join(err, moveErr)
}

// begins reports whether the run of an entry is still to be begun. A thread that is there was begun
// by a waker before.
func (w *waker) begins(ctx context.Context, s stored) (bool, error) {
	if s.Start == nil {
		return false, nil
	}
	_, err := graph.Inspect(ctx, w.config.Store, checkpoint.Key{Thread: s.Thread})
	if errors.Is(err, graph.ErrUnknownThread) {
		return true, nil
	}
	return false, err
}

// start begins the run of an entry.
func (w *waker) start(ctx context.Context, s stored) error {
	if w.config.Start == nil {
		return fmt.Errorf("%w: Start must be set, since there is the schedule %.100q", ErrConfig, s.Start.Schedule)
	}
	err := w.config.Start(ctx, *s.Start)
	if errors.Is(err, graph.ErrMoved) { // another waker has begun it
		return nil
	}
	return err
}

// label names an entry in reports.
func (e entry) label() string {
	if e.Schedule != nil {
		return fmt.Sprintf("schedule %.100q of graph %q", e.Schedule.Name, e.Graph)
	}
	return fmt.Sprintf("thread %.100q of graph %q", e.Thread, e.Graph)
}

// id returns the id of the entry.
func (e entry) id() string {
	if e.Schedule != nil {
		return schedulePrefix + e.Schedule.Name
	}
	return idOf(e.Thread)
}

// change returns the change that stores an entry over that of a version.
func (e entry) change(version uint64) (document.Change, error) {
	value, err := json.Marshal(e)
	return document.Change{ID: e.id(), Value: value, Order: document.AtTime(e.At), If: &version}, err
}

// isReserved reports whether a thread has a name that could be the id of another entry.
func isReserved(thread string) bool {
	return strings.HasPrefix(thread, schedulePrefix) || strings.HasPrefix(thread, "sha256:")
}
