package storetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/racescale"
)

// PassBlobIn runs this test binary as another process, which gets args in a variable, and must call
// PassBlob with size bytes and then PrintPeak. The greatest memory of that process, with all of its
// code, must be less than most bytes. On a busy machine the garbage collector runs late, so the
// process has a limit from which it collects in time.
func PassBlobIn(t testing.TB, variable, args string, size int, most int64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(racescale.Environ(), "GOMEMLIMIT=32MiB", fmt.Sprintf("%s=%s %d", variable, args, size))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var peak int64 // in KiB
	if _, err := fmt.Sscanf(string(out), peakLine, &peak); err != nil {
		t.Fatalf("the process has not printed its memory: %v\n%s", err, out)
	}
	t.Logf("%d MiB through a graph, %s: at most %d MiB of memory", size>>20, args, peak>>10)
	if peak<<10 >= most {
		t.Errorf("rule: a blob of %d MiB takes less than %d MiB of memory\n got: %d MiB", size>>20, most>>20, peak>>10)
	}
}

const peakLine = "VmHWM: %d kB\n"

// PrintPeak prints the greatest memory that this process has had. What its parent knows of it, the
// maximum of the resource usage, includes the memory of the parent at the start.
func PrintPeak() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		var peak int64
		if _, err := fmt.Sscanf(line, peakLine, &peak); err == nil {
			_, err = fmt.Printf(peakLine, peak)
			return err
		}
	}
	return fmt.Errorf("/proc/self/status has no line like %q", peakLine)
}
