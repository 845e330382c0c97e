package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/racescale"
)

// within runs fn and counts what it allocates, in bytes: what would take long or fill the
// memory does much of that, whatever the machine. Under the race detector, where the number varies
// from one call to the next, the least of three calls counts.
func within(t *testing.T, most uint64, fn func()) {
	t.Helper()
	tries := 1
	if racescale.Raced {
		tries = 3
	}
	least := uint64(math.MaxUint64)
	for range tries {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fn()
		runtime.ReadMemStats(&after)
		if least = min(least, after.TotalAlloc-before.TotalAlloc); least <= most {
			return
		}
	}
	t.Errorf("it allocated %d KiB, the budget is %d KiB", least>>10, most>>10)
}

// most is what the load of any one hostile file may allocate. The race detector adds some 4 %.
var most = func() uint64 {
	if racescale.Raced {
		return 22 << 20
	}
	return 20 << 20
}()

// refuses loads what must not be valid, within the budget, and looks for a text in the error.
func refuses(t *testing.T, src, want string) {
	t.Helper()
	var err error
	within(t, most, func() {
		_, err = workflow.Parse("in.yaml", []byte(src), workflow.Options{Kinds: kinds(), Sections: sections()})
	})
	var e *workflow.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %.300v\nwant %s", err, want)
	}
}

const (
	head = "version: 1\nx: "
	tail = "nodes: {a: {set: {}, next: END}}\n"
)

// Requirement: a hostile workflow file
func TestParse_RejectsBillionLaughs(t *testing.T) {
	lol := "version: 1\nx0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
	for i := 1; i < 10; i++ {
		lol += fmt.Sprintf("x%d: &x%d [%s*x%d]\n", i, i, strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 9), i-1)
	}
	maps := "version: 1\nx0: &x0 {a: lol, b: lol}\n"
	for i := 1; i < 60; i++ {
		maps += fmt.Sprintf("x%d: &x%d {a: *x%d, b: *x%d}\n", i, i, i-1, i-1)
	}
	for name, src := range map[string]string{
		"ten of ten": lol + tail, "two of two": bomb(30), "mappings": maps + tail,
		"one large value, many times": head + "&b [" + strings.Repeat("a,", 1000) + "]\ny: [" + strings.Repeat("*b,", 1000) + "]\n" + tail,
	} {
		t.Run(name, func(t *testing.T) { refuses(t, src, "more than 20000 values, with aliases written out") })
	}
	t.Run("itself", func(t *testing.T) {
		refuses(t, head+"&a [*a, *a]\n"+tail, "error[WF007]: the alias *a is inside its own anchor")
	})
}

func TestParse_Rejects100kBrackets(t *testing.T) {
	const n = 100_000
	for name, src := range map[string]string{
		"open":    strings.Repeat("[", n),
		"closed":  head + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n" + tail,
		"braces":  head + strings.Repeat("{a: ", n),
		"mixed":   head + strings.Repeat("[{a: ", n),
		"entries": head + "\n" + strings.Repeat("- ", n) + "a",
	} {
		t.Run(name, func(t *testing.T) { refuses(t, src, "error[WF001]: YAML: exceeded max depth of 10000") })
	}
	t.Run("keys", func(t *testing.T) { refuses(t, head+"\n"+strings.Repeat("? ", n)+"a", "error[WF") })
}

// TestParse_ReadsAtMost1MiB holds the limit to the byte, and loads what just fits.
func TestParse_ReadsAtMost1MiB(t *testing.T) {
	const limit = 1 << 20
	refuses(t, strings.Repeat("# much\n", 300_000), "1:1: error[WF601]: the file has 2100000 bytes; the maximum is 1048576")
	file := "version: 1\n" + tail + "# "
	refuses(t, file+strings.Repeat("x", limit-len(file)+1), "the file has 1048577 bytes; the maximum is 1048576")
	for name, src := range map[string]string{
		"comment": file + strings.Repeat("x", limit-len(file)),
		"text":    "version: 1\n" + tail + "description: " + strings.Repeat("x", limit-len(file)-20),
		"quoted":  "version: 1\n" + tail + "description: \"" + strings.Repeat("\\n", (limit-len(file)-20)/2) + "\"",
	} {
		t.Run(name, func(t *testing.T) {
			within(t, most, func() {
				if _, err := workflow.Parse("in.yaml", []byte(src), workflow.Options{}); err != nil {
					t.Errorf("%.300v", err)
				}
			})
		})
	}
	t.Run("from a disk", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "in.yaml")
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)); err != nil {
			t.Fatal(err)
		}
		within(t, most, func() {
			if _, err := workflow.Load(path, workflow.Options{}); err == nil || !strings.Contains(err.Error(), "1048576") {
				t.Errorf("a file of a TiB: %v", err)
			}
		})
	})
}

