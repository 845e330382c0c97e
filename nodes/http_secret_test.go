package nodes_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

const (
	apiKey   = "k/3+y&Ü\"<s3cret-bearer>"
	password = "p w/0+rd"
)

var escapes = regexp.MustCompile("%[0-9A-F]{2}")

// refused sends a request with a key and a password to a server that answers 500 with the result of
// echo. It returns the error, and the result of a request that succeeds.
func refused(t *testing.T, echo func(*http.Request) string) (failure, result string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(echo(r)))
	}))
	t.Cleanup(server.Close)
	text := `
version: 1
secrets: {api: "${env:KEY}", pass: "${env:PASS}"}
state: {r: any}
nodes:
  taken:
    http: {url: "URL", user: who, password: "${secret:pass}", headers: {x-key: "Key ${secret:api}"}, expect: {status: [500]}, allow_private: true}
    output: {r: "${{ result }}"}
    next: refused
  refused:
    http: {url: "URL", user: who, password: "${secret:pass}", headers: {x-key: "Key ${secret:api}"}, allow_private: true}
    next: END
`
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"KEY": apiKey, "PASS": password}[name]
		return v, ok
	}
	w, err := workflow.Parse("in.yaml", []byte(strings.ReplaceAll(text, "URL", server.URL)), workflow.Options{Kinds: nodes.Kinds(), LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{Thread: "t"})
	if err == nil {
		t.Fatal("the request was not refused")
	}
	v, _ := res.State.Get("r")
	data, _ := json.Marshal(v)
	return err.Error(), string(data)
}

// TestHTTPError_RedactsBeforeItCuts tests secrets that begin at each of the last bytes of an
// error's text.
func TestHTTPError_RedactsBeforeItCuts(t *testing.T) {
	for at := 150; at <= 200; at += 5 {
		failure, _ := refused(t, func(r *http.Request) string {
			return strings.Repeat(".", at) + r.Header.Get("Authorization") + strings.Repeat(".", at) + r.Header.Get("X-Key")
		})
		sent := base64.StdEncoding.EncodeToString([]byte("who:" + password))
		for n := 4; n < len(sent); n++ {
			if strings.Contains(failure, "."+"Basic "+sent[:n]) {
				t.Fatalf("a secret at byte %d: its first %d bytes are in the error: %s", at, n, failure)
			}
		}
	}
	failure, _ := refused(t, func(r *http.Request) string { return strings.Repeat(".", 190) + r.Header.Get("X-Key") })
	if strings.Contains(failure, "k/3+y") {
		t.Errorf("half a secret is in the error: %s", failure)
	}
}

// TestHTTPError_HoldsNoSecretInAnyEncoding tests a server that answers with the request in several
// encodings.
func TestHTTPError_HoldsNoSecretInAnyEncoding(t *testing.T) {
	quote := func(s string) string {
		data, _ := json.Marshal(s)
		return string(data)
	}
	for name, write := range map[string]func(string) string{
		"raw": func(s string) string { return s }, "JSON": quote, "Go": strconv.Quote, "ASCII": strconv.QuoteToASCII, "HTML": html.EscapeString,
		"query": url.QueryEscape, "path": url.PathEscape,
		"query in lower case": func(s string) string { return escapes.ReplaceAllStringFunc(url.QueryEscape(s), strings.ToLower) },
		"path in lower case":  func(s string) string { return escapes.ReplaceAllStringFunc(url.PathEscape(s), strings.ToLower) },
		"JSON in JSON":        func(s string) string { return quote(quote(s)) },
		"base64":              func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64 for URLs":     func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"inside of base64":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte("what was sent: " + s + ".")) },
	} {
		for _, part := range []string{"key", "password", "header", "authorization"} {
			var sent string
			failure, result := refused(t, func(r *http.Request) string {
				_, pass, _ := r.BasicAuth()
				sent = map[string]string{"key": apiKey, "password": pass, "header": r.Header.Get("X-Key"), "authorization": r.Header.Get("Authorization")}[part]
				return "<" + write(sent) + ">"
			})
			for what, text := range map[string]string{"error": failure, "result": result} {
				if !strings.Contains(text, "[secret") {
					t.Errorf("%s, %s, %s: nothing is redacted: %s", part, name, what, text)
				}
				quoted := fmt.Sprintf("%q", write(sent))
				if strings.Contains(text, write(sent)) || strings.Contains(text, quoted[1:len(quoted)-1]) {
					t.Errorf("%s, %s: the %s holds it: %s", part, name, what, text)
				}
			}
		}
	}
}
