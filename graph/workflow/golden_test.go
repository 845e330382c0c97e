package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// cases returns the cases of golden files: the text after each ===, by file and name.
func cases(t testing.TB, pattern string) (names []string, text map[string]string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	text = map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range strings.Split("\n"+string(data), "\n=== ")[1:] {
			name, rest, _ := strings.Cut(c, "\n")
			name = file + "/" + name
			if _, twice := text[name]; twice {
				t.Errorf("%s is there twice", name)
			}
			names, text[name] = append(names, name), strings.TrimSuffix(rest, "\n")+"\n"
		}
	}
	return names, text
}

func validFiles(t testing.TB) map[string]string {
	_, all := cases(t, "testdata/valid/*.txt")
	for name, text := range all {
		all[name], _, _ = strings.Cut(text, "\n=> ")
	}
	return all
}

func invalidFiles(t testing.TB) map[string]string {
	_, all := cases(t, "testdata/invalid/*.txt")
	for name, text := range all {
		src, _, _ := strings.Cut("\n"+text, "\n=> ")
		all[name] = strings.TrimPrefix(src, "\n") + "\n"
	}
	return all
}

// seed gives a fuzz target every fifth golden file: with all of them a short run would end before
// it makes its own.
func seed(f *testing.F) {
	for _, files := range []map[string]string{validFiles(f), invalidFiles(f)} {
		for i, name := range slices.Sorted(maps.Keys(files)) {
			if i%5 == 0 {
				f.Add(files[name])
			}
		}
	}
}

// TestGolden_ValidFiles runs the cases of testdata/valid: a name
// after ===, a file, and then lines with =>: its input, if it takes any, the drawing of
// the graph it becomes, and what happens when it runs.
func TestGolden_ValidFiles(t *testing.T) {
	names, text := cases(t, "testdata/valid/*.txt")
	rewritten := map[string]string{}
	for _, name := range names {
		file := filepath.Dir(name) + ".txt"
		if i := strings.Index(name, ".txt/"); i >= 0 {
			file = name[:i+4]
		}
		t.Run(strings.TrimPrefix(name, "testdata/valid/"), func(t *testing.T) {
			src, said, _ := strings.Cut(text[name], "\n=> ")
			src += "\n"
			input := ""
			if said = "=> " + said; strings.HasPrefix(said, "=> input: ") {
				input, _, _ = strings.Cut(strings.TrimPrefix(said, "=> input: "), "\n")
			}
			got := golden(t, src, input)
			rewritten[file] += "=== " + name[len(file)+1:] + "\n" + src + got
			if got != said && !*update {
				t.Errorf("%s\ngot\n%s\nwant\n%s", src, got, said)
			}
		})
	}
	if *update && !t.Failed() {
		for file, text := range rewritten {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(names) < 80 {
		t.Errorf("there are %d cases, want 80", len(names))
	}
}

// golden loads, draws and runs a file, and returns a trace. Questions are answered
// with true.
func golden(t *testing.T, src, input string) string {
	t.Helper()
	dir := t.TempDir()
	w, err := workflow.Parse(filepath.Join(dir, "in.yaml"), []byte(src), beside(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	f := flow{t, w, g}
	var b strings.Builder
	given := "{}"
	if input != "" {
		given = input
		fmt.Fprintf(&b, "=> input: %s\n", input)
	}
	for line := range strings.Lines(g.Draw(1).Text()) {
		b.WriteString("=> " + line)
	}
	res, err := f.start(given)
	for err == nil && res.Status == graph.Interrupted {
		var answers graph.Answers
		for _, in := range res.Interrupts {
			fmt.Fprintf(&b, "=> asks: %s\n", in.Prompt)
			answers = answers.Answer(in.ID, true)
		}
		res, err = f.Resume(t.Context(), answers, thread)
	}
	if err != nil {
		var ne *graph.NodeError
		if errors.As(err, &ne) {
			err = ne
		}
		fmt.Fprintf(&b, "=> fails: %s\n", strings.NewReplacer(dir+"/", "", dir, "DIR", "\n", "; ").Replace(err.Error()))
		return b.String()
	}
	out, err := json.Marshal(w.Output(&res.State))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "=> gives: %s\n", out)
	return b.String()
}

// beside are the options of a file in a folder with the files of testdata/beside.
func beside(t *testing.T, dir string) workflow.Options {
	o := options()
	o.Root = writeBeside(t, dir)
	return o
}

// writeBeside puts the files of testdata/beside into a folder and returns it.
func writeBeside(t *testing.T, dir string) string {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS("testdata/beside")); err != nil {
		t.Fatal(err)
	}
	return dir
}
