package weather_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/examples/weather"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

var update = flag.Bool("update", false, "write the golden report anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var thread = graph.RunOptions{Thread: "t"}

// run starts a graph, answers its one question, and returns the outcome.
func run[S any](t *testing.T, g *graph.Graph[S], in S, answer bool) S {
	t.Helper()
	res, err := g.Invoke(context.Background(), in, thread)
	if err != nil || res.Status != graph.Interrupted || !strings.HasPrefix(res.Interrupts[0].Detail, "# Seattle") {
		t.Fatalf("status %q, error %v; want a question that shows the report", res.Status, err)
	}
	res, err = g.Resume(context.Background(), graph.Reply(answer), thread)
	if err != nil || res.Status != graph.Done {
		t.Fatalf("status %q, error %v; want the run to end after the answer", res.Status, err)
	}
	return res.State
}

// inYAML and inGo run one of the graphs with an answer and return the outcome.
func inYAML(t *testing.T, out string, answer bool) string {
	t.Helper()
	w, err := workflow.Load("report.yaml", workflow.Options{Kinds: nodes.Kinds(), Out: out})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	in, err := w.Input(nil)
	if err != nil {
		t.Fatal(err)
	}
	end := run(t, g, in, answer)
	outcome, _ := w.Output(&end).Get("outcome")
	return outcome.(string)
}

func inGo(t *testing.T, out string, answer bool) string {
	t.Helper()
	g, err := weather.Graph(".", out, graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	end := run(t, g, weather.State{}, answer)
	return end.Outcome.Get()
}

var both = map[string]func(t *testing.T, out string, answer bool) string{"YAML": inYAML, "Go": inGo}

func TestReport_IsTheSameInYAMLAndGo(t *testing.T) {
	golden := filepath.Join("testdata", "report.md")
	for name, run := range both {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			if got, want := run(t, out, true), "published in "+out+"/report.md"; got != want {
				t.Errorf("outcome %q, want %q", got, want)
			}
			got, err := os.ReadFile(filepath.Join(out, "report.md"))
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, got, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the report differs from %s; see with -update:\n%s", golden, got)
			}
		})
	}
}

func TestDeclining_WritesNothing(t *testing.T) {
	for name, run := range both {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			if got := run(t, out, false); got != "declined; nothing was written" {
				t.Errorf("outcome %q; want it to say why nothing is there", got)
			}
			if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is there (%v); want nothing written after a no", out, err)
			}
		})
	}
}

// TestReport_IsRight computes each row of the report again, in whole tenths.
func TestReport_IsRight(t *testing.T) {
	report, err := os.ReadFile(filepath.Join("testdata", "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("seattle-weather.csv")
	if err != nil {
		t.Fatal(err)
	}
	type sum struct{ days, rain, degrees, sun int }
	months, years := map[string]*sum{}, map[string]*sum{}
	for line := range strings.Lines(string(data)) {
		cell := strings.Split(strings.TrimSpace(line), ",")
		if cell[0] == "date" {
			continue
		}
		for key, in := range map[string]map[string]*sum{cell[0][:7]: months, cell[0][:4]: years} {
			if in[key] == nil {
				in[key] = &sum{}
			}
			in[key].days++
			in[key].rain += tenths(t, cell[1])
			in[key].degrees += tenths(t, cell[2]) + tenths(t, cell[3])
			in[key].sun += strings.Count(cell[5], "sun")
		}
	}
	if len(months) != 48 || len(years) != 4 {
		t.Fatalf("%d months in %d years; want 48 in 4", len(months), len(years))
	}
	for month, s := range months {
		row := fmt.Sprintf("| %s | %.1f | %d.%d | %d |", month, float64(s.degrees)/float64(20*s.days), s.rain/10, s.rain%10, s.sun)
		if !strings.Contains(string(report), row) {
			t.Errorf("the report lacks %q", row)
		}
	}
	for year, s := range years {
		row := fmt.Sprintf("In all %d.%d mm of rain and snow, and %d days of sun.", s.rain/10, s.rain%10, s.sun)
		_, after, _ := strings.Cut(string(report), "## "+year+"\n")
		if after, _, _ = strings.Cut(after, "## "); !strings.Contains(after, row) {
			t.Errorf("the report lacks %q in %s", row, year)
		}
	}
}

// tenths reads a number with one decimal.
func tenths(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.Replace(s, ".", "", 1))
	if err != nil || s[len(s)-2] != '.' {
		t.Fatalf("%q is no number with one decimal", s)
	}
	return n
}
