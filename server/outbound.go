package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrAddress is returned for a URL that the server must not call: another scheme, a host that is
// not allowed, or an address that is not public.
var ErrAddress = errors.New("server: not an allowed address")

// Outbound limits the addresses that the server calls for clients. The zero Outbound allows all
// public addresses.
type Outbound struct {
	// Hosts are patterns of the host names that are allowed, such as *.example.com. Empty allows
	// all.
	Hosts []string
	// AllowPrivate allows this machine and private networks too.
	AllowPrivate bool

	resolver *net.Resolver // of host names; nil is that of the system
}

// Check returns an ErrAddress for a URL that the server must not call. Whether the addresses of a
// host name are public is checked when a connection is made, except for localhost.
func (o Outbound) Check(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("%w: the URL cannot be read", ErrAddress)
	}
	return o.checkURL(&http.Request{URL: u})
}

// checkURL returns an ErrAddress for a URL that the server must not call. The addresses of a name
// are checked when the connection is made.
func (o Outbound) checkURL(r *http.Request) error {
	host := strings.ToLower(r.URL.Hostname())
	switch {
	case r.URL.Scheme != "http" && r.URL.Scheme != "https":
		return fmt.Errorf("%w: the scheme must be http or https", ErrAddress)
	case host == "":
		return fmt.Errorf("%w: the URL must have a host", ErrAddress)
	case r.URL.User != nil:
		return fmt.Errorf("%w: the URL must not have credentials", ErrAddress)
	case len(o.Hosts) > 0 && !slices.ContainsFunc(o.Hosts, func(p string) bool { ok, _ := path.Match(strings.ToLower(p), host); return ok }):
		return fmt.Errorf("%w: the host is not on the list", ErrAddress)
	case !o.AllowPrivate && isPrivate(host):
		return fmt.Errorf("%w: the host is not public", ErrAddress)
	}
	return nil
}

// isPrivate reports whether a host is not public, without asking a resolver: an address that is
// not, or a name of this machine.
func isPrivate(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return !public(a)
	}
	host = strings.TrimSuffix(host, ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// reserved are networks that are not public, beside those that package netip knows.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared by carriers
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"), // these four lead to addresses of version 4
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("fec0::/10"),
}

// public reports whether an address is one of the public network.
func public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.Is4In6() && !a.IsPrivate() && a.Zone() == "" &&
		!slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// control refuses a connection to an address that is not public. It sees the address that the
// connection is made to, after the name was resolved.
func (o Outbound) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !o.AllowPrivate && !public(at.Addr()) {
		return fmt.Errorf("%w: the host has an address that is not public", ErrAddress)
	}
	return nil
}

const (
	outboundTime  = 10 * time.Second
	outboundBytes = 64 << 10 // of an answer
)

// client returns a client that follows no redirects and uses no proxy.
func (o Outbound) client() *http.Client {
	dialer := &net.Dialer{Timeout: outboundTime, ControlContext: o.control, Resolver: o.resolver}
	return &http.Client{
		Timeout:       outboundTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: outboundTime, MaxResponseHeaderBytes: outboundBytes,
			MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
	}
}
