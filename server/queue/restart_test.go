package queue_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/server/queue"
)

// claimUntilKilled claims a run in a file until this process is killed.
func claimUntilKilled(path string) {
	q, err := longQueue(context.Background(), path)
	if err == nil {
		_, err = q.Create(context.Background(), queue.Run{ID: "r", Thread: "t1"}, queue.Enqueue)
	}
	var claims []*queue.Claim
	if err == nil {
		claims, err = q.Claim(context.Background(), 5)
	}
	fmt.Println("claimed", len(claims), err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends, if it does not kill this process before
}

// longQueue returns the queue of a file, with claims that last an hour.
func longQueue(ctx context.Context, path string) (*queue.Queue, error) {
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	docs, err := s.Documents(ctx)
	if err != nil {
		return nil, err
	}
	return queue.New(queue.Config{Store: s, Documents: docs, Lease: time.Hour})
}

// A process that begins claims the runs of dead processes of its machine without waiting for their
// leases, and none of a process that lives.
//
// Requirement: the server is killed
func TestClaim_RunsOfADeadProcessAtTheStart(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("on this system no process is considered dead")
		return
	}
	path := filepath.Join(t.TempDir(), "threads.db")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(racescale.Environ(), pathVariable+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "claimed 1 <nil>\n" {
		t.Fatalf("the other process has not claimed its run: %q, %v", line, err)
	}
	processOf := func() *queue.Queue {
		q, err := longQueue(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	before := processOf()
	claim(t, before, 5)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	claim(t, before, 5) // it has begun, and waits for the lease
	c := claim(t, processOf(), 5, "r")[0]
	if c.Run.Attempt != 2 {
		t.Errorf("the attempt is %d, want 2", c.Run.Attempt)
	}
	finish(t, c)
}
