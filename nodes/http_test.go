package nodes_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/nodes"
)

// server answers with its request, and with more at some paths.
func server(t *testing.T) (url string, calls *atomic.Int32) {
	calls = new(atomic.Int32)
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Served-By", "test")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"method": r.Method, "query": r.URL.RawQuery, "body": string(body),
			"type": r.Header.Get("Content-Type"), "agent": r.Header.Get("X-Agent"), "key": r.Header.Get("Idempotency-Key") != "",
		})
	})
	mux.HandleFunc("/host", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) })
	mux.HandleFunc("/text", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "plain") })
	mux.HandleFunc("/big", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 3<<20)) })
	mux.HandleFunc("/missing", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "gone", http.StatusNotFound) })
	mux.HandleFunc("/flaky", func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, strings.Repeat("x", 20<<20))
	})
	mux.HandleFunc("/picture", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, strings.Repeat("x", 5<<20))
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Redirect(w, r, "/upload", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/upload", func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_ = json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "length": r.ContentLength, "got": n, "type": r.Header.Get("Content-Type")})
	})
	mux.HandleFunc("/hop/", func(w http.ResponseWriter, r *http.Request) {
		rest := strings.TrimPrefix(r.URL.Path, "/hop")
		if rest = strings.TrimSuffix(rest, "/x"); rest == "" {
			_, _ = io.WriteString(w, "arrived")
			return
		}
		http.Redirect(w, r, "/hop"+rest, http.StatusFound)
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, calls
}

func TestHTTP_SendsItsParameters(t *testing.T) {
	url, _ := server(t)
	v, err := do(t, t.TempDir(), `
http:
  url: `+url+`/echo?a=1
  query: {b: "${{ state.n }}", c: [x, y z], d: null}
  headers: {x-agent: me}
  allow_private: true
  expect: {status: [200], json: true}`)
	if err != nil {
		t.Fatal(err)
	}
	res := v.(map[string]any)
	got, _ := json.Marshal(res["json"])
	if want := `{"agent":"me","body":"","key":false,"method":"GET","query":"a=1\u0026b=7\u0026c=x\u0026c=y+z","type":""}`; string(got) != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	if res["status"] != int64(200) || res["headers"].(map[string]any)["x-served-by"] != "test" {
		t.Errorf("status %v, headers %v", res["status"], res["headers"])
	}
	v, err = do(t, t.TempDir(), `
http: {url: "`+url+`/echo", json: {n: "${{ state.n }}", big: 9007199254740993}, allow_private: true}`)
	if err != nil {
		t.Fatal(err)
	}
	got, _ = json.Marshal(v.(map[string]any)["json"])
	if want := `{"agent":"","body":"{\"big\":9007199254740993,\"n\":7}","key":true,"method":"POST","query":"","type":"application/json"}`; string(got) != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
}

func TestHTTP_UnsendableQueriesAndHeadersAreErrors(t *testing.T) {
	url, calls := server(t)
	for node, want := range map[string]string{
		`/echo?b=%zz", query: {a: 1}`:                  "the query of the url cannot be read",
		`/echo", query: {a: {b: 1}}`:                   "http.query.a: the value must be a text, a number, a bool or a list of them",
		`/echo", query: {a: [[1]]}`:                    "http.query.a: the value must be a text, a number, a bool or a list of them",
		`/echo", headers: {content-length: "5"}`:       "the header content-length is set from the body",
		`/echo", headers: {Transfer-Encoding: "gzip"}`: "the header Transfer-Encoding is set from the body",
	} {
		fails(t, t.TempDir(), `http: {url: "`+url+node+`, allow_private: true}`, want)
	}
	if calls.Load() > 0 {
		t.Error("a request arrived")
	}
	v, err := do(t, t.TempDir(), `http: {url: "`+url+`/host", headers: {host: example.org}, allow_private: true}`)
	if err != nil || v.(map[string]any)["text"] != "example.org" {
		t.Errorf("got %v, %v; want the host that was set", v, err)
	}
}

func TestHTTP_RefusesPrivateAddresses(t *testing.T) {
	url, calls := server(t)
	port := url[strings.LastIndex(url, ":"):]
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "127.1.2.3", "10.0.0.1", "192.168.1.1",
		"172.16.0.1", "169.254.169.254", "100.100.100.200", "[fd00:ec2::254]", "[fe80::1]", "224.0.0.1", "255.255.255.255", "[64:ff9b::a00:1]", "[::127.0.0.1]",
	} {
		err := fails(t, t.TempDir(), `http: {url: "http://`+host+port+`/echo"}`, "is not public; set allow_private: true")
		var r interface{ Retryable() bool }
		if !errors.As(err, &r) || r.Retryable() {
			t.Errorf("%s: the refusal would be retried", host)
		}
	}
	if calls.Load() > 0 {
		t.Error("a request arrived")
	}
}

func TestHTTP_FollowsFewRedirects(t *testing.T) {
	url, _ := server(t)
	v, err := do(t, t.TempDir(), `http: {url: "`+url+`/hop`+strings.Repeat("/x", 6)+`", allow_private: true}`)
	if err != nil {
		t.Fatalf("five redirects: %v, %v", v, err)
	}
	fails(t, t.TempDir(), `http: {url: "`+url+`/hop`+strings.Repeat("/x", 7)+`", allow_private: true}`, "stopped after 5 redirects")
	fails(t, t.TempDir(), `http: {url: "`+url+`/file", allow_private: true}`, "redirected to file, which is not http")
}

