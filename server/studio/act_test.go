package studio_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/studio"
)

func TestActions(t *testing.T) {
	h, m := newStudio(t, "/studio")
	const thread = "/studio/threads/t%201"
	for _, c := range []struct {
		name, path string
		form       url.Values
		status     int
		want       []string
	}{
		{"fork", thread + "/fork", url.Values{"at": {"3"}}, 303, []string{`edit t 1 at 3 as "": `}},
		{"fork at no number", thread + "/fork", url.Values{"at": {"x"}}, 400, nil},
		{"edit and go on", thread + "/edit", url.Values{"at": {"3"}, "field": {"question"}, "value": {` "b" `}, "as": {"read"}, "then": {"run"}}, 303,
			[]string{`edit t 1 at 3 as "read": {"question":"b"}`, "resume t 1"}},
		{"edit only", thread + "/edit", url.Values{"field": {"question"}, "value": {`"b"`}}, 303, []string{`edit t 1 at 0 as "": {"question":"b"}`}},
		{"edit as a router", thread + "/edit", url.Values{"at": {"3"}, "field": {"question"}, "value": {`"b"`}, "as": {"check"}}, 422, nil},
		{"edit as a router that goes on", thread + "/edit", url.Values{"at": {"3"}, "field": {"question"}, "value": {`"b"`}, "as": {"check"}, "goto": {"read"}}, 303,
			[]string{`edit t 1 at 3 as "check": {"question":"b"} then read`}},
		{"edit with no JSON", thread + "/edit", url.Values{"field": {"question"}, "value": {"b"}}, 422, nil},
		{"run again", thread + "/rerun", url.Values{"at": {"2"}}, 303, []string{`start review on "t 1" at 2 with `}},
		{"cancel", thread + "/cancel", nil, 303, []string{"cancel t 1"}},
		{"prune", thread + "/prune", url.Values{"name": {"t 1"}}, 303, []string{"prune t 1"}},
		{"prune another", thread + "/prune", url.Values{"name": {"t 2"}}, 422, nil},
		{"delete", thread + "/delete", url.Values{"name": {"t 1"}}, 303, []string{"remove t 1"}},
		{"delete without a name", thread + "/delete", nil, 422, nil},
		{"run", "/studio/graphs/review/run", url.Values{"in:question": {"why"}}, 303, []string{`start review on "" at 0 with {"question":"why"}`}},
		{"run with JSON", "/studio/graphs/review/run", url.Values{"from": {"json"}, "raw": {`{"question":"x"}`}, "thread": {"t 1"}}, 303, []string{`start review on "t 1" at 0 with {"question":"x"}`}},
		{"run with no JSON", "/studio/graphs/review/run", url.Values{"from": {"json"}, "raw": {`{`}}, 422, nil},
		{"run of no graph", "/studio/graphs/none/run", nil, 404, nil},
	} {
		m.acts = nil
		if w := post(h, c.path, "cross-site", c.form); w.Code != http.StatusForbidden {
			t.Errorf("%s: a form of another site gets %d", c.name, w.Code)
		}
		if w := post(h, c.path, "same-origin", c.form); w.Code != c.status || !slices.Equal(m.acts, c.want) {
			t.Errorf("%s: got %d and %q, want %d and %q\n%.600s", c.name, w.Code, m.acts, c.status, c.want, w.Body)
		}
	}
	m.refuse = errRefused
	holds(t, post(h, "/studio/graphs/review/run", "same-origin", url.Values{"in:question": {"<b>"}}), 422, errRefused.Error(), "&lt;b&gt;</textarea>")
}

// A form with a mistake is shown again, open and as it was filled in.
func TestEdit_ShowsMistakesInItsForm(t *testing.T) {
	h, m := newStudio(t, "/studio")
	const path = "/studio/threads/t%201"
	holds(t, get(t, h, path+"?at=1"), 200, `<option value="facts">facts</option>`, "the end", "!The node &#34;check&#34; chooses") // a field without a value, too
	form := url.Values{"at": {"2"}, "field": {"question"}, "value": {`"<b>"`}, "as": {"check"}, "then": {"run"}}
	holds(t, post(h, path+"/edit", "same-origin", form), 422, "<details open><summary>Edit and go on", "checkpoint 2 of", `The node &#34;check&#34; chooses itself where to go on`,
		"&#34;&lt;b&gt;&#34;</textarea>", `<option value="check" selected>`)
	holds(t, post(h, path+"/edit/input", "same-origin", form), 200, `"mistake":"The node \"check\" chooses`, `!"command"`)
	form.Set("goto", "read")
	holds(t, post(h, path+"/edit/input", "same-origin", form), 200, `"command":"curl -X POST`, `\"as\":\"check\"`, `\"goto\":[\"read\"]`, `\"question\":\"\\u003cb\\u003e\"`)
	if len(m.acts) > 0 {
		t.Errorf("a form with a mistake does %q", m.acts)
	}
	m.refuse = errRefused
	holds(t, post(h, path+"/edit", "same-origin", form), 422, "<details open><summary>Edit and go on", errRefused.Error())
}

