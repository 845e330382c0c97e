package postgres_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pooler starts a PgBouncer in transaction mode before s, and returns how to connect and its
// socket. It has fewer connections than the stores before it, so they change hands.
func pooler(t testing.TB, s *server) (dsn, socket string) {
	t.Helper()
	dir, err := os.MkdirTemp(s.dir, "pool")
	if err != nil {
		t.Fatal(err)
	}
	if s.who != nil {
		if err := os.Chown(dir, int(s.who.Uid), int(s.who.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	ini := filepath.Join(dir, "pgbouncer.ini")
	config := fmt.Sprintf(`[databases]
* = host=%s user=weft
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = %s
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 500
`, s.dir, dir)
	if err := os.WriteFile(ini, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := s.command("postgres", ini)
	if cmd.Path, err = exec.LookPath("pgbouncer"); err != nil {
		cmd.Path = "/usr/sbin/pgbouncer" // which is not on everybody's path
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal("these tests need PgBouncer, see .ci/setup: ", err)
	}
	up, done := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), "process up") {
				up <- true
				break
			}
		}
		close(up)
		io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		<-done
		cmd.Wait()
	})
	if !<-up {
		t.Fatal("PgBouncer did not start")
	}
	return "host=" + dir + " port=6432 user=weft dbname=postgres sslmode=disable", filepath.Join(dir, ".s.PGSQL.6432")
}
