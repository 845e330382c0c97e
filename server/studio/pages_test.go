package studio_test

import (
	"net/http"
	"net/url"
	"testing"
)

func TestRecordPages_ShowRecords(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/assistants"), 200, `<a href="/studio/assistants/a1">short</a>`, "New assistant", "/assistants/search -H", "!<short>")
	holds(t, get(t, h, "/studio/assistants/a1"), 200, "&#34;&lt;short&gt;&#34;", "Use version 1", "!Use version 2", "?from=1&amp;to=2", "/studio/graphs/review/run?assistant=a1")
	holds(t, get(t, h, "/studio/assistants/a1?from=1"), 200, "From version 1 to 2", "first</pre>", "short</pre>")
	holds(t, get(t, h, "/studio/assistants/a1?from=x"), 400, "from must be a number")
	holds(t, get(t, h, "/studio/crons"), 200, "*/5 * * * *", `<a href="/studio/assistants/a1">short</a>`, "Turn off")
	holds(t, get(t, h, "/studio/store"), 200, "users.ada</a>", "&lt;black&gt;", "/studio/store/item?key=tea&amp;ns=users.ada")
	holds(t, get(t, h, "/studio/store/item?ns=users.ada&key=tea"), 200, "Put the value", "&lt;black&gt;")
	holds(t, get(t, h, "/studio/system"), 200, "journal", "it is fast", "weft doctor", "&#34;version&#34;: &#34;test&#34;")
}

func TestRecordForms_CallTheInterface(t *testing.T) {
	for _, c := range []struct {
		path string
		form url.Values
		want string // the request, or the error
	}{
		{"/assistants", url.Values{"name": {"n"}, "graph": {"review"}, "context": {`{"a":1}`}}, `POST /assistants {"config":{},"context":{"a":1},"description":"","graph_id":"review","name":"n"}`},
		{"/assistants", url.Values{"name": {"n"}, "context": {`[1]`}}, "context must be an object"},
		{"/assistants/a1", url.Values{"name": {"n"}}, `PATCH /assistants/a1 {"config":{},"context":{},"description":"","name":"n"}`},
		{"/assistants/a1/latest", url.Values{"version": {"1"}}, `POST /assistants/a1/latest {"version":1}`},
		{"/assistants/a1/delete", url.Values{"name": {"other"}}, "type the assistant&#39;s name"},
		{"/assistants/a1/delete", url.Values{"name": {"short"}}, `DELETE /assistants/a1 null`},
		{"/crons", url.Values{"assistant": {"a1"}, "schedule": {"* * * * *"}, "thread": {"t/1"}, "input": {`{"q":1}`}}, `POST /threads/t%2F1/runs/crons {"assistant_id":"a1","input":{"q":1},"schedule":"* * * * *"}`},
		{"/crons/c1", url.Values{"enabled": {"false"}}, `PATCH /runs/crons/c1 {"enabled":false}`},
		{"/crons/c1/delete", url.Values{"schedule": {"no"}}, "type the schedule"},
		{"/crons/c1/delete", url.Values{"schedule": {"*/5 * * * *"}}, `DELETE /runs/crons/c1 null`},
		{"/store/item", url.Values{"ns": {"a.b"}, "key": {"k"}, "value": {`{"v":1}`}}, `PUT /store/items {"key":"k","namespace":["a","b"],"value":{"v":1}}`},
		{"/store/item/delete", url.Values{"ns": {"a.b"}, "key": {"k"}}, "type the key"},
		{"/store/item/delete", url.Values{"ns": {"a.b"}, "key": {"k"}, "name": {"k"}}, `DELETE /store/items {"key":"k","namespace":["a","b"]}`},
	} {
		h, m := newStudio(t, "/studio")
		w := post(h, "/studio"+c.path, "same-origin", c.form)
		if w.Code == http.StatusSeeOther {
			if len(m.acts) != 1 || m.acts[0] != c.want {
				t.Errorf("%s %v: got %q, want %q", c.path, c.form, m.acts, c.want)
			}
		} else if holds(t, w, 422, c.want); len(m.acts) > 0 {
			t.Errorf("%s %v did %q", c.path, c.form, m.acts)
		}
	}
}

func TestSizes_OfAThread(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/threads/t%201/sizes"), 200, `<th scope="row">facts</th>`, `class="area area-0"`, "Stored bytes of 2 fields", "the thread itself", "/threads/t%201/storage")
	holds(t, get(t, h, "/studio/threads/t%201/sizes?ns=none"), 404, "no such checkpoint")
	holds(t, get(t, h, "/studio/threads/t%201/sizes?before=3"), 200, ">2</text>", "!>3</text>")
	holds(t, get(t, h, "/studio/threads/new-aa/sizes"), 200, "no checkpoint yet")
	holds(t, get(t, h, "/studio/threads/none/sizes"), 404)
}