func TestRun_SettingsHaveAForm(t *testing.T) {
	h, m := newStudio(t, "/studio")
	b := graph.New[facts]("tuned")
	b.Node("a", graph.Func(func(context.Context, *facts) error { return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g, err := b.Compile(graph.Config{Schemas: graph.Schemas{Settings: json.RawMessage(`{"type":"object","required":["model"],
		"properties":{"model":{"enum":["small","large"],"default":"small"},"rounds":{"type":"integer","maximum":9},"style":{"type":"string"}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	m.graphs = append(m.graphs, studio.Graph{ID: "tuned", Graph: g.Untyped()})
	m.records["GET /assistants/a1"] = `{"assistant_id":"a1","graph_id":"tuned","context":{"style":"<short>","other":7}}`
	const path = "/studio/graphs/tuned/run"
	holds(t, get(t, h, path), 200, `name="set:model"`, `<option value="&#34;small&#34;" selected>small`, `name="set:rounds"`, "model (required)", `name="context"`)
	m.records["GET /assistants/tuned"] = `{"assistant_id":"x","graph_id":"tuned","context":{"model":"large","style":"own"}}`
	holds(t, get(t, h, path), 200, `<option value="&#34;large&#34;" selected>large`, `name="set:style" rows="1">own</textarea>`)
	m.records["GET /assistants/tuned"] = "no JSON" // as if the caller must not read it
	holds(t, get(t, h, path), 200, `<option value="&#34;small&#34;" selected>small`)
	m.records["GET /assistants/tuned"] = "{}"
	m.refuse = errNone
	holds(t, get(t, h, path+"?assistant=a9"), 404, errNone.Error())
	m.refuse = nil
	holds(t, get(t, h, path+"?assistant=a1"), 200, `name="set:style" rows="1">&lt;short&gt;</textarea>`, "{\n  &#34;other&#34;: 7\n}</textarea>", "-d &#39;{&#34;assistant_id&#34;:&#34;a1&#34;,&#34;context&#34;:{")
	for _, c := range []struct {
		name   string
		form   url.Values
		status int
		want   []string
	}{
		{"fields", url.Values{"in:question": {"why"}, "set:model": {`"large"`}, "set:rounds": {"3"}}, 303, []string{`start tuned on "" at 0 with {"question":"why"} in {"model":"large","rounds":3}`}},
		{"fields and JSON", url.Values{"set:model": {`"small"`}, "context": {`{"other":7,"model":"none"}`}}, 303, []string{`start tuned on "" at 0 with {} in {"model":"small","other":7}`}},
		{"a mistake", url.Values{"set:model": {`"large"`}, "set:rounds": {"10"}}, 422, nil},
		{"nothing that is required", url.Values{"in:question": {"why"}}, 422, nil},
		{"the JSON of the input, with the settings", url.Values{"from": {"json"}, "raw": {`{"question":"b"}`}, "in:question": {"a"}, "set:model": {`"large"`}, "context": {`{"other":7}`}}, 303,
			[]string{`start tuned on "" at 0 with {"question":"b"} in {"model":"large","other":7}`}},
		{"JSON and a mistake in a setting", url.Values{"from": {"json"}, "raw": {"{}"}, "set:model": {`"large"`}, "set:rounds": {"10"}}, 422, nil},
	} {
		m.acts = nil
		if w := post(h, path, "same-origin", c.form); w.Code != c.status || !slices.Equal(m.acts, c.want) {
			t.Errorf("%s: got %d and %q, want %d and %q\n%.900s", c.name, w.Code, m.acts, c.status, c.want, w.Body)
		}
	}
	holds(t, post(h, path, "same-origin", url.Values{"set:rounds": {"10"}}), 422, "some settings have mistakes", "this must be at most 9", "a value is required")
	holds(t, post(h, path+"/input", "same-origin", url.Values{"set:rounds": {"10"}}), 200, `"set:rounds":"this must be at most 9"`, `"set:model":"a value is required"`)
	holds(t, post(h, path+"/input", "same-origin", url.Values{"from": {"json"}, "raw": {"{"}, "set:rounds": {"10"}}), 200, `"set:rounds":"this must be at most 9"`, `"mistake":"the input must be JSON"`)
}

func TestActions_AreNotThereReadOnly(t *testing.T) {
	_, m := newStudio(t, "/studio")
	h := studio.New(studio.Config{
		Base: "/studio", ReadOnly: true,
		Open:  func(*http.Request) (studio.Source, error) { return m, nil },
		Fault: func(error) (int, string) { return http.StatusInternalServerError, "" },
	})
	for _, path := range []string{"/studio/threads/t%201", "/studio/graphs/review"} {
		holds(t, get(t, h, path), 200, `!method="post"`, "!/run\"")
	}
	for _, path := range []string{"fork", "edit", "rerun", "replay", "cancel", "prune", "delete"} {
		holds(t, post(h, "/studio/threads/t%201/"+path, "same-origin", url.Values{"name": {"t 1"}}), 405)
	}
	holds(t, post(h, "/studio/graphs/review/run", "same-origin", nil), 405)
	if len(m.acts) > 0 {
		t.Errorf("got %q", m.acts)
	}
}

func TestReplay_ShowsTheVerdict(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, post(h, "/studio/threads/t%201/replay", "same-origin", nil), 200, "4 steps come out as recorded", "weft replay &#39;t 1&#39; --yes")
}

func TestForm_IsChecked(t *testing.T) {
	h, m := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/graphs/review/run"), 200, `name="in:question"`, `name="raw"`, "on a new thread")
	holds(t, get(t, h, "/studio/graphs/review/run?thread=t%201"), 200, "on thread t 1")
	holds(t, post(h, "/studio/graphs/review/run/input", "same-origin", url.Values{"in:facts": {"a\nb"}}), 200, `"raw":"{\n  \"facts\": [\n    \"a\",\n    \"b\"\n  ]\n}"`)
	holds(t, post(h, "/studio/graphs/review/run/input", "same-origin", url.Values{"from": {"json"}, "raw": {`{"question":"x"}`}}), 200, `"in:question":"x"`)
	if len(m.acts) > 0 {
		t.Errorf("a check starts %q", m.acts)
	}
}
