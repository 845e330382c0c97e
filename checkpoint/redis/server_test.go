package redis_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/servicetest"
	"github.com/weftrun/weft/internal/storetest"
)

// shared is the server that most tests use, each with a prefix of its own.
var shared struct {
	sync.Mutex
	server *server
	used   int
}

func TestMain(m *testing.M) {
	checkpointtest.Worker(openAddress)
	servicetest.Worker(openDocuments)
	racescale.ShortTries(100, 20)
	racescale.Parallel(8)       // the tests of a silent server wait
	goredis.SetLogger(silent{}) // the tests break connections by the hundred
	goleak.VerifyTestMain(tests{m})
}

// tests are the tests of this package, and end the server that they share.
type tests struct{ *testing.M }

func (t tests) Run() int {
	code := t.M.Run()
	if shared.server != nil {
		shared.server.kill()
		os.RemoveAll(shared.server.dir)
	}
	return code
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// server is a redis-server that a test started.
type server struct {
	addr  string
	dir   string
	args  []string
	exe   string // "" is the redis-server of this machine
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
}

// start runs a real redis-server on a free port of the loopback and waits until it
// answers. It is stopped with the test.
func start(t testing.TB, args ...string) *server {
	t.Helper()
	s, err := launch(t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

func launch(dir string, args ...string) (*server, error) { return launchProgram("", dir, args...) }

func launchProgram(exe, dir string, args ...string) (*server, error) {
	return launchAt(exe, dir, func(port string) ([]string, error) {
		return append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--logfile", filepath.Join(dir, "log"), "--save", "", "--appendonly", "no", "--daemonize", "no"}, args...), nil
	})
}

// launchAt starts a server with the arguments for a port, and again with another port when it ends.
func launchAt(exe, dir string, args func(port string) ([]string, error)) (s *server, err error) {
	err = storetest.StartOnPort(func(port string) (err error) {
		s = &server{addr: "127.0.0.1:" + port, dir: dir, exe: exe}
		if s.args, err = args(port); err == nil {
			err = s.run()
		}
		if err != nil {
			s.kill()
		}
		return err
	})
	return s, err
}

// run starts the process, also after a kill, and waits until it answers itself.
func (s *server) run() error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.ready("PONG"); err != nil {
		return err
	}
	if own := fmt.Sprintf("process_id:%d\r\n", s.cmd.Process.Pid); !strings.Contains(s.ask("INFO server"), own) {
		return fmt.Errorf("%w: another process answers at %s", storetest.ErrServerEnded, s.addr)
	}
	return nil
}

func (s *server) begin() error {
	s.cmd = exec.Command(cmp.Or(s.exe, "redis-server"), s.args...)
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return fmt.Errorf("these tests need a redis-server (Debian: apt-get install redis-server): %w", err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		cmd.Wait()
	}(s.cmd, s.ended)
	return nil
}

// ready waits until the server answers a PING with what is wanted.
func (s *server) ready(want string) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		got := s.ask("PING")
		if strings.Contains(got, want) {
			return nil
		}
		var err error
		select {
		case <-s.ended:
			err = fmt.Errorf("%w: redis-server at %s", storetest.ErrServerEnded, s.addr)
		case <-time.After(2 * time.Millisecond): // another process does not report that it listens
			if time.Now().After(deadline) {
				err = fmt.Errorf("redis-server at %s: a PING gets %q, not %q", s.addr, got, want)
			}
		}
		if err != nil {
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("%w\n%s", err, log)
		}
	}
}

// ask returns the answer to a command, or the error.
func (s *server) ask(command string) string {
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprint(c, command+"\r\n")
	b := make([]byte, 4096)
	n, _ := c.Read(b)
	return string(b[:n])
}

// kill ends the process as a power cut would end it, if it ever began.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill()
	<-s.ended
}

// client returns a client of the server with go-redis's defaults.
func (s *server) client(t testing.TB) *goredis.Client {
	t.Helper()
	return connect(t, goredis.Options{Addr: s.addr})
}

// quick returns a client as OpenURL makes it.
func (s *server) quick(t testing.TB) *goredis.Client {
	t.Helper()
	return connect(t, goredis.Options{Addr: s.addr, ContextTimeoutEnabled: true, MaxRetries: -1})
}

func connect(t testing.TB, o goredis.Options) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&o)
	t.Cleanup(func() { c.Close() })
	return c
}

// do runs a command on the server, past every store.
func (s *server) do(t testing.TB, args ...any) any {
	t.Helper()
	v, err := s.client(t).Do(context.Background(), args...).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}

// common returns a server that tests share, and a prefix that no other test has.
func common(t testing.TB) (*server, string) {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		dir, err := os.MkdirTemp("", "weft-redis")
		if err != nil {
			t.Fatal(err)
		}
		s, err := launch(dir)
		if err != nil {
			t.Fatal(errors.Join(err, os.RemoveAll(dir)))
		}
		shared.server = s
	}
	shared.used++
	return shared.server, "test" + strconv.Itoa(shared.used)
}

// open makes a store with a prefix of its own on the common server.
func open(t testing.TB) *redis.Store {
	t.Helper()
	s, prefix := common(t)
	return storeOf(t, s.client(t), redis.Config{Prefix: prefix, RetryFor: time.Minute}) // on a busy machine too
}

func storeOf(t testing.TB, client goredis.UniversalClient, cfg redis.Config) *redis.Store {
	t.Helper()
	s, err := redis.Open(client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// link returns commit seq of a thread with one field.
func link(thread string, seq uint64, id string) checkpoint.Commit {
	return checkpoint.Commit{
		Key: checkpoint.Key{Thread: thread}, ID: id, Head: seq - 1, Header: []byte("header of " + id),
		Refs:  []checkpoint.Ref{{Field: "value", Base: seq}},
		Blobs: []checkpoint.Blob{{Field: "value", Base: seq, Data: []byte("value of " + id)}},
	}
}

// wantError demands an error of a kind whose text has all parts.
func wantError(t testing.TB, rule string, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("rule: %s\n got: %v\nwant: an error that is %q", rule, err, kind)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("rule: %s, and the error names the reason\n got: %v\nwant: a text with %q", rule, err, part)
		}
	}
}
