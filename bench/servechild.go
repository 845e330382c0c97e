package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	weftserver "github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
)

// childFlag makes this program a server on a store, for the measurements of serve.go.
const childFlag = "serve-child"

// counted is the state of the graphs that are served.
type counted struct {
	N state.Sum[int] `json:"n"`
}

func servedSteps(store checkpoint.Store) (graph.Untyped, error) {
	b := graph.New[counted]("steps")
	last := graph.Start
	for i := range 5 {
		name := fmt.Sprint("step", i)
		b.Node(name, graph.Func(func(_ context.Context, s *counted) error { s.N.Add(1); return nil }))
		b.Edge(last, name)
		last = name
	}
	b.Edge(last, graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	return g.Untyped(), nil
}

// servedToken is an event of the graph that servedTokens returns.
type servedToken struct {
	N  int   `json:"n"`  // from 0
	At int64 `json:"at"` // in nanoseconds since 1970
}

// servedTokens emits a servedToken every 20 ms, 100 times.
func servedTokens(store checkpoint.Store) (graph.Untyped, error) {
	b := graph.New[counted]("tokens")
	b.Node("emit", graph.Func(func(ctx context.Context, _ *counted) error {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := range 100 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := graph.Emit(ctx, servedToken{n, time.Now().UnixNano()}); err != nil {
				return err
			}
		}
		return nil
	}))
	b.Edge(graph.Start, "emit")
	b.Edge("emit", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	return g.Untyped(), nil
}

func openStore(ctx context.Context, url string) (checkpoint.Store, error) {
	switch {
	case url == "memory":
		return &checkpoint.Memory{}, nil
	case strings.HasPrefix(url, "redis:"):
		return redis.OpenURL(ctx, url)
	case strings.HasPrefix(url, "postgres:"):
		return postgres.Open(ctx, url, postgres.Config{})
	}
	return sqlite.Open(ctx, url)
}

// serveChild serves 20 graphs on a store until ctx ends. It prints its address.
func serveChild(ctx context.Context, url string) error {
	store, err := openStore(ctx, url)
	if err != nil {
		return err
	}
	defer store.Close()
	graphs := map[string]graph.Untyped{}
	if graphs["tokens"], err = servedTokens(store); err != nil {
		return err
	}
	for i := range 19 {
		name := "steps"
		if i > 0 {
			name += fmt.Sprint(i)
		}
		if graphs[name], err = servedSteps(store); err != nil {
			return err
		}
	}
	quiet := slog.New(slog.DiscardHandler)
	s, err := weftserver.New(ctx, weftserver.Config{Store: store, Graphs: graphs, Log: quiet})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = web.Serve(l) }()
	fmt.Println("listening on http://" + l.Addr().String())
	s.Work(ctx, weftserver.Workers{})
	if err := web.Close(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
