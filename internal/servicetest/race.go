package servicetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/racescale"
)

// Operation is one call of a client, with its result and its times.
type Operation[In, Out any] struct {
	Client       int
	In           In
	Out          Out
	Call, Return int64 // by the clock of the machine, in nanoseconds
}

// Client chooses calls and makes them, one after another.
type Client[In, Out any] interface {
	Choose() In
	Do(ctx context.Context, in In) (Out, error)
}

// Race is a test of clients that call one service at once. It checks that their results are
// linearizable: some order of the calls explains all results.
type Race[In, Out any] struct {
	// Env names the environment variable that makes a test binary the second process.
	Env string
	// Client returns a client. Each client of a race has another number.
	Client func(docs document.Store, n int, seed uint64) Client[In, Out]
	// Calls is the number of calls of each client.
	Calls int
	// Rule is what the test checks, and Spec is the sequential specification.
	Rule string
	Spec Spec
}

// Spec is a sequential specification.
type Spec = porcupine.Model

// Open opens the documents at an address, in any process. The function close releases them.
type Open = func(ctx context.Context, address string) (docs document.Store, close func(), err error)

// Worker must be called at the beginning of TestMain. It does not return in a process that
// Processes started.
func (r Race[In, Out]) Worker(open Open) {
	address, is := os.LookupEnv(r.Env)
	if !is {
		return
	}
	if err := r.child(address, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Processes runs two clients in this process and two in another process, and judges their results.
// It calls prepare first.
func (r Race[In, Out]) Processes(t *testing.T, address string, open Open, prepare func(docs document.Store)) {
	docs, shut, err := open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer shut()
	prepare(docs)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(racescale.Environ(), r.Env+"="+address), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() { // the first line reports that the process is ready
		t.Fatal("the other process wrote nothing")
	}
	fmt.Fprintln(in, "go")
	history, err := r.run(t.Context(), docs, 0, 2, 1)
	if err != nil {
		t.Error(err)
	}
	others := 0
	for ; lines.Scan(); others++ {
		var op Operation[In, Out]
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			t.Fatal(err)
		}
		history = append(history, op)
	}
	if err := cmd.Wait(); err != nil || others != 2*r.Calls {
		t.Fatalf("the other process made %d calls of %d: %v", others, 2*r.Calls, err)
	}
	r.Judge(t, history)
}

// child is the second process. It writes that it is ready, waits for a line, and prints its calls.
func (r Race[In, Out]) child(address string, open Open) error {
	ctx := context.Background()
	docs, shut, err := open(ctx, address)
	if err != nil {
		return err
	}
	defer shut()
	fmt.Println("ready")
	if !bufio.NewScanner(os.Stdin).Scan() {
		return errors.New("the first process ended before the race")
	}
	history, err := r.run(ctx, docs, 2, 4, 2)
	e := json.NewEncoder(os.Stdout)
	for _, op := range history {
		err = errors.Join(err, e.Encode(op))
	}
	return err
}

// Goroutines runs four clients in this process, and judges their results.
func (r Race[In, Out]) Goroutines(t testing.TB, docs document.Store, seed uint64) {
	t.Helper()
	history, err := r.run(t.Context(), docs, 0, 4, seed)
	if err != nil {
		t.Error(err)
	}
	r.Judge(t, history)
}

// run runs the clients with the numbers from first up to end, which is not one of them.
func (r Race[In, Out]) run(ctx context.Context, docs document.Store, first, end int, seed uint64) ([]Operation[In, Out], error) {
	histories, errs := make([][]Operation[In, Out], end-first), make([]error, end-first)
	var wg sync.WaitGroup
	for i := range histories {
		wg.Go(func() {
			n, c := first+i, r.Client(docs, first+i, seed)
			for range r.Calls {
				op := Operation[In, Out]{Client: n, In: c.Choose(), Call: time.Now().UnixNano()}
				if op.Out, errs[i] = c.Do(ctx, op.In); errs[i] != nil {
					return
				}
				op.Return = time.Now().UnixNano()
				histories[i] = append(histories[i], op)
			}
		})
	}
	wg.Wait()
	return slices.Concat(histories...), errors.Join(errs...)
}

// searchTime bounds the search for an order of the calls. On a busy machine calls overlap more, and
// there are more orders to try.
const searchTime = 5 * time.Minute

// Judge checks that a history is linearizable.
func (r Race[In, Out]) Judge(t testing.TB, history []Operation[In, Out]) {
	t.Helper()
	all := make([]porcupine.Operation, len(history))
	for i, op := range history {
		all[i] = porcupine.Operation{ClientId: op.Client, Input: op.In, Output: op.Out, Call: op.Call, Return: op.Return}
	}
	if got := porcupine.CheckOperationsTimeout(r.Spec, all, searchTime); got != porcupine.Ok {
		t.Errorf("rule: %s\n got: %s after %d calls\nwant: %s", r.Rule, got, len(history), porcupine.Ok)
	}
}
