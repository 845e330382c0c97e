package nodes

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"syscall"
	"testing"
)

// Resolve maps names to addresses until the test ends: "name:port" to "address:port". Of the
// private addresses only those in public can be dialed.
func Resolve(t *testing.T, names map[string]string, public ...string) {
	client := newClient(func(network, address string, c syscall.RawConn) error {
		for _, p := range public {
			if p == address {
				return nil
			}
		}
		return refusePrivate(network, address, c)
	})
	transport := client.Transport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, network, cmp.Or(names[address], address))
	}
	was := clients
	clients = clientPair{was.any, client}
	t.Cleanup(func() {
		clients = was
		client.CloseIdleConnections()
	})
}
