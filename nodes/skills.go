package nodes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weftrun/weft/capabilities/skill"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph/workflow"
)

// Skills are folders with instructions for a model, each with a file SKILL.md: see package
// capabilities/skill. The name of the entry means all of its tools, such as skills_load.
//
//	tools:
//	  skills: {skills: {folder: skills}}
//
// The tool that runs scripts is offered only with --allow-exec. Scripts get PATH, HOME and the
// named variables. With approve a person approves each script.
type Skills struct {
	// Folder has a folder for each skill. It is below the root folder of the workflow.
	Folder string `json:"folder"`
	// Env are the names of the variables of the environment that scripts get.
	Env []string `json:"env,omitempty"`
}

func (s *Skills) check() error {
	if s.Folder == "" || !filepath.IsLocal(filepath.FromSlash(s.Folder)) {
		return &refusal{fmt.Sprintf("folder %q: it must be below the workflow's folder", s.Folder)}
	}
	return (&Exec{Env: s.Env}).Check(func(string) bool { return false })
}

// checkEnv reports variables that are not set.
func (s *Skills) checkEnv(env workflow.Env) error {
	if !env.AllowExec {
		return nil
	}
	_, err := (&Exec{Env: s.Env}).environment(env)
	return err
}

// declaredSkills are the skills of a file.
type declaredSkills struct {
	*ToolEntry
	name string
	env  workflow.Env
}

// Name implements [tool.Source].
func (d *declaredSkills) Name() string { return d.name }

// Tools implements [tool.Source].
func (d *declaredSkills) Tools(context.Context) ([]tool.Tool, error) {
	tools, err := d.open()
	if err != nil {
		return nil, fmt.Errorf("tools.%s: %w", d.name, err)
	}
	return tools, nil
}

// open returns the tools of the skills in the folder.
func (d *declaredSkills) open() ([]tool.Tool, error) {
	s := d.ToolEntry.Skills
	root, err := os.OpenRoot(d.env.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Stat(filepath.FromSlash(s.Folder)); err != nil || !info.IsDir() { // it follows no link out of the root
		return nil, &fileError{"read", s.Folder, d.env.Root, errors.Join(err, errors.New("it must be a folder"))}
	}
	set, err := skill.Open(filepath.Join(d.env.Root, filepath.FromSlash(s.Folder)))
	if err != nil {
		return nil, err
	}
	c := skill.Config{Name: d.name, AllowExec: d.env.AllowExec, Approve: d.Approve, Timeout: time.Duration(d.Timeout), Redact: d.env.Covered().Redact}
	if c.AllowExec {
		if c.Env, err = (&Exec{Env: s.Env}).environment(d.env); err != nil {
			return nil, err
		}
		c.Env = withDefaults(c.Env, s.Env)
	}
	return set.Tools(c)
}

// withDefaults adds the variables that programs of tools always get.
func withDefaults(env, named []string) []string {
	for _, name := range []string{"PATH", "HOME"} {
		if value, ok := os.LookupEnv(name); ok && !slices.Contains(named, name) {
			env = append(env, name+"="+value)
		}
	}
	return env
}

var _ tool.Source = (*declaredSkills)(nil)
