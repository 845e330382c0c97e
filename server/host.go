package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
)

// host runs the runs of a server's queue. It is the work.Host of its workers.
type host struct{ server *Server }

// Job implements work.Host.
func (h host) Job(ctx context.Context, r queue.Run) (work.Job, error) {
	s, err := specOf(r)
	if err != nil {
		return work.Job{}, err
	}
	if s.Mark != "" {
		if err := h.claim(ctx, r.ID, s.Mark); err != nil {
			return work.Job{}, err
		}
	}
	shown, err := h.server.shown(ctx, s.Graph, Use{useRun, s.settings(r)})
	if err != nil {
		return work.Job{}, err
	}
	j := work.Job{Graph: shown.root.Untyped, Options: s.options(r), Input: s.Input, Edit: s.Edit}
	start := startOf(r, &s)
	j.Start, j.Step = &start, -2
	j.StepOf = func(info graph.CommitInfo) int { return shown.view(ctx).Step(info, 1) }
	switch info, err := h.server.rootOf(ctx, r.Thread); {
	case err == nil:
		j.Step = shown.view(ctx).Step(info, 1)
		if s.Input == nil && s.Edit == nil && s.Namespace == "" {
			j.Head = cmp.Or(s.At, info.Checkpoint)
		}
		if j.Answers, err = s.answers(info, r.Attempt > 1); err != nil {
			return j, err
		}
		if s.Answers == nil && s.Resume != nil { // the run may ask more before a later attempt
			s.Answers, s.Resume = &j.Answers, nil
			if j.Request, err = encode(s.stored()); err != nil {
				return j, err
			}
		}
	case !errors.Is(err, graph.ErrUnknownThread):
		return j, err
	case s.Input == nil && s.Edit == nil:
		return j, emptyInputError{}
	}
	return j, nil
}

// emptyInputError is the failure of a run without an input on a thread without a checkpoint.
type emptyInputError struct{}

func (emptyInputError) Error() string {
	return "the run has no input, and its thread has no checkpoint to go on from"
}

// ErrorName is the name that the LangGraph server gives it.
func (emptyInputError) ErrorName() string { return "EmptyInputError" }

// claim claims the firing of a cron's run. A store that is away for a moment does not lose the run.
func (h host) claim(ctx context.Context, run, mark string) (err error) {
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		err = h.server.crons.claim(ctx, run, mark)
		if err == nil || errors.Is(err, errFired) || ctx.Err() != nil || wait > 5*time.Second {
			return err
		}
		await(ctx, wait)
	}
}

// startOf returns what the log records when a run starts.
func startOf(r queue.Run, s *runSpec) wire.RunStart {
	k := s.Kwargs
	return wire.RunStart{
		Run: r.ID, Attempt: r.Attempt, Thread: r.Thread, Graph: s.Graph, Assistant: s.Assistant, Modes: k.StreamMode, Subgraphs: k.Subgraphs,
		Tags: k.Config.Tags, Metadata: s.Metadata,
	}
}

// endTime bounds the call that adds the end of a run to its log.
const endTime = 5 * time.Second

// endLog adds the end of a run to the log of its thread, for the clients that follow it. It is for
// runs that end without a worker, which would add it.
func endLog(ctx context.Context, log work.Log, r queue.Run, at time.Time) error {
	s, err := specOf(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	return log.End(ctx, r, startOf(r, &s), at)
}

// events returns the event logs of the threads.
func (s *Server) events() work.Log { return work.Log{Bus: s.bus, Viewer: host{s}, Log: s.log()} }

// View implements work.Viewer.
func (h host) View(ctx context.Context, start wire.RunStart, namespace string) *wire.View {
	u := Use{useRead, Settings{Assistant: start.Assistant, Thread: start.Thread, RunID: start.Run}}
	if h.server.served.Load().factories[start.Graph] != nil {
		if r, err := h.server.queue.Get(ctx, start.Thread, start.Run); err == nil {
			if s, err := specOf(r); err == nil {
				u.Settings = s.settings(r)
			}
		}
	}
	shown, err := h.server.shown(ctx, start.Graph, u)
	if err != nil { // such as a graph that is not served any more
		return &wire.View{Thread: start.Thread, Graph: start.Graph, Assistant: start.Assistant}
	}
	return shown.inner(ctx, namespace)
}

// Start implements work.Viewer.
func (h host) Start(ctx context.Context, thread, run string) (start wire.RunStart, ok bool, err error) {
	r, err := h.server.queue.Get(ctx, thread, run)
	switch {
	case errors.Is(err, queue.ErrNotFound):
		return start, false, nil
	case err != nil:
		return start, false, err
	}
	s, err := specOf(r)
	return startOf(r, &s), err == nil, nil
}

// answers returns the answers of a run to the questions of the newest commit. again is true for an
// attempt after the first. It has the answers of the first: a question that is open now may be one
// that the run has asked since. If an earlier attempt has stored them, no question may be open.
func (s *runSpec) answers(info graph.CommitInfo, again bool) (graph.Answers, error) {
	asks := slices.ContainsFunc(info.Interrupts, isQuestion)
	switch {
	case s.Answers != nil && again && !asks:
		return graph.Answers{}, nil
	case s.Answers != nil:
		return *s.Answers, nil
	case s.Resume == nil:
		return graph.Answers{}, nil
	}
	a, err := wire.ReadResume(s.Resume, info.Interrupts)
	if hasCode(err, wire.CodeNothingAsked) && (again || !s.Strict && !asks && len(info.Due) > 0) {
		return graph.Answers{}, nil
	}
	return a, err
}

// isQuestion reports whether an interrupt waits for an answer.
func isQuestion(in graph.Interrupt) bool { return in.IsQuestion() }

// outcome returns how a run has ended, for a client that waits for it.
func (s *Server) outcome(ctx context.Context, r queue.Run) (json.RawMessage, error) {
	o, err := s.outcomeOf(ctx, r)
	if err != nil {
		return nil, err
	}
	return wire.WaitBody(o)
}

// outcomeOf returns how a run has ended.
func (s *Server) outcomeOf(ctx context.Context, r queue.Run) (o wire.Outcome, err error) {
	spec, err := specOf(r)
	if err != nil {
		return o, err
	}
	shown, err := s.shown(ctx, spec.Graph, Use{useRead, spec.settings(r)})
	if err != nil {
		return o, err
	}
	if r.Error != nil {
		o.Error = &wire.RunError{Error: r.Error.Name, Message: r.Error.Message}
		return o, nil
	}
	state, info, err := s.newestOf(ctx, shown.graph, r)
	if err != nil {
		return o, err
	}
	if o.Values, err = shown.view(ctx).Values(state); err != nil {
		return o, err
	}
	if len(r.Result) > 0 { // only a run that waits has a Result
		o.Waiting, o.Interrupts = true, wire.InterruptsOf(info.Interrupts)
	}
	return o, nil
}

// newestOf returns the newest state that a run has committed, or else the newest state of its
// thread. The state is nil if the thread has no commits.
func (s *Server) newestOf(ctx context.Context, g graph.Untyped, r queue.Run) (json.RawMessage, graph.CommitInfo, error) {
	thread := g.Thread(r.Thread)
	state, info, err := thread.State(ctx, 0)
	if errors.Is(err, graph.ErrUnknownThread) {
		return nil, info, nil
	}
	if err != nil || info.Run == r.ID {
		return state, info, err
	}
	for own, err := range thread.States(ctx, checkpoint.Query{Limit: 1, Where: map[string]string{"run": r.ID}}) {
		return own.State, own.CommitInfo, err
	}
	return state, info, nil
}
