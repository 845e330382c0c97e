package verbs

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
)

//go:embed templates
var templateFiles embed.FS

// template is a folder to start from. Its files are in templates/NAME. A suffix .txt is removed
// from their names; it keeps Go from compiling them into this program.
type template struct {
	name, about string
	next        []string // commands to run then, in the folder; %s is the invocation of the program
}

// getWeft is a placeholder for the command that adds Weft to a module.
const getWeft = "<get>"

// module is the path of this module.
const module = "github.com/weftrun/weft"

// release matches the version of a tagged module.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// getting returns the command that adds this version of Weft to a module. For a version without a
// release it uses a clone.
func getting(info *debug.BuildInfo) string {
	if info != nil {
		for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
			if m.Path == module && m.Replace == nil && release.MatchString(m.Version) {
				return "go get " + module + "@" + m.Version
			}
		}
	}
	return "go mod edit -replace " + module + "=CLONE   # CLONE is the folder of a clone of Weft: this version is no release"
}

var templates = []template{
	{"minimal", "one node that greets", []string{"%s test workflow.yaml", "%s run workflow.yaml --input name=Ada"}},
	{"approval", "a note that a person approves, in a loop", []string{"%s test workflow.yaml", "%s run workflow.yaml --thread demo --input topic=tea", "%s resume --thread demo --answer true"}},
	{"agent", "a program with a model and tools, one of which a person permits", []string{getWeft, "go mod tidy", "go run . run workflow.yaml --thread demo --input question='What became of A-17?'", "go run . inbox"}},
	{"capability", "a program with an agent whose capabilities require and provide", []string{getWeft, "go mod tidy", "go run . run workflow.yaml --thread demo --input city=Oslo", "go run . inbox"}},
	{"go-nodes", "a program with a node in Go", []string{getWeft, "go mod tidy", "go run . run workflow.yaml --input text='one two three'"}},
}

func (a *app) newVerb() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "new [DIR]",
		Short: "Begin a workflow from a template",
		Long: `New makes a folder with a workflow that runs, and the JSON Schema that lets an editor
complete it. Without DIR it lists the templates.`,
		Args: a.arguments("DIR", 0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listTemplates()
			}
			return a.new(args[0], name)
		},
	}
	cmd.Flags().StringVarP(&name, "template", "t", "minimal", "the template: minimal, approval, agent, capability or go-nodes")
	return cmd
}

func (a *app) listTemplates() error {
	t := a.Table("TEMPLATE", "WHAT IT IS")
	for _, one := range templates {
		row := struct {
			Template string `json:"template"`
			About    string `json:"about"`
		}{one.name, one.about}
		if err := t.Add(row, one.name, one.about); err != nil {
			return err
		}
	}
	return t.Flush()
}

func (a *app) new(dir, name string) error {
	at := slices.IndexFunc(templates, func(t template) bool { return t.name == name })
	if at < 0 {
		return reports.Usage(a.Invocation+" new lists the templates", "there is no template %q", name)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return reports.Usage("name a folder that is empty or not there", "%s is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return reports.CannotRead(dir, err)
	}
	files, err := templates[at].files(projectName(dir))
	if err != nil {
		return err
	}
	files["workflow.schema.json"] = string(workflow.Schema(a.options()))
	if err := writeAll(dir, files); err != nil {
		return reports.CannotWrite(dir, err)
	}
	next := []string{"cd " + reports.Quote(dir)}
	for _, line := range templates[at].next {
		if line == getWeft {
			info, _ := debug.ReadBuildInfo()
			line = getting(info)
		}
		next = append(next, strings.ReplaceAll(line, "%s", a.Invocation))
	}
	return a.created(dir, name, files, next)
}

// created lists the new files, and the next commands.
func (a *app) created(dir, name string, files map[string]string, next []string) error {
	var names []string
	for file := range files {
		names = append(names, filepath.Join(dir, file))
	}
	slices.Sort(names)
	if a.JSON {
		return a.PrintJSON(struct {
			Dir      string   `json:"dir"`
			Template string   `json:"template"`
			Files    []string `json:"files"`
			Next     []string `json:"next"`
		}{dir, name, names, next})
	}
	_, err := fmt.Fprintf(a.Stdout, "%s\n\nGo on with:\n  %s\n", strings.Join(names, "\n"), strings.Join(next, "\n  "))
	return err
}

// files returns the files of a template by name.
func (t template) files(project string) (map[string]string, error) {
	files := map[string]string{}
	folder := "templates/" + t.name
	entries, err := templateFiles.ReadDir(folder)
	for _, e := range entries {
		text, err := templateFiles.ReadFile(folder + "/" + e.Name())
		if err != nil {
			return nil, err
		}
		files[strings.TrimSuffix(e.Name(), ".txt")] = strings.ReplaceAll(string(text), "NAME", project)
	}
	return files, err
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// projectName returns the name of a workflow and of a Go module for the name of a folder.
func projectName(dir string) string {
	path, err := filepath.Abs(dir)
	if err != nil {
		path = dir
	}
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(filepath.Base(path)), "-"), "-0123456789")
	return cmp.Or(name, "flow")
}

// writeAll creates files, and fails if one exists. If it fails, it removes those that it created.
func writeAll(dir string, files map[string]string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var made []string
	defer func() {
		for _, name := range made {
			if err != nil {
				_ = os.Remove(name) // the first error is reported
			}
		}
	}()
	for name, text := range files {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		made = append(made, f.Name())
		_, err = f.WriteString(text)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
