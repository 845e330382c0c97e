package server

import (
	"net/http"
	"slices"
	"strings"
)

// CORS sets which pages of other origins may call the server.
type CORS struct {
	// Origins are the allowed origins, such as https://app.example.com. "*" allows every origin.
	Origins []string
	// PrivateNetwork lets public pages call a server on this machine or in a private network, if
	// the browser asks for it.
	PrivateNetwork bool
}

func (c CORS) allows(origin string) bool {
	return origin != "" && (slices.Contains(c.Origins, "*") || slices.Contains(c.Origins, origin))
}

const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	corsExposed = "content-location, location, x-pagination-total, x-pagination-next, x-request-id, x-weft-ignored, x-weft-missed"
)

// corsHeaders are the headers that pages may send, beside those that begin with x-.
var corsHeaders = []string{"content-type", "authorization", "x-api-key", "prefer", "last-event-id", "cache-control", "mcp-protocol-version", "mcp-method", "mcp-name"}

// answer sets the headers for a page of another origin. It returns true if the request is a
// preflight, which it has answered.
func (c CORS) answer(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if origin != "" {
		w.Header().Add("Vary", "Origin")
	}
	if c.allows(origin) {
		h := w.Header()
		if slices.Contains(c.Origins, "*") {
			origin = "*"
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", corsExposed)
		if preflight {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", allowedHeaders(r.Header.Get("Access-Control-Request-Headers")))
			h.Set("Access-Control-Max-Age", "600")
			if c.PrivateNetwork && r.Header.Get("Access-Control-Request-Private-Network") == "true" {
				h.Set("Access-Control-Allow-Private-Network", "true")
			}
		}
	}
	if preflight {
		w.WriteHeader(http.StatusNoContent)
	}
	return preflight
}

// allowedHeaders returns those of the requested headers that pages may send.
func allowedHeaders(requested string) string {
	var list []string
	for name := range strings.SplitSeq(requested, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if slices.Contains(corsHeaders, name) || strings.HasPrefix(name, "x-") && isToken(name) {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// isToken reports whether a text has only letters, digits and the signs of ids.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:", r))
	})
}
