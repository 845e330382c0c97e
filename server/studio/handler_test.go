package studio_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"iter"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/studio"
	"github.com/weftrun/weft/state"
)

// memory is a source of threads in memory.
type memory struct {
	graphs  []studio.Graph
	threads []studio.Thread
	answers []string
	acts    []string
	refuse  error
	records map[string]string // answers by method and path
	log     eventlog.Log
	read    atomic.Int64 // counts the batches of the log
	changed chan struct{}
}

var (
	errNone    = errors.New("there is none")
	errUnknown = errors.New("who is it")
	errRefused = errors.New("the input does not fit")
)

func (m *memory) Graphs(context.Context) ([]studio.Graph, error) { return m.graphs, nil }

func (m *memory) Threads(_ context.Context, q studio.Query) (page []studio.Thread, total int, err error) {
	for _, t := range m.threads {
		if (q.Status == "" || t.Status == q.Status) && (q.Graph == "" || t.GraphID == q.Graph) && strings.HasPrefix(t.ID, q.Prefix) {
			if total++; total > q.Offset && len(page) < q.Limit {
				page = append(page, t)
			}
		}
	}
	return page, total, nil
}

func (m *memory) Thread(_ context.Context, id string) (studio.Thread, error) {
	for _, t := range m.threads {
		if strings.EqualFold(t.ID, id) { // an id may be written in several ways
			return t, nil
		}
	}
	return studio.Thread{}, errNone
}

func (m *memory) Answer(_ context.Context, t studio.Thread, question string, answer json.RawMessage) error {
	m.answers = append(m.answers, t.ID+" "+question+" "+string(answer))
	return nil
}

