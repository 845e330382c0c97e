//go:build unix

package subprocess_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weftrun/weft/internal/subprocess"
)

const asParent = "SUBPROCESS_TEST_PARENT"

// TestMain is a program that starts another one, which starts a third one, and prints the process
// ids of both, if asParent is set.
func TestMain(m *testing.M) {
	switch os.Getenv(asParent) {
	case "run":
		ids, toParent, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		c := command("sh", "-c", fmt.Sprintf("sleep 1000 & echo $$ $! > /proc/%d/fd/%d; wait", os.Getpid(), toParent.Fd()))
		go func() { _, _, _ = subprocess.Run(context.Background(), c, nil) }()
		line, _ := bufio.NewReader(ids).ReadString('\n')
		printWatched(line)
		time.Sleep(1000 * time.Second)
	case "ask":
		_, _ = subprocess.Ask(context.Background(), command("sh", "-c", "sleep 1000 & read -r line; echo $$ $!; wait"), []byte("1"), func(reply []byte) error {
			printWatched(string(reply))
			return nil
		})
		time.Sleep(1000 * time.Second)
	default:
		os.Exit(m.Run())
	}
}

// printWatched prints the ids of a program when its group is watched. Programs start one after
// another, so the group is watched as soon as a further program has started.
func printWatched(ids string) {
	_, _, _ = subprocess.Run(context.Background(), command("true"), nil)
	_, _ = os.Stdout.WriteString(ids)
}

func command(name string, args ...string) subprocess.Command {
	path, err := subprocess.Find(name)
	if err != nil {
		panic(err)
	}
	return subprocess.Command{Path: path, Args: args, MaxOutput: 1 << 10}
}

func TestRun_Cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("it is not needed")
	ended := make(chan error)
	go func() {
		_, _, err := subprocess.Run(ctx, command("sleep", "1000"), nil)
		ended <- err
	}()
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}

func TestStart_SpeaksUntilClose(t *testing.T) {
	t.Parallel()
	p, err := subprocess.Start(t.Context(), command("sh", "-c", "while read -r line; do echo $line; done; echo bye >&2; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(p.Out)
	for _, want := range []string{"a\n", "b\n"} {
		if _, err := p.In.Write([]byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	var exit *subprocess.ExitError
	if err := p.Close(time.Minute); !errors.As(err, &exit) || exit.Status != 3 || string(p.Stderr()) != "bye\n" {
		t.Errorf("Close = %v with %q, want the exit status and the standard error", err, p.Stderr())
	}
	if p, err = subprocess.Start(t.Context(), command("sleep", "1000")); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(0); !errors.As(err, &exit) || exit.Status != -1 {
		t.Errorf("Close = %v, want the error of a program that was killed", err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("Done is not closed after Close")
	}
	if _, err := subprocess.Start(t.Context(), subprocess.Command{Path: "/weft-test-nothing"}); !errors.Is(err, subprocess.ErrStart) {
		t.Errorf("error %v, want ErrStart", err)
	}
}

// TestRun_AtMostLimitPrograms starts more programs and workers than may run at once.
func TestRun_AtMostLimitPrograms(t *testing.T) {
	var all sync.WaitGroup
	var mu sync.Mutex
	failed := map[string]int{}
	for i := range 2 * subprocess.Limit {
		all.Go(func() {
			var err error
			if i%2 == 0 {
				_, _, err = subprocess.Run(t.Context(), command("true"), nil)
			} else {
				c := command("sh", "-c", "while read -r line; do echo $line; done")
				c.Env = []string{fmt.Sprintf("N=%d", i)} // a worker of its own
				_, err = subprocess.Ask(t.Context(), c, []byte("1"), func([]byte) error { return nil })
			}
			if err != nil {
				mu.Lock()
				failed[err.Error()]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(failed) > 0 {
		t.Error(failed)
	}
	if n := children(t); n > subprocess.Limit {
		t.Errorf("%d programs are left, want at most %d", n, subprocess.Limit)
	}
}

// children counts the children of this process; 0 where that is not known.
func children(t *testing.T) (n int) {
	t.Helper()
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		n += len(strings.Fields(string(text)))
	}
	return n
}

func TestFind_UnknownProgram(t *testing.T) {
	t.Parallel()
	if _, err := subprocess.Find("weft-test-nothing"); !errors.Is(err, subprocess.ErrStart) || !strings.Contains(err.Error(), "weft-test-nothing: executable file not found") {
		t.Errorf("error %v", err)
	}
	_, _, err := subprocess.Run(t.Context(), subprocess.Command{Path: "/nonexistent/program"}, nil)
	if !errors.Is(err, subprocess.ErrStart) || !errors.Is(err, syscall.ENOENT) {
		t.Errorf("error %v", err)
	}
}
