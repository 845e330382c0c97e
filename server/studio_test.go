package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/server"
)

// studioPage returns a page of the studio, as a browser with a password asks for it.
func studioPage(h http.Handler, path, password string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
	if password != "" {
		r.SetBasicAuth("", password)
	}
	r.Header.Set("Origin", "https://other.example")
	h.ServeHTTP(w, r)
	return w
}

func wantPage(t *testing.T, w *httptest.ResponseRecorder, status int, wants ...string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("got the status %d, want %d: %.300s", w.Code, status, w.Body)
	}
	for _, want := range wants {
		if without, ok := strings.CutPrefix(want, "!"); ok == strings.Contains(w.Body.String(), without) {
			t.Errorf("want %q in the page:\n%s", want, w.Body)
		}
	}
	if got := w.Header().Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("pages of %q may read the page", got)
	}
}

func TestStudio_ShowsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stop := startChains(t, &checkpoint.Memory{}, nil, func(c *server.Config) {
			c.Studio, c.CORS = server.StudioOn, server.CORS{Origins: []string{"*"}}
		})
		defer stop()
		c := newClient(t, s)
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		thread := "/studio/threads/" + c.saved["t"]
		wantPage(t, studioPage(s, thread, ""), 200, "no checkpoint yet")
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"asks","input":{}}`, status: 200})
		wantPage(t, studioPage(s, thread, ""), 200, "status-interrupted", `graph <a href="/studio/graphs/asks">`, "plan, ran once", "ask, waits for a person", "<th scope=\"row\">log<small")
		wantPage(t, studioPage(s, "/studio/graphs", ""), 200, "/studio/graphs/asks", "1 thread<", "/studio/graphs/steps")
		wantPage(t, studioPage(s, "/studio/threads?status=interrupted&graph=asks", ""), 200, c.saved["t"], "1 to 1 of 1")
		wantPage(t, studioPage(s, "/studio/threads?graph=steps", ""), 200, "!"+c.saved["t"])
		c.do(step{request: "POST /threads", body: `{"metadata":{"user":"Ada Lovelace","tier":2}}`, status: 200, save: "ada=thread_id"})
		for query, found := range map[string]bool{
			"metadata=tier%3D2": true, "metadata=user%3DAda+Lovelace": true, "metadata=tier%3D2&metadata=user%3DAda+Lovelace&sort=status": true,
			`metadata=tier%3D"2"`: false, "metadata=tier%3D3": false, "metadata=tier%3D2&status=busy": false,
			"text=lovelace": true, "text=" + c.saved["ada"][24:]: true, "text=bob": false, "prefix=" + strings.ToUpper(c.saved["ada"][:30]): true, "prefix=" + c.saved["ada"][1:30]: false, "text=LOVE&metadata=tier%3D3": false,
		} {
			want := "!1 to 1 of 1"
			if found {
				want = "1 to 1 of 1"
			}
			wantPage(t, studioPage(s, "/studio/threads?"+query, ""), 200, want)
		}
		order := studioPage(s, "/studio/threads?sort=status", "").Body.String()
		if strings.Index(order, c.saved["t"]) > strings.Index(order, c.saved["ada"]) {
			t.Error("sorted by status, idle comes before interrupted")
		}
		wantPage(t, studioPage(s, thread+"?at=99", ""), 404, "no checkpoint 99")
		wantPage(t, studioPage(s, "/studio/threads/x", ""), 404, "not found")
		wantPage(t, studioPage(s, "/studio/threads/00000000-0000-4000-8000-000000000000", ""), 404, "not found")
	})
}

func TestStudio_ShowsCallersTheirOwnThreads(t *testing.T) {
	var keys server.Keys
	keys.Add("ada", "a-key")
	keys.Add("bob", "b-key")
	s := newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.Studio, c.Auth = server.StudioOn, server.Auth{Authenticate: keys.Authenticate, Rules: server.Owners}
	})
	r, w := httptest.NewRequest(http.MethodPost, "/threads", strings.NewReader(`{"thread_id":"00000000-0000-4000-8000-000000000001"}`)), httptest.NewRecorder()
	r.Header.Set("X-Api-Key", "a-key")
	if s.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("got %d: %s", w.Code, w.Body)
	}
	const id = "00000000-0000-4000-8000-000000000001"
	for path, own := range map[string]int{"/studio/threads/" + id: 200, "/studio/threads": 200, "/studio/graphs": 200} {
		wantPage(t, studioPage(s, path, "a-key"), own)
		for _, wrong := range []string{"", "c-key"} {
			w := studioPage(s, path, wrong)
			if wantPage(t, w, 401, "!"+id, "!agent"); !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic ") {
				t.Errorf("%s has the challenge %q", path, w.Header().Get("WWW-Authenticate"))
			}
		}
	}
	wantPage(t, studioPage(s, "/studio/threads", "a-key"), 200, id)
	wantPage(t, studioPage(s, "/studio/threads", "b-key"), 200, "!"+id)
	wantPage(t, studioPage(s, "/studio/threads/"+id, "b-key"), 404, "!no checkpoint yet")
	wantPage(t, studioPage(s, "/studio/threads/"+id+"/state.json", "b-key"), 404)
	wantPage(t, studioPage(s, "/studio/graphs", "a-key"), 200, "agent")
}

// sendForm sends a form of the studio; site is the Sec-Fetch-Site of the browser.
func sendForm(h http.Handler, path, site string, form url.Values) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode())), httptest.NewRecorder()
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", site)
	h.ServeHTTP(w, r)
	return w
}

func TestStudio_AnswersAQuestion(t *testing.T) {
	for _, mode := range []server.Studio{server.StudioOn, server.StudioRead} {
		synctest.Test(t, func(t *testing.T) {
			s, stop := startChains(t, &checkpoint.Memory{}, nil, func(c *server.Config) { c.Studio = mode })
			defer stop()
			c := newClient(t, s)
			c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
			c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"asks","input":{}}`, status: 200})
			path := "/studio/threads/" + c.saved["t"]
			inbox := studioPage(s, "/studio/inbox", "")
			wantPage(t, inbox, 200, "<b>ask</b>", c.saved["t"])
			if form := strings.Contains(inbox.Body.String(), `action="`+path+`/answer"`); form != (mode == server.StudioOn) {
				t.Errorf("%s: the question has a form: %v", mode, form)
			}
			open := c.do(step{request: "GET /threads/{t}/state", status: 200})
			form := url.Values{"question": {gjson.Get(open.Body.String(), "interrupts.0.id").String()}, "answer": {`"yes"`}}
			wantPage(t, sendForm(s, path+"/answer", "cross-site", form), map[server.Studio]int{server.StudioOn: 403, server.StudioRead: 405}[mode])
			w := sendForm(s, path+"/answer", "same-origin", form)
			if mode == server.StudioRead {
				wantPage(t, w, 405)
				return
			}
			if wantPage(t, w, 303); w.Header().Get("Location") != path {
				t.Errorf("the answer leads to %q", w.Header().Get("Location"))
			}
			synctest.Wait()
			wantPage(t, studioPage(s, path, ""), 200, "status-idle", "ask, ran once", "publish, ran once", "!/answer")
			wantPage(t, sendForm(s, path+"/answer", "same-origin", form), 409, "is not open any more")
			wantPage(t, studioPage(s, "/studio/inbox", ""), 200, "No thread waits for a person")
		})
	}
}

// A form with no thread in it must not mean all threads.
func TestStudio_CancelsNothingWithoutAThread(t *testing.T) {
	s := newServer(t, &checkpoint.Memory{}, func(c *server.Config) { c.Studio = server.StudioOn })
	c := newClient(t, s)
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"agent","input":{}}`, status: 200, save: "r=run_id"})
	wantPage(t, sendForm(s, "/studio/threads", "same-origin", url.Values{"thread": {""}, "do": {"cancel"}}), 200, "1 of 1 thread failed")
	c.do(step{request: "GET /threads/{t}/runs/{r}", status: 200, want: "status=pending"})
}

func TestStudio_IsOffByDefault(t *testing.T) {
	s := newServer(t, &checkpoint.Memory{})
	for _, path := range []string{"/studio", "/studio/", "/studio/graphs"} {
		if w := studioPage(s, path, ""); w.Code != http.StatusNotFound {
			t.Errorf("%s answers %d", path, w.Code)
		}
	}
}
