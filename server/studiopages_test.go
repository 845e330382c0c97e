package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/server"
)

// asks sends a request with a key, and returns the answer.
func asks(t *testing.T, h http.Handler, key, method, path, contentType, body string) *httptest.ResponseRecorder {
	t.Helper()
	r, w := httptest.NewRequest(method, path, strings.NewReader(body)), httptest.NewRecorder()
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.SetBasicAuth("", key)
	r.Header.Set("X-Api-Key", key)
	h.ServeHTTP(w, r)
	return w
}

const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

// What a user creates in the studio is there for this user alone, in the studio and beyond it.
func TestStudio_RecordsBelongToTheirOwners(t *testing.T) {
	var keys server.Keys
	keys.Add("ada", "a-key")
	keys.Add("bob", "b-key")
	s := newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.Studio, c.Auth = server.StudioOn, server.Auth{Authenticate: keys.Authenticate, Rules: server.Owners}
	})
	for path, form := range map[string]url.Values{
		"/assistants": {"name": {"a-setting"}, "graph": {"agent"}, "context": {`{"style":"a-style"}`}},
		"/store/item": {"ns": {"users.ada"}, "key": {"a-key-of-an-item"}, "value": {`{"v":"a-value"}`}},
		"/crons":      {"assistant": {"agent"}, "schedule": {"7 7 7 7 *"}, "input": {`{"question":"a-question"}`}},
	} {
		wantPage(t, asks(t, s, "a-key", http.MethodPost, "/studio"+path, formType, form.Encode()), 303)
	}
	const thread = "00000000-0000-4000-8000-000000000001"
	if w := asks(t, s, "a-key", http.MethodPost, "/threads", jsonType, `{"thread_id":"`+thread+`"}`); w.Code != 200 {
		t.Fatalf("got %d: %s", w.Code, w.Body)
	}
	for path, want := range map[string]string{
		"/assistants": "a-setting", "/store": "a-key-of-an-item", "/store?ns=users.ada": "a-value", "/store/item?ns=users.ada&key=a-key-of-an-item": "a-value",
		"/crons": "7 7 7 7 *", "/threads/" + thread + "/sizes": "no checkpoint yet",
	} {
		wantPage(t, studioPage(s, "/studio"+path, "a-key"), 200, want)
		w := studioPage(s, "/studio"+path, "b-key")
		if wantPage(t, w, w.Code, "!"+want); w.Code != 200 && w.Code != 403 && w.Code != 404 {
			t.Errorf("%s answers Bob with %d", path, w.Code)
		}
		wantPage(t, studioPage(s, "/studio"+path, ""), 401, "!"+want)
	}
	if w := asks(t, s, "a-key", http.MethodPost, "/runs/crons/search", jsonType, `{}`); !strings.Contains(w.Body.String(), "a-question") {
		t.Errorf("the cron is not in the public interface: %s", w.Body)
	}
	system := studioPage(s, "/studio/system", "b-key")
	wantPage(t, system, 200, "callers need a key", "!"+thread, "!a-setting")
	wantPage(t, studioPage(s, "/studio/system", ""), 401)
}

func TestStudio_RecordsInAStudioThatOnlyReads(t *testing.T) {
	s := newServer(t, &checkpoint.Memory{}, func(c *server.Config) { c.Studio = server.StudioRead })
	for _, path := range []string{"/assistants", "/assistants/agent", "/store", "/crons", "/system"} {
		wantPage(t, studioPage(s, "/studio"+path, ""), 200, `!method="post"`)
	}
	for _, path := range []string{"/assistants", "/assistants/agent", "/assistants/agent/delete", "/crons", "/store/item", "/store/item/delete"} {
		wantPage(t, sendForm(s, "/studio"+path, "same-origin", url.Values{"name": {"agent"}}), 405)
	}
}
