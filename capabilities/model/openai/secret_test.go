package openai_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/state/message"
)

var breakAsk = model.Request{Model: "m", Messages: []message.Message{message.User("x")}}

// The text of a refusal has a limit.
func TestRefusal_IsLimited(t *testing.T) {
	const most = 64
	var sent atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		piece := strings.Repeat("n", 1<<20)
		for ; sent.Load() < most && r.Context().Err() == nil; sent.Add(1) {
			if _, err := fmt.Fprintf(w, "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"refusal\":%q}}]}\n\n", piece); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer s.Close()
	m, err := openai.New(openai.Config{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Generate(t.Context(), m, breakAsk)
	s.CloseClientConnections()
	s.Close() // when the handler has returned
	if sent.Load() >= most || model.KindOf(err) != model.BadAnswer {
		t.Errorf("%d MiB of a refusal were taken: %v", sent.Load(), model.KindOf(err))
	}
}

// A redirect to another host must not get the configured headers.
func TestHeaders_AreNotSentToAnotherHost(t *testing.T) {
	var got, body string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Api-Key") + r.Header.Get("Authorization")
		b := make([]byte, 100)
		n, _ := r.Body.Read(b)
		body = string(b[:n])
		w.WriteHeader(400)
	}))
	defer thief.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(thief.URL, "http://"), ":")
	s := httptest.NewServer(http.RedirectHandler("http://localhost:"+port+"/v1/chat/completions", http.StatusTemporaryRedirect))
	defer s.Close()
	m, err := openai.New(openai.Config{BaseURL: s.URL, Key: "sk-secret", Header: http.Header{"Api-Key": {"top-secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Generate(t.Context(), m, breakAsk)
	if got != "" || body != "" || err == nil {
		t.Errorf("another host was sent the key %q and the conversation %q (%v)", got, body, err)
	}
}

// Secrets are redacted in every form in which they were sent.
func TestFailures_HoldNoSecretInAnyForm(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"detail":"bad %s %s"}}`, strings.ReplaceAll(r.Header.Get("X-Token"), "/", `\/`), r.Header.Get("Authorization"))
	}))
	defer s.Close()
	m, err := openai.New(openai.Config{BaseURL: strings.Replace(s.URL, "http://", "http://joe:pass-word@", 1), Header: http.Header{"X-Token": {"abcd/efgh+ijkl"}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Generate(t.Context(), m, breakAsk)
	for _, secret := range []string{`abcd\/efgh`, base64.StdEncoding.EncodeToString([]byte("joe:pass-word"))} {
		if strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("%q is in %v", secret, err)
		}
	}
}