// Do answers searches with nothing, and notes what else is asked for.
func (m *memory) Do(_ context.Context, method, path string, body, answer any) error {
	if data, ok := m.records[method+" "+path]; ok {
		return json.Unmarshal([]byte(data), answer)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return m.note("%s %s %s", method, path, data)
}

func (m *memory) System(context.Context) (studio.System, error) {
	return studio.System{Version: "test", Findings: []checkpoint.Finding{{Subject: "journal", Value: "wal", Cost: "it is fast"}}}, nil
}

func (m *memory) note(format string, args ...any) error {
	m.acts = append(m.acts, fmt.Sprintf(format, args...))
	return m.refuse
}

func (m *memory) Start(_ context.Context, s studio.Start) (string, error) {
	input := string(s.Input)
	if s.Context != nil {
		input += " in " + string(s.Context)
	}
	return "started", m.note("start %s on %q at %d with %s", s.Graph, s.Thread, s.At, input)
}

func (m *memory) Resume(_ context.Context, t studio.Thread) error { return m.note("resume %s", t.ID) }

func (m *memory) Edit(_ context.Context, thread string, e studio.Edit) error {
	then := ""
	for _, node := range e.Goto {
		then += " then " + node
	}
	return m.note("edit %s at %d as %q: %s%s", thread, e.At, e.As, e.Writes, then)
}

func (m *memory) ServeBlob(w http.ResponseWriter, r *http.Request, thread, hash string) error {
	if hash != "known" {
		return errNone
	}
	fmt.Fprint(w, thread, " ", r.URL.Query().Get("type"))
	return nil
}

func (m *memory) Cancel(_ context.Context, thread string) error { return m.note("cancel %s", thread) }
func (m *memory) Prune(_ context.Context, thread string) error  { return m.note("prune %s", thread) }
func (m *memory) Remove(_ context.Context, thread string) error { return m.note("remove %s", thread) }

func (m *memory) Events(ctx context.Context, thread string, after uint64) iter.Seq2[eventlog.Batch, error] {
	return func(yield func(eventlog.Batch, error) bool) {
		for b, err := range m.log.Follow(ctx, thread, after) {
			if m.read.Add(1); !yield(b, err) {
				return
			}
		}
	}
}

func (m *memory) Position(ctx context.Context, thread string) (uint64, error) {
	return m.log.Last(ctx, thread)
}

func (m *memory) MayEdit(context.Context) error { return m.refuse }

func (m *memory) Changed() <-chan struct{} { return m.changed }

func (m *memory) Count(context.Context) (map[string]map[string]int, error) {
	counts := map[string]map[string]int{}
	for _, t := range m.threads {
		if counts[t.GraphID] == nil {
			counts[t.GraphID] = map[string]int{}
		}
		counts[t.GraphID][t.Status]++
	}
	return counts, nil
}

type facts struct {
	Question state.Value[string] `json:"question"`
	Facts    state.List[string]  `json:"facts"`
}

const markup = `<script>alert("x")`

// review is a graph with a subgraph, a loop and a question.
func review(t *testing.T, store checkpoint.Store) graph.Untyped {
	t.Helper()
	inner := graph.New[facts]("read")
	inner.Node("page", graph.Func(func(_ context.Context, s *facts) error {
		s.Facts.Append(strings.Repeat("a fact about "+s.Question.Get()+"\n", 20))
		return nil
	}))
	inner.Edge(graph.Start, "page")
	inner.Edge("page", graph.End)
	child, err := inner.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New[facts]("review")
	b.Node("read", graph.Inline(child))
	b.Node("check", graph.Router(func(_ context.Context, s *facts) (graph.Command, error) {
		if s.Facts.Len() < 2 {
			return graph.Goto("read").WithReason("too few facts"), nil
		}
		return graph.Goto(markup), nil
	}, "read", markup))
	b.Node(markup, graph.Func(func(ctx context.Context, _ *facts) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Is <b>it</b> right?"})
		return err
	}))
	b.Edge(graph.Start, "read")
	b.Edge("read", "check")
	b.Edge(markup, graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g.Untyped()
}

// newStudio returns a handler below base, with a thread that waits and many without a checkpoint.
func newStudio(t *testing.T, base string) (*studio.Handler, *memory) {
	t.Helper()
	store := &checkpoint.Memory{}
	g := review(t, store)
	if _, err := g.Invoke(t.Context(), json.RawMessage(`{"question":"<i>why</i>"}`), graph.RunOptions{Thread: "t 1"}); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := &memory{log: eventlog.Log{Bus: new(topic.Local)}, changed: make(chan struct{}), graphs: []studio.Graph{{ID: "review", Graph: g}, {ID: "un/used", Graph: g}}}
	m.records = map[string]string{
		"POST /assistants/search": `[{"assistant_id":"a1","graph_id":"review","name":"short","version":2,"config":{},"context":{"style":"<short>"},"updated_at":"2026-01-02T03:04:05Z"}]`,
		"GET /assistants/a1":      `{"assistant_id":"a1","graph_id":"review","name":"short","version":2,"context":{"style":"<short>"},"updated_at":"2026-01-02T03:04:05Z"}`,
		"POST /assistants/a1/versions": `[{"assistant_id":"a1","graph_id":"review","name":"short","version":2,"context":{"style":"<short>"}},
			{"assistant_id":"a1","graph_id":"review","name":"first","version":1,"context":{}}]`,
		"POST /runs/crons/search":                      `[{"cron_id":"c1","assistant_id":"a1","schedule":"*/5 * * * *","enabled":true,"next_run_date":"2026-01-02T03:04:05Z","payload":{"input":{"question":"why"}}}]`,
		"GET /runs/crons/c1":                           `{"cron_id":"c1","schedule":"*/5 * * * *"}`,
		"POST /store/items/search":                     `{"items":[{"namespace":["users","ada"],"key":"tea","value":{"kind":"<black>"},"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z"}]}`,
		"POST /store/namespaces":                       `{"namespaces":[["users","ada"]]}`,
		"GET /store/items?key=tea&namespace=users.ada": `{"namespace":["users","ada"],"key":"tea","value":{"kind":"<black>"},"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z"}`,
	}
	m.threads = append(m.threads, studio.Thread{ID: "t 1", Status: "interrupted", GraphID: "review", Graph: g, Store: store, Created: at, Updated: at.Add(time.Hour)})
	for i := range 120 {
		m.threads = append(m.threads, studio.Thread{ID: "new-" + string(rune('a'+i%26)) + string(rune('a'+i/26)), Status: "idle", GraphID: "review", Graph: g, Store: store, Created: at})
	}
	m.threads = append(m.threads, studio.Thread{ID: "foreign", Status: "error", Store: store, Error: markup})
	return studio.New(studio.Config{Base: base, Open: func(r *http.Request) (studio.Source, error) {
		if r.Header.Get("X-Who") == "unknown" {
			return nil, errUnknown
		}
		return m, nil
	}, Fault: func(err error) (int, string) {
		if errors.Is(err, errNone) {
			return http.StatusNotFound, err.Error()
		}
		if errors.Is(err, errRefused) {
			return http.StatusUnprocessableEntity, err.Error()
		}
		if errors.Is(err, errUnknown) {
			return http.StatusUnauthorized, err.Error()
		}
		t.Errorf("a page failed: %v", err)
		return http.StatusInternalServerError, "internal error"
	}}), m
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// holds checks the status of an answer, and what its page holds and does not hold.
func holds(t *testing.T, w *httptest.ResponseRecorder, status int, wants ...string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("got the status %d, want %d:\n%.500s", w.Code, status, w.Body)
	}
	for _, want := range wants {
		if without, ok := strings.CutPrefix(want, "!"); ok && strings.Contains(w.Body.String(), without) {
			t.Errorf("the page holds %q:\n%s", without, w.Body)
		} else if !ok && !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page does not hold %q:\n%s", want, w.Body)
		}
	}
}

