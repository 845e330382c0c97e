package nodes_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state/message"
)

const skilled = `version: 1
state: {answer: string}
tools: {skills: {skills: {folder: skills, env: [SKILL_KEY]}}}
nodes:
  ask: {agent: {model: m, prompt: "Write the report", tools: [skills]}, output: {answer: "${{ result.text }}"}, next: END}
`

// A model sees descriptions, loads the instructions, reads a file and runs a script.
func TestSkills_AreLoadedInStages(t *testing.T) {
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{
		"skills/report/SKILL.md": "---\nname: report\ndescription: Writes a report\n---\nRead style.md.", "skills/report/style.md": "short",
		"skills/report/sum.sh": `echo "sum for $SKILL_KEY"`,
	})
	for _, allowed := range []bool{true, false} {
		var offered []string
		m := model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
			ask := func(name, args string) model.Answer {
				return model.Ask(message.Call{ID: name, Name: name, Arguments: []byte(args)})
			}
			last := r.Messages[len(r.Messages)-1]
			text := last.Text()
			if len(last.Results) > 0 {
				text = last.Results[0].Text()
			}
			switch {
			case len(last.Results) == 0:
				offered = nil
				for _, one := range r.Tools {
					offered = append(offered, one.Name)
				}
				if !strings.Contains(r.Tools[0].Description, "- report: Writes a report") {
					return model.Fail(errors.New("no description of the skill"))
				}
				return ask("skills_load", `{"skill": "report"}`)
			case strings.HasPrefix(text, "Read style.md."):
				return ask("skills_read", `{"skill": "report", "file": "style.md"}`)
			case text == "short":
				return ask("skills_run", `{"skill": "report", "script": "sum.sh"}`)
			}
			return model.Say(text)
		})
		p := nodes.Program{Models: map[string]model.Model{"m": m}}
		w, err := workflow.Parse(filepath.Join(dir, "in.yaml"), []byte(skilled), workflow.Options{
			Kinds: p.Kinds(), Sections: p.Sections(), AllowExec: allowed,
			LookupEnv: func(name string) (string, bool) { return "k-1", name == "SKILL_KEY" },
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := runOf(t, w)
		names, want := "skills_load skills_read", "there is no tool"
		if allowed {
			names, want = names+" skills_run", "sum for k-1"
		}
		if err != nil || !strings.Contains(out, want) || strings.Join(offered, " ") != names {
			t.Errorf("allowed %t: got %s, %v with the tools %q, want %q and %q", allowed, out, err, offered, want, names)
		}
	}
}

func TestSkills_Mistakes(t *testing.T) {
	t.Parallel()
	o := toolOptions(nil)
	for entry, want := range map[string]string{
		"{skills: {folder: ../up}}":                                "must be below the workflow's folder",
		"{skills: {folder: a, env: [A=B]}}":                        "env must have names of variables",
		"{skills: {folder: a}, description: x}":                    "skills have descriptions of their own",
		`{skills: {folder: a}, http: {url: "https://a.example/"}}`: "either http, workflow, mcp, documents or skills",
	} {
		src := "version: 1\ntools: {t: " + entry + "}\nnodes: {a: {set: {}, next: END}}\n"
		if _, err := workflow.Parse("in.yaml", []byte(src), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", entry, err, want)
		}
	}
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{"elsewhere/a/SKILL.md": "---\nname: a\ndescription: x\n---\n", "in/x": ""})
	if err := os.Symlink("../elsewhere", filepath.Join(dir, "in/skills")); err != nil {
		t.Fatal(err)
	}
	src := "version: 1\nstate: {answer: string}\ntools: {skills: {skills: {folder: skills}}}\nnodes: {a: {tool: {name: skills_load, args: {skill: a}}, output: {answer: \"${{ result.text }}\"}, next: END}}\n"
	w, err := workflow.Parse(filepath.Join(dir, "in/in.yaml"), []byte(src), o)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := runOf(t, w); err == nil || !strings.Contains(err.Error(), "skills") {
		t.Errorf("a link to another folder: got %s, %v, want a refusal", out, err)
	}
}
