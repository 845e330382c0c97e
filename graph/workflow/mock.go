package workflow

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/record"
)

// mocked returns n as it runs: in a test without waits, and with its mock if it has one.
func (b *builder) mocked(n *node) *node {
	if !b.test {
		return n
	}
	own := *n
	if own.Retry.Attempts > 1 && !b.records {
		own.Retry.Initial, own.Retry.Max, own.Retry.Jitter = 1, 1, 0
	}
	own.Limit = ""
	kw := registered(n.work)
	switch m := b.mocks[n.name]; {
	case m != nil:
		own.work = &mockWork{mock: m, src: b.src}
	case kw != nil && kw.kind.Waits && !kw.asks():
		own.work = &mockWork{mock: new(mock), src: b.src}
	case kw != nil && kw.kind.Outside && !(b.recorded && kw.recordable()):
		own.work = &mockWork{src: b.src, mock: &mock{err: &mockError{message: b.unmocked(n, kw)}}}
	}
	return &own
}

// unmocked returns why a node does not run in a test.
func (b *builder) unmocked(n *node, kw *kindWork) string {
	what := "give it a mock"
	if kw.recordable() {
		what += ", or record the test: weft test --record"
	}
	return fmt.Sprintf("node %s reaches outside of the process; %s", n.name, what)
}

// recordable reports whether a test can record what the node does outside of the process.
func (w *kindWork) recordable() bool {
	r := w.kind.New()
	own, ok := r.(Recordable)
	if !ok {
		return false
	}
	w.args.constants(paramsIn(r))
	return own.Recordable()
}

// asks reports whether the node asks instead of waiting.
func (w *kindWork) asks() bool {
	r := w.kind.New()
	asker, ok := r.(Asker)
	if !ok {
		return false
	}
	given := w.args.constants(paramsIn(r))
	return asker.Asks(func(name string) bool { return given[name] })
}

// mockWork is the work of a mocked node.
type mockWork struct {
	*mock
	src *source

	mu    sync.Mutex
	calls int
}

func (w *mockWork) do(ctx context.Context, _ map[string]any, _ *record.Record) (any, error) {
	w.mu.Lock()
	i := w.calls
	w.calls++
	w.mu.Unlock()
	if at, ok := ctx.Value(itemKey{}).(int); ok {
		i = at // items run in any order
	}
	switch {
	case w.err != nil:
		return nil, fmt.Errorf("mock: %w", w.err)
	case len(w.results) == 0:
		return nil, nil
	}
	return w.src.plainOf(w.results[min(i, len(w.results)-1)]), nil
}

// itemKey is the key of the place of an item, in the context of its task.
type itemKey struct{}

var (
	_ work  = (*mockWork)(nil)
	_ error = (*mockError)(nil)
)

// testConfig returns the config of a test, in memory.
func testConfig() (graph.Config, error) {
	store, err := checkpoint.WithBlobs(new(checkpoint.Memory), mockedBlobs{blob.Over(new(blob.Map))}, checkpoint.BlobOptions{Above: -1})
	return graph.Config{Store: store, Cache: new(graph.MemoryCache)}, err
}

// mockedBlobs are blobs in memory. A mock may name one that is not stored. Reading that is an
// error.
type mockedBlobs struct{ *blob.Store }

func (b mockedBlobs) Claim(ctx context.Context, owner string, hashes []string) error {
	err := b.Store.Claim(ctx, owner, hashes)
	if missing := (*blob.MissingError)(nil); errors.As(err, &missing) {
		return nil
	}
	return err
}
