package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
)

// names is a resolver whose names all have one address of version 4, which a server on this machine
// answers.
func names(t *testing.T, address netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		query := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			end := 12 // of the question, after the header
			for end < n && query[end] != 0 {
				end += int(query[end]) + 1
			}
			end += 5 // the type and the class
			if end > n {
				continue
			}
			answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
			if query[end-3] == 1 { // the type A
				answer[7] = 1
				answer = append(append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), address.AsSlice()...)
			}
			_, _ = conn.WriteTo(answer, from) // the client tries again
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// TestOutbound_RefusesNamesOfPrivateAddresses calls names that look public. What counts is the
// address that the connection is made to, so a name may change its address at any time.
//
// Requirement: Webhooks reach public addresses alone
func TestOutbound_RefusesNamesOfPrivateAddresses(t *testing.T) {
	called := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called++ }))
	defer s.Close()
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.7", "100.100.100.200"} {
		o := Outbound{Hosts: []string{"*.example.com"}, resolver: names(t, netip.MustParseAddr(address))}
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://hooks.example.com:"+at.Port(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.checkURL(r); err != nil {
			t.Errorf("the name is refused: %v", err)
		}
		if res, err := o.client().Do(r); !errors.Is(err, ErrAddress) {
			t.Errorf("a name with the address %s: got %v, want ErrAddress", address, err)
			if err == nil {
				_ = res.Body.Close()
			}
		}
	}
	o := Outbound{AllowPrivate: true, resolver: names(t, netip.MustParseAddr("127.0.0.1"))}
	client := o.client()
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://hooks.example.com:"+at.Port(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if called != 1 {
		t.Errorf("the server got %d requests, want only that of AllowPrivate", called)
	}
}
