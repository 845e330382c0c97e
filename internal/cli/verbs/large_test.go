//go:build unix

package verbs_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// measureTo names the file in which a process writes the peak memory of the program that it runs.
const measureTo = "WEFT_TEST_MEASURE_TO"

// The peak of a process includes the memory of its parent at the start. The memory of a test is
// large, so a separate small process starts the measured program.
func init() {
	path := os.Getenv(measureTo)
	if path == "" {
		return
	}
	os.Unsetenv(measureTo)
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	_ = cmd.Run() // its exit code is checked below
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || os.WriteFile(path, fmt.Append(nil, usage.Maxrss), 0o600) != nil {
		os.Exit(125)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// peak returns the memory that a command has taken, in bytes.
func (p place) peak(code int, stdin io.Reader, args ...string) (took int64, e ended) {
	p.Helper()
	cmd := p.command(args...)
	cmd.Stdin = stdin
	cmd.Env = append(cmd.Env, measureTo+"="+p.path("peak"))
	e = p.finish(cmd)
	if e.code != code {
		p.Fatalf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), e.code, code, e.stdout, e.stderr)
	}
	data, err := os.ReadFile(p.path("peak"))
	if err == nil {
		_, err = fmt.Sscan(string(data), &took)
	}
	if err != nil {
		p.Fatal("the system does not report the memory of a process:", err)
	}
	return took * maxrssUnit, e
}

// zeros is a reader without an end.
type zeros struct{}

// slack is by how much the memory of two equal commands differs on a busy machine, in bytes.
const slack = 4 << 20

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// An input that is too long is refused while it is read. The limit bounds the memory that this
// needs, and nothing is stored.
func TestRun_InputThatIsTooLong(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", "version: 1\nstate: {text: string}\nconfig: {tone: {type: string, default: x}}\ninput: [text]\nnodes: {a: {set: {text: \"${{ config.tone }}\"}, next: END}}\n")
	p.write("small", strings.Repeat("a", 9<<20))
	f, err := os.Create(p.path("big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	const limit = 16 << 20
	base, _ := p.peak(0, nil, "threads")
	for _, args := range []string{
		"--input text=@big", "--input @big", "--input -", "--config tone=@big", "--input text=@/dev/zero", "--input text=@small --config tone=@small",
	} {
		took, e := p.peak(2, zeros{}, append([]string{"run", "w.yaml", "--thread", "t"}, strings.Fields(args)...)...)
		if !strings.Contains(e.stderr, "the input is too long: ") || !strings.Contains(e.stderr, "nothing was stored") || strings.Contains(e.stderr, "finished work") {
			t.Errorf("%s: %q", args, e.stderr)
		}
		if more := took - base; more > 3*limit+slack {
			t.Errorf("rule: an input that is refused takes at most three times the limit\n%s: %d MiB more than a command that reads nothing", args, more>>20)
		}
	}
	if e := p.must(0, "threads"); strings.Contains(e.stdout, "\nt ") {
		t.Errorf("something was stored: %s", e.stdout)
	}
}

// Reading and decoding an input just below the limit needs at most three times the limit. An
// unknown name rejects the input after decoding. An accepted value needs more memory in the run.
func TestRun_InputJustBelowTheLimit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", "version: 1\nstate: {text: string, n: int}\ninput: [text]\noutput: [n]\nnodes: {a: {set: {n: 1}, next: END}}\n")
	const limit = 16 << 20
	text := strings.Repeat("a", limit-2000)
	p.write("text", text)
	p.write("lines", strings.Repeat("a line of text\n", (limit-2000)/15))
	p.write("small", `{"text": "a", "other": 1}`)
	p.write("fields", `{"text": "`+text+`", "other": 1}`)
	p.write("escapes", `{"text": "`+strings.Repeat(`\n`, (limit-2000)/2)+`", "other": 1}`)
	stores := []string{"sqlite:t.db", "memory:"}
	if testing.Short() {
		stores = stores[:1] // each takes seconds
	}
	for _, store := range stores {
		base, _ := p.peak(2, nil, "run", "w.yaml", "--store", store, "--input", "@small")
		for _, input := range []string{"other=@text", "other=@lines", "@fields", "@escapes", "-"} {
			took, e := p.peak(2, strings.NewReader(`{"text": "`+text+`", "other": 1}`), "run", "w.yaml", "--store", store, "--input", input)
			if !strings.Contains(e.stderr, `there is no input "other"`) {
				t.Errorf("%s: %.300q", input, e.stderr)
			}
			t.Logf("%s, %s: %d MiB", store, input, (took-base)>>20)
			if more := took - base; more > 3*limit+slack {
				t.Errorf("rule: reading an input takes at most three times the limit\n%s, %s: %d MiB more than a small one", store, input, more>>20)
			}
		}
		took, e := p.peak(0, nil, "run", "w.yaml", "--store", store, "--input", "text=@text")
		if e.stdout != "n: 1\n" {
			t.Errorf("got %.300q", e.stdout)
		}
		t.Logf("%s, accepted and stored: %d MiB more than a small one that is refused", store, (took-base)>>20)
	}
}

// What is said to do next is true: a run whose input was not stored has no finished work.
func TestRun_InputThatTheStateHasNoRoomFor(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", "version: 1\nstate: {text: string}\ninput: [text]\nlimits: {state_bytes: 2KiB}\nnodes: {a: {set: {}, next: END}}\n")
	var long strings.Builder // it does not compress
	for i := range 200 {
		fmt.Fprintf(&long, "%x", sha256.Sum256([]byte{byte(i)}))
	}
	for range 2 { // on a thread that is not there, and on one that has ended
		e := p.run("run", "w.yaml", "--thread", "t", "--input", "text="+long.String())
		if e.code != 1 || !strings.Contains(e.stderr, "next: nothing of this turn was stored; ") || strings.Contains(e.stderr, "finished work") {
			t.Errorf("got %q", e.stderr)
		}
		p.must(0, "run", "w.yaml", "--thread", "t", "--input", "text=short")
	}
}

// A third interrupt kills the process, and leaves no line of a running task.
func TestLiveView_ThirdInterrupt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", one("    uses: go:cling\n    with: {worklog: \"${{ state.worklog }}\", name: x}"))
	path, open := p.pipe("pipe")
	cmd, tty := p.startOnTerminal(80, "run", "w.yaml", "--thread", "t", "--input", "worklog="+path)
	receive(t, open(), "began\n")
	tty.press("\x03")
	tty.await(finishing)
	tty.press("\x03")
	receive(t, open(), "clings\n")
	tty.press("\x03")
	raw := tty.rest()
	_ = cmd.Wait() // its exit code is checked below
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended as %v, want killed by SIGINT", cmd.ProcessState)
	}
	lines := strings.Join(screen(t, raw, 80), "\n")
	if strings.ContainsAny(lines, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") || !strings.Contains(lines, "  - only  stopped") {
		t.Errorf("rule: no running task is left on the screen\n%s", lines)
	}
}
