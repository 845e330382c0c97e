package nodes_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

// opened is a provider that keeps the last Config, and whose models answer with their names.
type opened struct{ last model.Config }

func (o *opened) provider() model.Provider {
	return model.Provider{
		URL: "https://own.example/v1", URLVariable: "OWN_URL", KeyVariable: "OWN_KEY",
		Open: func(c model.Config) (model.Model, error) {
			o.last = c
			return model.Func(func(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
				return func(yield func(model.Chunk, error) bool) {
					_ = yield(model.Chunk{Text: c.Model + " with " + c.Key}, nil) && yield(model.Chunk{Stop: model.StopEnd}, nil)
				}
			}), nil
		},
	}
}

// declared returns the options of a program with one provider, own, in an environment.
func declared(o *opened, env map[string]string) workflow.Options {
	p := nodes.Program{Providers: map[string]model.Provider{"own": o.provider()}}
	return workflow.Options{
		Kinds: p.Kinds(), Sections: p.Sections(),
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

const asks = `version: 1
state: {answer: string}
models:
  m: %s
nodes:
  ask: {llm: {prompt: hello}, output: {answer: "${{ result.text }}"}, next: END}
`

func TestModels_KeysGoWhereThePersonAllows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, entry string
		env         map[string]string
		hosts       []string
		url, key    string
		fails       string // part of the error of CheckEnv, and of a run
	}{
		{
			name: "own server", entry: `{provider: own, model: m1}`, env: map[string]string{"OWN_KEY": "k1"},
			url: "https://own.example/v1", key: "k1",
		},
		{
			name: "server of the variable", entry: `{provider: own, model: m1}`, env: map[string]string{"OWN_KEY": "k1", "OWN_URL": "http://localhost:1"},
			url: "http://localhost:1", key: "k1",
		},
		{
			name: "server of the variable without a key", entry: `{provider: own, model: m1}`, env: map[string]string{"OWN_URL": "http://localhost:1"},
			url: "http://localhost:1",
		},
		{
			name: "own server without a key", entry: `{provider: own, model: m1}`,
			fails: "the environment variable OWN_KEY is not set",
		},
		{
			name: "named variables", entry: `{provider: own, model: m1, base_url: "${env:A}", key: "${env:B}"}`, env: map[string]string{"A": "http://localhost:2", "B": "k2"},
			url: "http://localhost:2", key: "k2",
		},
		{
			name: "missing address", entry: `{provider: own, model: m1, base_url: "${env:A}"}`,
			fails: "the environment variable A is not set",
		},
		{
			name: "address in the file, no key", entry: `{provider: own, model: m1, base_url: "http://localhost:3"}`, env: map[string]string{"OWN_KEY": "k1"},
			url: "http://localhost:3",
		},
		{
			name: "address in the file, a key", entry: `{provider: own, model: m1, base_url: "http://localhost:3", key: "${env:OWN_KEY}"}`, env: map[string]string{"OWN_KEY": "k1"},
			fails: "--allow-host localhost:3",
		},
		{
			name: "allowed host", entry: `{provider: own, model: m1, base_url: "http://localhost:3", key: "${env:OWN_KEY}"}`, env: map[string]string{"OWN_KEY": "k1"},
			hosts: []string{"localhost:3"}, url: "http://localhost:3", key: "k1",
		},
		{
			name: "host allowed with https alone", entry: `{provider: own, model: m1, base_url: "http://there.example", key: "${env:OWN_KEY}"}`, env: map[string]string{"OWN_KEY": "k1"},
			hosts: []string{"there.example"}, fails: "--allow-host there.example",
		},
		{
			name: "own server without encryption", entry: `{provider: own, model: m1, base_url: "http://own.example/v1", key: "${env:OWN_KEY}"}`, env: map[string]string{"OWN_KEY": "k1"},
			fails: "--allow-host own.example",
		},
		{
			name: "own server in the file", entry: `{provider: own, model: m1, base_url: "https://own.example/v2"}`, env: map[string]string{"OWN_KEY": "k1"},
			url: "https://own.example/v2", key: "k1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := new(opened)
			opts := declared(o, test.env)
			opts.AllowHosts = test.hosts
			w, err := workflow.Parse("in.yaml", []byte(strings.ReplaceAll(asks, "%s", test.entry)), opts)
			if err != nil {
				t.Fatal(err)
			}
			err = w.CheckEnv()
			res, runErr := runOf(t, w)
			if test.fails != "" {
				for _, err := range []error{err, runErr} {
					if err == nil || !strings.Contains(err.Error(), test.fails) {
						t.Errorf("error %v, want %q in it", err, test.fails)
					}
				}
				if o.last != (model.Config{}) {
					t.Errorf("the model was opened with %+v", o.last)
				}
				return
			}
			if err != nil || runErr != nil {
				t.Fatalf("CheckEnv: %v, run: %v", err, runErr)
			}
			if o.last.URL != test.url || o.last.Key != test.key || o.last.Model != "m1" {
				t.Errorf("opened with %+v, want URL %q and key %q", o.last, test.url, test.key)
			}
			if test.key != "" && strings.Contains(res, test.key) {
				t.Errorf("the result contains the key: %s", res)
			}
		})
	}
}

// runOf returns the output of a run as JSON.
func runOf(t *testing.T, w *workflow.Workflow) (string, error) {
	t.Helper()
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := w.Input(nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), in, graph.RunOptions{})
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(w.Output(&res.State))
	return string(data), err
}

