//go:build unix

package verbs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const topical = "version: 1\nstate: {topic: string, n: {type: int, default: 3}, any: any}\ninput: [topic, n, any]\nnodes: {a: {set: {}, next: END}}\n"

// An export holds text as it is: each line has a checksum.
func TestExport_KeepsTextThatSteersATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", topical)
	const topic = "pay 1\u202e0001\u202c \u200f\u0085\u007f\u061c"
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic="+topic)
	p.write("t.jsonl", p.must(0, "export", "t").stdout)
	p.must(0, "import", "t.jsonl", "--thread", "u")
	expect(t, "the imported topic", p.must(0, "state", "u", "--path", "topic", "--raw").stdout, topic+"\n")
}

func TestInput_NullIsTextWhereTextFits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", topical)
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=null", "--input", "n=null", "--input", "any=null", "--json")
	for path, want := range map[string]string{"topic": `"null"`, "any": "null"} {
		expect(t, path, p.must(0, "state", "t", "--path", path, "--json").stdout, want+"\n")
	}
}

func TestInput_KeepsTheDigitsOfLongIntegers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", topical)
	for text, want := range map[string]string{
		"9223372036854775807": "9223372036854775807", "18446744073709551615": `"18446744073709551615"`, "-9223372036854775809": `"-9223372036854775809"`,
		"1.5": "1.5", "[1]": "[1]",
	} {
		p.must(0, "run", "w.yaml", "--thread", "t", "--input", "any="+text)
		expect(t, text, p.must(0, "state", "t", "--path", "any", "--json").stdout, want+"\n")
	}
}

// A client cannot set a field that the file does not list under input.
func TestServe_LeavesOutWhatIsNoInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", "version: 1\nname: w\nstate: {topic: {type: string, required: true}, approved: bool}\ninput: [topic]\nnodes: {a: {set: {}, next: END}}\n")
	d := p.start(serving("w.yaml")...)
	status, text := d.call("POST", "/runs/wait", `{"assistant_id":"w","input":{"topic":"x","approved":true}}`)
	if status != 200 || !strings.Contains(text, `"topic":"x"`) || strings.Contains(text, `"approved":true`) {
		t.Errorf("status %d: %s", status, text)
	}
}

func TestFmt_WritesThroughALink(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.write("w.yaml", strings.ReplaceAll(topical, "state: ", "state:   ")+"\n\n\n")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("w.yaml", p.path("link.yaml")); err != nil {
		t.Fatal(err)
	}
	p.must(0, "fmt", "-w", "link.yaml")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	if to, err := os.Readlink(p.path("link.yaml")); err != nil || to != "w.yaml" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	p.must(0, "fmt", "--check", "w.yaml")
	if left, _ := filepath.Glob(p.path(".weft-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// The command cannot write more than a block, as on a full disk.
func TestFmt_KeepsTheFileIfTheDiskIsFull(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	text := topical + "\n\n\n# " + strings.Repeat("a comment ", 1000) + "\n"
	file := p.write("w.yaml", text)
	cmd := p.command("fmt", "-w", "w.yaml")
	cmd.Args = append([]string{"sh", "-c", `ulimit -f 1; exec "$0" "$@"`}, cmd.Args...)
	cmd.Path = "/bin/sh"
	if e := p.finish(cmd); e.code == 0 {
		t.Errorf("exit code 0: %s%s", e.stdout, e.stderr)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("the file has %d bytes of %d, %v", len(got), len(text), err)
	}
}

func TestRun_JSONNamesStarvedJoins(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", `version: 1
name: w
state: {n: int, m: int}
output: [m]
start: [a, b]
nodes:
  a: {set: {n: "${{ [1][state.m ?? 5] }}"}, on_error: {to: c}, next: j}
  b: {set: {m: 1}, next: j}
  c: {set: {}, next: END}
  j: {join: [a, b], set: {m: 2}, next: END}
`)
	expect(t, "the result", p.must(0, "run", "w.yaml", "--thread", "t", "--json").stdout,
		`{"thread":"t","workflow":"w","status":"done","output":{"m":1},"starved":["j"]}`+"\n")
}

// unwritable returns a folder in which nothing can be created, not even by root.
func unwritable(t *testing.T) string {
	if os.Geteuid() == 0 {
		return "/proc"
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDoctor_ReportsAFileThatCannotBeMade(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, path := range []string{"weft.db", "no/such/weft.db"} {
		e := p.must(1, "doctor", "--store", "sqlite:"+filepath.Join(unwritable(t), path))
		if !strings.Contains(e.stdout, "danger") || !strings.Contains(e.stdout, "cannot be made") {
			t.Errorf("%s: got %s", path, e.stdout)
		}
		e = p.must(0, "doctor", "--store", "sqlite:"+p.path(path))
		if !strings.Contains(e.stdout, "the first run makes it") {
			t.Errorf("%s: got %s", path, e.stdout)
		}
	}
	if left, _ := filepath.Glob(p.path("*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
