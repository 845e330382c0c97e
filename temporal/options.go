package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
)

// options are the options of a run that the activities of its steps need. They are a document of
// the thread, since they may be large or secret: the history has a mark that there are some.
type options struct {
	Run             string            `json:"run"`
	InterruptBefore []string          `json:"interrupt_before,omitzero"`
	InterruptAfter  []string          `json:"interrupt_after,omitzero"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	Settings        json.RawMessage   `json:"settings,omitempty"`
}

// optionsID is the id of the document with the options of the newest run of a thread.
const optionsID = "options"

func optionsOf(thread string) document.Place { return document.At("temporal_runs", thread) }

// options returns what the run's activities need of its options; nil if they need nothing.
func (r *run) options() (*options, error) {
	o := &options{Run: r.id, InterruptBefore: r.o.InterruptBefore, InterruptAfter: r.o.InterruptAfter, Metadata: r.o.Metadata}
	if r.o.InterruptBefore == nil && r.o.InterruptAfter == nil && r.o.Settings == nil && (r.o.Metadata == nil || r.request.Input != nil) {
		return nil, nil // the commit of an input passes the metadata on to the next ones
	}
	if r.client.cfg.Documents == nil {
		return nil, fmt.Errorf("%w: RunOptions with Settings, InterruptBefore, InterruptAfter, or Metadata without an input need ClientConfig.Documents (got nil)", ErrOptions)
	}
	if r.o.Settings != nil {
		var err error
		if o.Settings, err = json.Marshal(r.o.Settings); err != nil {
			return nil, fmt.Errorf("%w: RunOptions.Settings: %w", ErrOptions, err)
		}
	}
	return o, nil
}

// store stores the options, in place of those of the run before.
func (o *options) store(ctx context.Context, docs document.Store, thread string) error {
	data, err := json.Marshal(o)
	if err == nil {
		_, err = docs.Set(ctx, optionsOf(thread), document.Change{ID: optionsID, Value: data})
	}
	if err != nil {
		return fmt.Errorf("%w: thread %q: %w", ErrOptions, thread, err)
	}
	return nil
}

// optionsCache has the options of runs that this worker has read.
type optionsCache struct {
	mu    sync.Mutex
	byRun map[string]graph.StepOptions
}

// mostCached bounds an optionsCache. One that is full is emptied.
const mostCached = 1000

func (c *optionsCache) get(run string) (graph.StepOptions, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.byRun[run]
	return o, ok
}

func (c *optionsCache) put(run string, o graph.StepOptions) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byRun == nil || len(c.byRun) >= mostCached {
		c.byRun = map[string]graph.StepOptions{}
	}
	c.byRun[run] = o
}

func (c *optionsCache) drop(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byRun, run)
}

// options returns the options of the run of a step. The error is one for Temporal.
func (a *activities) options(ctx context.Context, thread string, step stepRef) (graph.StepOptions, error) {
	if !step.Options {
		return graph.StepOptions{}, nil
	}
	run := rootRun(step.Run)
	if o, ok := a.cache.get(thread + "\x00" + run); ok {
		return o, nil
	}
	o, err := a.readOptions(ctx, thread, run)
	switch {
	case err == nil:
		a.cache.put(thread+"\x00"+run, o)
	case errors.Is(err, ErrOptions):
		err = sdk.NewNonRetryableApplicationError(cut(err.Error()), typeOptions, nil)
	default:
		err = sdk.NewApplicationError(cut(err.Error()), typeBusy)
	}
	return o, err
}

// readOptions reads the options of a run. An ErrOptions is final.
func (a *activities) readOptions(ctx context.Context, thread, run string) (o graph.StepOptions, err error) {
	if a.cfg.Documents == nil {
		return o, fmt.Errorf("%w: WorkerConfig.Documents must be those of the store (got nil)", ErrOptions)
	}
	doc, err := a.cfg.Documents.Get(ctx, optionsOf(thread), optionsID)
	var stored options
	switch {
	case errors.Is(err, document.ErrNotFound):
		return o, fmt.Errorf("%w: thread %q: the options of run %q were deleted", ErrOptions, thread, run)
	case err != nil:
		return o, err
	}
	if err := json.Unmarshal(doc.Value, &stored); err != nil {
		return o, fmt.Errorf("%w: thread %q: %w", ErrOptions, thread, err)
	}
	if stored.Run != run { // its workflow is about to cancel this one
		return o, fmt.Errorf("%w: thread %q has run %q", ErrSuperseded, thread, stored.Run)
	}
	o = graph.StepOptions{InterruptBefore: stored.InterruptBefore, InterruptAfter: stored.InterruptAfter, Metadata: stored.Metadata}
	if stored.Settings == nil {
		return o, nil
	}
	if a.cfg.Settings == nil {
		return o, fmt.Errorf("%w: WorkerConfig.Settings must decode RunOptions.Settings (got nil)", ErrOptions)
	}
	if o.Settings, err = a.cfg.Settings(stored.Settings); err != nil {
		return o, fmt.Errorf("%w: RunOptions.Settings: %w", ErrOptions, err)
	}
	return o, nil
}

// forget deletes the options of a run that has ended, unless another run has begun.
func (a *activities) forget(ctx context.Context, q commitRequest) error {
	thread, run := threadOf(activity.GetInfo(ctx).WorkflowExecution.ID, q.Graph), rootRun(q.Step.Run)
	a.cache.drop(thread + "\x00" + run)
	if a.cfg.Documents == nil {
		return nil
	}
	doc, err := a.cfg.Documents.Get(ctx, optionsOf(thread), optionsID)
	var stored options
	if err == nil {
		err = json.Unmarshal(doc.Value, &stored)
	}
	if errors.Is(err, document.ErrNotFound) || err == nil && stored.Run != run {
		return nil
	}
	if err == nil {
		_, err = a.cfg.Documents.Batch(ctx, optionsOf(thread), []document.Change{{ID: optionsID, If: &doc.Version}})
	}
	if conflict := (*document.ConflictError)(nil); errors.As(err, &conflict) {
		return nil
	}
	return err
}

// with returns the options of a segment's run.
func with(s graph.StepOptions, o graph.RunOptions) graph.RunOptions {
	o.InterruptBefore, o.InterruptAfter = s.InterruptBefore, s.InterruptAfter
	o.Metadata, o.Settings = s.Metadata, s.Settings
	return o
}
