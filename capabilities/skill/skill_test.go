package skill_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/capabilities/skill"
	"github.com/weftrun/weft/capabilities/tool"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/weftrun/weft/internal/subprocess.startAll"))
}

const report = "---\nname: report\ndescription: >\n  Writes a report\n  of sales.\nlicense: MIT\n---\n# Report\n\nRead style.md first.\n"

// folder writes files below a new folder. The name of a script ends in !.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		mode := os.FileMode(0o600)
		if executable, ok := strings.CutSuffix(name, "!"); ok {
			name, mode = executable, 0o700
		}
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string) *skill.Set {
	t.Helper()
	s, err := skill.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpen_ReadsNamesAndDescriptions(t *testing.T) {
	s := open(t, folder(t, map[string]string{
		"report/SKILL.md": report, "mail/SKILL.md": "---\r\nname: mail\r\ndescription: Writes a mail\r\n---", "notes/x.md": "", "readme.md": "",
	}))
	want := []skill.Skill{{Name: "mail", Description: "Writes a mail"}, {Name: "report", Description: "Writes a report of sales."}}
	if got := s.Skills(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOpen_ReportsAllMistakes(t *testing.T) {
	dir := folder(t, map[string]string{
		"a/SKILL.md": "# no front matter", "b/SKILL.md": "---\nname: other\ndescription: x\n---\n", "c/SKILL.md": "---\nname: c\n---\n",
		"D/SKILL.md": "---\nname: D\ndescription: x\n---\n", "e/SKILL.md": "---\nname: [\n---\n", "f/SKILL.md": "\xff",
		"g/SKILL.md": strings.Repeat("x", skill.MaxFile+1), "h/SKILL.md": "---\nname: h\ndescription: " + strings.Repeat("x", skill.MaxDescription+1) + "\n---\n",
	})
	_, err := skill.Open(dir)
	if !errors.Is(err, skill.ErrSkill) {
		t.Fatalf("got %v, want ErrSkill", err)
	}
	for _, want := range []string{
		"a: SKILL.md: it must begin with a line ---", `b: SKILL.md: name must be that of the folder (got "other")`, "c: SKILL.md: description must have",
		"D: SKILL.md: name must be at most 64 lower-case", "e: SKILL.md: yaml: ", "f: SKILL.md: it is not UTF-8", "g: SKILL.md: it is larger than", "h: SKILL.md: description must have",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %q", err, want)
		}
	}
	if _, err := skill.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no folder in") {
		t.Errorf("an empty folder: got %v", err)
	}
}

func TestLoad_ReturnsInstructionsAndFiles(t *testing.T) {
	s := open(t, folder(t, map[string]string{"report/SKILL.md": report, "report/style.md": "short", "report/scripts/a.sh": "", "report/.git/x": ""}))
	text, files, err := s.Load("report")
	if err != nil || text != "# Report\n\nRead style.md first." || !slices.Equal(files, []string{"scripts/a.sh", "style.md"}) {
		t.Errorf("got %q, %q, %v", text, files, err)
	}
	if text, err := s.Read("report", "./scripts/../style.md"); text != "short" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if _, _, err := s.Load("repport"); !errors.Is(err, skill.ErrSkill) || !strings.Contains(err.Error(), "known are report") {
		t.Errorf("got %v, want the known skills", err)
	}
}

// leaves returns skills whose names and links lead out of the folder.
func leaves(t *testing.T) (s *skill.Set, names []string) {
	dir := folder(t, map[string]string{"skills/report/SKILL.md": report, "skills/other/SKILL.md": strings.ReplaceAll(report, "name: report", "name: other"), "secret.sh!": "#!/bin/sh\necho secret\n"})
	for name, target := range map[string]string{"link.sh": "../../secret.sh", "sibling.sh": "../other/SKILL.md", "up": "../.."} {
		if err := os.Symlink(target, filepath.Join(dir, "skills/report", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("..", filepath.Join(dir, "skills/linked")); err != nil {
		t.Fatal(err)
	}
	return open(t, filepath.Join(dir, "skills")), []string{
		"../../secret.sh", "link.sh", "sibling.sh", "up/secret.sh", filepath.Join(dir, "secret.sh"), "", ".", "none", "../other/SKILL.md",
	}
}

func TestRead_StaysInTheFolder(t *testing.T) {
	s, names := leaves(t)
	for _, name := range names {
		if text, err := s.Read("report", name); text != "" || !errors.Is(err, skill.ErrSkill) || strings.Contains(err.Error(), os.TempDir()) && !filepath.IsAbs(name) {
			t.Errorf("%q: got %q, %v, want a refusal without the path of this machine", name, text, err)
		}
	}
	for _, name := range []string{"linked", "..", "report/../..", ""} {
		if _, _, err := s.Load(name); !errors.Is(err, skill.ErrSkill) {
			t.Errorf("skill %q: got %v, want a refusal", name, err)
		}
	}
}

// call calls a tool of the skills.
func call(t *testing.T, ctx context.Context, s *skill.Set, c skill.Config, name string, args map[string]any) (string, error) {
	t.Helper()
	c.Name = "skills"
	all, err := s.Tools(c)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.Info().Name == name {
			out, err := one.Call(ctx, tool.Input{Arguments: data})
			if err != nil {
				return "", err
			}
			return out[0].Text, nil
		}
	}
	return "", errors.New("there is no tool " + name)
}

func TestTools_LoadInStages(t *testing.T) {
	s := open(t, folder(t, map[string]string{"report/SKILL.md": report, "report/style.md": "short"}))
	all, err := s.Tools(skill.Config{Name: "skills"})
	if err != nil || len(all) != 2 {
		t.Fatalf("got %d tools, %v, want two", len(all), err)
	}
	if d := all[0].Info().Description; !strings.Contains(d, "\n- report: Writes a report of sales.") || strings.Contains(d, "style.md") {
		t.Errorf("the description is %q, want names and descriptions alone", d)
	}
	if text, err := call(t, t.Context(), s, skill.Config{}, "skills_load", map[string]any{"skill": "report"}); err != nil || !strings.HasSuffix(text, "first.\n\nFiles of this skill:\n- style.md") {
		t.Errorf("got %q, %v", text, err)
	}
	if text, err := call(t, t.Context(), s, skill.Config{}, "skills_read", map[string]any{"skill": "report", "file": "style.md"}); text != "short" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestRun_RunsScriptsOfTheFolder(t *testing.T) {
	s := open(t, folder(t, map[string]string{
		"report/SKILL.md": report, "report/a!": "#!/bin/sh\necho \"$1 $X $(cat) $(ls)\"\n", "report/b.sh": "echo \"by sh $1\"\n", "report/fail.sh": "echo key-1 is wrong >&2\nexit 3\n",
		"report/c.txt": "", "report/slow.sh": "exec sleep 600\n", "report/much.sh": "exec yes\n",
	}))
	for _, test := range []struct {
		args  map[string]any
		want  string
		fails string
	}{
		{args: map[string]any{"script": "a", "args": []string{"one"}, "input": "two"}, want: "one x two SKILL.md\na\nb.sh\nc.txt\nfail.sh\nmuch.sh\nslow.sh\n"},
		{args: map[string]any{"script": "b.sh", "args": []string{"; echo no"}}, want: "by sh ; echo no\n"},
		{args: map[string]any{"script": "fail.sh"}, fails: "exit status 3: *** is wrong"},
		{args: map[string]any{"script": "c.txt"}, fails: "it is not executable"},
		{args: map[string]any{"script": "."}, fails: "not a regular file"},
		{args: map[string]any{"script": "slow.sh"}, fails: "deadline exceeded"},
		{args: map[string]any{"script": "much.sh"}, fails: "too large"},
	} {
		test.args["skill"] = "report"
		limit := 10 * time.Second
		if test.args["script"] == "slow.sh" {
			limit = 100 * time.Millisecond
		}
		c := skill.Config{AllowExec: true, Env: []string{"PATH=/usr/bin:/bin", "X=x"}, Timeout: limit, Redact: func(text string) string { return strings.ReplaceAll(text, "key-1", "***") }}
		got, err := call(t, t.Context(), s, c, "skills_run", test.args)
		if got != test.want || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%v: got %q, %v, want %q%s", test.args["script"], got, err, test.want, test.fails)
		}
	}
}

func TestRun_NeedsPermissionAndStaysInTheFolder(t *testing.T) {
	s, names := leaves(t)
	if _, err := call(t, t.Context(), s, skill.Config{}, "skills_run", nil); err == nil || err.Error() != "there is no tool skills_run" {
		t.Errorf("got %v, want no tool without AllowExec", err)
	}
	for _, name := range names {
		if out, err := call(t, t.Context(), s, skill.Config{AllowExec: true}, "skills_run", map[string]any{"skill": "report", "script": name}); !errors.Is(err, skill.ErrRefused) {
			t.Errorf("%q: got %q, %v, want ErrRefused", name, out, err)
		}
	}
	all, err := s.Tools(skill.Config{Name: "skills", AllowExec: true, Approve: true})
	if err != nil || all[2].Info().Mode != tool.Permit || all[0].Info().Mode != tool.Free {
		t.Errorf("got %+v, %v, want approval of scripts alone", all, err)
	}
}
