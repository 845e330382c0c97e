//go:build unix

package verbs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// onTerminal runs a command on a terminal of so many columns and returns the bytes
// that it wrote.
func (p place) onTerminal(cols uint16, env []string, args ...string) (raw string, code int) {
	p.Helper()
	cmd := p.command(args...)
	cmd.Env = append(append(cmd.Env, "TERM=xterm"), env...)
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: cols})
	if err != nil {
		p.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil && !errors.Is(err, syscall.EIO) { // Linux returns EIO when the other side is closed
		p.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

var escape = regexp.MustCompile(`^\x1b\[([0-9;?]*)([a-zA-Z])`)

// screen plays bytes on a terminal of so many columns, without an end downwards, and
// returns its lines. It knows the controls that the live view uses, and fails on others.
func screen(t *testing.T, raw string, cols int) []string {
	t.Helper()
	lines, row, col := [][]rune{nil}, 0, 0
	for raw != "" {
		if m := escape.FindStringSubmatch(raw); m != nil {
			raw = raw[len(m[0]):]
			switch n, _ := strconv.Atoi(m[1]); m[2] {
			case "A":
				if row -= n; row < 0 {
					t.Fatalf("the cursor left the screen by %d lines", -row)
				}
			case "J":
				lines = append(lines[:row], lines[row][:min(col, len(lines[row]))])
			case "m":
			default:
				t.Fatalf("unknown control %q", m[0])
			}
			continue
		}
		r := []rune(raw)[0]
		raw = raw[len(string(r)):]
		switch r {
		case '\r':
			col = 0
		case '\n':
			row++
		default:
			if col == cols {
				row, col = row+1, 0
			}
			for len(lines) <= row {
				lines = append(lines, nil)
			}
			line := append(lines[row], []rune(strings.Repeat(" ", max(0, col+1-len(lines[row]))))...)
			line[col] = r
			lines[row] = line
			col++
		}
		for len(lines) <= row {
			lines = append(lines, nil)
		}
	}
	var text []string
	for _, l := range lines {
		text = append(text, strings.TrimRight(string(l), " "))
	}
	return text
}

// shown returns a picture in which the items of a fan-out, which end as they like, are
// replaced by their number.
func shown(lines []string) string {
	var b strings.Builder
	items := 0
	for _, l := range lines {
		l = withoutTimes(l)
		if strings.HasPrefix(l, "  ✓ fetch ") || strings.HasPrefix(l, "  ✓ side ") {
			items++
			continue
		}
		if items > 0 {
			b.WriteString("  (" + strconv.Itoa(items) + " side by side)\n")
			items = 0
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

func TestLiveView_LeavesALineForEachTask(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, c := range []struct {
		name string
		cols uint16
		env  []string
	}{{"wide", 100, nil}, {"narrow", 24, nil}, {"grey", 100, []string{"NO_COLOR=1"}}} {
		args := []string{"run", worklogFile(t), "--thread", c.name, "--input", "worklog=" + p.path(c.name)}
		raw, code := p.onTerminal(c.cols, c.env, args...)
		if code != 4 {
			t.Fatalf("exit code %d: %s", code, raw)
		}
		if coloured := strings.Contains(raw, "\x1b[32m"); coloured == (c.name == "grey") {
			t.Errorf("%s: coloured is %v", c.name, coloured)
		}
		if !regexp.MustCompile(`fetch [a-f]\b`).MatchString(raw) {
			t.Errorf("%s: no item has its label", c.name)
		}
		picture, _, _ := strings.Cut(shown(screen(t, raw, int(c.cols))), "The report:")
		waits := "  ? approve  waits for an answer\n"
		if c.name == "narrow" {
			waits = "  ? appr…  waits for a…\n"
		}
		expect(t, c.name, picture, "  ✓ plan  TIME\n  (8 side by side)\n  ✓ merge  TIME\n"+waits)
	}
}

func TestLiveView_TicksRetriesAndFails(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", strings.Replace(one("    uses: go:flaky\n    with: {worklog: \"${{ state.worklog }}\", name: there}"),
		"    output:", "    retry: {max: 2, initial: 350ms}\n    output:", 1))
	raw, code := p.onTerminal(80, nil, "run", "w.yaml", "--thread", "t")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, raw)
	}
	frames := map[string]bool{}
	for _, f := range regexp.MustCompile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]").FindAllString(raw, -1) {
		frames[f] = true
	}
	if len(frames) < 2 {
		t.Errorf("a task that waits 350 ms was drawn in one frame only")
	}
	expect(t, "the screen", withoutTimes(strings.Join(screen(t, raw, 80), "\n")),
		"  ↻ only  attempt 1 failed: w.yaml:12:11: not yet …; trying again\n  ✓ only  TIME\nresult: there\n")

	p.write("w.yaml", one("    uses: go:fail\n    with: {worklog: x, name: \"no such thing\"}"))
	raw, _ = p.onTerminal(80, nil, "run", "w.yaml", "--thread", "f")
	if got := withoutTimes(screen(t, raw, 80)[0]); got != "  ✗ only  TIME  w.yaml:12:11: no such thing" {
		t.Errorf("a failed task: %q", got)
	}
}

