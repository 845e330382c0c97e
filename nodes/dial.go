package nodes

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// refusal is an error that another attempt cannot change.
type refusal struct{ why string }

func (e *refusal) Error() string   { return e.why }
func (e *refusal) Retryable() bool { return false }

// clients are the two http clients, of which each keeps its connections.
var clients = clientPair{newClient(nil), newClient(refusePrivate)}

type clientPair struct{ any, public *http.Client }

func (c clientPair) of(allowPrivate bool) *http.Client {
	if allowPrivate {
		return c.any
	}
	return c.public
}

func newClient(control func(network, address string, c syscall.RawConn) error) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: control}
	return &http.Client{
		Timeout: 5 * time.Minute,
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			ResponseHeaderTimeout:  time.Minute,
			IdleConnTimeout:        30 * time.Second,
			MaxIdleConns:           100,
			MaxResponseHeaderBytes: 1 << 20,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch {
			case len(via) > 5:
				return &refusal{"stopped after 5 redirects"}
			case req.URL.Scheme != "http" && req.URL.Scheme != "https":
				return &refusal{"redirected to " + req.URL.Scheme + ", which is not http"}
			}
			keepFrom(req, via[0].URL)
			return nil
		},
	}
}

// harmless are the headers that other servers may see.
var harmless = []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Idempotency-Key", "User-Agent"}

// keepFrom removes from a redirected request what only the server at the first URL may see. That is
// the query in the Referer and, for another origin, the headers that may contain secrets. An origin
// is scheme, host and port. A redirect from http on port 80 to https on port 443 of the same host
// keeps the headers.
func keepFrom(req *http.Request, first *url.URL) {
	req.Header.Del("Referer")
	from, to := originOf(first), originOf(req.URL)
	upgrade := from == origin{"http", to.host, "80"} && to.scheme == "https" && to.port == "443"
	if upgrade || from == to {
		return
	}
	maps.DeleteFunc(req.Header, func(name string, _ []string) bool { return !slices.Contains(harmless, name) })
}

// origin is the server of a request.
type origin struct{ scheme, host, port string }

func originOf(u *url.URL) origin {
	o := origin{u.Scheme, strings.ToLower(u.Hostname()), u.Port()}
	if o.port == "" {
		o.port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return o
}

// refusePrivate checks the address of a connection just before it is made, so that no name and no
// redirect avoids the check.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusal{fmt.Sprintf("address %s: %v", address, err)}
	}
	if !public(ap.Addr()) {
		return &refusal{fmt.Sprintf("address %s is not public; set allow_private: true if that is meant", ap.Addr())}
	}
	return nil
}

// special are the ranges that are not public, in addition to those that net/netip knows. They are
// in IANA's registries of special-purpose addresses.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared by carriers; metadata of some clouds
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),        // holds an IPv4 address
	netip.MustParsePrefix("64:ff9b::/96"), // holds an IPv4 address
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // holds an IPv4 address
	netip.MustParsePrefix("fec0::/10"),
}

func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// Size is a number of bytes: 4096, or a text such as 512KiB or 2MiB.
type Size int64

var sizeText = regexp.MustCompile(`^([0-9]{1,9})(B|KiB|MiB|GiB)$`)

// ParamSchema implements [workflow.Described].
func (Size) ParamSchema() map[string]any {
	return map[string]any{"type": []string{"integer", "string"}, "minimum": 0, "pattern": sizeText.String(), "$comment": "a size such as 512KiB"}
}

// UnmarshalJSON reads a number or a text.
func (s *Size) UnmarshalJSON(data []byte) error {
	if n, err := strconv.ParseUint(string(data), 10, 62); err == nil {
		*s = Size(n)
		return nil
	}
	var text string
	_ = json.Unmarshal(data, &text)
	m := sizeText.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("the size must be such as 4096, 512KiB or 2MiB (got %s)", data)
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	*s = Size(n << map[string]int{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[m[2]])
	return nil
}

// publicURL returns a URL without its secret parts.
func publicURL(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

// plainURLError drops the query from an error of package http.
func plainURLError(err error) error {
	var ue *url.Error
	if !errors.As(err, &ue) {
		return err
	}
	if u, perr := url.Parse(ue.URL); perr == nil {
		return fmt.Errorf("%s %s: %w", strings.ToUpper(ue.Op), publicURL(u), ue.Err)
	}
	return ue.Err
}
