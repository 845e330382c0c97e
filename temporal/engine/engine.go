// Package engine gives a command line the flag --engine temporal://HOST:PORT/NAMESPACE:
//
//	weftcli.Main(weftcli.Config{
//		Graphs:  graphs,
//		Engines: map[string]weftcli.EngineOpener{engine.Scheme: engine.Open},
//	})
//
// The verbs run, resume, inbox, chat and serve then have their runs carried out by workers. A
// worker is a process of the verb worker with the same flag, the same program and the same store.
//
// The address may end in settings, such as ?queue=NAME&mode=node. queue is the task queue, "weft"
// by default. mode=node makes each task an activity. A worker of another queue than "weft" runs the
// nodes whose policy names that queue.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/temporal"
	"github.com/weftrun/weft/weftcli"
)

// Scheme is that of the addresses that Open takes.
const Scheme = "temporal"

// ErrAddress is returned by Open for an address that is not valid.
var ErrAddress = errors.New("engine: invalid address")

// dialTime bounds the wait for the server.
const dialTime = 10 * time.Second

// address is the value of --engine.
type address struct {
	host, namespace, queue string
	mode                   temporal.Mode
}

// parse reads an address.
func parse(text string) (a address, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return a, fmt.Errorf("%w: write temporal://HOST:PORT/NAMESPACE", ErrAddress) // the text could have a password
	}
	q := u.Query()
	a = address{u.Host, cmp.Or(strings.Trim(u.Path, "/"), client.DefaultNamespace), q.Get("queue"), temporal.Mode(q.Get("mode"))}
	q.Del("queue")
	q.Del("mode")
	_, _, noPort := net.SplitHostPort(a.host)
	switch {
	case u.Scheme != Scheme || noPort != nil || u.User != nil || strings.Contains(a.namespace, "/"):
		return a, fmt.Errorf("%w: it must be temporal://HOST:PORT/NAMESPACE (got %q)", ErrAddress, u.Redacted())
	case len(q) > 0:
		return a, fmt.Errorf("%w: the settings are queue and mode (got %q)", ErrAddress, q.Encode())
	case a.mode != "" && a.mode != temporal.Segments && a.mode != temporal.Nodes:
		return a, fmt.Errorf("%w: mode must be %q or %q (got %q)", ErrAddress, temporal.Segments, temporal.Nodes, a.mode)
	}
	return a, nil
}

// Open connects to a server. It is a weftcli.EngineOpener.
func Open(ctx context.Context, c weftcli.EngineConfig) (weftcli.Engine, error) {
	a, err := parse(c.Address)
	if err != nil {
		return nil, err
	}
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler) // the command line reports what fails
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := client.DialContext(ctx, client.Options{HostPort: a.host, Namespace: a.namespace, Logger: sdklog.NewStructuredLogger(log)})
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", a.host, err)
	}
	return &engine{a, c, conn}, nil
}

// engine is a connection to a server.
type engine struct {
	address
	config weftcli.EngineConfig
	conn   client.Client
}

// Graph implements weftcli.Engine.
func (e *engine) Graph(g graph.Untyped) (graph.Untyped, error) {
	return temporal.NewClient(e.conn, g, temporal.ClientConfig{Store: e.config.Store, Queue: e.queue, Mode: e.mode, Documents: e.config.Documents, Bus: e.config.Bus})
}

// Work implements weftcli.Engine.
func (e *engine) Work(ctx context.Context, graphs []graph.Untyped) error {
	w, err := temporal.NewWorker(e.conn, temporal.WorkerConfig{Graphs: graphs, Store: e.config.Store, Queue: e.queue, Documents: e.config.Documents, Settings: e.config.Settings, Bus: e.config.Bus,
		Grace: e.config.Grace, StopTimeout: e.config.Drain, Logger: e.config.Log})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// Close implements weftcli.Engine.
func (e *engine) Close() error {
	e.conn.Close()
	return nil
}
