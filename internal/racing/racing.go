package racing

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

	"github.com/weftrun/weft/internal/pace"
)

// Line is one call as its caller saw it, and saw how it ended.
type Line[Did, Saw any] struct {
	Client       int
	Did          Did
	Saw          Saw
	Call, Return int64 // by the clock of the machine, in nanoseconds
}

// Client chooses calls and makes them, one after another.
type Client[Did, Saw any] interface {
	Choose() Did
	Do(ctx context.Context, d Did) (Saw, error)
}

// Race is what clients do to one thing in a store of type S.
type Race[S, Did, Saw any] struct {
	// Env names the environment variable that makes a test binary the other process.
	Env string
	// Client returns a client; of those of one race each has a number of its own.
	Client func(store S, n int, seed uint64) Client[Did, Saw]
	// Calls is how many calls each client makes.
	Calls int
	// Rule says what is tested, and Spec what may happen.
	Rule string
	Spec porcupine.Model
}

// Open opens the store at an address, in any process. shut closes what it opened.
type Open[S any] = func(ctx context.Context, address string) (store S, shut func(), err error)

// Worker is to be called at the beginning of TestMain. In a process that Processes has started it
// does not return.
func (r Race[S, Did, Saw]) Worker(open Open[S]) {
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

// Processes lets two clients here and two in another process race, and judges them. prepare is
// called before.
func (r Race[S, Did, Saw]) Processes(t *testing.T, address string, open Open[S], prepare func(store S)) {
	store, shut, err := open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer shut()
	prepare(store)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(pace.Environ(), r.Env+"="+address), os.Stderr
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
	if !lines.Scan() { // it is ready
		t.Fatal("the other process said nothing")
	}
	fmt.Fprintln(in, "go")
	story, err := r.tell(t.Context(), store, 0, 2, 1)
	if err != nil {
		t.Error(err)
	}
	theirs := 0
	for ; lines.Scan(); theirs++ {
		var line Line[Did, Saw]
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		story = append(story, line)
	}
	if err := cmd.Wait(); err != nil || theirs != 2*r.Calls {
		t.Fatalf("the other process made %d calls of %d: %v", theirs, 2*r.Calls, err)
	}
	r.Judge(t, story)
}

// child is the other process: it says that it is ready, waits for a line, and tells what it did.
func (r Race[S, Did, Saw]) child(address string, open Open[S]) error {
	ctx := context.Background()
	store, shut, err := open(ctx, address)
	if err != nil {
		return err
	}
	defer shut()
	fmt.Println("ready")
	if !bufio.NewScanner(os.Stdin).Scan() {
		return errors.New("nobody says go")
	}
	story, err := r.tell(ctx, store, 2, 4, 2)
	e := json.NewEncoder(os.Stdout)
	for _, line := range story {
		err = errors.Join(err, e.Encode(line))
	}
	return err
}

// Goroutines lets four clients of this process race, and judges them.
func (r Race[S, Did, Saw]) Goroutines(t testing.TB, store S, seed uint64) {
	t.Helper()
	story, err := r.tell(t.Context(), store, 0, 4, seed)
	if err != nil {
		t.Error(err)
	}
	r.Judge(t, story)
}

// tell lets the clients from one number up to another work at once.
func (r Race[S, Did, Saw]) tell(ctx context.Context, store S, from, until int, seed uint64) ([]Line[Did, Saw], error) {
	stories, errs := make([][]Line[Did, Saw], until-from), make([]error, until-from)
	var wg sync.WaitGroup
	for i := range stories {
		wg.Go(func() {
			n, c := from+i, r.Client(store, from+i, seed)
			for range r.Calls {
				line := Line[Did, Saw]{Client: n, Did: c.Choose(), Call: time.Now().UnixNano()}
				if line.Saw, errs[i] = c.Do(ctx, line.Did); errs[i] != nil {
					return
				}
				line.Return = time.Now().UnixNano()
				stories[i] = append(stories[i], line)
			}
		})
	}
	wg.Wait()
	return slices.Concat(stories...), errors.Join(errs...)
}

// Judge looks whether a story can be told.
func (r Race[S, Did, Saw]) Judge(t testing.TB, story []Line[Did, Saw]) {
	t.Helper()
	if got := r.check(story); got != porcupine.Ok {
		t.Errorf("rule: %s\n got: %s after %d calls\nwant: %s", r.Rule, got, len(story), porcupine.Ok)
	}
}

func (r Race[S, Did, Saw]) check(story []Line[Did, Saw]) porcupine.CheckResult {
	all := make([]porcupine.Operation, len(story))
	for i, l := range story {
		all[i] = porcupine.Operation{ClientId: l.Client, Input: l.Did, Output: l.Saw, Call: l.Call, Return: l.Return}
	}
	return porcupine.CheckOperationsTimeout(r.Spec, all, time.Minute)
}
