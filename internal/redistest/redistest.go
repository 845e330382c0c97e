package redistest

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/storetest"
)

// Start starts a redis-server without persistence and returns its address, such as
// redis://127.0.0.1:6380.
func Start(t testing.TB) (url string) {
	t.Helper()
	err := storetest.StartOnPort(func(port string) error {
		url = "redis://127.0.0.1:" + port
		return serve(t, exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", ""))
	})
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// serve starts a redis-server, waits until it is ready, and ends it with the test.
func serve(t testing.TB, cmd *exec.Cmd) error {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("this test needs a redis-server (Debian: apt-get install redis-server): %w", err)
	}
	lines := bufio.NewScanner(out)
	drained, ready := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drained)
		for once := false; lines.Scan(); {
			if !once && strings.Contains(lines.Text(), "eady to accept connections") {
				once = true
				close(ready)
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-drained
		_ = cmd.Wait()
	})
	select {
	case <-ready:
		return nil
	case <-drained:
		return storetest.ErrServerEnded
	}
}
