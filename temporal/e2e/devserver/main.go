// Command devserver is a Temporal server for people who try a fleet. It prints the flag with which
// the command weft uses it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/weftrun/weft/temporal/e2e"
)

func main() {
	var o e2e.Options
	flag.StringVar(&o.Address, "address", "127.0.0.1:7233", "`HOST:PORT` to listen on")
	flag.StringVar(&o.Namespace, "namespace", "default", "`NAME` of the namespace")
	flag.StringVar(&o.File, "file", "", "database `FILE` of SQLite (default: memory, which ends with the server)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "devserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o e2e.Options) error {
	s, err := e2e.Start(o)
	if err != nil {
		return err
	}
	fmt.Printf("--engine temporal://%s/%s\n", s.Address, s.Namespace)
	<-ctx.Done()
	return s.Stop()
}
