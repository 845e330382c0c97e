package e2e

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// startProxy serves a proxy and returns its address.
func startProxy(t *testing.T, h http.Handler) string {
	t.Helper()
	p := httptest.NewServer(h)
	t.Cleanup(p.Close)
	return p.URL
}
