package studio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/studio"
)

// broken fails to read with an error.
type broken struct {
	checkpoint.Store
	err error
}

func (s broken) Load(context.Context, checkpoint.Key, uint64) (checkpoint.Snapshot, error) {
	return checkpoint.Snapshot{}, s.err
}

func (s broken) History(context.Context, checkpoint.Key, checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) { yield(checkpoint.Snapshot{}, s.err) }
}

var errDenied = errors.New("the caller must not read it")

// denies lists a thread that it does not let the caller read.
type denies struct {
	*memory
	id string
}

func (d denies) Thread(ctx context.Context, id string) (studio.Thread, error) {
	if id == d.id {
		return studio.Thread{}, errDenied
	}
	return d.memory.Thread(ctx, id)
}

// A thread that cannot be read is in the list and in the inbox, and no state selects it.
func TestThreads_WithOneThatCannotBeRead(t *testing.T) {
	store := &checkpoint.Memory{}
	g := review(t, store)
	for _, id := range []string{"fine", "denied", "other"} {
		if _, err := g.Invoke(t.Context(), json.RawMessage(`{"question":"why"}`), graph.RunOptions{Thread: id}); err != nil {
			t.Fatal(err)
		}
	}
	threads := []studio.Thread{{ID: "fine", GraphID: "review", Status: "interrupted", Graph: g, Store: store}, {ID: "denied", GraphID: "review", Status: "interrupted", Graph: g, Store: store}}
	serve := func(other studio.Thread) http.Handler {
		m := denies{&memory{graphs: []studio.Graph{{ID: "review", Graph: g}}, threads: append(threads[:2:2], other)}, "denied"}
		return studio.New(studio.Config{
			Base: "/studio",
			Open: func(*http.Request) (studio.Source, error) { return m, nil },
			Fault: func(err error) (int, string) {
				if errors.Is(err, errDenied) {
					return http.StatusForbidden, err.Error()
				}
				return http.StatusInternalServerError, err.Error()
			},
		})
	}
	for _, one := range []error{graph.ErrUnknownThread, checkpoint.ErrCorrupt, checkpoint.ErrUnsupported, checkpoint.ErrSchema, checkpoint.ErrNewerSchema,
		checkpoint.ErrKey, checkpoint.ErrNoBlobs, checkpoint.ErrUnavailable, context.Canceled} {
		unreadable := broken{store, fmt.Errorf("thread other: %w", one)}
		ofStore := errors.Is(one, checkpoint.ErrUnavailable) || errors.Is(one, context.Canceled)
		record := serve(studio.Thread{ID: "other", GraphID: "review", Status: "interrupted", Graph: g, Store: unreadable})
		state := serve(studio.Thread{ID: "other", GraphID: "review", Status: "interrupted", Graph: review(t, unreadable), Store: store})
		if ofStore {
			for _, w := range []struct {
				h    http.Handler
				path string
			}{{record, "threads"}, {record, "threads?state=question"}, {state, "threads?state=question"}, {record, "inbox"}, {record, "api/inbox"}} {
				holds(t, get(t, w.h, "/studio/"+w.path), 500, one.Error())
			}
			continue
		}
		if !errors.Is(one, graph.ErrUnknownThread) { // that one was removed meanwhile
			holds(t, get(t, record, "/studio/inbox"), 200, "The questions of thread", "threads/other", "thread other: "+one.Error(), "threads/fine")
			holds(t, get(t, record, "/studio/api/inbox"), 200, `"thread":"fine"`, `"unreadable":[{"thread":"other","error":"`)
		}
		holds(t, get(t, record, "/studio/threads"), 200, "threads/fine", "threads/denied", "threads/other")
		holds(t, get(t, record, "/studio/threads?state=question"), 200, "threads/fine", "!threads/denied", "!threads/other")
		holds(t, get(t, state, "/studio/threads?state=question"), 200, "threads/fine", "!threads/denied", "!threads/other")
	}
}