func TestText_DoesNotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", one("    uses: go:work\n    with: {worklog: x, name: \"${{ state.topic }}\"}"))
	args := []string{"run", "w.yaml", "--thread", "t", "--input", "topic=\x1b]0;owned\a pay 1\u202e0001"}
	want := `result: \u001b]0;owned\u0007 pay 1\u202e0001`
	for _, args := range [][]string{args, append(slices.Clone(args), "--raw")} {
		raw, _ := p.onTerminal(80, nil, args...)
		if strings.Contains(raw, "\x1b]") || strings.Contains(raw, "\u202e") || !strings.Contains(raw, want) {
			t.Errorf("%v on the terminal: %q", args, raw)
		}
	}
	expect(t, "in a pipe", p.must(0, args...).stdout, want+"\n")
	expect(t, "in a pipe, raw", p.must(0, append(slices.Clone(args), "--raw")...).stdout, "result: \x1b]0;owned\a pay 1\u202e0001\n")
	var result any
	if err := json.Unmarshal([]byte(p.must(0, append(slices.Clone(args), "--json")...).stdout), &result); err != nil || !strings.Contains(fmt.Sprint(result), "\x1b]0;owned\a pay 1\u202e0001") {
		t.Errorf("as JSON: %q, %v", result, err)
	}
}

func TestDumbTerminal_GetsPlainLines(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	raw, _ := p.onTerminal(80, []string{"TERM=dumb"}, "run", "w.yaml", "--thread", "t")
	if strings.Contains(raw, "\x1b") || !strings.HasPrefix(raw, "only: waits for an answer\r\n") {
		t.Errorf("on a dumb terminal: %q", raw)
	}
}

// tty is the other side of a terminal on which a command runs.
type tty struct {
	*testing.T
	file  *os.File
	heard strings.Builder
}

// startOnTerminal starts a command on a terminal of so many columns.
func (p place) startOnTerminal(cols uint16, args ...string) (*exec.Cmd, *tty) {
	p.Helper()
	cmd := p.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: cols})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { f.Close() })
	if err := keepOutput(f); err != nil {
		p.Fatal(err)
	}
	return cmd, &tty{T: p.T, file: f}
}

// keepOutput keeps what was written and not read yet when an interrupt is typed. A terminal drops
// it by default, so a test would see only some of the lines.
func keepOutput(f *os.File) error {
	mode, err := unix.IoctlGetTermios(int(f.Fd()), getMode)
	if err != nil {
		return err
	}
	mode.Lflag |= unix.NOFLSH
	return unix.IoctlSetTermios(int(f.Fd()), setMode, mode)
}

// press types keys.
func (y *tty) press(keys string) {
	y.Helper()
	if _, err := y.file.WriteString(keys); err != nil {
		y.Fatal(err)
	}
}

// await reads until the command has written a text.
func (y *tty) await(want string) {
	y.Helper()
	buf := make([]byte, 4096)
	for !strings.Contains(y.heard.String(), want) {
		n, err := y.file.Read(buf)
		y.heard.Write(buf[:n])
		if err != nil {
			y.Fatalf("the command ended without writing %q; it wrote\n%q", want, y.heard.String())
		}
	}
}

// rest returns all that was written until the command's end.
func (y *tty) rest() string {
	y.Helper()
	data, err := io.ReadAll(y.file)
	if err != nil && !errors.Is(err, syscall.EIO) { // Linux returns EIO when the other side is closed
		y.Fatal(err)
	}
	y.heard.Write(data)
	return y.heard.String()
}