func TestParse_RejectsMergeKeys(t *testing.T) {
	const want = "error[WF009]: merge keys (<<) are not allowed; write the keys out"
	for _, merge := range []string{"<<: *m", "<<: [*m, *m]", "<<: {next: END}", "!!merge <<: *m", `? <<
    : *m`} {
		refuses(t, "version: 1\nx: &m {set: {}, next: END}\nnodes:\n  a:\n    "+merge+"\n", want)
	}
}

func TestParse_RejectsDuplicateKeys(t *testing.T) {
	for src, want := range map[string]string{
		"version: 1\nversion: 1\n" + tail:                                                      `2:1: error[WF011]: duplicate key "version"; the first is in line 1`,
		"version: 1\nnodes:\n  a: {set: {}, next: END}\n  \"a\": {set: {}, next: END}":         `4:3: error[WF011]: duplicate key "a"; the first is in line 3`,
		"version: 1\nnodes: {a: {set: {}, next: END, set: {}}}":                                `2:33: error[WF011]: duplicate key "set"; the first is in line 2`,
		"version: 1\nstate: {m: any}\nnodes: {a: {set: {m: {k: 1, \"\\x6b\": 2}}, next: END}}": `duplicate key "k"`,
		"version: 1\nx: &x k\nnodes: {a: {set: {m: {k: 1, *x : 2}}, next: END}}":               "error[WF01",
	} {
		refuses(t, src, want)
	}
}

// TestParse_OddScalars holds what YAML reads otherwise than it looks, and the words
// that only look as if they were true and false.
func TestParse_OddScalars(t *testing.T) {
	for _, odd := range []string{"017", "0o17", "0x1F", "0b1", "1_000", "0_7", "1_0.5", ".inf", "-.Inf", ".NaN", "1e400",
		"99999999999999999999", "2020-01-01", "2020-01-01T10:00:00Z", "2020-1-1"} {
		refuses(t, "version: 1\nstate: {x: any}\nnodes: {a: {set: {x: "+odd+"}, next: END}}", "3:22: error[WF012]: "+odd+" ")
		f := parse(t, "version: 1\nstate: {x: any}\nnodes: {a: {set: {x: \""+odd+"\"}, next: END}}")
		f.gives(`{}`, `{"x":"`+odd+`"}`)
	}
	for _, word := range []string{"yes", "no", "on", "off", "y", "n", "Yes", "NO", "12:30:45", "1.2.3", "0.1.0", "+1x"} {
		parse(t, "version: 1\nstate: {x: any}\nnodes: {a: {set: {x: "+word+"}, next: END}}").gives(`{}`, `{"x":"`+word+`"}`)
		refuses(t, "version: 1\nstate: {x: bool}\nnodes: {a: {set: {x: "+word+"}, next: END}}", "3:22: error[WF410]: x: want bool, got string")
	}
}

// TestParse_RejectsHostileNames gives nodes, fields, types, limits and secrets names of paths,
// of control characters, and of look-alikes of letters.
func TestParse_RejectsHostileNames(t *testing.T) {
	for _, id := range []string{"", " ", "../../etc/passwd", "/", "a/b", `a\b`, "a.b", "a:b", "a b", "a\nb", "a\tb", "\u001b[31m", "\u202eb", "a\u200b",
		"\u0435hit", "\ufeffa", "1a", "-a", "${{ 1 }}", "$(id)", "';--", "<script>", "%s", "a*", "a{b}", strings.Repeat("a", 5000) + "!"} {
		quoted, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		key := string(quoted)
		for section, src := range map[string]string{
			"nodes": "nodes: {" + key + ": {set: {}, next: END}}",
			"state": "state: {" + key + ": int}\n" + tail,
			"types": "types: {" + key + ": {a: int}}\n" + tail,
			"limit": "limits: {shared: {" + key + ": {concurrency: 1}}}\n" + tail,
			"env":   "env: {" + key + ": string}\n" + tail,
			"keys":  "secrets: {" + key + ": \"${env:A}\"}\n" + tail,
			"next":  "nodes: {a: {set: {}, next: " + key + "}}",
		} {
			var err error
			within(t, most, func() {
				_, err = workflow.Parse("in.yaml", []byte("version: 1\n"+src), workflow.Options{Kinds: kinds(), Sections: sections()})
			})
			var e *workflow.Error
			if !errors.As(err, &e) {
				t.Errorf("%s: %q: got %v, want it refused", section, id, err)
				continue
			}
			if strings.ContainsAny(err.Error(), "\x1b\u202e\ufeff") {
				t.Errorf("%s: %q: the error carries it to a terminal: %q", section, id, err)
			}
		}
	}
}

