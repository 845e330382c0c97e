package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/racescale"
)

// The test binary runs itself as another process that uses the same file: with a
// role in one variable, the file's path in another, and a name in a third.
const (
	roleVariable = "WEFT_SQLITE_TEST_ROLE"
	pathVariable = "WEFT_SQLITE_TEST_PATH"
	nameVariable = "WEFT_SQLITE_TEST_NAME"
	sizeVariable = "WEFT_SQLITE_TEST_SIZE"
)

// ack is a commit that returned nil. A child prints one in each line.
type ack struct {
	Thread string
	Seq    uint64
	ID     string
}

// runChild is the other process. It prints errors to its standard error.
func runChild(role string) (code int) {
	ctx, path, name := context.Background(), os.Getenv(pathVariable), os.Getenv(nameVariable)
	size, _ := strconv.Atoi(os.Getenv(sizeVariable))
	err := errors.New("no such role")
	switch role {
	case "race":
		err = childRace(ctx, path, name, size)
	case "write":
		err = childWrite(ctx, path, name)
	case "lock":
		err = childLock(ctx, path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, role, name, err)
		return 1
	}
	return 0
}

// childRace makes a number of commits to a thread, in a race with other processes.
func childRace(ctx context.Context, path, name string, n int) error {
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(appendLinks(ctx, s, "shared", name, n, printAck), s.Close())
}

// childWrite lets four threads grow until the process is killed.
func childWrite(ctx context.Context, path, name string) error {
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = appendLinks(ctx, s, fmt.Sprint("thread ", i), name, 1<<30, printAck) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// childLock locks the file until its standard input ends.
func childLock(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	printAck(ack{})
	_, err = io.ReadAll(os.Stdin)
	return err
}

var printing sync.Mutex

func printAck(a ack) {
	printing.Lock()
	defer printing.Unlock()
	json.NewEncoder(os.Stdout).Encode(a)
}

// appendLinks makes n commits, each for the head that the last conflict named.
func appendLinks(ctx context.Context, s checkpoint.Store, thread, name string, n int, acked func(ack)) error {
	var head uint64
	for made := 0; made < n; {
		c := link(thread, head+1, fmt.Sprintf("%s, %d", name, made))
		err := s.Commit(ctx, c)
		var lost *checkpoint.ConflictError
		switch {
		case err == nil:
			made++
			head++
			acked(ack{thread, c.Seq(), c.ID})
		case errors.As(err, &lost):
			head = lost.Head
		default:
			return err
		}
	}
	return nil
}

// child is another process, as the test controls it.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Scanner
}

func startChild(t testing.TB, role, path, name string, size int) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.CommandContext(t.Context(), exe)}
	c.cmd.Env = append(racescale.Environ(), roleVariable+"="+role, pathVariable+"="+path, nameVariable+"="+name, sizeVariable+"="+strconv.Itoa(size))
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdin, c.stdout = in, bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// acks reads at most n acknowledgements, or all that come when n is 0.
func (c *child) acks(t testing.TB, n int) (list []ack) {
	t.Helper()
	for (n == 0 || len(list) < n) && c.stdout.Scan() {
		var a ack
		if err := json.Unmarshal(c.stdout.Bytes(), &a); err != nil {
			break // the process was killed in the middle of a line
		}
		list = append(list, a)
	}
	return list
}

// finish waits for a child that ends by itself.
func (c *child) finish(t testing.TB) {
	t.Helper()
	c.stdin.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("rule: the other process has no trouble\n got: %v\nwant: exit code 0", err)
	}
}