func TestGraphPages(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/graphs"), 200, `<a href="/studio/graphs/review">review</a>`, "121 threads", "interrupted</span> 1<", "/studio/graphs/un%2Fused", "no threads yet", "3 nodes")
	holds(t, get(t, h, "/studio/graphs/review"), 200, `id="node:read"`, "kind-graph", `?depth=1`, "!node:read:page", "&lt;script&gt;")
	holds(t, get(t, h, "/studio/graphs/review?depth=1"), 200, `id="node:read:page"`, "!?depth=2", "close the subgraphs")
	holds(t, get(t, h, "/studio/graphs/none"), 404, "there is no graph")
	holds(t, get(t, h, "/studio/graphs/review?depth=9"), 400, "depth must be a number from 0 to 8")
}

func TestThreads(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/threads"), 200, "1 to 50 of 122", `<a rel="next" href="/studio/threads?offset=50">`, "!rel=\"prev\"", "/studio/threads/t%201")
	holds(t, get(t, h, "/studio/threads?offset=50&status=idle"), 200, "51 to 100 of 120", "offset=0&amp;status=idle", "offset=100&amp;status=idle", `<option value="idle" selected>`)
	holds(t, get(t, h, "/studio/threads?status=error"), 200, "1 to 1 of 1", "&lt;script&gt;")
	holds(t, get(t, h, "/studio/threads?graph=un/used"), 200, "No thread matches")
	holds(t, get(t, h, "/studio/threads?offset=1000"), 200, "no threads from here on")
	holds(t, get(t, h, "/studio/threads?status=odd"), 400, "status must be one of")
	holds(t, get(t, h, "/studio/threads?sort=odd"), 400, "sort must be one of created, updated, status")
	holds(t, get(t, h, "/studio/threads?metadata=user"), 400, "metadata must be NAME=VALUE")
	holds(t, get(t, h, "/studio/threads?metadata=user%3Dada&metadata=&text=t+1&sort=updated"), 200,
		`name="metadata" value="user=ada"`, `name="metadata" value=""`, `name="text" value="t 1"`, `<option value="updated" selected>`)
}

func TestThreads_HaveExtents(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	listed := get(t, h, "/studio/threads?prefix=t")
	holds(t, listed, 200, "1 to 1 of 1", `name="prefix" value="t"`)
	cells := regexp.MustCompile(`<td class="number">([^<]*)</td>`).FindAllStringSubmatch(listed.Body.String(), -1)
	if len(cells) != 3 || cells[0][1] != "1" || cells[1][1] != "4" || !strings.HasSuffix(cells[2][1], "B") {
		t.Errorf("got the turns, steps and bytes %q, want 1, 4 and a size", cells)
	}
	holds(t, get(t, h, "/studio/threads?prefix=new-a"), 200, `<td class="number"></td>`, "!B</td>")
	holds(t, get(t, h, "/studio/api/threads?prefix=t"), 200, `"turns":1,"steps":4,"bytes":`)
	holds(t, get(t, h, "/studio/api/threads?prefix=new-a"), 200, `"total":5`, `!"bytes"`)
}

func TestThreads_SelectedByState(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	for query, found := range map[string]bool{
		"question": true, "question=<i>why</i>": true, "question=why": false, "facts.%23=2": true, "facts.0": true, "facts.9": false, "none": false, "question=1": false,
	} {
		page := get(t, h, "/studio/threads?state="+strings.ReplaceAll(strings.ReplaceAll(query, "<", "%3C"), "/", "%2F")).Body.String()
		if got := strings.Contains(page, "/studio/threads/t%201"); got != found {
			t.Errorf("%s finds the thread: %v, want %v", query, got, found)
		}
		if want := map[bool]string{true: "1 of", false: "0 of"}[found] + " the threads 1 to 122 of 122 have that state"; !strings.Contains(page, want) {
			t.Errorf("%s: the page does not say %q", query, want)
		}
	}
	holds(t, get(t, h, "/studio/threads?state=question&offset=100"), 200, "0 of the threads 101 to 122 of 122", "from the first")
	holds(t, get(t, h, "/studio/api/threads?state=facts.9"), 200, `"looked":122`, `"threads":[]`, `"total":122`)
	holds(t, get(t, h, "/studio/threads?state=%3D1"), 400, "state must be PATH")
}

