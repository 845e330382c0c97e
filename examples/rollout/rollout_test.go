//go:build unix

package rollout_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/weftcli"
)

var update = flag.Bool("update", false, "write testdata/output.txt")

// TestMain makes the test binary the command weft, when it is called by that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "weft" {
		weftcli.Main(weftcli.Config{Name: "weft"})
		return
	}
	os.Exit(m.Run())
}

var times = regexp.MustCompile(`in \d+(\.\d+)?m?s`)

func TestRollout_PrintsWhatBecameOfEachThread(t *testing.T) {
	bin := t.TempDir()
	self, err := os.Executable()
	if err == nil { // a link leads to the folder of go test, and the command would call itself go run
		err = exec.CommandContext(t.Context(), "cp", self, filepath.Join(bin, "weft")).Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `PATH="$0:$PATH" ./rollout.sh`, bin)
	cmd.Env = append(racescale.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := times.ReplaceAllString(string(out), "in 1ms")
	const file = "testdata/output.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("the script prints\n%s\nwant\n%s%v", got, want, err)
	}
}
