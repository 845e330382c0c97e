//go:build unix

package verbs_test

import (
	"net"
	"os"
	"strings"
	"testing"
)

// A flag that would make the process fail, or do nothing, is refused before the store is opened.
func TestServe_RefusesFlags(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	for _, c := range []struct{ args, want, next string }{
		{"serve --grace -5s", "--grace must be more than 0 (got -5s)", "10s"},
		{"serve --grace 0s", "--grace must be more than 0 (got 0s)", "10s"},
		{"mcp --grace -5s", "--grace must be more than 0 (got -5s)", "10s"},
		{"serve --slots -1", "--slots must not be negative (got -1)", "--slots 0"},
		{"serve --drain -1s", "--drain must be more than 0 (got -1s)", "25s"},
		{"worker --drain 0s", "--drain must be more than 0 (got 0s)", "25s"},
		{"serve --lease 0s", "--lease must be at least 100ms (got 0s)", "1.5s"},
		{"serve --lease 5s", "--lease must be less than the 5s", "--lease 4s"},
		{"worker --lease 1h", "--lease must be less than the 5s", "--lease 4s"},
		{"serve --webhook-host http://x", "--webhook-host must be the name of a host", "hooks.example.com"},
		{"serve --webhook-host hooks.example.com:80", "--webhook-host must be the name of a host", "hooks.example.com"},
		{"serve --webhook-host [", "--webhook-host must be the name of a host", "hooks.example.com"},
		{"serve --webhook-host=", "--webhook-host must be the name of a host", "hooks.example.com"},
		{"serve --host http://weft.internal", "--host must be the name of a host", "weft.internal"},
		{"serve --cors notaurl", "--cors must be an origin", "--cors https://app.example.com"},
		{"serve --cors https://App.example.com:443/x", "--cors must be an origin", "--cors https://app.example.com"},
		{"dev --cors http://localhost:3000/", "--cors must be an origin", "--cors http://localhost:3000"},
		{"serve --listen 127.0.0.1:99999", "the port of --listen must be from 0 to 65535", "--listen 127.0.0.1:2024"},
		{"serve --listen=", "--listen must be HOST:PORT", "--listen 127.0.0.1:2024"},
		{"serve --notify http://127.0.0.1:7400/x", "--notify", "--allow-private-webhooks"},
		{"worker --notify http://[::1]/x", "--notify", "--allow-private-webhooks"},
		{"serve --notify http://localhost:7400", "--notify", "--allow-private-webhooks"},
		{"serve --notify http://192.168.0.9 --webhook-host 10.0.0.1", "the host is not on the list", "--webhook-host"},
	} {
		e := p.run(append(strings.Fields(c.args), "w.yaml", "--store", "sqlite:refused.db")...)
		_, next, _ := strings.Cut(e.stderr, "\nnext: ")
		if e.code != 2 || !strings.Contains(e.stderr, c.want) || !strings.Contains(next, c.next) {
			t.Errorf("%s: exit code %d, want 2, %q and next: %q\n%s", c.args, e.code, c.want, c.next, e.stderr)
		}
	}
	if _, err := os.Stat(p.path("refused.db")); err == nil {
		t.Error("a refused command has opened the store")
	}
}

func TestServe_AcceptsFlags(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	d := p.start(append(serving("w.yaml"), strings.Fields(`--slots 0 --grace 1ms --drain 1ms --lease 4.9s --host weft.internal --host ::1
		--cors * --cors null --cors http://localhost:3000 --cors app://weft --cors http://[::1]:8080
		--webhook-host *.example.com --webhook-host 127.0.0.1 --webhook-host ::1 --notify http://127.0.0.1:1/x --allow-private-webhooks`)...)...)
	d.do("GET", "/ok", "")
}

// The next step after a port that is in use is another port, and nothing of the store.
func TestServe_NamesAPortInUse(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := l.Addr().String()
	want := "weft: cannot listen at " + at + ": bind: address already in use\n" +
		"next: choose another address with --listen HOST:PORT; port 0 takes a free one\n"
	if e := p.run("serve", "w.yaml", "--store", "memory:", "--listen", at); e.code != 1 || e.stderr != want || e.stdout != "" {
		t.Errorf("exit code %d, stdout %q, stderr\n%swant 1 and\n%s", e.code, e.stdout, e.stderr, want)
	}
}
