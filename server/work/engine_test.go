package work_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/work"
)

// engine is a graph whose runs go on when their caller leaves them.
type engine struct {
	graph.Untyped
	mu   sync.Mutex
	runs map[string]*graph.Handle[json.RawMessage]
}

func (e *engine) Start(ctx context.Context, input json.RawMessage, o graph.RunOptions) *graph.Handle[json.RawMessage] {
	h := e.Untyped.Start(context.WithoutCancel(ctx), input, o)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs[o.ID] = h
	return graph.RemoteHandle(elsewhereRun{h, ctx})
}

func (e *engine) Rejoin() graph.Untyped { return rejoined{e} }

// rejoined are the runs of an engine that began before.
type rejoined struct{ *engine }

func (r rejoined) Start(ctx context.Context, input json.RawMessage, o graph.RunOptions) *graph.Handle[json.RawMessage] {
	r.mu.Lock()
	h := r.runs[o.ID]
	r.mu.Unlock()
	if h == nil {
		return r.engine.Start(ctx, input, o)
	}
	return graph.RemoteHandle(elsewhereRun{h, ctx})
}

func (r rejoined) StartResume(ctx context.Context, _ graph.Answers, o graph.RunOptions) *graph.Handle[json.RawMessage] {
	return r.Start(ctx, nil, o)
}

// elsewhereRun is a run of an engine, for a caller with a context of its own.
type elsewhereRun struct {
	*graph.Handle[json.RawMessage]
	ctx context.Context
}

func (r elsewhereRun) Wait() (graph.Result[json.RawMessage], error) {
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = r.Handle.Wait()
		close(ended)
	}()
	defer context.AfterFunc(r.ctx, func() {
		if errors.Is(context.Cause(r.ctx), graph.ErrDetached) {
			close(left)
			return
		}
		r.Cancel(context.Cause(r.ctx))
	})()
	select {
	case <-ended:
		return r.Handle.Wait()
	case <-left:
		return graph.Result[json.RawMessage]{}, context.Cause(r.ctx)
	}
}

func (r elsewhereRun) Join(graph.Reader) iter.Seq2[graph.Event, error] {
	return func(func(graph.Event, error) bool) {}
}

// onEngine is a site whose runs are those of an engine.
func onEngine(t *testing.T) *site {
	s := newSite(t)
	s.engine = true
	s.host.graph = &engine{Untyped: s.host.graph, runs: map[string]*graph.Handle[json.RawMessage]{}}
	return s
}

var _ work.Engine = (*engine)(nil)

func TestWorker_LeavesARunToItsEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onEngine(t)
		q, end := s.process(t)
		create(t, q, "r1", queue.Enqueue)
		s.begins(t, "first")
		s.begins(t, "slow")
		stopped := time.Now()
		end()
		if took := time.Since(stopped); took != 0 {
			t.Errorf("the worker stopped after %v, want at once", took)
		}
		s.stays <- struct{}{} // while no worker waits
		s.begins(t, "last")
		other, endOther := s.process(t)
		defer endOther()
		if r := ended(t, other, "r1", queue.Success); r.Attempt != 1 {
			t.Errorf("the attempt is %d, want 1", r.Attempt)
		}
		if got, want := s.state(t), []string{"first", "slow", "last"}; !slices.Equal(got, want) {
			t.Errorf("the state is %v, want %v", got, want)
		}
	})
}

// The claim of a process that dies runs out. Its run goes on, and the next process waits for it.
func TestWorker_RejoinsTheRunOfADeadProcess(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := onEngine(t)
			dead := s.queue(t)
			create(t, dead, "r1", queue.Enqueue)
			claims, err := dead.Claim(t.Context(), 1)
			if err != nil || len(claims) != 1 {
				t.Fatalf("got %d claims and error %v, want one", len(claims), err)
			}
			h := s.host.graph.Start(t.Context(), json.RawMessage(`{}`), graph.RunOptions{ID: "r1", Thread: "t1", Lease: claims[0].Lease()})
			s.begins(t, "first")
			s.begins(t, "slow")
			claims[0].Abandon()
			if cancels {
				if _, err := dead.Cancel(t.Context(), "t1", "r1", queue.Stop); err != nil {
					t.Fatal(err)
				}
			}
			q, end := s.process(t)
			defer end()
			want := queue.Interrupted
			if !cancels {
				want = queue.Success
				s.stays <- struct{}{}
			}
			ended(t, q, "r1", want)
			if _, err := h.Wait(); (err != nil) != cancels {
				t.Errorf("the run ended with error %v; it was cancelled: %t", err, cancels)
			}
		})
	}
}
