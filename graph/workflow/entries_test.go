package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// lamp is an entry of a section of a test.
type lamp struct {
	Colour string            `json:"colour"`
	Key    workflow.Secret   `json:"key,omitzero"`
	At     workflow.EnvText  `json:"at,omitzero"`
	Size   workflow.Form     `json:"size,omitzero"`
	Plan   workflow.File     `json:"plan,omitzero"`
	Heads  map[string]string `json:"heads,omitempty"`
}

func (l *lamp) Open(name string, env workflow.Env) (any, error) {
	return func() (string, error) {
		key, err := env.Reveal(l.Key)
		if err != nil {
			return "", err
		}
		at, err := env.Text(l.At)
		return fmt.Sprintf("%s is %s at %s with %s", name, l.Colour, at, key), err
	}, nil
}

func (l *lamp) CheckEnv(env workflow.Env) error {
	_, err := env.Reveal(l.Key)
	_, missing := env.Text(l.At)
	return errors.Join(err, missing)
}

// light is a kind of node that uses a lamp.
type light struct {
	Lamp string `json:"lamp"`

	entries *workflow.Entries
}

func (l *light) Check(func(string) bool) error {
	if _, ok, err := l.entries.Open("lamps", l.Lamp); !ok || err != nil {
		return fmt.Errorf("there is no lamp %q: %v", l.Lamp, l.entries.Names("lamps"))
	}
	return nil
}

func (l *light) Run(context.Context, workflow.Env) (any, error) {
	v, _, err := l.entries.Open("lamps", l.Lamp)
	if err != nil {
		return nil, err
	}
	return v.(func() (string, error))()
}

func lampOptions(env map[string]string) workflow.Options {
	kind := workflow.Kind{Bind: func(e *workflow.Entries) workflow.Kind {
		return workflow.Kind{New: func() workflow.Runner { return &light{entries: e} }}
	}}
	kind.New = func() workflow.Runner { return new(light) }
	return workflow.Options{
		Kinds: map[string]workflow.Kind{"light": kind},
		Sections: map[string]workflow.Section{"lamps": {
			About: "lamps", New: func() workflow.Entry { return new(lamp) },
			Choices: map[string][]string{"colour": {"red", "green"}}, Taken: []string{"own"},
		}},
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

const lamps = `version: 1
secrets: {key: "${env:LAMP_KEY}"}
lamps:
  a: {colour: red, key: "${secret:key}", at: "${env:LAMP_AT}"}
  b: {colour: green, key: "x-${env:OTHER_KEY}", at: home}
  c: {colour: green, key: "${env:UNUSED_KEY}"}
state: {a: string, b: string}
nodes:
  a: {light: {lamp: a}, output: {a: "${{ result }}"}, next: b}
  b: {light: {lamp: b}, output: {b: "${{ result }}"}, next: END}
`

func TestSections_EntriesReachTheirKinds(t *testing.T) {
	t.Parallel()
	w, err := workflow.Parse("in.yaml", []byte(lamps), lampOptions(map[string]string{"LAMP_KEY": "opensesame", "LAMP_AT": "the gate", "OTHER_KEY": "shutsesame"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.CheckEnv(); err != nil {
		t.Error(err)
	}
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := res.State.Get("a")
	b, _ := res.State.Get("b")
	if a != "a is red at the gate with [secret key]" || b != "b is green at home with x-[secret env:OTHER_KEY]" {
		t.Errorf("got %q and %q", a, b)
	}
	text, err := w.Marshal()
	if err != nil || !strings.Contains(string(text), "lamps:\n  a:\n    colour: red\n") {
		t.Errorf("Marshal returned %v\n%s", err, text)
	}
}

func TestSections_MissingVariables(t *testing.T) {
	t.Parallel()
	w, err := workflow.Parse("in.yaml", []byte(lamps), lampOptions(nil))
	if err != nil {
		t.Fatal(err)
	}
	err = w.CheckEnv()
	want := []string{
		"in.yaml:2:11: error[WF704]: the secret key is missing: the environment variable LAMP_KEY is not set",
		"in.yaml:4:3: error[WF705]: lamps.a: in.yaml:2:11: the secret key is missing: the environment variable LAMP_KEY is not set\nthe environment variable LAMP_AT is not set",
		"in.yaml:5:3: error[WF705]: lamps.b: the environment variable OTHER_KEY is not set",
	}
	var all *workflow.Error
	if !errors.As(err, &all) {
		t.Fatal(err)
	}
	for i, p := range all.Problems {
		if i >= len(want) || p.String() != want[i] {
			t.Errorf("problem %d: %s", i, p)
		}
	}
}

func TestSections_Mistakes(t *testing.T) {
	t.Parallel()
	src := `version: 1
lamps:
  own: {colour: red}
  a: {colour: blue}
  b: {colour: red, size: {x: {type: string, min: 1}}}
  c: {colour: red, plan: 3}
  d: {colour: red, at: "${secret:key}"}
  "9": {colour: red}
  e: {colour: red, heads: {a: 1}}
nodes:
  a: {light: {lamp: z}, next: END}
`
	_, err := workflow.Parse("in.yaml", []byte(src), lampOptions(nil))
	var all *workflow.Error
	if !errors.As(err, &all) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all.Problems {
		got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Col, p.Code))
	}
	want := "3:3 WF135, 4:15 WF108, 5:45 WF415, 6:26 WF503, 7:34 WF702, 8:3 WF111, 9:31 WF503"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s\n%v", strings.Join(got, ", "), want, err)
	}
}

func TestOptions_InvalidSections(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"nodes": `the section name "nodes" is reserved`, "lamps": `section "lamps" has no New`} {
		_, err := workflow.Parse("in.yaml", nil, workflow.Options{Sections: map[string]workflow.Section{name: {}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