func TestThread_AtTheNewestCheckpoint(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/threads/t%201"), 200,
		"interrupted", "check, router, ran 2 times", "read, graph, ran 2 times", `id="node:read:page"`, "waits for a person: Is &lt;b&gt;it&lt;/b&gt; right?",
		"too few facts", "weft-timeline", "<summary>list of 2</summary>", "<code>&#34;&lt;i&gt;why&lt;/i&gt;&#34;</code>", "checkpoint 5 of 5",
		`<a rel="prev" href="/studio/threads/t%201?at=4" data-swap="">`, "!rel=\"next\"", "weft state &#39;t 1&#39; --at 5", "/studio/threads/t%201/state.json?at=5", "!<script>", "!<i>why",
		"Changes since checkpoint 4", "No field differs", "<b>check</b> → <b>&lt;script&gt;", `<p class="prompt">Is &lt;b&gt;it&lt;/b&gt; right?</p>`)
}

func TestThread_Changes(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/threads/t%201?at=3"), 200, "Changes since checkpoint 2", "No field differs", "<b>check</b> → <b>read</b>: too few facts")
	holds(t, get(t, h, "/studio/threads/t%201?at=2"), 200, "Changes since checkpoint 1", `<th scope="row">facts<small class="hint">state.List[string]</small></th>`, "1 added: <details><summary>list of 1</summary>", "read in step 1", "<code>nothing</code>")
	holds(t, get(t, h, "/studio/threads/t%201?at=1"), 200, "!Changes since")
	holds(t, get(t, h, "/studio/threads/t%201?at=5&from=2"), 200, "Changes since checkpoint 2", "1 added:", "read in step 3", "too few facts")
	holds(t, get(t, h, "/studio/threads/t%201?from=77"), 404, "the thread has no checkpoint 77")
}

func TestThread_LeavesOutParts(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	ask := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("X-Weft-Parts", "first")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := ask("/studio/threads/t%201?at=3")
	holds(t, w, 200, "checkpoint 3 of 5", "read, graph, ran once", "Changes since checkpoint 2", `id="fields"`, "!weft-timeline", `!id="times"`, `!id="commits"`)
	if w.Header().Get("X-Weft-Parts") != "first" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("a page without all parts must say so, and must not be stored (got %v)", w.Header())
	}
	whole := get(t, h, "/studio/threads/t%201?at=3")
	for _, id := range []string{"summary", "steps", "acts", "asked", "picture", "tabs", "fields", "differences"} {
		part := regexp.MustCompile(`(?s)<div id="` + id + `" class="part".*?<div id=`)
		if got, want := part.FindString(w.Body.String()), part.FindString(whole.Body.String()); got != want || got == "" {
			t.Errorf("the part %s is not that of the whole page:\n%s\n%s", id, got, want)
		}
	}
	for _, path := range []string{"/studio/threads/new-aa", "/studio/threads", "/studio/threads/t%201/chat"} {
		if w := ask(path); w.Header().Get("X-Weft-Parts") != "" {
			t.Errorf("%s leaves out parts", path)
		}
	}
	if w := get(t, h, "/studio/threads/t%201"); w.Header().Get("X-Weft-Parts") != "" {
		t.Error("a page leaves out parts and was not asked to")
	}
}

func TestThread_AtAnOlderCheckpoint(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/threads/t%201?at=3"), 200, "checkpoint 3 of 5", "read, graph, ran once", "!waits for a person: Is", `<li id="legend-asking" hidden`, `href="/studio/threads/t%201?at=2"`,
		`href="/studio/threads/t%201?at=4"`, ">newest</a>", `<tr id="checkpoint-3" aria-current="true"><td class="number"><a href="/studio/threads/t%201?at=3" data-swap="">`)
	holds(t, get(t, h, "/studio/threads/t%201?at=1"), 200, `<span class="muted">← earlier</span>`)
	holds(t, get(t, h, "/studio/threads/t%201?at=9"), 404, "the thread has no checkpoint 9")
	holds(t, get(t, h, "/studio/threads/t%201?at=x"), 400, "at must be a number")
}

