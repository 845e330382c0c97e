package postgres_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/internal/servicetest"
)

// cluster is the server of this package's tests. They look at it through beside, and change what is
// in it behind the backs of the stores: thousands of times, for which a connection each is too
// slow.
var (
	cluster *server
	beside  *pgxpool.Pool
)

func TestMain(m *testing.M) {
	checkpointtest.Worker(openAddress)
	servicetest.Worker(openDocuments)
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if cluster, err = startServer("fsync=off"); err != nil {
		fmt.Fprintln(os.Stderr, "these tests need PostgreSQL, see .ci/setup:", err)
		return 1
	}
	if beside, err = pgxpool.New(context.Background(), cluster.dsn("pool_max_conns=4")); err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, cluster.remove()))
		return 1
	}
	racescale.ShortTries(racescale.Soak(25, 100), racescale.Soak(8, 100)) // each is dozens of transactions
	racescale.Parallel(8)                                                 // the tests of a silent server wait
	code := m.Run()
	beside.Close()
	if err := cluster.remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// server is a real PostgreSQL that listens on a socket in a directory of its own.
type server struct {
	dir  string
	bin  string
	who  *syscall.Credential // nil for this process's own
	args []string
	cmd  *exec.Cmd
	log  chan struct{} // closed when the server's output ended
}

// startServer makes a cluster and starts it with settings like "fsync=off".
func startServer(settings ...string) (s *server, err error) {
	program, err := servertest.PostgresProgram("postgres")
	if err != nil {
		return nil, err
	}
	return startProgram(filepath.Dir(program), settings...)
}

// startProgram is startServer for the programs in a folder.
func startProgram(bin string, settings ...string) (s *server, err error) {
	s = &server{bin: bin}
	if s.who, err = servertest.Unprivileged(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "weft-pg"); err != nil {
		return nil, err
	}
	if s.who != nil {
		err = os.Chown(s.dir, int(s.who.Uid), int(s.who.Gid))
	}
	if err == nil {
		_, err = servertest.InitCluster(filepath.Join(s.bin, "initdb"), s.dir, s.who)
	}
	s.args = []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", servertest.WALSize}
	for _, setting := range settings {
		s.args = append(s.args, "-c", setting)
	}
	if err == nil {
		err = s.start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// dsn is how to connect. Settings are like "pool_max_conns=8".
func (s *server) dsn(settings ...string) string {
	return "host=" + s.dir + " user=weft dbname=postgres sslmode=disable " + strings.Join(settings, " ")
}

func (s *server) socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.who, Setpgid: true}
	return cmd
}

// start starts the server and waits until it is ready.
func (s *server) start() error {
	for range 50 {
		ready, err := s.tryStart()
		if ready || err != nil {
			return err
		}
	}
	return errors.New("the server does not start")
}

// tryStart reports false when the server ended before it was ready: after a kill, the
// last of the old backends may not be gone yet.
func (s *server) tryStart() (ready bool, err error) {
	s.cmd = s.command("postgres", s.args...)
	out, err := s.cmd.StderrPipe()
	if err != nil {
		return false, err
	}
	if err := s.cmd.Start(); err != nil {
		return false, err
	}
	said := make(chan bool, 1)
	s.log = make(chan struct{})
	go func() {
		defer close(s.log)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "ready to accept connections") {
				said <- true
				break
			}
		}
		close(said)
		io.Copy(io.Discard, out)
	}()
	if <-said {
		return true, nil
	}
	<-s.log
	s.cmd.Wait()
	return false, nil
}

// end sends a signal to the server and waits for it: SIGINT is an orderly end, SIGKILL
// also goes to all its children.
func (s *server) end(sig syscall.Signal) {
	if sig == syscall.SIGKILL {
		s.cmd.Process.Signal(syscall.SIGSTOP)
		for !s.stopped() { // until it starts no more of them
			runtime.Gosched()
		}
		for _, pid := range s.children() {
			syscall.Kill(pid, sig)
		}
	}
	s.cmd.Process.Signal(sig)
	<-s.log
	s.cmd.Wait()
}

// stopped reports whether the server does nothing at all.
func (s *server) stopped() bool {
	state, _ := stat(s.cmd.Process.Pid)
	return state != "R" && state != "S" && state != "D"
}

// children returns the processes that this server started.
func (s *server) children() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if _, parent := stat(pid); err == nil && parent == s.cmd.Process.Pid {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stat returns the state and the parent of a process, nothing if it ended.
func stat(pid int) (state string, parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(text), ") ")
	fmt.Sscan(after, &state, &parent)
	return state, parent
}

// remove ends the server and removes its files.
func (s *server) remove() error {
	s.end(syscall.SIGINT)
	return os.RemoveAll(s.dir)
}

// extraServer starts a server for one test.
func extraServer(t testing.TB, settings ...string) *server {
	t.Helper()
	s, err := startServer(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var schemas atomic.Int64

// freshSchema returns the name of a schema that no other test has.
func freshSchema() string { return fmt.Sprint("test_", schemas.Add(1)) }

// open opens a store, in a schema of its own unless the Config names one.
func open(t testing.TB, dsn string, cfg postgres.Config) *postgres.Store {
	t.Helper()
	if cfg.Schema == "" {
		cfg.Schema = freshSchema()
	}
	cfg.RetryFor = cmp.Or(cfg.RetryFor, time.Minute) // on a busy machine too
	s, err := postgres.Open(context.Background(), dsn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// hbaFile writes a file of the rules who may connect, where servers can read it.
func hbaFile(t testing.TB, s *server, rules string) string {
	t.Helper()
	path := filepath.Join(s.dir, fmt.Sprint("hba", schemas.Add(1)))
	if err := os.WriteFile(path, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
