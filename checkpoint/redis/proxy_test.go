package redis_test

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy passes bytes between a client and a server. It counts, and cuts connections.
type proxy struct {
	addr   string
	target string
	l      net.Listener
	wg     sync.WaitGroup

	trips atomic.Int64 // times that a client began to speak after the server, or first
	up    atomic.Int64 // bytes from clients
	cuts  atomic.Int64
	moved atomic.Pointer[server] // where new connections go, if not to the target

	cut  func(reply bool, b []byte) bool // asked for each piece: cut the connection instead of passing it on?
	gate func()                          // called before a new connection is served

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// startProxy starts a proxy of a server. prepare may set its faults before it accepts connections.
func startProxy(t testing.TB, target string, prepare ...func(*proxy)) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), target: target, l: l, conns: map[net.Conn]bool{}}
	for _, f := range prepare {
		f(p)
	}
	t.Cleanup(p.stop)
	p.wg.Go(p.accept)
	return p
}

func (p *proxy) accept() {
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(c) })
	}
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	if p.gate != nil {
		p.gate()
	}
	target := p.target
	if moved := p.moved.Load(); moved != nil {
		target = moved.addr
	}
	s, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer s.Close()
	if !p.keep(c, s) {
		return
	}
	var spoke atomic.Bool // the client spoke last
	var both sync.WaitGroup
	both.Go(func() { p.copy(c, s, false, &spoke) })
	p.copy(s, c, true, &spoke)
	both.Wait()
	p.forget(c, s)
}

// copy passes bytes on until an end closes, or a cut closes both.
func (p *proxy) copy(from, to net.Conn, reply bool, spoke *atomic.Bool) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if !reply {
				p.up.Add(int64(n))
				if !spoke.Swap(true) {
					p.trips.Add(1)
				}
			} else {
				spoke.Store(false)
			}
			if p.cut != nil && p.cut(reply, b[:n]) {
				p.cuts.Add(1)
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

func (p *proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

func (p *proxy) stop() {
	p.l.Close()
	p.mu.Lock()
	for c := range p.conns {
		c.Close()
	}
	p.conns = nil
	p.mu.Unlock()
	p.wg.Wait()
}

// sometimes cuts with a chance, before the server receives a command or after.
func sometimes(chance float64) func(bool, []byte) bool {
	return func(bool, []byte) bool { return rand.Float64() < chance }
}

// cutAll cuts the connections that there are. New ones are served.
func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}
