package serve

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Guard refuses requests that a page of another site makes through the browser of a person on this
// machine. A server without auth needs it, because such a page can reach it under a name of its own
// that leads to this machine.
type Guard struct {
	// Loopback accepts only requests to this machine, by a name of it.
	Loopback bool
	// Hosts are more names that are accepted.
	Hosts []string
}

// Wrap returns h behind the guard.
func (g Guard) Wrap(h http.Handler) http.Handler {
	if !g.Loopback {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.accepts(r.Host) {
			http.Error(w, "the Host of the request is not one of this server", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// accepts reports whether the Host of a request is accepted.
func (g Guard) accepts(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return IsLoopback(host) || slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.ToLower(h) == host })
}

// IsLoopback reports whether a host is a name or an address of this machine that no other reaches.
func IsLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.IsLoopback()
}
