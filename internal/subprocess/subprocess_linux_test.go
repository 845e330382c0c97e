package subprocess_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestRun_EndsWithThisProcess kills a process that has started a program with a child.
func TestRun_EndsWithThisProcess(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"run", "ask"} {
		parent := exec.Command(os.Args[0])
		parent.Env = append(os.Environ(), asParent+"="+how)
		out, err := parent.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = parent.Wait()
		ids := strings.Fields(line)
		if len(ids) != 2 {
			t.Fatalf("%s: the process ids are %q", how, line)
		}
		for _, id := range ids {
			if !gone(id) {
				t.Errorf("%s: process %s of %s is still there", how, id, ids)
			}
		}
	}
}

// gone waits for a process to end.
func gone(pid string) bool {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}
