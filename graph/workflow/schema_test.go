package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

func TestSchemaPage_IsUpToDate(t *testing.T) {
	samePage(t, "../../docs/workflow.schema.json", string(workflow.Schema(workflow.Options{Kinds: nodes.Kinds(), Sections: sections()})))
}

// resolved returns the schema of the tests' kinds, ready to validate.
func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	return resolvedOf(t, options())
}

func resolvedOf(t *testing.T, o workflow.Options) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(workflow.Schema(o), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plain turns what YAML decodes to into what JSON decodes to.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = plain(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plain(item)
		}
	case int:
		return float64(v)
	case time.Time:
		return v.Format(time.DateOnly)
	}
	return v
}

// validates returns the error of the schema for a file; what YAML itself refuses is no
// matter of the schema.
func validates(r *jsonschema.Resolved, src string) (err error, readable bool) {
	var v any
	if yaml.Unmarshal([]byte(src), &v) != nil {
		return nil, false
	}
	return r.Validate(plain(v)), true
}

// TestSchema_AcceptsValidFiles looks at the right files of all codes, at the
// golden files and at the examples.
func TestSchema_AcceptsValidFiles(t *testing.T) {
	r := resolved(t)
	for _, e := range workflow.Codes() {
		if err, _ := validates(r, e.Right); err != nil && e.Right != "" {
			t.Errorf("%s: the right example: %v", e.Code, err)
		}
	}
	for name, src := range validFiles(t) {
		if err, ok := validates(r, src); err != nil || !ok {
			t.Errorf("%s: %v\n%s", name, err, src)
		}
	}
	o := options()
	o.Kinds["go:shout"] = workflow.Go(func(context.Context, struct {
		Text string `json:"text"`
	}) (string, error) {
		return "", nil
	})
	o.Kinds["go:label"] = workflow.Go(func(context.Context, struct {
		Grain string `json:"grain"`
	}) (string, error) {
		return "", nil
	})
	o.Kinds["go:read"] = workflow.Go(func(context.Context, struct{}) (int, error) { return 0, nil })
	own := resolvedOf(t, o)
	files, _ := filepath.Glob("../../examples/*/*.yaml")
	if len(files) == 0 {
		t.Error("there are no examples")
	}
	for _, file := range files {
		switch filepath.Base(file) {
		case "compose.yaml", workflow.ConfigName: // for containers, and for several workflows
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err, ok := validates(own, string(text)); err != nil || !ok {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestSchema_RejectsInvalidShapes applies the schema to the invalid files. It must reject a third
// of the files with mistakes of shape. It must accept files that only have mistakes in names,
// expressions and paths.
func TestSchema_RejectsInvalidShapes(t *testing.T) {
	r := resolved(t)
	refused, all := 0, 0
	for name, src := range invalidFiles(t) {
		_, err := workflow.Parse("testdata/invalid/in.yaml", []byte(src), options())
		var e *workflow.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", name, err)
		}
		bySchema, readable := validates(r, src)
		if !readable {
			continue
		}
		all++
		if bySchema != nil {
			refused++
		}
		beyond := func(p workflow.Problem) bool { return strings.ContainsAny(string(p.Code[2]), "23") }
		if onlyBeyond := !slices.ContainsFunc(e.Problems, func(p workflow.Problem) bool { return !beyond(p) }); onlyBeyond && bySchema != nil {
			t.Errorf("%s: the schema refuses it for another reason than Load: %v\n%v", name, bySchema, e)
		}
	}
	t.Logf("the schema refuses %d of %d", refused, all)
	if refused*3 < all {
		t.Errorf("the schema refuses %d of %d, want a third", refused, all)
	}
}

// Values that only their own types can read: amounts, rates, times and sizes.
func TestSchema_ChecksValuesWithATextOfTheirOwn(t *testing.T) {
	r := resolved(t)
	for _, tt := range []struct {
		src   string
		valid bool
	}{
		{"budgets: {b: {money: 2.50}}", true},
		{"budgets: {b: {money: \"2.50\", raise: {money: 1}}}", true},
		{"budgets: {b: {money: much}}", false},
		{"budgets: {b: {money: true}}", false},
		{"budgets: {b: {money: 1, raise: {money: [1]}}}", false},
		{"budgets: {b: {rate: 60/m}}", true},
		{"budgets: {b: {rate: 5/30s}}", true},
		{"budgets: {b: {rate: 60}}", false},
		{"budgets: {b: {rate: often}}", false},
		{"prices: {m: {input: 0.25, output: free}}", false},
	} {
		err, readable := validates(r, "version: 1\n"+tt.src+"\nnodes: {a: {set: {}, next: END}}\n")
		if !readable || (err == nil) != tt.valid {
			t.Errorf("%s: got %v (readable: %t), want valid: %t", tt.src, err, readable, tt.valid)
		}
	}
	for node, valid := range map[string]bool{
		"wait: {for: 5m}": true, "wait: {for: \"${{ '5m' }}\"}": true, "wait: {for: 5 minutes}": false, "wait: {for: 5}": false,
		"http: {url: \"https://example.org\", max_body: 2MiB}": true, "http: {url: \"https://example.org\", max_body: 2MB}": false,
	} {
		if err, readable := validates(r, "version: 1\nnodes: {a: {"+node+", next: END}}\n"); !readable || (err == nil) != valid {
			t.Errorf("%s: got %v (readable: %t), want valid: %t", node, err, readable, valid)
		}
	}
}

// places are files with an unknown key in each object of the language, by the name of
// the section in the schema.
var places = map[string]string{
	"":           "version: 1\nzzz: 1\nnodes: {a: {set: {}, next: END}}\n",
	"member":     "version: 1\ntypes: {T: {a: {type: int, zzz: 1}}}\nnodes: {a: {set: {}, next: END}}\n",
	"field":      "version: 1\nstate: {a: {type: int, zzz: 1}}\nnodes: {a: {set: {}, next: END}}\n",
	"limits":     "version: 1\nlimits: {zzz: 1}\nnodes: {a: {set: {}, next: END}}\n",
	"node":       "version: 1\nnodes: {a: {set: {}, next: END, zzz: 1}}\n",
	"for_each":   "version: 1\nnodes: {a: {for_each: {in: [1], zzz: 1}, set: {}, next: END}}\n",
	"retry":      "version: 1\nnodes: {a: {retry: {zzz: 1}, set: {}, next: END}}\n",
	"shared":     "version: 1\nlimits: {shared: {a: {zzz: 1}}}\nnodes: {a: {set: {}, next: END}}\n",
	"setting":    "version: 1\nconfig: {a: {zzz: 1, type: int}}\nnodes: {a: {set: {}, next: END}}\n",
	"env":        "version: 1\nenv: {a: {zzz: 1}}\nnodes: {a: {set: {}, next: END}}\n",
	"interrupt":  "version: 1\ninterrupt: {zzz: 1}\nnodes: {a: {set: {}, next: END}}\n",
	"defaults":   "version: 1\ndefaults: {zzz: 1}\nnodes: {a: {set: {}, next: END}}\n",
	"edge":       "version: 1\nedges: [{zzz: 1, from: a, to: END}]\nnodes: {a: {set: {}}}\n",
	"on_error":   "version: 1\nnodes: {a: {on_error: {zzz: 1}, set: {}, next: END}}\n",
	"cache":      "version: 1\nnodes: {a: {cache: {zzz: 1}, set: {}, next: END}}\n",
	"ask":        "version: 1\nnodes: {a: {ask: {zzz: 1, title: t}, next: END}}\n",
	"form":       "version: 1\nnodes: {a: {ask: {title: t, form: {x: {zzz: 1, type: int}}}, next: END}}\n",
	"expires":    "version: 1\nnodes: {a: {ask: {title: t, expires: {zzz: 1, after: 1s}}, next: END}}\n",
	"escalation": "version: 1\nnodes: {a: {ask: {title: t, escalate: [{zzz: 1, after: 1s, to: x}]}, next: END}}\n",
	"schedule":   "version: 1\nschedules: {s: {zzz: 1, at: \"2026-05-04T06:00:00Z\"}}\nnodes: {a: {set: {}, next: END}}\n",
	"test":       "version: 1\nnodes: {a: {set: {}, next: END}}\ntests: [{zzz: 1, name: t}]\n",
	"mock":       "version: 1\nnodes: {a: {wait: {for: 1s}, next: END}}\ntests: [{name: t, mock: {a: {zzz: 1}}}]\n",
	"failure":    "version: 1\nnodes: {a: {wait: {for: 1s}, next: END}}\ntests: [{name: t, mock: {a: {error: {zzz: 1}}}}]\n",
	"expect":     "version: 1\nnodes: {a: {set: {}, next: END}}\ntests: [{name: t, expect: {zzz: 1}}]\n",
	"embedder":   "version: 1\nembedders: {m: {zzz: 1, provider: openai, model: m, dims: 2}}\nnodes: {a: {set: {}, next: END}}\n",
	"model":      "version: 1\nmodels: {m: {zzz: 1, provider: openai, model: m}}\nnodes: {a: {set: {}, next: END}}\n",
	"budget":     "version: 1\nbudgets: {b: {zzz: 1, calls: 1}}\nnodes: {a: {set: {}, next: END}}\n",
	"price":      "version: 1\nprices: {m: {zzz: 1, input: 1, output: 1}}\nnodes: {a: {set: {}, next: END}}\n",
	"tool":       "version: 1\ntools: {t: {zzz: 1}}\nnodes: {a: {set: {}, next: END}}\n",
	"way":        "version: 1\nnodes: {a: {set: {}, next: [{zzz: 1, if: true, to: END}, {else: END}]}}\n",
}

// TestSchema_HasTheKeysOfTheDecoder asks the decoder, which lists what is
// known where it meets an unknown key.
func TestSchema_HasTheKeysOfTheDecoder(t *testing.T) {
	type object struct{ Properties map[string]any }
	var all struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(workflow.Schema(workflow.Options{Kinds: kinds(), Sections: sections()}), &all); err != nil {
		t.Fatal(err)
	}
	all.Defs[""] = all.object
	for name := range all.Defs["else"].Properties {
		all.Defs["way"].Properties[name] = true // the decoder reads both as one
	}
	delete(all.Defs, "else")
	delete(all.Defs, "type") // its keys are free
	for name, def := range all.Defs {
		src, ok := places[name]
		if !ok {
			t.Errorf("there is no place for the section %q", name)
			continue
		}
		got := []string{}
		for k := range def.Properties {
			got = append(got, k)
		}
		slices.Sort(got)
		if want := knownIn(src); !slices.Equal(got, want) {
			t.Errorf("section %q: the schema has the keys\n%v\nthe decoder\n%v", name, got, want)
		}
	}
}

func knownIn(src string) []string {
	_, err := workflow.Parse("in.yaml", []byte(src), workflow.Options{Kinds: kinds(), Sections: sections()})
	var e *workflow.Error
	if errors.As(err, &e) {
		for _, p := range e.Problems {
			if list, ok := strings.CutPrefix(p.Hint, "known are "); ok && (p.Code == "WF102" || p.Code == "WF501") {
				return slices.Sorted(slices.Values(strings.Split(list, ", ")))
			}
		}
	}
	return []string{fmt.Sprint(err)}
}
