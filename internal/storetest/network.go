package storetest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Way is the treatment of the bytes of a connection.
type Way int

const (
	// Pass forwards all bytes.
	Pass Way = iota
	// Silent accepts connections, reads all bytes and sends none.
	Silent
	// Requests forwards the first bytes of the client and drops the rest.
	Requests
	// Replies forwards the bytes of the client and drops those of the server.
	Replies
	// Halted neither reads nor writes, like a peer that died without closing the connection.
	Halted
)

// Ways are the ways that drop bytes.
var Ways = []Way{Silent, Requests, Replies, Halted}

func (w Way) String() string {
	return [...]string{"Pass", "Silent", "Requests", "Replies", "Halted"}[w]
}

// beginning is the number of bytes of a request that Requests forwards.
const beginning = 10

// Network is a proxy before a server. A connection that has lost a byte forwards nothing any more,
// and its client does not see it closed. A new connection follows the current Way. The server sees
// the end of a connection when the client closes it, and that of a Halted one immediately. Lost
// connections therefore do not use up the connections of the server.
type Network struct {
	// Addr is the TCP address of the proxy.
	Addr string

	server [2]string // network and address
	way    atomic.Int32
	once   atomic.Bool  // back to Pass once bytes were dropped
	spared atomic.Int64 // chunks of replies that still pass while the way is Replies
	lost   atomic.Int64
	l      net.Listener
	all    sync.WaitGroup
	mu     sync.Mutex
	conns  []net.Conn // nil after the end
	ended  chan struct{}
}

// NewNetwork starts a proxy before a server, until the test ends.
func NewNetwork(t testing.TB, network, address string) *Network {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &Network{Addr: l.Addr().String(), server: [2]string{network, address}, l: l, ended: make(chan struct{})}
	n.all.Go(n.accept)
	t.Cleanup(n.end)
	return n
}

// Set sets the way of all bytes from now on.
func (n *Network) Set(w Way) {
	n.once.Store(false)
	n.spared.Store(0)
	n.way.Store(int32(w))
}

// SetOnce is Set until a byte is dropped. Connections that have lost none then pass again.
func (n *Network) SetOnce(w Way) {
	n.way.Store(int32(w))
	n.once.Store(true)
}

// SetAfter is Set(Replies) after so many replies of all connections.
func (n *Network) SetAfter(replies int) {
	n.Set(Replies)
	n.spared.Store(int64(replies))
}

// Lost returns the number of connections that have lost bytes.
func (n *Network) Lost() int { return int(n.lost.Load()) }

func (n *Network) end() {
	n.l.Close()
	close(n.ended)
	n.mu.Lock()
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
	n.mu.Unlock()
	n.all.Wait()
}

func (n *Network) accept() {
	for {
		client, err := n.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(n.server[0], n.server[1])
		if err != nil {
			client.Close()
			continue
		}
		n.mu.Lock()
		n.conns = append(n.conns, client, server)
		n.mu.Unlock()
		select {
		case <-n.ended:
			client.Close()
			server.Close()
		default:
		}
		p := &connection{net: n, client: client, server: server}
		n.all.Go(func() { p.copy(server, client, true) })
		n.all.Go(func() { p.copy(client, server, false) })
	}
}

// connection is the two halves of a connection through the network.
type connection struct {
	net            *Network
	client, server net.Conn
	dead           atomic.Bool
}

// copy forwards bytes until an end closes. A connection that has lost bytes forwards nothing any
// more, and the client does not learn that the server has closed.
func (p *connection) copy(to, from net.Conn, request bool) {
	for b := make([]byte, 64<<10); ; {
		size, err := from.Read(b)
		if err != nil {
			if request || !p.dead.Load() {
				to.Close()
				from.Close()
			}
			return
		}
		way := Way(p.net.way.Load())
		pass := size
		switch {
		case p.dead.Load():
			pass = 0
		case way == Silent, way == Halted, way == Replies && !request && p.net.spared.Add(-1) < 0:
			pass = 0
		case way == Requests && request:
			pass = min(size, beginning)
		}
		if pass < size && !p.dead.Swap(true) {
			p.net.lost.Add(1)
			if p.net.once.Swap(false) {
				p.net.way.Store(int32(Pass))
			}
		}
		if way == Halted && pass == 0 {
			p.server.Close()
			<-p.net.ended
			return
		}
		if _, err := to.Write(b[:pass]); err != nil {
			return
		}
	}
}
