package studio_test

import (
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
	holds(t, inbox, 200, `<p class="prompt">Is &lt;b&gt;it&lt;/b&gt; right?</p>`, `<button name="answer" value="true">Yes</button>`, "/studio/threads/t%201/answer")
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
