package studio_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestAPI_Answers(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	for path, wants := range map[string]map[string]string{
		"/graphs":                                  {"0.id": "review", "0.threads.interrupted": "1", "#": "2"},
		"/graphs/review?depth=1":                   {"drawing.graph": "review", `drawing.nodes.#(name=="read").inside.graph`: "read", "schemas.state.type": "object"},
		"/threads?status=interrupted":              {"total": "1", "threads.0.id": "t 1", "threads.0.graph": "review"},
		"/threads/t%201/tree":                      {"commits.#": "5", "commits.0.checkpoint": "5", "before": "0"},
		"/threads/t%201/tree?before=3":             {"commits.#": "2"},
		"/threads/t%201/commits/3":                 {"commit.checkpoint": "3", "state.question": "<i>why</i>", "state.facts.#": "1"},
		"/threads/t%201/commits/3?fields=question": {"state.question": "<i>why</i>", "state.facts": ""},
		"/threads/t%201/diff?from=1&to=2":          {"changes.0.field": "facts", "changes.0.writers.0.node": "read", "changes.0.type": "state.List[string]"},
		"/threads/t%201/timeline":                  {"position": "0", "spans.#": "0"},
		"/threads/t%201/sizes":                     {"fields.#": "2", "checkpoints.#": "5"},
		"/inbox":                                   {"threads": "1", "questions.0.thread": "t 1", "questions.0.prompt": "Is <b>it</b> right?"},
		"/system":                                  {"version": "test"},
	} {
		w := get(t, h, "/studio/api"+path)
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("X-Weft-Build") == "" {
			t.Errorf("%s answers %d, %v: %s", path, w.Code, w.Header(), w.Body)
		}
		for at, want := range wants {
			if got := gjson.Get(w.Body.String(), at).String(); got != want {
				t.Errorf("%s has %q at %s, want %q: %s", path, got, at, want, w.Body)
			}
		}
	}
	for path, status := range map[string]int{
		"/graphs/none": 404, "/threads/none/tree": 404, "/threads/t%201/commits/77": 404, "/threads/t%201/commits/x": 400, "/threads/t%201/diff?from=1": 400,
		"/threads/foreign/commits/1": 404, "/threads?status=odd": 400, "/threads/t%201/commits/1?ns=none": 404, "/none": 404,
	} {
		if w := get(t, h, "/studio/api"+path); w.Code != status {
			t.Errorf("%s answers %d, want %d: %s", path, w.Code, status, w.Body)
		}
	}
	picture := get(t, h, "/studio/api/graphs/review/picture?thread=t%201&at=3&depth=1")
	if holds(t, picture, 200, `id="node:read:page"`, "read, graph, ran once"); picture.Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("got %v", picture.Header())
	}
	holds(t, get(t, h, "/studio/api/graphs/un%2Fused/picture?thread=t%201"), 404, "none of the graph")
}

func TestAPI_Writes(t *testing.T) {
	h, m := newStudio(t, "/studio")
	send := func(path, site, body string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodPost, "/studio/api"+path, strings.NewReader(body)), httptest.NewRecorder()
		r.Header.Set("Sec-Fetch-Site", site)
		h.ServeHTTP(w, r)
		return w
	}
	id := gjson.Get(get(t, h, "/studio/api/inbox").Body.String(), "questions.0.id").String()
	holds(t, send("/threads/t%201/fork", "cross-site", `{"at":2}`), 403, "must come from a page")
	holds(t, send("/threads/t%201/fork", "same-origin", `{"at":2}`), 200, `"head":5`)
	holds(t, send("/threads/t%201/edit", "same-origin", `{"at":2,"as":"read","writes":{"question":"x"},"run":true}`), 200)
	holds(t, send("/threads/t%201/rerun", "same-origin", `{"at":3}`), 200)
	holds(t, send("/threads/t%201/edit", "same-origin", `{`), 400, "the body must be JSON")
	holds(t, send("/inbox/t%201/"+id, "same-origin", `{"answer":true}`), 200)
	holds(t, send("/inbox/t%201/"+id, "same-origin", `{}`), 422)
	holds(t, send("/inbox/t%201/other", "same-origin", `{"answer":true}`), 409, "is not open any more")
	want := []string{`edit t 1 at 2 as "": `, `edit t 1 at 2 as "read": {"question":"x"}`, "resume t 1", `start review on "t 1" at 3 with `}
	if strings.Join(m.acts, "\n") != strings.Join(want, "\n") || len(m.answers) != 1 || m.answers[0] != "t 1 "+id+" true" {
		t.Errorf("got %q and %q, want %q", m.acts, m.answers, want)
	}
}

func TestAnswers_AreCompressed(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	for _, path := range []string{"/threads/t%201", "/api/graphs/review?depth=1"} {
		plain := get(t, h, "/studio"+path)
		r, w := httptest.NewRequest(http.MethodGet, "/studio"+path, nil), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", "gzip")
		h.ServeHTTP(w, r)
		if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" || w.Body.Len() >= plain.Body.Len() {
			t.Fatalf("%s is not compressed: %v", path, w.Header())
		}
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(z); err != nil || string(data) != plain.Body.String() {
			t.Errorf("%s differs when it is compressed: %v", path, err)
		}
	}
	if w := get(t, h, "/studio/api/graphs"); w.Header().Get("Content-Encoding") != "" || !json.Valid(w.Body.Bytes()) {
		t.Errorf("a client that reads no gzip gets %v", w.Header())
	}
}

func TestInspector_Tabs(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	const thread = "/studio/threads/t%201"
	holds(t, get(t, h, thread), 200, `aria-current="true">Overview</a>`, `id="state"`, `id="changes"`, "!>Messages</a>", "by <a", "read in step 3", "Subgraphs")
	holds(t, get(t, h, thread+"?tab=state"), 200, `id="state"`, `!id="changes"`)
	holds(t, get(t, h, thread+"?tab=diff"), 200, `!id="state"`, `id="changes"`)
	holds(t, get(t, h, thread+"?at=3&tab=task"), 200, "Tasks of step 2", "<b>check</b> → <b>read</b>: too few facts", "<th scope=\"row\">facts</th>", `tab=task`, "!id=\"state\"")
	holds(t, get(t, h, thread+"?tab=task&node=check"), 200, ": check", "In this turn check ran in:", "step 2</a>", "step 4</a>")
	holds(t, get(t, h, thread+"?tab=task&node=none"), 200, "No such task ran", "no step yet")
	holds(t, get(t, h, thread+"?tab=raw&at=2"), 200, "The commit as JSON", "&#34;checkpoint&#34;: 2", "/studio/api/threads/t%201/commits/2")
	holds(t, get(t, h, thread+"?tab=odd"), 200, `aria-current="true">Overview</a>`)
}

func TestChild_ShowsItsOwnSteps(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	page := get(t, h, "/studio/threads/t%201").Body.String()
	i := strings.Index(page, `id="children"`)
	m := link.FindStringSubmatch(page[i:])
	child := strings.ReplaceAll(m[1], "&amp;", "&")
	holds(t, get(t, h, child), 200, "Subgraph read", "weft state &#39;t 1&#39; --namespace", "graph read", `<th scope="row">facts`, "page")
	holds(t, get(t, h, child+"&at=77"), 404, "no such checkpoint")
	holds(t, get(t, h, "/studio/threads/t%201?ns=none"), 404, "has no subgraph")
	holds(t, get(t, h, "/studio/threads/foreign?ns=read"), 404, "does not serve the graph")
}
