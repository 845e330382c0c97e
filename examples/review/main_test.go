package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/picture"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state"
)

var update = flag.Bool("update", false, "write docs/review.svg")

func TestNode_RunsWithoutTheRuntime(t *testing.T) {
	var s State
	s.Question.Set("x")
	if err := search(t.Context(), &s); err != nil || s.Facts.At(0) != "a fact about x" {
		t.Errorf("got %v, %v", s.Facts.Slice(), err)
	}
}

func TestGraph_AsksAndResumes(t *testing.T) {
	g, err := compile(new(checkpoint.Memory))
	if err != nil {
		t.Fatal(err)
	}
	run := graph.RunOptions{Thread: "t"}
	res, err := g.Invoke(t.Context(), State{Question: state.Of("why?")}, run)
	if err != nil || res.Status != graph.Interrupted {
		t.Fatalf("got %s, %v; want a question", res.Status, err)
	}
	res, err = g.Resume(t.Context(), graph.Reply(true), run)
	if err != nil || res.Status != graph.Done || res.State.Facts.Len() != 2 || !res.State.Approved.Get() {
		t.Errorf("got %s, %d facts, approved %v, %v", res.Status, res.State.Facts.Len(), res.State.Approved.Get(), err)
	}
}

func TestYAML_IsTheSameGraph(t *testing.T) {
	flow, err := workflow.Load("review.yaml", workflow.Options{Kinds: nodes.Kinds()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := flow.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	in, err := g.DecodeInput([]byte(`{"question": "why?"}`))
	if err != nil {
		t.Fatal(err)
	}
	run := graph.RunOptions{Thread: "t"}
	if res, err := g.Invoke(t.Context(), in, run); err != nil || res.Status != graph.Interrupted {
		t.Fatalf("got %s, %v; want a question", res.Status, err)
	}
	res, err := g.Resume(t.Context(), graph.Reply(true), run)
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.EncodeState(res.State)
	want := `{"question":"why?","facts":["a fact about why?","a fact about why?"],"rounds":2,"approved":true}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

// TestReadme_ShowsThisCode checks that the code in the README is this code.
func TestReadme_ShowsThisCode(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string][]string{
		"go":   {"main.go", filepath.Join("..", "gonode", "main.go"), filepath.Join("..", "card", "main.go"), filepath.Join("..", "card", "rain.go")},
		"yaml": {"review.yaml", filepath.Join("..", "triage", "triage.yaml")},
	}
	for lang, files := range sources {
		var source []byte
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source = append(source, text...)
		}
		blocks := regexp.MustCompile("(?s)```"+lang+"\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
		if len(blocks) == 0 {
			t.Errorf("README.md has no %s", lang)
		}
		for _, b := range blocks {
			if !strings.Contains(string(source), b[1]) {
				t.Errorf("README.md shows what is not in %s:\n%s", files, b[1])
			}
		}
	}
}

// The README shows docs/review.svg. With -update the test writes it.
func TestReadme_ShowsThePictureOfTheGraph(t *testing.T) {
	const path = "../../docs/review.svg"
	g, err := compile(new(checkpoint.Memory))
	if err != nil {
		t.Fatal(err)
	}
	svg := picture.New(g.Draw(0)).SVG(picture.Options{})
	if *update {
		if err := os.WriteFile(path, []byte(svg), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if stored, err := os.ReadFile(path); err != nil || string(stored) != svg {
		t.Errorf("docs/review.svg is not the picture of the graph; go test ./examples/review -update writes it (%v)", err)
	}
	if readme, err := os.ReadFile("../../README.md"); err != nil || !strings.Contains(string(readme), "](docs/review.svg)") {
		t.Errorf("the README does not show docs/review.svg (%v)", err)
	}
}
