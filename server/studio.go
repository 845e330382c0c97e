package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/studio"
	"github.com/weftrun/weft/server/wire"
)

// studioBase returns the path below which the pages of the studio are.
func (s *Server) studioBase() string {
	return strings.TrimSuffix(cmp.Or(s.config.StudioBase, "/studio"), "/")
}

// studioHandler returns the handler of the studio's pages.
func (s *Server) studioHandler() http.Handler {
	follow := func() (func(), error) {
		if s.draining.Load() {
			return nil, errDraining()
		}
		return s.follow()
	}
	inner, started := s.innerHandler(), s.now()
	open := func(r *http.Request) (studio.Source, error) { return s.openStudio(r, inner, started) }
	pages := studio.New(studio.Config{Base: s.studioBase(), Editor: s.config.Editor, ReadOnly: s.config.Studio == StudioRead, Open: open, Follow: follow, Fault: func(err error) (int, string) {
		f, hidden := faultOf(err)
		if hidden {
			s.log().Error("server: a page of the studio failed", "error", err)
		}
		return f.HTTPStatus(wire.Python), f.Detail
	}})
	return s.handlerOf(route{method: "any", path: s.studioBase() + "/", open: true, handle: func(c *call) error {
		pages.ServeHTTP(c.w, c.Request)
		return nil
	}})
}

// openStudio returns what the studio shows to the caller of a request. A browser sends the key or
// the token as the password of basic authentication.
func (s *Server) openStudio(r *http.Request, inner *http.ServeMux, started time.Time) (studio.Source, error) {
	if _, password, ok := r.BasicAuth(); ok {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+password)
	}
	c := &call{Request: r, server: s, dialect: wire.Python}
	if err := c.authenticate(); err != nil {
		return nil, err
	}
	return studioSource{c, inner, started}, nil
}

// studioSource is what one caller may see.
type studioSource struct {
	c       *call
	inner   *http.ServeMux // the public interface; see innerCall
	started time.Time      // of the server
}

// Graphs implements studio.Source. Graphs are for all who may read assistants, as they are for all
// who run them.
func (s studioSource) Graphs(ctx context.Context) (all []studio.Graph, err error) {
	if _, err := s.c.allow("assistants", "read", ""); err != nil {
		return nil, err
	}
	for _, id := range s.c.server.GraphIDs() {
		g, err := s.c.server.graph(ctx, id, Use{Access: useAssistant})
		if err != nil {
			return nil, err
		}
		all = append(all, studio.Graph{ID: id, Graph: g.Untyped, Messages: firstOf(g.messages)})
	}
	return all, nil
}

// firstOf returns the first of some names, "" if there is none.
func firstOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// threadSorts are the keys of the orders in which the studio lists threads.
var threadSorts = map[string]string{"created": "created_at", "updated": "updated_at", "status": "status"}

// mentions reports whether the id, the error or a text of the metadata has a text in lower case.
func (t *thread) mentions(text string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	if has(t.ThreadID) || t.Error != nil && has(t.Error.Error+": "+t.Error.Message) {
		return true
	}
	for _, raw := range t.Metadata {
		if has(string(raw)) {
			return true
		}
	}
	return false
}

// Threads implements studio.Source.
func (s studioSource) Threads(ctx context.Context, q studio.Query) (page []studio.Thread, total int, err error) {
	filter, err := s.c.allow("threads", "search", "")
	if err != nil {
		return nil, 0, err
	}
	want, err := wanted(q.Metadata)
	if err != nil {
		return nil, 0, err
	}
	text, prefix := strings.ToLower(q.Text), strings.ToLower(q.Prefix)
	match := func(t *thread) bool {
		return (q.Status == "" || string(t.Status) == q.Status) && matchMetadata(t.Metadata, want, filter) &&
			(q.Graph == "" || s.graphID(*t) == q.Graph) && strings.HasPrefix(strings.ToLower(t.ThreadID), prefix) && (text == "" || t.mentions(text))
	}
	find := search[thread]{match: match, offset: q.Offset, limit: q.Limit}
	if find.sort, find.ascending, err = checkSort(threadKeys, threadSorts[q.Sort], ""); err != nil {
		return nil, 0, err
	}
	indexed := threadQuery{status: wire.ThreadStatus(q.Status), filter: filter, want: maps.Clone(want)}
	named := s.named(q.Graph)
	if named {
		indexed.want[wire.MetadataGraph] = q.Graph
	}
	find.terms, find.exact = indexed.terms()
	find.exact = find.exact && (named || q.Graph == "") && text == "" && prefix == ""
	list, total, err := s.c.server.threads.find(ctx, find)
	for _, t := range list {
		page = append(page, s.thread(t))
	}
	return page, total, err
}

