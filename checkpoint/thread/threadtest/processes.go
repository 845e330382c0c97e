package threadtest

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

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/pace"
)

// childEnv makes a test binary another process that writes to the store at the address it names.
const childEnv = "WEFT_THREAD_CHILD"

// Opener opens the documents at an address, in any process. shut closes what it opened.
type Opener func(ctx context.Context, address string) (docs document.Store, shut func(), err error)

// Worker is to be called at the beginning of TestMain. In a process that RunProcesses has started
// it does not return.
func Worker(open Opener) {
	address, is := os.LookupEnv(childEnv)
	if !is {
		return
	}
	if err := child(address, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// RunProcesses lets this process and another one write to one thread at once, and judges whether
// what both saw can be told as one story. The store at the address is empty or has no thread t1.
// TestMain has to call Worker.
func RunProcesses(t *testing.T, address string, open Opener) {
	docs, shut, err := open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer shut()
	begin(t, docs)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(pace.Environ(), childEnv+"="+address), os.Stderr
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
	stories := together(t, 60, newWriter(0, 1, docs), newWriter(1, 1, docs))
	var theirs []told
	for lines.Scan() {
		var line told
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, line)
	}
	if err := cmd.Wait(); err != nil || len(theirs) != 120 {
		t.Fatalf("the other process did %d calls: %v", len(theirs), err)
	}
	judge(t, append(stories, theirs)...)
}

// child is the other process: it says that it is ready, waits for a line, and tells what it did.
func child(address string, open Opener) error {
	ctx := context.Background()
	docs, shut, err := open(ctx, address)
	if err != nil {
		return err
	}
	defer shut()
	fmt.Println("ready")
	if !bufio.NewScanner(os.Stdin).Scan() {
		return errors.New("nobody says go")
	}
	stories, errs := make([][]told, 2), make([]error, 2)
	var wg sync.WaitGroup
	for i := range stories {
		wg.Go(func() { stories[i], errs[i] = newWriter(2+i, 2, docs).story(ctx, 60) })
	}
	wg.Wait()
	e := json.NewEncoder(os.Stdout)
	for _, line := range slices.Concat(stories...) {
		errs = append(errs, e.Encode(line))
	}
	return errors.Join(errs...)
}
