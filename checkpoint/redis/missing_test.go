package redis_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/racescale"
)

// TestTests_FailWithoutAServer runs some tests in a process that does not find the server. On a
// machine that cannot test a backend, the tests must fail.
func TestTests_FailWithoutAServer(t *testing.T) {
	for _, name := range []string{"TestStore_IsDurable", "TestCluster", "TestProcesses"} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+name+"$")
		child.Env = append(racescale.Environ(), "PATH="+t.TempDir())
		out, err := child.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "these tests need a redis-server") || strings.Contains(string(out), "panic") {
			t.Errorf("rule: without a redis-server %s fails and names the reason\n got: %v\n%s", name, err, out)
		}
	}
}
