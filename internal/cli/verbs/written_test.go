package verbs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// A command whose result was not written has not succeeded, however it prints.
func TestMain_FailsIfItsOutputIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	file, store := filepath.Join(dir, "w.yaml"), "sqlite:"+filepath.Join(dir, "weft.db")
	if err := os.WriteFile(file, []byte("version: 1\nstate: {n: {type: int, default: 3}}\nnodes: {a: {set: {}, next: END}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", file, "--thread", "t", "--store", store}
	for _, args := range [][]string{run, {"state", "t", "--path", "n", "--store", store}, {"verify", "t", "--store", store}, {"--help"}} {
		var errs bytes.Buffer
		code := Main(t.Context(), Config{Args: args, Stdout: full{}, Stderr: &errs})
		if code != 1 || !strings.Contains(errs.String(), "no space left on device") {
			t.Errorf("%s: exit code %d, %s", args[0], code, errs.String())
		}
		var out bytes.Buffer
		if code := Main(t.Context(), Config{Args: args, Stdout: &out, Stderr: &errs}); code != 0 || out.Len() == 0 {
			t.Errorf("%s: exit code %d with an output of %d bytes", args[0], code, out.Len())
		}
	}
}

// A line that was cut off, as on a full disk, does not take the next one along.
func TestEndLine_EndsALineThatWasCutOff(t *testing.T) {
	for before, want := range map[string]string{"": "b", "a\n": "a\nb", "{\"a\":": "{\"a\":\nb"} {
		path := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, werr := func() (int, error) {
			if err := endLine(f); err != nil {
				return 0, err
			}
			return f.WriteString("b")
		}()
		if err := errors.Join(werr, f.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v", before, got, err)
		}
	}
}
