package workflow_test

import (
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/state/record"
)

var update = flag.Bool("update", false, "write the expected errors anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type number struct {
	N int `json:"n"`
}

// kinds are the ready ones and a node in Go.
func kinds() map[string]workflow.Kind {
	all := maps.Clone(program.Kinds())
	all["go:double"] = workflow.Go(func(_ context.Context, in number) (number, error) {
		return number{in.N * 2}, nil
	})
	return all
}

// sections are those of the tests' program, with one provider.
func sections() map[string]workflow.Section {
	own := program
	own.Providers = map[string]model.Provider{"openai": openai.Provider()}
	return own.Sections()
}

// longest keeps the longest text.
type longest struct{}

func (longest) Reduce(acc, update string) string {
	if len(update) > len(acc) {
		return update
	}
	return acc
}

// decision is a type of the program.
type decision struct {
	OK bool   `json:"ok"`
	By string `json:"by"`
	At []int  `json:"at"`
}

// options are what files of the tests may name.
func options() workflow.Options {
	return workflow.Options{
		Kinds:    kinds(),
		Sections: sections(),
		Reducers: map[string]workflow.Reducer{"go:longest": workflow.ReducerOf[string, longest]()},
		Types:    map[string]record.Type{"go:Decision": workflow.TypeOf[decision]()},
	}
}

// TestGolden_InvalidFiles runs the cases of testdata/invalid: a name
// after ===, a file, and the errors that are expected after =>, all of them.
func TestGolden_InvalidFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	count := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rewritten strings.Builder
		for _, c := range strings.Split(string(data), "=== ")[1:] {
			count++
			name, rest, _ := strings.Cut(c, "\n")
			src, want, _ := strings.Cut(rest, "=> ")
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				got := invalid(t, src)
				rewritten.WriteString("=== " + name + "\n" + src)
				for line := range strings.Lines(got) {
					rewritten.WriteString("=> " + line)
				}
				if want = strings.ReplaceAll(want, "=> ", ""); got != want && !*update {
					t.Errorf("got\n%swant\n%s(rule: all mistakes, at their places, in order)", got, want)
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, []byte(rewritten.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count < 120 {
		t.Errorf("there are %d cases, want 120", count)
	}
}

// invalid parses an invalid file, and returns the text of the error.
func invalid(t *testing.T, src string) string {
	t.Helper()
	_, err := workflow.Parse("testdata/invalid/in.yaml", []byte(src), options())
	var e *workflow.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *workflow.Error", err)
	}
	return strings.ReplaceAll(err.Error(), "testdata/invalid/", "") + "\n"
}
