package studio_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/server/studio"
)

var hidden = regexp.MustCompile(`name="question" value="([^"]*)"`)

// post sends a form, as a browser does from a page of a site.
func post(h http.Handler, path, site string, form url.Values) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode())), httptest.NewRecorder()
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", site)
	h.ServeHTTP(w, r)
	return w
}

func TestInbox_AnswersAQuestion(t *testing.T) {
	h, m := newStudio(t, "/studio")
	inbox := get(t, h, "/studio/inbox")
	holds(t, inbox, 200, `<p class="prompt">Is &lt;b&gt;it&lt;/b&gt; right?</p>`, `<button name="answer" value="true" data-key="a">Yes</button>`, "/studio/threads/t%201/answer")
	id := hidden.FindStringSubmatch(inbox.Body.String())[1]
	const path = "/studio/threads/t%201/answer"
	holds(t, post(h, path, "cross-site", url.Values{"question": {id}, "answer": {"true"}}), 403, "must come from a page of the studio")
	holds(t, post(h, path, "same-origin", url.Values{"question": {"other"}, "answer": {"true"}}), 409, "is not open any more")
	holds(t, post(h, path, "same-origin", url.Values{"question": {id}, "answer": {"{"}}), 422, "must be JSON")
	holds(t, post(h, path, "same-origin", url.Values{"question": {strings.Repeat("x", 5<<20)}}), 400, "cannot be read")
	holds(t, post(h, "/studio/threads/none/answer", "same-origin", url.Values{"question": {id}, "answer": {"true"}}), 404)
	holds(t, post(h, "/studio/threads/new-aa/answer", "same-origin", url.Values{"question": {id}, "answer": {"true"}}), 409)
	if len(m.answers) > 0 {
		t.Errorf("got the answers %q, want none", m.answers)
	}
	w := post(h, path, "same-origin", url.Values{"question": {id}, "answer": {"true"}})
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/studio/threads/t%201" {
		t.Errorf("got %d %q", w.Code, w.Header().Get("Location"))
	}
	if want := []string{"t 1 " + id + " true"}; !slices.Equal(m.answers, want) {
		t.Errorf("got the answers %q, want %q", m.answers, want)
	}
}

func TestAnswer_OfAScriptIsAnsweredWithoutAPage(t *testing.T) {
	h, m := newStudio(t, "/studio")
	id := hidden.FindStringSubmatch(get(t, h, "/studio/inbox").Body.String())[1]
	send := func(answer string) *httptest.ResponseRecorder {
		t.Helper()
		r, w := httptest.NewRequest(http.MethodPost, "/studio/threads/t%201/answer", strings.NewReader(url.Values{"question": {id}, "answer": {answer}}.Encode())), httptest.NewRecorder()
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("X-Weft-Fetch", "1")
		h.ServeHTTP(w, r)
		return w
	}
	holds(t, send("3"), 422, `value="`+id+`"`)
	if w := send("true"); w.Code != http.StatusNoContent || w.Body.Len() > 0 || len(m.answers) != 1 {
		t.Errorf("got %d %q and the answers %q, want 204 and one answer", w.Code, w.Body, m.answers)
	}
}

func TestInbox_SelectsQuestions(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	for query, found := range map[string]bool{
		"": true, "graph=review": true, "graph=un%2Fused": false, "text=IS+%3Cb": true, "text=refund": false, "to=ada": false, "overdue=1": false, "text=is&graph=review": true,
	} {
		page := get(t, h, "/studio/inbox?"+query)
		if got := strings.Contains(page.Body.String(), `class="prompt"`); got != found {
			t.Errorf("%q finds a question: %v, want %v", query, got, found)
		}
	}
	holds(t, get(t, h, "/studio/inbox?text=refund&to=%22&overdue=1"), 200, `value="refund"`, `value="&#34;"`, `name="overdue" value="1" checked`, "No question is selected.")
	holds(t, get(t, h, "/studio/api/inbox?text=refund"), 200, `"questions":[]`)
	holds(t, get(t, h, "/studio/api/inbox?text=right"), 200, `"thread":"t 1"`)
}

// raced has threads that wait, and none of them on a page: they went on meanwhile.
type raced struct{ *memory }

func (raced) Threads(context.Context, studio.Query) ([]studio.Thread, int, error) { return nil, 5, nil }

func TestInbox_EmptyPageHasNoNext(t *testing.T) {
	_, m := newStudio(t, "/studio")
	h := studio.New(studio.Config{
		Base:  "/studio",
		Open:  func(*http.Request) (studio.Source, error) { return raced{m}, nil },
		Fault: func(error) (int, string) { return http.StatusInternalServerError, "" },
	})
	holds(t, get(t, h, "/studio/inbox?offset=3"), 200, `!rel="next"`)
}

func TestQuestion_HasAPage(t *testing.T) {
	h, m := newStudio(t, "/studio")
	id := hidden.FindStringSubmatch(get(t, h, "/studio/inbox").Body.String())[1]
	holds(t, get(t, h, "/studio/inbox/t%201/"+id), 200, "Is &lt;b&gt;it&lt;/b&gt; right?", `value="true"`)
	holds(t, get(t, h, "/studio/inbox/t%201/other"), 200, "is not open any more", "!/answer")
	holds(t, get(t, h, "/studio/inbox/none/"+id), 404)
	holds(t, post(h, "/studio/threads/t%201/answer", "same-origin", url.Values{"question": {id}, "answer": {"3"}}), 422, `<p class="error" role="alert">`, `value="`+id+`"`, "!weft-lists")
	holds(t, post(h, "/studio/threads/t%201/answer/input", "same-origin", url.Values{"question": {id}, "value:": {"3"}}), 200, `"mistake":`)
	holds(t, post(h, "/studio/threads/t%201/answer/input", "same-origin", url.Values{"question": {id}, "value:": {"true"}}), 200, `!"mistake":`)
	holds(t, post(h, "/studio/threads/t%201/answer/input", "same-origin", url.Values{"question": {"other"}, "raw": {"{}"}}), 200, `"mistake":"the question is not open any more`, `"raw":"{}"`)
	if len(m.answers) > 0 {
		t.Errorf("got the answers %q, want none", m.answers)
	}
}

func TestThread_AsksAtTheNewestCheckpointAlone(t *testing.T) {
	h, _ := newStudio(t, "/studio")
	holds(t, get(t, h, "/studio/threads/t%201"), 200, "t%201/answer")
	holds(t, get(t, h, "/studio/threads/t%201?at=4"), 200, "!t%201/answer")
}

func TestInbox_ReadOnly(t *testing.T) {
	_, m := newStudio(t, "/studio")
	h := studio.New(studio.Config{
		Base: "/studio", ReadOnly: true,
		Open:  func(*http.Request) (studio.Source, error) { return m, nil },
		Fault: func(error) (int, string) { return http.StatusInternalServerError, "" },
	})
	for _, path := range []string{"/studio/inbox", "/studio/threads/t%201"} {
		holds(t, get(t, h, path), 200, "Is &lt;b&gt;it&lt;/b&gt; right?", "!<form method=\"post\"", "!<button name=\"answer\"")
	}
	holds(t, post(h, "/studio/threads/t%201/answer", "same-origin", nil), 405, "only reads")
}
