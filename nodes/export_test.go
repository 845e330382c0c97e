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

// Resolve gives names addresses until the test ends: "name:port" to "address:port". Of the
// addresses that are not public only those of public are dialled.
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
