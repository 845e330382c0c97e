package studio_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/studio"
)

func TestGraph_NodesLeadToTheirDetails(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/graphs/review"), 200, `<a id="node:check" class="node kind-router state-idle two" data-node="check" href="/studio/graphs/review?node=node%3Acheck#details"><title>check, router</title>`,
		`<g id="node:__start__"`, `!id="details"`)
	holds(t, get(t, h, "/studio/graphs/review?node=node%3Acheck"), 200, `<h2 id="of-node">Node check</h2>`, "<td>router</td>", "comes from", "<b>read</b>", "leads to", ", choice",
		`two here" data-node="check"`, `<rect class="ring"`)
	holds(t, get(t, h, "/studio/graphs/review?depth=1&node=node%3Aread%3Apage"), 200, "Node read › page", `href="/studio/graphs/review?depth=1&amp;node=node%3Aread#details"`)
	holds(t, get(t, h, "/studio/graphs/review?node=none"), 200, "no such node", `!class="ring"`)
}

// The nodes of a workflow lead to their lines in the editor, unless the caller must not use it.
func TestGraph_NodesLeadToTheEditor(t *testing.T) {
	_, m := newStudio(t, "/studio")
	h := studio.New(studio.Config{
		Base: "/studio", Editor: &shelf{file: studio.File{Path: "a/flow.yaml"}},
		Open:  func(*http.Request) (studio.Source, error) { return m, nil },
		Fault: func(error) (int, string) { return http.StatusInternalServerError, "" },
	})
	holds(t, get(t, h, "/studio/graphs/review?depth=1"), 200, `data-node="check" href="/studio/editor/a/flow.yaml#node=check"`, "node=node%3Aread%3Apage#details")
	holds(t, get(t, h, "/studio/graphs/review?node=node%3Acheck"), 200, `<a href="/studio/editor/a/flow.yaml#node=check">open it in the editor</a>`)
	m.refuse = errNone
	holds(t, get(t, h, "/studio/graphs/review"), 200, "!/studio/editor/a/flow.yaml", "?node=node%3Acheck#details")
}

func TestThread_MarksTheChosenNode(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/threads/t%201?tab=task&node=check"), 200, `two here" data-node="check"`, `aria-current="true"`, `<rect class="ring"`)
	holds(t, get(t, h, "/studio/threads/t%201"), 200, `!class="ring"`)
}

func TestThread_CheckpointsThatWentOn(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	page := get(t, h, "/studio/threads/t%201").Body.String()
	if n := strings.Count(page, "<td>went on</td>"); n != 4 || strings.Contains(page, "<td>pending</td>") {
		t.Errorf("%d checkpoints went on, want the 4 before the newest", n)
	}
}

func TestThread_DecisionsHaveResults(t *testing.T) {
	h, m := newStudio(t, "/studio")
	id := hidden.FindStringSubmatch(get(t, h, "/studio/inbox").Body.String())[1]
	if _, err := m.graphs[0].Graph.Resume(t.Context(), graph.Answer(id, json.RawMessage("false")), graph.RunOptions{Thread: "t 1", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	holds(t, get(t, h, "/studio/threads/t%201"), 200, `<th scope="row">rejected</th>`, "ada over go")
	holds(t, get(t, h, "/studio/inbox/t%201/"+id), 200, "answered by ada", "UTC: rejected")
}
