package skill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/internal/rootfs"
	"github.com/weftrun/weft/internal/subprocess"
)

// maxOutput limits what a script writes, in bytes.
const maxOutput = 1 << 20

// ErrRefused is returned for a script that must not or cannot be started.
var ErrRefused = errors.New("skill: the script cannot be started")

// Config are the settings of the tools of skills. Only Name is required.
type Config struct {
	// Name begins the names of the tools, followed by _load, _read and _run.
	Name string
	// AllowExec offers the tool that runs scripts.
	AllowExec bool
	// Approve requires that a person approves each script.
	Approve bool
	// Env are the variables of scripts, as NAME=VALUE. They get no others.
	Env []string
	// Timeout limits a script; 0 is 1 minute.
	Timeout time.Duration
	// Redact, if it is set, changes what scripts write before the model sees it.
	Redact func(string) string
}

// interpreters run scripts that are not executable, by the endings of their names.
var interpreters = map[string]string{".py": "python3", ".sh": "sh", ".js": "node"}

// Tools returns the tools of the skills.
func (s *Set) Tools(c Config) ([]tool.Tool, error) {
	if c.Timeout < 0 {
		return nil, fmt.Errorf("%w: Timeout must not be negative (got %v)", ErrSkill, c.Timeout)
	}
	var list strings.Builder
	list.WriteString("Returns the instructions of a skill and the names of its files. Load a skill before you do such work. The skills are:")
	for _, one := range s.all {
		fmt.Fprintf(&list, "\n- %s: %s", one.Name, one.Description)
	}
	all := []tool.Tool{
		tool.Func(tool.Info{Name: c.Name + "_load", Description: list.String(), MaxResult: 2 * MaxFile}, func(_ context.Context, in loadArgs) (string, error) {
			text, files, err := s.Load(in.Skill)
			if err == nil && len(files) > 0 {
				text += "\n\nFiles of this skill:\n- " + strings.Join(files, "\n- ")
			}
			return text, err
		}),
		tool.Func(tool.Info{Name: c.Name + "_read", Description: "Returns a file of a skill.", MaxResult: MaxFile}, func(_ context.Context, in readArgs) (string, error) {
			return s.Read(in.Skill, in.File)
		}),
	}
	if !c.AllowExec {
		return all, nil
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	info := tool.Info{Name: c.Name + "_run", Description: "Runs a script of a skill in its folder, and returns what it writes.", Timeout: c.Timeout, MaxResult: maxOutput}
	if c.Approve {
		info.Mode = tool.Permit
	}
	return append(all, tool.Func(info, func(ctx context.Context, in runArgs) (string, error) { return s.run(ctx, c, in) })), nil
}

type loadArgs struct {
	Skill string `json:"skill" jsonschema:"the name of the skill"`
}

type readArgs struct {
	Skill string `json:"skill" jsonschema:"the name of the skill"`
	File  string `json:"file" jsonschema:"the name of the file in the folder of the skill"`
}

type runArgs struct {
	Skill  string   `json:"skill" jsonschema:"the name of the skill"`
	Script string   `json:"script" jsonschema:"the name of the script in the folder of the skill"`
	Args   []string `json:"args,omitempty" jsonschema:"the arguments of the script"`
	Input  string   `json:"input,omitempty" jsonschema:"the standard input of the script"`
}

// run runs a script and returns its standard output. The error of a script that fails has the end
// of its standard error.
func (s *Set) run(ctx context.Context, c Config, in runArgs) (string, error) {
	cmd, err := s.command(in)
	if err != nil {
		return "", err
	}
	cmd.Env = slices.Clone(c.Env)
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	redact := c.Redact
	if redact == nil {
		redact = func(text string) string { return text }
	}
	out, stderr, err := subprocess.Run(ctx, cmd, strings.NewReader(in.Input))
	if err != nil {
		const shown = 2 << 10
		text := strings.TrimSpace(redact(string(stderr)))
		return "", fmt.Errorf("%s: %w: %s", in.Script, err, strings.ToValidUTF8(text[max(0, len(text)-shown):], "�"))
	}
	if !utf8.Valid(out) {
		return "", fmt.Errorf("%w %s: %s: its output is not UTF-8 text", ErrSkill, in.Skill, in.Script)
	}
	return redact(string(out)), nil
}

// command returns the program of a script. A script is a regular file in the folder of its skill.
func (s *Set) command(in runArgs) (c subprocess.Command, err error) {
	refuse := func(why error) error { return fmt.Errorf("%w: %s of %s: %w", ErrRefused, in.Script, in.Skill, why) }
	if c.Dir, err = s.dir(in.Skill); err != nil {
		return c, err
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return c, err
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return c, err
	}
	defer root.Close()
	name := filepath.FromSlash(path.Clean(in.Script))
	info, err := root.Stat(name) // it follows no link out of the folder
	switch {
	case err != nil:
		return c, refuse(reason(err))
	case !info.Mode().IsRegular():
		return c, refuse(rootfs.ErrIrregular)
	}
	c.Path, c.Args, c.MaxOutput = filepath.Join(c.Dir, name), in.Args, maxOutput
	if info.Mode()&0o111 != 0 {
		return c, nil
	}
	by, ok := interpreters[filepath.Ext(name)]
	if !ok {
		return c, refuse(errors.New("it is not executable"))
	}
	c.Args = append([]string{c.Path}, in.Args...)
	if c.Path, err = subprocess.Find(by); err != nil {
		return c, refuse(err)
	}
	return c, nil
}
