package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/programtest"
)

func TestMain(m *testing.M) {
	programtest.Main(main)
	os.Exit(m.Run())
}

// place is a copy of the workflows, with a store.
type place struct {
	t   *testing.T
	dir string
}

func newPlace(t *testing.T) place {
	p := place{t, t.TempDir()}
	for _, name := range []string{"claim.yaml", "report.yaml", "claims.csv"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p.write(name, data)
	}
	return p
}

func (p place) write(name string, data []byte) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), data, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// want runs the program, whose output must have a text and whose exit code must be the given one.
func (p place) want(code int, text string, args ...string) {
	p.t.Helper()
	c := exec.CommandContext(p.t.Context(), os.Args[0], args...)
	c.Dir, c.Env = p.dir, append(os.Environ(), programtest.Variable, "WEFT_STORE=sqlite:"+filepath.Join(p.dir, "weft.db"))
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		p.t.Fatal(err)
	}
	if got := c.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), text) {
		p.t.Errorf("%s: exit code %d, want %d and %q:\n%s", strings.Join(args, " "), got, code, text, out)
	}
}

func TestClaims_PhotoBudgetAndQuestion(t *testing.T) {
	p := newPlace(t)
	photo := []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("pixels", 100_000))
	p.write("car.png", photo)
	run := func(code int, thread, text string) {
		t.Helper()
		p.want(code, text, "run", "claim.yaml", "--thread", thread, "--blobs", "store", "--metadata", "office=berlin",
			"--input", "photo=@car.png", "--input", "text=a dent in the car")
	}
	run(4, "c1", "The customer reports a dent in the car. (image/png, 600008 bytes)")
	p.want(0, "decision: pay", "resume", "c1", "--blobs", "store", "--answer", "yes")
	if filed, err := os.ReadFile(filepath.Join(p.dir, "out", "claims", "photo.png")); err != nil || !bytes.Equal(filed, photo) {
		t.Errorf("the letter has %d bytes of the photo, %v", len(filed), err)
	}
	run(4, "c2", "Pay for this?")
	run(4, "c3", "Allow 1 call more?") // the budget of the day is spent
	p.want(4, "Pay for this?", "resume", "c3", "--blobs", "store", "--answer", "yes")
	p.want(0, "berlin", "usage", "--by", "office")
	p.want(0, "600008 bytes", "blobs", "c2")
}

func TestReport_BeginsByItself(t *testing.T) {
	p := newPlace(t)
	p.want(0, "started 1", "wake", "report.yaml", "--once")
	p.want(0, "text: 3 claims", "state", "report/first/2026-01-05T07:00:00Z")
	p.want(0, "started 0", "wake", "report.yaml", "--once")
	p.want(0, "Europe/Berlin", "schedules")
}

func TestWorkflows_PassTheirTests(t *testing.T) {
	p := newPlace(t)
	p.want(0, "", "test", "claim.yaml")
	p.want(0, "", "test", "report.yaml")
}