// TestLoad_RejectsSymlinksOutOfTheRoot leaves the folder by links: to a file, to a folder, by a
// chain of links, and by one that leads back in by way of the outside.
func TestLoad_RejectsSymlinksOutOfTheRoot(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	const child = "version: 1\nnodes: {hidden: {set: {}, next: END}}\n"
	err := errors.Join(
		os.WriteFile(filepath.Join(outside, "child.yaml"), []byte(child), 0o600),
		os.WriteFile(filepath.Join(dir, "own.yaml"), []byte(child), 0o600),
		os.Symlink(filepath.Join(outside, "child.yaml"), filepath.Join(dir, "file.yaml")),
		os.Symlink(outside, filepath.Join(dir, "folder")),
		os.Symlink("file.yaml", filepath.Join(dir, "chain.yaml")),
		os.Symlink("../"+filepath.Base(outside)+"/child.yaml", filepath.Join(dir, "relative.yaml")),
		os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")),
		os.Symlink("/dev/zero", filepath.Join(dir, "zero.yaml")),
		os.Symlink("own.yaml", filepath.Join(dir, "inside.yaml")),
	)
	if err != nil {
		t.Fatal(err)
	}
	parse := func(path string) (err error) {
		src := "version: 1\nnodes: {a: {workflow: " + path + ", next: END}}\n"
		within(t, most, func() {
			_, err = workflow.Parse(filepath.Join(dir, "in.yaml"), []byte(src), workflow.Options{Kinds: kinds(), Sections: sections()})
		})
		return err
	}
	for _, path := range []string{"file.yaml", "folder/child.yaml", "chain.yaml", "relative.yaml", "loop.yaml", "zero.yaml"} {
		err := parse(path)
		var e *workflow.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), "in.yaml:2:23: error[WF511]: "+path) || strings.Contains(err.Error(), outside) {
			t.Errorf("%s: got %v, want it refused at its place, without a word on where it leads", path, err)
		}
	}
	if err := parse("inside.yaml"); err != nil {
		t.Errorf("a link within the folder: %v", err)
	}
}

// TestParse_RejectsHostileFilesFast holds what is too large to be written in a script.
//
// Requirement: a hostile workflow file
func TestParse_RejectsHostileFilesFast(t *testing.T) {
	var many strings.Builder
	many.WriteString("version: 1\nnodes:\n")
	for i := range 501 {
		many.WriteString("  n" + strings.Repeat("x", i) + ": {set: {}, next: END}\n")
	}
	for name, c := range map[string]struct{ src, want string }{
		"deep flow":       {head + strings.Repeat("[", 70) + strings.Repeat("]", 70), "2:67: error[WF602]: nested deeper than 64 levels"},
		"deep braces":     {head + strings.Repeat("{a: ", 70) + strings.Repeat("}", 70), "nested deeper than 64 levels"},
		"deep dashes":     {head + "\n" + strings.Repeat("- ", 70) + "a", "nested deeper than 64 levels"},
		"zero byte":       {"version: 1\nname: a\x00b\n", "2:1: error[WF005]: the file has a zero byte; it must be UTF-8 text"},
		"UTF-16":          {"\xff\xfev\x00e\x00", "1:1: error[WF005]: the file has a zero byte"},
		"Latin-1":         {"name: caf\xe9\n", "1:1: error[WF005]: the file is not UTF-8 text"},
		"501 nodes":       {many.String(), "3:3: error[WF603]: there are 501 nodes; the maximum is 500"},
		"501 tests":       {"version: 1\nnodes: {a: {set: {}, next: END}}\ntests:\n" + strings.Repeat("  - {name: x}\n", 501), "4:3: error[WF603]: there are 501 tests; the maximum is 500"},
		"501 answers":     {"version: 1\nnodes: {a: {ask: {}, next: END}}\ntests:\n- {name: x, answers: [" + strings.Repeat("{a: 1},", 501) + "]}", "4:22: error[WF603]: there are 501 answers; the maximum is 500"},
		"501 results":     {"version: 1\nnodes: {a: {uses: \"go:double\", with: {n: 1}, next: END}}\ntests:\n- {name: x, mock: {a: {results: [" + strings.Repeat("{n: 1},", 501) + "]}}}", "4:33: error[WF603]: there are 501 results; the maximum is 500"},
		"a large mock":    {"version: 1\nnodes: {a: {uses: \"go:double\", with: {n: 1}, next: END}}\ntests:\n- {name: x, mock: {a: {result: [" + strings.Repeat("1,", 21_000) + "]}}}", "more than 20000 values"},
		"many lines":      {strings.Repeat("\n", 60_000), "1:1: error[WF601]: the file has more than 50000 lines and list items"},
		"many items":      {head + "[" + strings.Repeat("a,", 60_000) + "]", "1:1: error[WF601]: the file has more than 50000 lines and list items"},
		"long expression": {"version: 1\nnodes: {a: {if: \"" + strings.Repeat("1+", 300_000) + "1\", set: {}, next: END}}", "error[WF605]: expression is too long"},
		"deep expression": {"version: 1\nnodes: {a: {if: \"" + strings.Repeat("(", 4000) + "\", set: {}, next: END}}", "2:"},
		"deep type":       {"version: 1\nstate: {x: \"" + strings.Repeat("list<", 1_500) + "\"}\nnodes: {a: {set: {}, next: END}}", "nested deeper than 32 levels"},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, c.src, c.want) })
	}
}

