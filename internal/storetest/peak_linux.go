package storetest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// PassBlobIn runs this test binary as another process, which gets args in a variable and must call
// PassBlob with size bytes. The greatest memory of that process, with all of its code, must be less
// than most bytes.
func PassBlobIn(t testing.TB, variable, args string, size int, most int64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", variable, args, size))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	t.Logf("%d MiB through a graph, %s: at most %d MiB of memory", size>>20, args, peak>>20)
	if peak >= most {
		t.Errorf("rule: a blob of %d MiB takes less than %d MiB of memory\n got: %d MiB", size>>20, most>>20, peak>>20)
	}
}
