package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// call sends a request with a body of JSON and decodes the answer.
func (s *server) call(t testing.TB, method, path, body string, answer any) {
	t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode >= 300 {
		t.Fatalf("%s %s: got %d, %v: %s", method, path, got.StatusCode, err, data)
	}
	if answer != nil {
		if err := json.Unmarshal(data, answer); err != nil {
			t.Fatalf("%s %s: %v: %s", method, path, err, data)
		}
	}
}

// create starts a run of the demonstration on a new thread.
func (s *server) create(t testing.TB, input string) (thread string) {
	t.Helper()
	var made struct {
		ID string `json:"thread_id"`
	}
	s.call(t, "POST", "/threads", "{}", &made)
	s.call(t, "POST", "/threads/"+made.ID+"/runs", `{"assistant_id":"report","input":`+input+`}`, nil)
	return made.ID
}
