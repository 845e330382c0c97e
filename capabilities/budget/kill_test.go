//go:build unix

package budget_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/state/message"
)

// The environment of a process that TestModel_KillAtEachWrite starts: the kind of the store, its
// address, the write at which the process kills itself, and a folder for what it has done.
const (
	killKind, killStore, killAt, killFolder = "WEFT_TEST_KIND", "WEFT_TEST_STORE", "WEFT_TEST_AT", "WEFT_TEST_FOLDER"
)

// killer is a process that kills itself before or after one of its writes.
type killer struct {
	mu    sync.Mutex
	at    int
	after bool
}

func (k *killer) write(do func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at--
	if k.at != 0 {
		return do()
	}
	if k.after {
		_ = do()
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

func (k *killer) Documents(of document.Store) document.Store { return storetest.Documents(of, k.write) }

func (k *killer) Store(of checkpoint.Store) checkpoint.Store { return storetest.Written(of, k.write) }

// TestSpends is the process that TestModel_KillAtEachWrite kills.
func TestSpends(t *testing.T) {
	kind, folder := os.Getenv(killKind), os.Getenv(killFolder)
	if kind == "" {
		return // it is no test by itself
	}
	var k killer
	var side string
	if _, err := fmt.Sscan(os.Getenv(killAt), &k.at, &side); err != nil {
		t.Fatal(err)
	}
	k.after = side == "after"
	leave := func(file, line string) {
		f, err := os.OpenFile(filepath.Join(folder, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(f, line)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}
	s := openStore(t, kind, os.Getenv(killStore))
	p := &provider{usage: message.Usage{Input: 10, Output: 5}, calls: func() { leave("calls", "call") }}
	name := filepath.Base(folder)
	g, _ := spender(t, s, name, p, &k)
	if err := finish(t, s, g, name, func(id string) { leave("answered", id) }); err != nil {
		t.Fatal(err)
	}
}

// A process is killed before and after each of its writes. Another one ends the thread, and all
// calls that were made are counted.
func TestModel_KillAtEachWrite(t *testing.T) {
	for kind, address := range stores {
		for _, side := range []string{"before", "after"} {
			t.Run(kind+" "+side, func(t *testing.T) {
				t.Parallel()
				at := address(t)
				step := 1
				if testing.Short() {
					step = 4
				}
				for n := 1; ; n += step {
					if !killedAt(t, kind, at, n, side) {
						if n < 12 {
							t.Errorf("the process made only %d writes", n-1)
						}
						return
					}
				}
			})
		}
	}
}

// killedAt lets a process kill itself at its write n, and ends its thread. It returns false if the
// process made fewer writes.
func killedAt(t *testing.T, kind, address string, n int, side string) (killed bool) {
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSpends$", "-test.v")
	cmd.Env = append(os.Environ(), killKind+"="+kind, killStore+"="+address, fmt.Sprintf("%s=%d %s", killAt, n, side), killFolder+"="+folder)
	out, err := cmd.CombinedOutput()
	if killed = cmd.ProcessState.ExitCode() == -1; !killed && err != nil {
		t.Fatalf("the process failed at write %d: %v\n%s", n, err, out)
	}
	lines := func(file string) []string {
		data, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Fields(string(data))
	}
	p, answered := &provider{usage: message.Usage{Input: 10, Output: 5}}, map[string]bool{}
	p.made.Add(int64(len(lines("calls"))))
	for _, id := range lines("answered") {
		answered[id] = true
	}
	s := openStore(t, kind, address)
	endsAndCounts(t, s, filepath.Base(folder), p, answered)
	return killed
}
