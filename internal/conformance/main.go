package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
)

// suites build the graphs of a suite over a store.
var suites = map[string]func(checkpoint.Store) (map[string]graph.Untyped, error){
	"js": jsSuite, "py": pySuite, "hooks": hooksSuite,
}

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
	if err := flags.Parse(args); err != nil {
		return err
	}
	build, ok := suites[*suite]
	if !ok {
		return fmt.Errorf("the suite must be one of %s (got %q)", strings.Join(names(), ", "), *suite)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var store checkpoint.Memory
	graphs, err := build(&store)
	if err != nil {
		return err
	}
	handler, err := server.New(ctx, server.Config{Store: &store, Graphs: graphs, AllowTruncate: true})
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

// names returns the names of the suites.
func names() (all []string) {
	for name := range suites {
		all = append(all, name)
	}
	sort.Strings(all)
	return all
}
