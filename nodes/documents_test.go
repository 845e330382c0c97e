package nodes_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

// meanings is a provider whose embedder knows one meaning: texts of cars and of automobiles.
type meanings struct {
	asked []string
	key   string
	fails error
}

func (m *meanings) options(env map[string]string) workflow.Options {
	p := nodes.Program{Providers: map[string]model.Provider{
		"none": {Open: func(model.Config) (model.Model, error) { return nil, errors.New("no model") }},
		"own": {
			URL: "https://own.example/v1", KeyVariable: "OWN_KEY",
			Open: func(model.Config) (model.Model, error) { return nil, errors.New("no model") },
			OpenEmbedder: func(c model.Config) (model.Embedder, error) {
				m.key = c.Key
				return model.EmbedFunc(func(_ context.Context, r model.EmbedRequest) (e model.Embeddings, err error) {
					if m.fails != nil {
						return e, m.fails
					}
					for _, text := range r.Texts {
						m.asked = append(m.asked, string(r.Purpose)+" "+strings.Fields(text)[0])
						v := []float32{1, 0}
						if strings.Contains(text, "car") || strings.Contains(text, "automobile") {
							v = []float32{0, 1}
						}
						e.Vectors = append(e.Vectors, v)
					}
					return e, nil
				}), nil
			},
		},
	}}
	return workflow.Options{
		Kinds: p.Kinds(), Sections: p.Sections(),
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

const finds = `version: 1
state: {hits: any, missing: any}
embedders: {small: {provider: own, model: m, dims: 2}}
tools: {manual: {description: Searches, documents: {files: ["docs/*.md"], embedder: small}}}
nodes:
  find: {tool: {name: manual, args: {query: QUERY}}, output: {hits: "${{ result.json.hits }}", missing: "${{ result.json.missing }}"}, next: END}
`

// writeAll writes files below a folder.
func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// found runs a workflow and returns the places of the hits, and why something is missing.
func found(t *testing.T, w *workflow.Workflow) (places []string, missing string) {
	t.Helper()
	out, err := outputOf(t, w)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Hits    []nodes.DocumentHit
		Missing string
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	for _, h := range got.Hits {
		places = append(places, h.File)
	}
	return places, got.Missing
}

func TestDocuments_AreFoundByMeaningAndAskedOnce(t *testing.T) {
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{"docs/a.md": "# Sales\n\nWe sell an automobile.", "docs/b.md": "Tea and cake.", "docs/c.txt": "car"})
	m := &meanings{}
	w, err := workflow.Parse(filepath.Join(dir, "in.yaml"), []byte(strings.Replace(finds, "QUERY", "car", 1)), m.options(map[string]string{"OWN_KEY": "k-1"}))
	if err != nil {
		t.Fatal(err)
	}
	got, missing := found(t, w)
	if len(got) != 2 || got[0] != "docs/a.md" || missing != "" || m.key != "k-1" {
		t.Errorf("got %q, %q with the key %q; want docs/a.md first", got, missing, m.key)
	}
	writeAll(t, dir, map[string]string{"docs/b.md": "A car."})
	if err := os.Remove(filepath.Join(dir, "docs/a.md")); err != nil {
		t.Fatal(err)
	}
	if got, _ := found(t, w); !slices.Equal(got, []string{"docs/b.md"}) {
		t.Errorf("after changes: got %q, want docs/b.md alone", got)
	}
	want := []string{"document #", "document Tea", "query car", "document A", "query car"}
	if slices.Sort(m.asked); !slices.Equal(m.asked, slices.Sorted(slices.Values(want))) {
		t.Errorf("the embedder was asked for %q, want %q", m.asked, want)
	}
}

func TestDocuments_AreFoundByWordsIfTheEmbedderFails(t *testing.T) {
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{"docs/a.md": "An automobile.", "docs/b.md": "Tea and a teacup."})
	m := &meanings{fails: &model.Error{Kind: model.Overloaded, Model: "m", Message: "busy"}}
	w, err := workflow.Parse(filepath.Join(dir, "in.yaml"), []byte(strings.Replace(finds, "QUERY", "tea", 1)), m.options(map[string]string{"OWN_KEY": "k-1"}))
	if err != nil {
		t.Fatal(err)
	}
	if got, missing := found(t, w); !slices.Equal(got, []string{"docs/b.md"}) || !strings.Contains(missing, "busy") {
		t.Errorf("got %q, %q; want docs/b.md by its words, and the failure", got, missing)
	}
	m.fails = nil
	if got, missing := found(t, w); len(got) != 2 || missing != "" {
		t.Errorf("got %q, %q; want vectors of both files after the failure", got, missing)
	}
}

func TestDocuments_CannotLeaveTheFolder(t *testing.T) {
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{"outside.md": "tea", "in/docs/a.md": "tea"})
	if err := os.Symlink("../../outside.md", filepath.Join(dir, "in/docs/link.md")); err != nil {
		t.Fatal(err)
	}
	w, err := workflow.Parse(filepath.Join(dir, "in/in.yaml"), []byte(strings.Replace(finds, "QUERY", "tea", 1)), new(meanings).options(map[string]string{"OWN_KEY": "k-1"}))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := outputOf(t, w); err == nil || !strings.Contains(err.Error(), "link.md") {
		t.Errorf("got %v, %v; want a refusal of the link", out, err)
	}
}

func TestDocuments_Mistakes(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`{files: []}`:                                 "files must have a pattern",
		`{files: ["../*.md"]}`:                        "outside of the workflow's folder",
		`{files: ["[.md"]}`:                           "it is not a pattern",
		`{files: [a.md], limit: 51}`:                  "limit must be between 1 and 50",
		`{files: [a.md], chunk_tokens: -1}`:           "chunk_tokens must not be negative",
		`{files: [a.md], embedder: large}`:            `there is no embedder "large"`,
		`{files: [a.md]}, http: {url: "https://a.b"}`: "either http, workflow, mcp, documents or skills",
	} {
		src := "version: 1\nembedders: {small: {provider: own, model: m, dims: 2}}\ntools: {manual: {documents: " + entry + "}}\n" +
			"nodes: {find: {tool: {name: manual, args: {query: x}}, next: END}}\n"
		if _, err := workflow.Parse("in.yaml", []byte(src), new(meanings).options(nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", entry, err, want)
		}
	}
	for entry, want := range map[string]string{
		`{provider: own, model: m, dims: 0}`:                        "dims must be between 1 and 8192",
		`{provider: none, model: m, dims: 2}`:                       "provider must be own",
		`{provider: own, model: m}`:                                 "needs dims",
		`{provider: own, model: m, dims: 2, base_url: "ftp://a"}`:   "http or https address",
		`{provider: own, model: m, dims: 2, key: "sk-in-the-file"}`: "must not contain the secret itself",
	} {
		src := "version: 1\nembedders: {small: " + entry + "}\nnodes: {a: {set: {}, next: END}}\n"
		if _, err := workflow.Parse("in.yaml", []byte(src), new(meanings).options(nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", entry, err, want)
		}
	}
}
