package conversation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/internal/servicetest"
	"github.com/weftrun/weft/state/message"
)

// newWorld returns a repository over documents in memory. The failure messages have the rule.
func newWorld(t *testing.T, rule string) *world {
	docs := &spy{Store: new(document.Map)}
	w := &world{TB: t, ctx: t.Context(), rule: rule, spy: docs}
	repo, err := conversation.NewRepository(docs)
	if err != nil {
		t.Fatal(err)
	}
	repo.Log = slog.New(slog.NewTextHandler(&w.log, nil))
	w.repo = repo
	return w
}

// world is a repository in a store that records calls.
type world struct {
	testing.TB
	ctx  context.Context
	rule string
	spy  *spy
	repo *conversation.Repository
	log  bytes.Buffer
}

// spy records the calls of a store, and can fail them.
type spy struct {
	document.Store
	batches []document.Place
	queries []document.Query
	gets    int
	refuse  error
}

func (s *spy) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	s.gets++
	return s.Store.Get(ctx, p, id)
}

func (s *spy) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	if s.batches = append(s.batches, p); s.refuse != nil {
		return document.Doc{}, s.refuse
	}
	return s.Store.Set(ctx, p, c)
}

func (s *spy) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	if s.batches = append(s.batches, p); s.refuse != nil {
		return nil, s.refuse
	}
	return s.Store.Batch(ctx, p, changes)
}

func (s *spy) Query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	if s.queries = append(s.queries, q); s.refuse != nil {
		return nil, s.refuse
	}
	return s.Store.Query(ctx, q)
}

// noon is the time of the tests.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// at returns a user message with a time in milliseconds after noon.
func at(id string, ms int) message.Message { return said(message.RoleUser, id, ms) }

func said(role message.Role, id string, ms int) message.Message {
	m := message.Message{ID: id, Role: role, Content: []message.Part{message.Text("text of " + id)}}
	if role == message.RoleTool {
		m.Content, m.Results = nil, []message.Result{message.ResultOf("call", "text of "+id)}
	}
	m.Created = noon.Add(time.Duration(ms) * time.Millisecond)
	return m
}

func (w *world) add(thread string, ms ...message.Message) []message.Message {
	w.Helper()
	stored, err := w.repo.Add(w.ctx, thread, ms...)
	if err != nil {
		w.Fatalf("add: %v", err)
	}
	return stored
}

func (w *world) get(thread string, o conversation.Options) []message.Message {
	w.Helper()
	ms, err := w.repo.Get(w.ctx, thread, o)
	if err != nil {
		w.Fatalf("get: %v", err)
	}
	return ms
}

// want checks the ids of the messages of a thread, in order.
func (w *world) want(thread string, o conversation.Options, ids ...string) {
	w.Helper()
	if got := idsOf(w.get(thread, o)); !slices.Equal(got, ids) {
		w.Errorf("rule: %s\n got: %q\nwant: %q", w.rule, got, ids)
	}
}

func idsOf(ms []message.Message) (ids []string) {
	for _, m := range ms {
		ids = append(ids, m.ID)
	}
	return ids
}

// docs returns the stored documents of a thread.
func (w *world) docs(thread string) []document.Doc {
	w.Helper()
	docs, err := w.spy.Store.Query(w.ctx, document.Query{Place: document.At("conversations", thread)})
	if err != nil {
		w.Fatalf("query: %v", err)
	}
	return docs
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func BenchmarkConversations(b *testing.B) { servicetest.Benchmark(b, new(document.Map)) }
