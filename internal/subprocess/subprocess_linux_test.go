package subprocess_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRun_EndsWithThisProcess kills a process that has started a program.
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
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = parent.Wait()
		if !gone(pid) {
			t.Errorf("%s: process %d is still there", how, pid)
		}
	}
}

// gone waits for a process to end.
func gone(pid int) bool {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}
