package studio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/studio"
	"github.com/weftrun/weft/state/message"
)

type talk struct {
	Messages message.Log `json:"messages"`
}

// newChat returns a studio with a thread of three turns: one with a tool, one that was changed, and
// one whose question is open.
func newChat(t *testing.T) (*studio.Handler, *memory) {
	t.Helper()
	b := graph.New[talk]("talk")
	b.Node("answer", graph.Func(func(ctx context.Context, s *talk) error {
		last, _ := s.Messages.Last()
		if strings.Contains(last.Text(), "ask") {
			if _, err := graph.Ask[bool](ctx, graph.Question{Prompt: "May I?"}); err != nil {
				return err
			}
		}
		said := message.Assistant("**You** said "+last.Text()+" <b>", message.Call{ID: "c-" + last.ID, Name: "look", Arguments: json.RawMessage(`{"at":"x"}`)})
		said.ID = "a-" + last.ID
		result := message.Tool(message.Failed("c-"+last.ID, "nothing is there"))
		result.ID = "r-" + last.ID
		return s.Messages.Add(said, result)
	}))
	b.Edge(graph.Start, "answer")
	b.Edge("answer", graph.End)
	store := &checkpoint.Memory{}
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	say := func(id, text string, at uint64) {
		t.Helper()
		m := message.User(text)
		m.ID = id
		if _, err := g.Invoke(t.Context(), talk{Messages: message.LogOf(m)}, graph.RunOptions{Thread: "c", At: at}); err != nil {
			t.Fatal(err)
		}
	}
	say("m1", "hello", 0)
	say("m2", "how?", 0)
	say("m2b", "why?", 2)
	say("m3", "ask me", 0)
	h, m := newStudio(t, "/studio")
	m.graphs = append(m.graphs, studio.Graph{ID: "talk", Graph: g.Untyped(), Messages: "messages"})
	m.threads = append(m.threads, studio.Thread{ID: "c", Status: "interrupted", GraphID: "talk", Graph: g.Untyped(), Messages: "messages", Store: store})
	return h, m
}

func TestChat_ShowsMessagesToolsAndBranches(t *testing.T) {
	h, m := newChat(t)
	holds(t, get(t, h, "/studio/threads/c/chat"), 200, `id="m-m1"`, "<strong>You</strong> said hello &lt;b&gt;", "<b>look</b> has failed", "nothing is there",
		"why?", "!how?", " 2/2 ", `href="/studio/threads/c/chat?at=4"`, "May I?", `name="view" value="chat"`, `href="/studio/threads/c/chat?edit=m1#message"`,
		`action="/studio/threads/c/chat" enctype="multipart/form-data"`, `/threads/c/runs/wait`, `/chat.js"`)
	holds(t, get(t, h, "/studio/threads/c/chat?at=4"), 200, "how?", "!why?", " 1/2 ", `name="at" value="4"`, "as of checkpoint 4 of", "!May I?")
	holds(t, get(t, h, "/studio/threads/c/chat?edit=m1"), 200, `name="edit" value="m1"`, ">hello</textarea>", "Send as a branch")
	holds(t, get(t, h, "/studio/threads/c/chat?before=1"), 200, `id="m-m1"`, `!id="m-a-m1"`)
	holds(t, get(t, h, "/studio/threads/c/chat?at=99"), 404, "no checkpoint 99")
	holds(t, get(t, h, "/studio/threads/t%201/chat"), 404, "has no messages")
	holds(t, get(t, h, "/studio/graphs/talk"), 200, `href="/studio/graphs/talk/chat"`)
	holds(t, get(t, h, "/studio/graphs/review"), 200, "!/chat")
	holds(t, get(t, h, "/studio/graphs/talk/chat"), 200, `action="/studio/graphs/talk/chat"`)
	m.threads[len(m.threads)-1].Graph, m.threads[len(m.threads)-1].Messages = nil, ""
	holds(t, get(t, h, "/studio/threads/c/chat"), 200, "no messages yet")
}