// bomb returns a file of n anchors, each of which doubles the one before.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString("version: 1\nx:\n  - &a0 [a, a]\n")
	for i := 1; i < n; i++ {
		name, before := strings.Repeat("b", i), strings.Repeat("b", i-1)
		if i == 1 {
			before = "a0"
		}
		b.WriteString("  - &" + name + " [*" + before + ", *" + before + "]\n")
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	seed(f)
	f.Add("version: 1\nnodes: {a: {set: {}, next: END}}")
	f.Add("version: 1\nstate: {x: {type: int, reducer: add}}\nnodes:\n  a: {for_each: {in: '[1]'}, set: {x: \"${{ item }}\"}, next: [{if: state.x > 1, to: END}, {else: a}]}")
	f.Add("version: 1\ntypes: {T: {a: list<T>}}\nstate: {t: T}\nnodes: {a: {wait: {for: 1s}, join: [a], next: a}}")
	f.Add("a: &a [*a]")
	f.Add("a: &a {<<: *a}\n---\nb: !!set {c}")
	f.Add("version: 1\nnodes: {a: {workflow: ./in.yaml, input: {a: 1}, next: [END]}}")
	f.Add("version: 1\nnodes:\n  a:\n    set:\n      x: >-\n        a\n         ${{ state.y }}\n")
	f.Add("a:\r- b\r\n- c\u2028")
	f.Add("\ufeffversion: 1\u0085state: {é: any}\r\nnodes:\r  ? a\r  : set: &s {é: &x \"\\u00e9 ${{ stat.é }}\"}\r    next: *x\n")
	f.Add("version: 1\nstate: {x: {type: list<object{a: int, b?: map<any>}>, reducer: union, default: [{a: 1}], scope: turn}}\nnodes: {a: {set: {x: null}, output: {x: \"$${{ ${{ result?.x[0:1] }}\"}, next: END}}")
	f.Add("version: 1\nenv: {E: {type: int, default: 1}}\nconfig: {c: int}\nsecrets: {k: \"${env:A}\"}\nlimits: {steps: 1, run_timeout: 1m, state_bytes: 1KiB, shared: {w: {rate: 1/s, burst: 2}}}\ndefaults: {retry: {max: 2, on: [http:5xx]}, timeout: 1m}\ninterrupt: {before: a, after: \"*\"}\nstart: [a]\nnodes: {a: {ask: {title: x, form: {f: {type: int, min: 1, enum: [1, 2]}}, expires: {after: 1h, then: {f: 1}}}, on_error: [{if: error.code == 'x', to: END}], cache: {key: 1, ttl: 1s}, limit: w, defer: true, tags: [t], next: END}}\nedges: [{from: START, to: a}]\ntests: [{name: t, input: {}, mock: {a: {results: [1], error: {code: c}}}, answers: [{a: 1}], expect: {path: [[a]], status: done, asks: []}}]")
	f.Add("version: 1\nstate: {d: any}\nnodes: {a: {set: {d: 1}, provides: [d]}, b: {set: {}, requires: [d], for_each: {in: state.d, as: d, max: 1, on_item_error: skip}}}")
	f.Fuzz(func(t *testing.T, src string) {
		var err error
		within(t, 128<<20, func() {
			_, err = workflow.Parse("testdata/invalid/in.yaml", []byte(src), workflow.Options{Kinds: kinds(), Sections: sections()})
		})
		var e *workflow.Error
		if !errors.As(err, &e) {
			if err != nil {
				t.Errorf("got %v, want a *workflow.Error", err)
			}
			return
		}
		lines := len(regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]").FindAllString(src, -1)) + 2
		for _, p := range e.Problems {
			if p.Line < 1 || p.Col < 1 || p.Line > lines && p.File == "testdata/invalid/in.yaml" {
				t.Errorf("%v is no place in a file of %d lines", p, lines-1)
			}
		}
	})
}