func TestThread_WithoutStateOrGraph(t *testing.T) {
	h, m := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/threads/new-aa"), 200, "no checkpoint yet", "!<h2")
	holds(t, get(t, h, "/studio/threads/new-aa?at=1"), 404, "the thread has no checkpoint 1")
	holds(t, get(t, h, "/studio/threads/none"), 404, "there is none")
	m.threads[0].Graph, m.threads[0].GraphID = nil, ""
	holds(t, get(t, h, "/studio/threads/t%201"), 200, "does not serve the graph", "weft-timeline", "!id=\"node:read\"")
	holds(t, get(t, h, "/studio/threads/t%201/state.json"), 404, "does not serve the graph")
}

func TestState_AsAFile(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	w := get(t, h, "/studio/threads/t%201/state.json?at=3")
	var got struct {
		Question string
		Facts    []string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Question != "<i>why</i>" || len(got.Facts) != 1 {
		t.Errorf("got %+v, %v from %s", got, err, w.Body)
	}
	if got := w.Header().Get("Content-Disposition"); got != `attachment; filename="t 1-3.json"` {
		t.Errorf("got the disposition %q", got)
	}
}

var (
	link     = regexp.MustCompile(`(?:href|method="get" action)="([^"]*)"`)
	pictures = regexp.MustCompile(`(?s)<svg .*?</svg>`)
	module   = regexp.MustCompile(`<script type="module" src="/[a-z/]*studio/web/[0-9a-f]{12}/main.js"></script>`)
	outside  = regexp.MustCompile(`(?i)(src|href|action|data|poster)="([a-z]+:)?//|url\(|@import|<(script|iframe|object|img|style)\b| (style|on[a-z]+)="`)
)

// Each page that can be reached has an answer without an error, loads nothing from elsewhere, and
// keeps the policy, also below another path.
func TestPages_AllLinksLead(t *testing.T) {
	for _, base := range []string{"/studio", "/tools/weft/studio"} {
		h, _ := newStudio(t, base)
		queue, seen := []string{base + "/graphs", base + "/threads"}, map[string]bool{}
		for len(queue) > 0 {
			path := queue[0]
			queue = queue[1:]
			if seen[path] {
				continue
			}
			seen[path] = true
			w := get(t, h, path)
			if w.Code != http.StatusOK {
				t.Errorf("%s answers %d", path, w.Code)
			}
			for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s: got %s %q, want %q", path, name, got, want)
				}
			}
			policy := w.Header().Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'self'") || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: got the policy %q", path, policy)
			}
			if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
				continue
			}
			if found := outside.FindString(module.ReplaceAllString(w.Body.String(), "")); found != "" {
				t.Errorf("%s has %q", path, found)
			}
			for _, svg := range pictures.FindAllString(w.Body.String(), -1) {
				if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
					t.Errorf("%s has a picture that is not XML: %v", path, err)
				}
			}
			for _, m := range link.FindAllStringSubmatch(w.Body.String(), -1) {
				to, _, _ := strings.Cut(html.UnescapeString(m[1]), "#")
				switch {
				case to == "":
				case strings.HasPrefix(to, "?"):
					queue = append(queue, path+to)
				case strings.HasPrefix(to, base+"/"):
					queue = append(queue, to)
				case to != "data:,":
					t.Errorf("%s leads to %q", path, to)
				}
			}
		}
		if len(seen) < 135 {
			t.Errorf("found %d pages, want those of all threads", len(seen))
		}
	}
}

func TestHandler_OtherAnswers(t *testing.T) {
	h, _ := newStudio(t, "/studio/")
	for _, path := range []string{"/studio", "/studio/"} {
		if w := get(t, h, path); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/studio/graphs" {
			t.Errorf("%s answers %d %q", path, w.Code, w.Header().Get("Location"))
		}
	}
	holds(t, get(t, h, "/studio/odd"), 404, "there is no such page")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/studio/graphs", nil))
	holds(t, w, 405, "this page only reads")
	r := httptest.NewRequest(http.MethodGet, "/studio/graphs", nil)
	r.Header.Set("X-Who", "unknown")
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if holds(t, w, 401, "who is it"); !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("got the challenge %q", w.Header().Get("WWW-Authenticate"))
	}
	style := regexp.MustCompile(`/studio/web/[0-9a-f]+/studio.css`).FindString(get(t, h, "/studio/graphs").Body.String())
	sheet := get(t, h, style)
	if holds(t, sheet, 200, "--weft-ground", ".cards"); sheet.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
		t.Errorf("got %v", sheet.Header())
	}
	if size := sheet.Body.Len(); size > 32<<10 {
		t.Errorf("the style sheet has %d bytes", size)
	}
	if !slices.Equal(studio.Statuses, []string{"busy", "interrupted", "error", "idle"}) {
		t.Errorf("got the statuses %q", studio.Statuses)
	}
}