func TestChat_SendsMessages(t *testing.T) {
	h, m := newChat(t)
	for _, c := range []struct {
		path string
		form url.Values
		want string
	}{
		{"/studio/graphs/talk/chat", url.Values{"message": {"hi"}}, `start talk on "" at 0 with {"messages":[{"content":"hi","role":"user"}]}`},
		{"/studio/threads/c/chat", url.Values{"message": {"hi"}}, `start talk on "c" at 0 with {"messages":[{"content":"hi","role":"user"}]}`},
		{"/studio/threads/c/chat", url.Values{"message": {"hi"}, "at": {"4"}}, `start talk on "c" at 4 with {"messages":[{"content":"hi","role":"user"}]}`},
		{"/studio/threads/c/chat", url.Values{"message": {"hi"}, "edit": {"m2b"}}, `start talk on "c" at 2 with {"messages":[{"content":"hi","role":"user"}]}`},
		{"/studio/threads/c/chat", url.Values{"message": {"hi"}, "edit": {"m1"}}, `start talk on "c" at 1 with {"messages":[{"id":"m1","type":"remove"},{"content":"hi","role":"user"}]}`},
	} {
		m.acts = nil
		w := post(h, c.path, "same-origin", c.form)
		if w.Code != http.StatusSeeOther || !strings.HasSuffix(w.Header().Get("Location"), "/chat") || len(m.acts) != 1 || m.acts[0] != c.want {
			t.Errorf("%s with %v leads to %d %s\ngot  %q\nwant %s", c.path, c.form, w.Code, w.Header().Get("Location"), m.acts, c.want)
		}
	}
	holds(t, post(h, "/studio/threads/c/chat", "same-origin", url.Values{"message": {" "}}), 422, "the message is empty")
	holds(t, post(h, "/studio/threads/c/chat", "same-origin", url.Values{"message": {"x"}, "edit": {"gone"}}), 409, "not in the last turns")
	holds(t, post(h, "/studio/threads/c/chat", "cross-site", url.Values{"message": {"x"}}), 403)
	holds(t, post(h, "/studio/graphs/review/chat", "same-origin", url.Values{"message": {"x"}}), 404, "has no messages")
}

func TestChat_TakesFiles(t *testing.T) {
	h, m := newChat(t)
	send := func(name string, data []byte) *httptest.ResponseRecorder {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = part.Write(data)
		}
		if err == nil {
			err = form.WriteField("message", "see")
		}
		if err != nil || form.Close() != nil {
			t.Fatal(err)
		}
		r, w := httptest.NewRequest(http.MethodPost, "/studio/threads/c/chat", &body), httptest.NewRecorder()
		r.Header.Set("Content-Type", form.FormDataContentType())
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		m.acts = nil
		h.ServeHTTP(w, r)
		return w
	}
	if w := send("a.png", []byte("\x89PNG\x0D\x0A\x1A\x0A")); w.Code != 303 || !strings.Contains(m.acts[0], `{"image_url":{"url":"data:image/png;base64,iVBORw0KGgo="},"type":"image_url"}`) {
		t.Errorf("got %d %q", w.Code, m.acts)
	}
	if w := send("a.txt", []byte("words")); w.Code != 303 || !strings.Contains(m.acts[0], `The file a.txt:\n\nwords`) {
		t.Errorf("got %d %q", w.Code, m.acts)
	}
	holds(t, send("a.bin", []byte{0, 0xff, 0xfe, 1}), 422, "must be an image")
}

func TestChat_ShowsWhatIsBeingWritten(t *testing.T) {
	h, m := newChat(t)
	token := func(index int, t graph.Token) graph.Event {
		t.ID, t.Role, t.Index = "m9", "assistant", index
		return graph.Event{Mode: graph.Messages, Node: "answer", Token: t}
	}
	tool := graph.Event{Mode: graph.Tasks, Task: "k", Node: "tools", Phase: graph.Started, Attempt: 1, Input: json.RawMessage(`{"id":"c-m1","name":"look"}`), Time: time.Unix(1, 0)}
	done := tool
	done.Phase, done.Time = graph.Finished, time.Unix(3, 0)
	publish := func(b eventlog.Batch) {
		t.Helper()
		if err := m.log.Publish(t.Context(), "c", b); err != nil {
			t.Fatal(err)
		}
	}
	publish(eventlog.Batch{Run: "r", Events: []graph.Event{tool, done, token(0, graph.Token{Delta: "attempted"})}})
	publish(eventlog.Batch{Run: "r", Events: []graph.Event{token(0, graph.Token{Reasoning: "I think"}), token(1, graph.Token{Delta: "so *far*"}),
		token(2, graph.Token{Call: &graph.TokenCall{ID: "c", Name: "find", Arguments: `{"a"`}})}})
	holds(t, get(t, h, "/studio/threads/c/chat"), 200, `data-message="m9"`, "I think", "so <em>far</em>", "!attempted", "<b>find</b>", "{&#34;a&#34;", `data-position="2"`, "has failed in 2.0 s")
	next := reads(t, h, "/studio/threads/c/events", "1")
	next("id: 2") // the status of the thread has no id
	if got := next("data: "); !strings.Contains(got, `"reasoning":"I think"`) || !strings.Contains(got, `"call":{"index":0,"id":"c","name":"find"`) {
		t.Errorf("the stream has %s", got)
	}
	publish(eventlog.Batch{Run: "r", End: true})
	holds(t, get(t, h, "/studio/threads/c/chat"), 200, "!I think")
}
