package server

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// Requirement: Webhooks reach public addresses alone
func TestPublic_Addresses(t *testing.T) {
	for _, text := range strings.Fields(`127.0.0.1 127.9.9.9 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 100.100.100.200
		0.0.0.0 0.1.2.3 224.0.0.1 255.255.255.255 240.0.0.1 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 ::1 :: fe80::1 fe80::1%eth0
		fc00::1 fd00:ec2::254 ff02::1 ::ffff:8.8.8.8 ::ffff:127.0.0.1 ::7f00:1 64:ff9b::7f00:1 2002:7f00:1:: 2001:db8::1 2001::1 fec0::1`) {
		if public(netip.MustParseAddr(text)) {
			t.Errorf("public(%s) = true, want false", text)
		}
	}
	for _, text := range strings.Fields("8.8.8.8 1.1.1.1 2606:4700::1111 172.32.0.1 100.128.0.1") {
		if !public(netip.MustParseAddr(text)) {
			t.Errorf("public(%s) = false, want true", text)
		}
	}
}

func TestOutbound_RefusesURLs(t *testing.T) {
	for _, tt := range []struct {
		o   Outbound
		url string
		ok  bool
	}{
		{Outbound{}, "https://example.com/x", true},
		{Outbound{}, "http://example.com", true},
		{Outbound{}, "ftp://example.com", false},
		{Outbound{}, "file:///etc/passwd", false},
		{Outbound{}, "http://user:password@example.com", false},
		{Outbound{}, "http:///x", false},
		{Outbound{Hosts: []string{"*.example.com"}}, "https://A.Example.com", true},
		{Outbound{Hosts: []string{"*.example.com"}}, "https://example.com.evil.org", false},
		{Outbound{}, "http://127.0.0.1:7400/x", false},
		{Outbound{}, "http://[::1]/x", false},
		{Outbound{}, "http://10.1.2.3", false},
		{Outbound{}, "http://169.254.169.254/latest", false},
		{Outbound{}, "http://LocalHost.:80", false},
		{Outbound{}, "http://weft.localhost", false},
		{Outbound{}, "http://8.8.8.8", true},
		{Outbound{}, "http://localhost.example.com", true},
		{Outbound{AllowPrivate: true}, "http://localhost:80", true},
		{Outbound{AllowPrivate: true}, "http://127.0.0.1", true},
	} {
		r, err := http.NewRequest("POST", tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := tt.o.checkURL(r); (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrAddress) {
			t.Errorf("%+v: %s: got %v", tt.o, tt.url, err)
		}
	}
}

func TestOutbound_ChecksTheConnectedAddress(t *testing.T) {
	called := 0
	mux := http.NewServeMux()
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { called++ })
	s := httptest.NewServer(mux)
	defer s.Close()
	byName := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	for _, url := range []string{s.URL, byName} {
		if _, err := (Outbound{}).client().Get(url); !errors.Is(err, ErrAddress) {
			t.Errorf("GET %s: got %v, want ErrAddress", url, err)
		}
	}
	if called != 0 {
		t.Errorf("a server on this machine got %d requests, want none", called)
	}
	client := Outbound{AllowPrivate: true}.client()
	defer client.CloseIdleConnections()
	r, err := client.Get(s.URL + "/to")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body)
	if r.StatusCode != http.StatusFound || called != 0 {
		t.Errorf("a redirect gave status %d and %d more requests, want 302 and none", r.StatusCode, called)
	}
}
