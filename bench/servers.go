package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// server is a server that this command has started.
type server struct {
	url  string
	dir  string
	cmd  *exec.Cmd
	done chan struct{} // closed when all its output was read
}

// serve starts a server and waits until it reports that it is ready.
func serve(cmd *exec.Cmd, dir, url, ready string, said func() (io.ReadCloser, error)) (*server, error) {
	s := &server{url: url, dir: dir, cmd: cmd, done: make(chan struct{})}
	out, err := said()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	lines, all := bufio.NewScanner(out), ""
	for lines.Scan() {
		all += lines.Text() + "\n"
		if strings.Contains(lines.Text(), ready) {
			go func() { // lest the server waits for a reader
				defer close(s.done)
				_, _ = io.Copy(io.Discard, out)
			}()
			return s, nil
		}
	}
	close(s.done)
	s.stop()
	return nil, fmt.Errorf("%s did not start:\n%s", cmd.Path, all)
}

// stop ends the server, waits for it and removes its files.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGINT) // PostgreSQL drops its connections, Redis ends
	<-s.done
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

// startRedis starts a redis-server that appends to a file, and has it on the disk every second.
func startRedis(ctx context.Context) (*server, error) {
	dir, err := os.MkdirTemp("", "weft-bench-redis")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--daemonize", "no")
	return serve(cmd, dir, "redis://127.0.0.1:"+port, "eady to accept connections", cmd.StdoutPipe)
}

// freePort returns a port that nothing listens on.
func freePort() (port string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err = net.SplitHostPort(l.Addr().String())
	return port, err
}

// startPostgres creates and starts a PostgreSQL that listens on a socket. It has the default
// settings, including fsync.
func startPostgres(ctx context.Context) (*server, error) {
	who, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "weft-bench-pg") // short, for the path of the socket
	if err != nil {
		return nil, err
	}
	if who != nil {
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			return nil, err
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, postgresBinary(name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: who}
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-U", "weft", "-A", "trust", "-E", "UTF8", "--locale=C", "-N", "--no-instructions").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w: %s", err, out), os.RemoveAll(dir))
	}
	cmd := command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=")
	return serve(cmd, dir, "postgres://weft@/postgres?sslmode=disable&host="+url.QueryEscape(dir), "ready to accept connections", cmd.StderrPipe)
}

// postgresBinary returns a program of the newest PostgreSQL of Debian, or its name.
func postgresBinary(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	if len(found) == 0 {
		return name
	}
	return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
}

// unprivileged returns a user for PostgreSQL, which refuses to run as root, when this process does.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}
