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
// The address may end in settings, such as ?queue=NAME&mode=node&heartbeat=5s. queue is the task
// queue, "weft" by default. mode=node makes each task an activity, and mode=segment is the default.
// heartbeat is temporal.ClientConfig.Heartbeat. A worker of another queue than "weft" runs the
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

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/weftrun/weft/checkpoint"
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
	heartbeat              time.Duration // 0 is the default
}

// form is how an address is written.
const form = "temporal://HOST:PORT/NAMESPACE?queue=NAME&mode=segment&heartbeat=1.5s, where all from the ? on may be left out, and mode is segment or node"

// parse reads an address.
func parse(text string) (a address, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return a, fmt.Errorf("%w: it must be temporal://HOST:PORT/NAMESPACE", ErrAddress) // the text could have a password
	}
	q := u.Query()
	a = address{host: u.Host, namespace: cmp.Or(strings.Trim(u.Path, "/"), client.DefaultNamespace), queue: q.Get("queue"), mode: temporal.Mode(q.Get("mode"))}
	beat, beats := q.Get("heartbeat"), q.Has("heartbeat")
	a.heartbeat, err = time.ParseDuration(beat)
	for _, known := range []string{"queue", "mode", "heartbeat"} {
		q.Del(known)
	}
	_, _, noPort := net.SplitHostPort(a.host)
	switch {
	case u.Scheme != Scheme || noPort != nil || u.User != nil || strings.Contains(a.namespace, "/"):
		return a, fmt.Errorf("%w: it must be temporal://HOST:PORT/NAMESPACE (got %q)", ErrAddress, u.Redacted())
	case len(q) > 0:
		return a, fmt.Errorf("%w: the settings are queue, mode and heartbeat (got %q)", ErrAddress, q.Encode())
	case beats && (err != nil || a.heartbeat <= 0):
		return a, fmt.Errorf("%w: heartbeat must be a time above 0, such as 5s (got %q)", ErrAddress, beat)
	case a.mode != "" && a.mode != temporal.Segments && a.mode != temporal.Nodes:
		return a, fmt.Errorf("%w: mode must be %q or %q (got %q)", ErrAddress, temporal.Segments, temporal.Nodes, a.mode)
	}
	return a, nil
}

// Open connects to a server. It is a weftcli.EngineOpener.
func Open(ctx context.Context, c weftcli.EngineConfig) (weftcli.Engine, error) {
	a, err := parse(c.Address)
	if err != nil {
		return nil, &weftcli.EngineError{Err: err, Next: "write " + form}
	}
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler) // the command line reports what fails
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := client.DialContext(ctx, client.Options{HostPort: a.host, Namespace: a.namespace, Logger: sdklog.NewStructuredLogger(log)})
	if err != nil {
		return nil, &weftcli.EngineError{Err: fmt.Errorf("engine: %s: %w", a.host, err), Next: "start a Temporal server at " + a.host + ", or correct the address in --engine"}
	}
	e := &engine{a, c, conn}
	var unknown *serviceerror.NamespaceNotFound
	if _, err := e.describeNamespace(ctx); errors.As(err, &unknown) { // another error may be one of rights, which runs need not
		conn.Close()
		return nil, &weftcli.EngineError{Err: fmt.Errorf("engine: %s: there is no namespace %q: %w", a.host, a.namespace, err),
			Next: fmt.Sprintf("make it with: temporal operator namespace create --namespace %s --address %s; or name another one in --engine temporal://%s/NAMESPACE", a.namespace, a.host, a.host)}
	}
	return e, nil
}

func (e *engine) describeNamespace(ctx context.Context) (*workflowservice.DescribeNamespaceResponse, error) {
	return e.conn.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: e.namespace})
}

// engine is a connection to a server.
type engine struct {
	address
	config weftcli.EngineConfig
	conn   client.Client
}

// Graph implements weftcli.Engine.
func (e *engine) Graph(g graph.Untyped) (graph.Untyped, error) {
	c := temporal.ClientConfig{Store: e.config.Store, Queue: e.queue, Mode: e.mode, Heartbeat: e.heartbeat, Documents: e.config.Documents, Bus: e.config.Bus,
		CancelTimeout: e.config.CancelTimeout}
	if note := e.config.NoWorkers; note != nil {
		c.NoWorkers = func() { note(fmt.Sprintf("task queue %q of namespace %q", e.taskQueue(), e.namespace)) }
	}
	return temporal.NewClient(e.conn, g, c)
}

// taskQueue returns the task queue that workers poll.
func (e *engine) taskQueue() string { return cmp.Or(e.queue, temporal.DefaultQueue) }

// Doctor implements weftcli.Engine.
func (e *engine) Doctor(ctx context.Context) []checkpoint.Finding {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	list := []checkpoint.Finding{e.examineServer(ctx), e.examineNamespace(ctx),
		e.examineQueue(ctx, "workflows", enums.TASK_QUEUE_TYPE_WORKFLOW), e.examineQueue(ctx, "activities", enums.TASK_QUEUE_TYPE_ACTIVITY)}
	return append(list, e.examineAttributes(ctx))
}

// Work implements weftcli.Engine.
func (e *engine) Work(ctx context.Context, stop <-chan struct{}, graphs []graph.Untyped) error {
	runs := context.Background()
	if e.config.Signer != nil {
		runs = graph.WithSigner(runs, e.config.Signer)
	}
	w, err := temporal.NewWorker(e.conn, temporal.WorkerConfig{Graphs: graphs, Store: e.config.Store, Queue: e.queue, Documents: e.config.Documents, Settings: e.config.Settings, Bus: e.config.Bus,
		Grace: e.config.Grace, StopTimeout: e.config.Drain, Logger: e.config.Log, Options: worker.Options{BackgroundActivityContext: runs}})
	if err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, w.Abort)()
	select {
	case <-stop:
	case <-ctx.Done():
	}
	w.Stop()
	return context.Cause(ctx)
}

// Close implements weftcli.Engine.
func (e *engine) Close() error {
	e.conn.Close()
	return nil
}