func TestHTTP_ReportsUnexpectedResponses(t *testing.T) {
	url, _ := server(t)
	err := fails(t, t.TempDir(), `http: {url: "`+url+`/missing?token=secret", allow_private: true}`, `/missing: status 404 Not Found: "gone\n"`)
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%v shows the query", err)
	}
	var failed *nodes.HTTPError
	if !errors.As(err, &failed) || failed.Status != 404 || failed.Retryable() {
		t.Errorf("got %#v, want a 404 that is not retried", failed)
	}
	fails(t, t.TempDir(), `http: {url: "`+url+`/text", allow_private: true, expect: {json: true}}`, "the body is not JSON")
	fails(t, t.TempDir(), `http: {url: "`+url+`/big", allow_private: true}`, "the body is larger than 2097152 bytes")
	fails(t, t.TempDir(), `http: {url: "`+url+`/text", allow_private: true, max_body: 4B}`, "the body is larger than 4 bytes")
	fails(t, t.TempDir(), `http: {url: "${{ 'gopher://x' }}"}`, "the url must begin with http")
	if v, err := do(t, t.TempDir(), `http: {url: "`+url+`/missing", allow_private: true, expect: {status: [404]}}`); err != nil {
		t.Errorf("an expected 404: %v, %v", v, err)
	}
}

func TestHTTP_RetriesABusyServer(t *testing.T) {
	url, calls := server(t)
	v, err := do(t, t.TempDir(), `
http: {url: "`+url+`/flaky", allow_private: true}
retry: {max: 5, initial: 1ms}`)
	if err != nil || calls.Load() != 3 {
		t.Errorf("%v, %v after %d calls; want the third to do", v, err, calls.Load())
	}
	if _, err = do(t, t.TempDir(), `
http: {url: "`+url+`/missing", allow_private: true}
retry: {max: 5, initial: 1h}`); err == nil {
		t.Error("a 404 is a success")
	}
}

func TestHTTP_MovesABlob(t *testing.T) {
	url, _ := server(t)
	got, err := runs(t, t.TempDir(), `version: 1
state: {picture: blob, sent: any, empty: any, none: blob}
nodes:
  load:
    http: {url: "`+url+`/picture", allow_private: true, expect: {blob: true}}
    output: {picture: "${{ result.blob }}"}
    next: send
  send:
    http: {url: "`+url+`/moved", method: put, allow_private: true, blob: "${{ state.picture }}"}
    output: {sent: "${{ result.json }}"}
    next: nothing
  nothing:
    http: {url: "`+url+`/flaky", allow_private: true, expect: {blob: true, status: [503]}}
    output: {none: "${{ result.blob }}"}
    next: again
  again:
    http: {url: "`+url+`/upload", allow_private: true, blob: "${{ state.none }}", headers: {content-type: text/x-none}}
    output: {empty: "${{ result.json }}"}
    next: END
`, withBlobs(t))
	if err != nil {
		t.Fatal(err)
	}
	size := int64(5 << 20)
	if want := map[string]any{"method": "PUT", "length": size, "got": size, "type": "image/png"}; !reflect.DeepEqual(got["sent"], want) {
		t.Errorf("sent %v, want %v", got["sent"], want)
	}
	if want := map[string]any{"method": "POST", "length": int64(0), "got": int64(0), "type": "text/x-none"}; !reflect.DeepEqual(got["empty"], want) {
		t.Errorf("sent %v, want %v", got["empty"], want)
	}
	_, err = runs(t, t.TempDir(), `version: 1
state: {picture: blob}
nodes:
  load:
    http: {url: "`+url+`/picture", allow_private: true, expect: {blob: true}, max_body: 4MiB}
    output: {picture: "${{ result.blob }}"}
    next: END
`, withBlobs(t))
	if want := "the body is larger than 4194304 bytes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %s", err, want)
	}
	if picture, _ := got["picture"].(map[string]any); picture["size"] != size || picture["type"] != "image/png" {
		t.Errorf("got %v", picture)
	}
}

func TestHTTP_RefusesBlobs(t *testing.T) {
	url, _ := server(t)
	for node, want := range map[string]string{
		`http: {url: "` + url + `/picture", expect: {blob: true, json: true}}`:                                           "expect json or blob",
		`http: {url: "` + url + `/upload", body: x, blob: {$blob: a, size: 1}}`:                                          "not two of them",
		`http: {url: "` + url + `/upload", allow_private: true, blob: "${{ state.r }}"}`:                                 "the blob is null",
		`http: {url: "` + url + `/upload", allow_private: true, blob: "${{ 'text' }}"}`:                                  "want a mapping, got string",
		`http: {url: "` + url + `/upload", allow_private: true, blob: {$blob: a, size: 1}}`:                              "the store has no blobs",
		`http: {url: "` + url + `/picture", allow_private: true, expect: {blob: true}}`:                                  "the store has no blobs",
		`http: {url: "` + url + `/broken", allow_private: true, expect: {blob: true}, max_body: 64MiB}`:                  "the body is larger than 16777216 bytes",
		`http: {url: "` + url + `/missing", allow_private: true, expect: {blob: true}}`:                                  `status 404 Not Found: "gone`,
		`http: {url: "` + url + `/picture", allow_private: true, max_body: 17MiB}`:                                       "max_body is at most 16 MiB",
		`http: {url: "` + url + `/picture", allow_private: true, expect: {blob: "${{ state.n == 8 }}"}, max_body: 1KiB}`: "the body is larger than 1024 bytes",
	} {
		fails(t, t.TempDir(), node, want)
	}
}
