package checkpointtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/racescale"
)

// Opener opens the store that an address names. It runs in other processes too: all that
// it needs is in the address.
type Opener func(ctx context.Context, address string) (checkpoint.Store, error)

// workerVariable holds the address of the store in the environment of a worker.
const workerVariable = "WEFT_CHECKPOINTTEST_WORKER"

// Worker makes this process one of those that RunProcesses starts, if it is one, and then
// does not return. TestMain calls it before anything else: a worker is the test's own
// binary, started once more.
func Worker(open Opener) {
	address, is := os.LookupEnv(workerVariable)
	if !is {
		return
	}
	if err := work(open, address, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// order is a call that a worker is to make, and report is how it ended.
type (
	order struct {
		Thread string
		did
	}
	report struct {
		saw
		Error string // one that the port does not name
		Torn  bool   // the error is an errTorn
	}
)

// work executes orders until they end.
func work(open Opener, address string, orders io.Reader, reports io.Writer) error {
	ctx := context.Background()
	store, err := open(ctx, address)
	if err != nil {
		return err
	}
	in, out := json.NewDecoder(orders), json.NewEncoder(reports)
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return store.Close()
		} else if err != nil {
			return err
		}
		var r report
		r.saw, err = do(ctx, store, key(o.Thread), o.did)
		if err != nil {
			r.Error, r.Torn = err.Error(), errors.Is(err, errTorn)
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// process is a worker as the test sees it. Its zero value is not started yet; one that
// was killed is started again with the next order.
type process struct {
	address string
	cmd     *exec.Cmd
	orders  io.WriteCloser
	reports *bufio.Reader
}

// do gives an order and waits for its end. killAfter, if it is not negative, kills the
// process so long after the order: without a report, what became of it is unknown.
func (w *process) do(o order, killAfter time.Duration) (saw, error) {
	if w.cmd == nil {
		if err := w.start(); err != nil {
			return saw{}, err
		}
	}
	if err := json.NewEncoder(w.orders).Encode(o); err != nil {
		return saw{}, fmt.Errorf("a worker takes no orders: %w", err)
	}
	if killAfter < 0 {
		return w.report()
	}
	self := w.cmd.Process
	timer := time.AfterFunc(killAfter, func() { self.Kill() })
	s, err := w.report()
	if timer.Stop() {
		self.Kill() // the report was faster
	}
	w.end()
	if errors.Is(err, errNoReport) {
		return saw{Refused: "unknown"}, nil
	}
	return s, err
}

// errNoReport is returned when a worker ended before its report.
var errNoReport = errors.New("a worker ended before it reported")

func (w *process) report() (saw, error) {
	line, err := w.reports.ReadBytes('\n')
	var r report
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	switch {
	case err != nil:
		return saw{}, fmt.Errorf("%w: %w", errNoReport, err)
	case r.Torn:
		return saw{}, fmt.Errorf("%w: %s", errTorn, r.Error)
	case r.Error != "":
		return saw{}, errors.New(r.Error)
	}
	return r.saw, nil
}

func (w *process) start() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(racescale.Environ(), workerVariable+"="+w.address)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	w.cmd, w.orders, w.reports = cmd, in, bufio.NewReader(out)
	return cmd.Start()
}

// end waits for a process that was killed, or has no more orders.
func (w *process) end() {
	if w.cmd == nil || w.cmd.Process == nil {
		return
	}
	w.orders.Close()
	_ = w.cmd.Wait() // a kill is no mistake of its
	w.cmd = nil
}
