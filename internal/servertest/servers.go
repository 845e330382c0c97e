//go:build unix

package servertest

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/weftrun/weft/internal/storetest"
)

// leaveOut skips a test that needs a server where WEFT_LEFT_OUT names a file, and adds the name of
// the test to it. Only .ci/partial sets it.
func leaveOut(t testing.TB) {
	t.Helper()
	list := os.Getenv("WEFT_LEFT_OUT")
	if list == "" {
		return
	}
	f, err := os.OpenFile(list, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, t.Name()); err != nil {
		t.Fatal(err)
	}
	t.Skip("left out: the test needs a server")
}

// Redis starts a redis-server without persistence and returns its address, such as
// redis://127.0.0.1:6380. Settings are arguments of redis-server.
func Redis(t testing.TB, settings ...string) (address string) {
	t.Helper()
	leaveOut(t)
	err := storetest.StartOnPort(func(port string) error {
		address = "redis://127.0.0.1:" + port
		args := append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--daemonize", "no"}, settings...)
		cmd := exec.Command("redis-server", args...)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return fmt.Errorf("this test needs a redis-server (Debian: apt-get install redis-server): %w", err)
		}
		return await(t, cmd, bufio.NewScanner(out), "eady to accept connections")
	})
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Postgres starts a PostgreSQL that listens on a socket, and returns its address.
func Postgres(t testing.TB) (address string) {
	t.Helper()
	leaveOut(t)
	who, err := Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	initdb, err1 := PostgresProgram("initdb")
	postgres, err2 := PostgresProgram("postgres")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatalf("this test needs PostgreSQL, see .ci/setup: %v", err)
	}
	dir, err := os.MkdirTemp("", "weft-pg") // short, for the path of the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if who != nil {
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := InitCluster(initdb, dir, who)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(postgres, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", WALSize)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: who, Setpgid: true}
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := await(t, cmd, bufio.NewScanner(out), "ready to accept connections"); err != nil {
		t.Fatal(err)
	}
	return "postgres://weft:pg-secret@/postgres?sslmode=disable&host=" + url.QueryEscape(dir)
}

// await reads the output of a server until it is ready, and ends the server with the test.
func await(t testing.TB, cmd *exec.Cmd, lines *bufio.Scanner, ready string) error {
	t.Helper()
	var drained sync.WaitGroup
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // PostgreSQL ends at once, with its children
		_ = cmd.Process.Signal(syscall.SIGTERM)
		drained.Wait()
		_ = cmd.Wait()
	})
	var all strings.Builder
	for lines.Scan() {
		fmt.Fprintln(&all, lines.Text())
		if strings.Contains(lines.Text(), ready) {
			drained.Go(func() {
				for lines.Scan() { // so that the server never waits for a reader
				}
			})
			return nil
		}
	}
	return fmt.Errorf("%w: %s\n%s", storetest.ErrServerEnded, cmd.Path, all.String())
}