func TestModels_Mistakes(t *testing.T) {
	t.Parallel()
	src := `version: 1
models:
  a: {provider: other, model: m1}
  b: {provider: own, model: ""}
  c: {provider: own, model: m1, key: secret}
  d: {provider: own, model: m1, base_url: "ftp://x"}
  e: {provider: own, model: m1, base_url: "https://me:pw@x"}
  f: {provider: own, model: m1, base_url: "https://${env:HOST}/v1"}
  g: {provider: own, model: "${{ 1 }}"}
  h: {provider: own}
  i: text
nodes:
  ask: {llm: {model: z, prompt: hello}, next: END}
`
	_, err := workflow.Parse("in.yaml", []byte(src), declared(new(opened), nil))
	want := []string{
		`in.yaml:3:17: error[WF108]: models.a.provider must be own, not "other"`,
		`in.yaml:4:6: error[WF504]: models.b: model must not be empty`,
		`in.yaml:5:38: error[WF701]: models.c.key must be ${env:NAME} or ${secret:NAME} (a file must not contain the secret itself)`,
		`in.yaml:6:6: error[WF504]: models.d: base_url must be an http or https address, not "ftp://x"`,
		`in.yaml:7:6: error[WF504]: models.e: base_url must not contain a password or a query; write it as ${env:NAME}`,
		`in.yaml:8:43: error[WF503]: models.f.base_url: must be a text without ${…}, or ${env:NAME} alone (got "https://${env:HOST}/v1")`,
		`in.yaml:9:29: error[WF503]: models.g.model: want text, got int`,
		`in.yaml:10:6: error[WF502]: models.h needs model`,
		`in.yaml:11:6: error[WF101]: models.i must be a mapping, not "text"`,
	}
	wantProblems(t, err, want)
}

func wantProblems(t *testing.T, err error, want []string) {
	t.Helper()
	var all *workflow.Error
	if !errors.As(err, &all) {
		t.Fatalf("error %v, want a *workflow.Error", err)
	}
	var got []string
	for _, p := range all.Problems {
		got = append(got, p.String())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestModels_SharedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("repo/.git/HEAD", "")
	shared := write("repo/weft.yaml", "version: 1\nmodels:\n  m: {provider: own, model: m2, key: \"${env:K}\"}\n")
	write("weft.yaml", "outside of the repository")
	file := write("repo/flows/ask.yaml", strings.ReplaceAll(strings.ReplaceAll(asks, "models:\n", ""), "  m: %s\n", ""))
	found, err := workflow.FindConfig(file)
	if err != nil || found != shared {
		t.Fatalf("FindConfig returned %q, %v, want %q", found, err, shared)
	}
	o := new(opened)
	opts := declared(o, map[string]string{"K": "k3"})
	if opts.Config = found; workflow.CheckConfig(found, opts) != nil {
		t.Fatal(workflow.CheckConfig(found, opts))
	}
	w, err := workflow.Load(file, opts)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := runOf(t, w); err != nil || out != `{"answer":"m2 with [secret env:K]"}` {
		t.Errorf("the run returned %s, %v", out, err)
	}
	own := "secrets: {k: \"${env:L}\"}\n" // another secret of the same name
	secret := write("secret.yaml", "version: 1\nsecrets: {k: \"${env:K}\"}\nmodels:\n  m: {provider: own, model: m2, key: \"${secret:k}\"}\n")
	opts.Config = secret
	w, err = workflow.Load(write("repo/secret.yaml", own+strings.ReplaceAll(strings.ReplaceAll(asks, "models:\n", ""), "  m: %s\n", "")), opts)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := runOf(t, w); err != nil || out != `{"answer":"m2 with [secret env:K]"}` {
		t.Errorf("with a secret of the shared file the run returned %s, %v", out, err)
	}
	for _, broken := range []string{"", "- a\n", "version: 1\nmodels: 3\n", "version: 1\nmodels: {a: [\n", "version: 1\nmodels:\n  m: {provider: own, model: a}\n  m: {provider: own, model: b}\n"} {
		opts.Config = write("broken.yaml", broken)
		if _, err := workflow.Load(file, opts); err == nil || strings.Contains(err.Error(), "there are no models") {
			t.Errorf("with the shared file %q the error is %v, want the mistake of that file alone", broken, err)
		}
	}
	opts.Config = found
	twice := write("repo/twice.yaml", strings.ReplaceAll(asks, "%s", "{provider: own, model: m1}"))
	_, err = workflow.Load(twice, opts)
	wantProblems(t, err, []string{twice + `:4:3: error[WF135]: models.m: the name is already declared at ` + shared + `:3:3`})
	opts.Config = write("bad.yaml", "version: 1\nnodes: {}\nmodels: {m: {provider: none, model: m2}}\ntools: {t: {workflow: ./x.yaml}}\n")
	wantProblems(t, workflow.CheckConfig(opts.Config, opts), []string{
		opts.Config + `:2:1: error[WF102]: unknown key "nodes" in a shared file; did you mean "models"? (known are version, secrets, budgets, embedders, models, prices, tools)`,
		opts.Config + `:3:24: error[WF108]: models.m.provider must be own, not "none"`,
		opts.Config + `:4:23: error[WF512]: tools.t.workflow is only for the file of a workflow, not for a shared one`,
	})
}

func TestModels_ProgramHasTheName(t *testing.T) {
	t.Parallel()
	p := nodes.Program{
		Models:    map[string]model.Model{"m": model.Func(nil)},
		Providers: map[string]model.Provider{"own": new(opened).provider()},
	}
	_, err := workflow.Parse("in.yaml", []byte(strings.ReplaceAll(asks, "%s", "{provider: own, model: m1}")), workflow.Options{Kinds: p.Kinds(), Sections: p.Sections()})
	wantProblems(t, err, []string{`in.yaml:4:3: error[WF135]: models.m: the program already has this name`})
}
