// Command devserver runs a Temporal server for trying Weft on one machine, until it is interrupted.
// It prints the flag --engine for the command weft of temporal/cmd/weft.
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
	flag.StringVar(&o.Address, "address", "127.0.0.1:7233", "`IP:PORT` to listen on")
	flag.StringVar(&o.Namespace, "namespace", "default", "`NAME` of the namespace")
	flag.StringVar(&o.File, "file", "", "SQLite `FILE` (default: in memory, lost when the server stops)")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "devserver:", err)
		os.Exit(1)
	}
}

// run serves until the process is interrupted. While the server starts, a signal ends the process.
func run(o e2e.Options) error {
	s, err := e2e.Start(o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Printf("--engine temporal://%s/%s\n", s.Address, s.Namespace)
	<-ctx.Done()
	return s.Stop()
}
