package serve

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
)

// ErrListen is returned when the address cannot be listened at.
var ErrListen = errors.New("cannot listen")

// Config are the settings of a process. Server and Log are required.
type Config struct {
	Server  *server.Server
	Workers server.Workers // Run sets Abort
	Listen  string         // the address, HOST:PORT; "" does not listen
	// Guard refuses requests before the server sees them.
	Guard Guard
	Log   *slog.Logger
	// Signer signs the decisions that the process writes; nil for none.
	Signer ed25519.PrivateKey
	// Ready is called when the process works, with its URL; "" if it does not listen.
	Ready func(url string)
}

// The limits of connections. A stream has no time limit: the server bounds each of its writes.
const (
	headerTime  = 5 * time.Second
	headerBytes = 32 << 10
	idleTime    = 2 * time.Minute
	closeTime   = 5 * time.Second // for the last answers, at the end of the process
)

// Run serves and works until stop is closed. Then it drains. When ctx ends, it stops at once.
func Run(ctx context.Context, stop <-chan struct{}, c Config) error {
	var listener net.Listener
	url := ""
	if c.Listen != "" {
		var err error
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", c.Listen); err != nil {
			if at, ok := errors.AsType[*net.OpError](err); ok {
				err = at.Err // without the address again
			}
			return fmt.Errorf("%w at %s: %w", ErrListen, c.Listen, err)
		}
		url = "http://" + listener.Addr().String()
	}
	base := context.Background()
	if c.Signer != nil {
		base = graph.WithSigner(base, c.Signer)
	}
	working, endWork := context.WithCancel(base)
	defer endWork()
	c.Workers.Abort = ctx.Done()
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		c.Server.Work(working, c.Workers)
	}()
	requests, endRequests := context.WithCancel(base)
	defer endRequests()
	h := &http.Server{
		Handler: c.Guard.Wrap(c.Server), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog:    slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	if listener != nil {
		go func() { failed <- h.Serve(listener) }()
	}
	if c.Ready != nil {
		c.Ready(url)
	}
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("listen at %s: %w", c.Listen, err)
	case <-stop:
	case <-ctx.Done():
	}
	c.Server.Drain()
	h.SetKeepAlivesEnabled(false)
	endWork()
	<-worked
	endRequests()
	return errors.Join(err, shutdown(h))
}

// shutdown waits until the requests have ended, and cuts off those that do not end in time.
func shutdown(h *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("close the connections: %w", err), h.Close())
	}
	return nil
}
