package nodes_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/nodes"
)

// outskirts starts a server with the public names public.example and other.example. It redirects to
// the address in the query. It also starts a server that no request may reach, inside.example.
func outskirts(t *testing.T, seen func(*http.Request)) (inside string, reached *atomic.Int32) {
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen(r)
		switch to := r.URL.Query().Get("to"); {
		case to != "":
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		case r.URL.Path == "/endless":
			_, err := io.CopyN(w, zeros{}, 1<<30)
			if err == nil {
				t.Error("a GiB was read")
			}
		case r.URL.Path == "/headers":
			for i := range 3000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1000))
			}
		}
	}))
	reached = new(atomic.Int32)
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	at := public.Listener.Addr().String()
	names := map[string]string{"public.example:80": at, "other.example:80": at, "inside.example:80": private.Listener.Addr().String()}
	nodes.Resolve(t, names, at)
	t.Cleanup(private.Close)
	t.Cleanup(public.Close)
	return private.URL, reached
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func ignore(*http.Request) {}

// TestHTTPRedirect_ToPrivateAddressesIsRefused tests redirects from a public server to the
// metadata of a cloud, to this machine and to a private network. They are by address, by name, and
// through another public server.
func TestHTTPRedirect_ToPrivateAddressesIsRefused(t *testing.T) {
	inside, reached := outskirts(t, ignore)
	port := inside[strings.LastIndex(inside, ":"):]
	for _, to := range []string{
		"http://169.254.169.254/latest/meta-data/iam/security-credentials/", "http://127.0.0.1" + port + "/", "http://localhost" + port + "/",
		"http://[::1]" + port + "/", "http://[::ffff:169.254.169.254]/", "http://[::ffff:7f00:1]" + port + "/", "http://0.0.0.0" + port + "/",
		"http://10.0.0.1/", "http://192.168.0.1/", "http://100.100.100.200/", "http://[fd00:ec2::254]/", "http://inside.example/", "//inside.example/",
		"http://user:pass@127.0.0.1" + port + "/", "http://other.example/?to=http://127.0.0.1" + port + "/",
	} {
		err := fails(t, t.TempDir(), `http: {url: "http://public.example/", query: {to: "`+to+`"}}`, "is not public; set allow_private: true")
		if err != nil && strings.Contains(err.Error(), "pass@") {
			t.Errorf("%s: the error shows the password: %v", to, err)
		}
	}
	fails(t, t.TempDir(), `http: {url: "http://inside.example/"}`, "is not public; set allow_private: true")
	if n := reached.Load(); n > 0 {
		t.Errorf("%d requests reached the private server", n)
	}
	if _, err := do(t, t.TempDir(), `http: {url: "http://public.example/", query: {to: "http://other.example/"}}`); err != nil {
		t.Errorf("from one public server to another: %v", err)
	}
}

// TestHTTP_AllowsPrivateAddressesIfConfigured follows the same redirects if the file allows them.
func TestHTTP_AllowsPrivateAddressesIfConfigured(t *testing.T) {
	inside, reached := outskirts(t, ignore)
	hop := httptest.NewServer(http.RedirectHandler(inside, http.StatusFound))
	t.Cleanup(hop.Close)
	if _, err := do(t, t.TempDir(), `http: {url: "`+hop.URL+`", allow_private: true}`); err != nil || reached.Load() != 1 {
		t.Errorf("%v, %d requests arrived; want one", err, reached.Load())
	}
}

// TestHTTP_BodiesAndHeadersAreCapped requests an endless body and headers of 3 MB.
func TestHTTP_BodiesAndHeadersAreCapped(t *testing.T) {
	outskirts(t, ignore)
	fails(t, t.TempDir(), `http: {url: "http://public.example/endless"}`, "/endless: the body is larger than 2097152 bytes")
	fails(t, t.TempDir(), `http: {url: "http://public.example/endless", max_body: 1KiB}`, "/endless: the body is larger than 1024 bytes")
	fails(t, t.TempDir(), `http: {url: "http://public.example/", query: {to: /endless}}`, "the body is larger than 2097152 bytes")
	fails(t, t.TempDir(), `http: {url: "http://public.example/headers"}`, "server response headers exceeded 1048576 bytes")
	fails(t, t.TempDir(), `http: {url: "http://public.example/", max_body: 1GiB}`, "max_body is at most")
}

// TestHTTPRedirect_DropsHeadersAndQuery redirects within a server, where the headers stay. It also
// redirects to another server, which must not get them, or the first query as a Referer.
func TestHTTPRedirect_DropsHeadersAndQuery(t *testing.T) {
	var seen []string
	outskirts(t, func(r *http.Request) {
		user, password, _ := r.BasicAuth()
		seen = append(seen, strings.Join([]string{r.Host, r.Header.Get("X-Key"), user + password, r.Header.Get("Cookie"), r.Referer(), r.Header.Get("Content-Type")}, " "))
	})
	ask := func(to string) {
		if _, err := do(t, t.TempDir(), `
http:
  url: http://public.example/
  query: {to: "`+to+`", token: hidden}
  headers: {x-key: key, cookie: c=1}
  user: u
  password: p
  json: {a: 1}`); err != nil {
			t.Fatal(err)
		}
	}
	ask("/there")
	ask("http://other.example/")
	first := "public.example key up c=1  application/json"
	want := []string{first, first, first, "other.example     application/json"}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("the servers saw\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

// TestHTTPRedirect_KeepsHeadersForTheSameOriginOnly redirects from one scheme and port of a host to
// another.
func TestHTTPRedirect_KeepsHeadersForTheSameOriginOnly(t *testing.T) {
	var key string
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		key = r.Header.Get("X-Key")
	})
	plain, secure := httptest.NewServer(serve), httptest.NewTLSServer(serve)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	at, tls := plain.Listener.Addr().String(), secure.Listener.Addr().String()
	nodes.Resolve(t, map[string]string{
		"a.example:80": at, "A.example:80": at, "a.example:8080": at, "b.example:80": at,
		"a.example:443": tls, "a.example:8443": tls, "b.example:443": tls,
	}, at, tls)
	for _, c := range []struct {
		from, to string
		stays    bool
	}{
		{"http://a.example/", "http://a.example:80/", true},
		{"http://a.example:80/", "http://A.example/", true},
		{"https://a.example/", "https://a.example:443/", true},
		{"https://a.example:8443/", "https://a.example:8443/", true},
		{"http://a.example/", "https://a.example/", true},
		{"http://a.example:80/", "https://a.example:443/", true},
		{"http://a.example/", "https://a.example:8443/", false},
		{"http://a.example:8080/", "https://a.example/", false},
		{"http://a.example:8080/", "https://a.example:8443/", false},
		{"http://a.example/", "http://a.example:8080/", false},
		{"https://a.example/", "https://a.example:8443/", false},
		{"https://a.example/", "http://a.example/", false},
		{"http://a.example/", "https://b.example/", false},
		{"http://a.example/", "http://b.example/", false},
	} {
		key = "none"
		if _, err := do(t, t.TempDir(), `http: {url: "`+c.from+`", query: {to: "`+c.to+`"}, headers: {x-key: key}}`); err != nil {
			t.Errorf("from %s to %s: %v", c.from, c.to, err)
		}
		if (key == "key") != c.stays {
			t.Errorf("from %s to %s: the header is %q, want it there: %v", c.from, c.to, key, c.stays)
		}
	}
}