// Answer implements studio.Source. It creates a run, as a client does with command.resume.
func (s studioSource) Answer(ctx context.Context, t studio.Thread, question string, answer json.RawMessage) error {
	r, found, err := s.c.server.threads.get(ctx, t.ID)
	if err != nil {
		return err
	}
	if !found {
		return noThread(t.ID)
	}
	resume, err := encode(map[string]json.RawMessage{question: answer})
	if err != nil {
		return err
	}
	command, err := encode(map[string]json.RawMessage{"resume": resume})
	if err != nil {
		return err
	}
	s.c.SetPathValue("thread_id", t.ID)
	_, assistantID := s.c.graphOfThread(r.record)
	_, err = s.c.enqueue(runRequest{AssistantID: assistantID, Command: command, Multitask: "reject"})
	return err
}

// Count implements studio.Source.
func (s studioSource) Count(ctx context.Context) (map[string]map[string]int, error) {
	filter, err := s.c.allow("threads", "search", "")
	if err != nil {
		return nil, err
	}
	counts := map[string]map[string]int{}
	add := func(id string, status wire.ThreadStatus, n int) {
		if counts[id] == nil {
			counts[id] = map[string]int{}
		}
		if n > 0 {
			counts[id][string(status)] += n
		}
	}
	threads := s.c.server.threads
	if len(filter) > 0 {
		var q search[thread]
		q.terms, _ = threadQuery{filter: filter}.terms()
		return counts, threads.candidates(ctx, q, func(r stored[thread]) error {
			if passes(r.record.Metadata, filter) {
				add(s.graphID(r.record), r.record.Status, 1)
			}
			return nil
		})
	}
	for _, status := range threadStatuses {
		rest, err := threads.count(ctx, statusTerm(status))
		for _, id := range s.c.server.GraphIDs() {
			if err != nil {
				return nil, err
			}
			leaf, _ := leafTerm([]string{wire.MetadataGraph}, id)
			var n int
			n, err = threads.count(ctx, statusAndTerm(status, leaf))
			add(id, status, n)
			rest -= n
		}
		if err != nil {
			return nil, err
		}
		if rest > 0 {
			add(s.graphID(thread{}), status, rest)
		}
	}
	return counts, nil
}

// named reports whether the threads of a graph are those whose metadata name it. Where only one
// graph is served, other threads are shown as its threads too.
func (s studioSource) named(id string) bool {
	return len(s.c.server.GraphIDs()) > 1 && s.c.server.serves(id)
}

// Thread implements studio.Source.
func (s studioSource) Thread(ctx context.Context, id string) (studio.Thread, error) {
	known, err := uuid.Parse(id)
	if err != nil || len(id) != 36 {
		return studio.Thread{}, noThread(fmt.Sprintf("%.100q", id))
	}
	id = known.String()
	filter, err := s.c.allow("threads", "read", id)
	if err != nil {
		return studio.Thread{}, err
	}
	t, err := s.c.server.visibleThread(ctx, id, filter)
	if err == nil && t.Status == wire.ThreadBusy {
		if err = s.c.server.settle(ctx, id); err == nil {
			t, err = s.c.server.visibleThread(ctx, id, filter)
		}
	}
	shown := s.thread(t)
	if err != nil {
		return shown, err
	}
	if seen, err := s.c.shownOf(t, useRead); err == nil && seen.ran() { // else its graph cannot be built any more
		shown.Graph, shown.Messages = seen.root.Untyped, firstOf(seen.root.messages)
	}
	return shown, nil
}

// Events implements studio.Source.
func (s studioSource) Events(ctx context.Context, thread string, after uint64) iter.Seq2[eventlog.Batch, error] {
	return eventlog.Log{Bus: s.c.server.bus}.Follow(ctx, thread, after)
}

// Position implements studio.Source.
func (s studioSource) Position(ctx context.Context, thread string) (uint64, error) {
	return eventlog.Log{Bus: s.c.server.bus}.Last(ctx, thread)
}

// Changed implements studio.Source.
func (s studioSource) Changed() <-chan struct{} { return s.c.server.queue.Changed("") }

// thread returns a thread as a list shows it.
func (s studioSource) thread(t thread) studio.Thread {
	shown := studio.Thread{
		ID: t.ThreadID, Status: string(t.Status), GraphID: s.graphID(t), Created: t.CreatedAt.Time, Updated: t.UpdatedAt.Time,
		Store: s.c.server.config.Store,
	}
	if t.StateUpdatedAt.After(shown.Updated) {
		shown.Updated = t.StateUpdatedAt.Time
	}
	if t.Error != nil {
		shown.Error = t.Error.Message
	}
	return shown
}

// graphID returns the id of a thread's graph; "" if it is not known.
func (s studioSource) graphID(t thread) string {
	id, _ := s.c.graphOfThread(t)
	return id
}
