package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weftrun/weft/server"
)

// suites add the graphs of a suite, and what else it needs.
var suites = map[string]func(*builder){"js": jsSuite, "auth": authSuite, "py": pySuite, "hooks": hooksSuite}

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	suite := flags.String("suite", "js", "the suite whose graphs are served")
	listen := flags.String("listen", "127.0.0.1:8123", "the address to listen at")
	store := flags.String("store", "memory", "memory, sqlite:PATH, or the URL of a Redis or PostgreSQL server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	opened, err := openStore(ctx, *store)
	if err != nil {
		return err
	}
	defer func() { _ = opened.close() }()
	config, err := configFor(*suite, opened)
	if err != nil {
		return err
	}
	handler, err := server.New(ctx, config)
	if err != nil {
		return err
	}
	var worker sync.WaitGroup
	defer worker.Wait()
	defer stop()
	worker.Go(func() { handler.Work(ctx, server.Workers{}) })
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on http://" + l.Addr().String())
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	done := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer done()
	return srv.Serve(l)
}

// configFor returns the config of a server for a suite.
func configFor(suite string, o openedStore) (server.Config, error) {
	fill, ok := suites[suite]
	if !ok {
		return server.Config{}, fmt.Errorf("the suite must be one of %s (got %q)", strings.Join(slices.Sorted(maps.Keys(suites)), ", "), suite)
	}
	b := newBuilder(o.store, o.items)
	b.config.Bus = o.bus
	fill(b)
	return b.config, errors.Join(b.errs...)
}
