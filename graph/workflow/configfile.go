package workflow

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/internal/exprs"
)

// ConfigName is the name of the file that [FindConfig] looks for.
const ConfigName = "weft.yaml"

// FindConfig returns the path of the file weft.yaml for a workflow: in the folder of the workflow,
// or else in the nearest folder above it, up to the one that has the repository (.git). It returns
// "" if there is none. Without a repository it looks only beside the workflow.
//
// A weft.yaml has version: 1 and the sections of the program, such as models and tools, which all
// workflows below it can use. Its secrets are for these sections alone.
func FindConfig(workflow string) (string, error) {
	full, err := filepath.Abs(workflow)
	if err != nil {
		return "", fmt.Errorf("workflow: %w", err)
	}
	beside := filepath.Dir(full)
	for dir, last := beside, repository(beside); ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ConfigName)
		switch info, err := os.Stat(path); {
		case err == nil && info.Mode().IsRegular() && path != full:
			if dir == beside {
				path = filepath.Join(filepath.Dir(workflow), ConfigName)
			}
			return path, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("workflow: %w", err)
		case dir == last:
			return "", nil
		}
	}
}

// repository returns the folder at or above dir that has the repository, or dir itself if none has.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// CheckConfig checks a file for [Options.Config]. The error is an *Error that holds every mistake,
// unless the file cannot be read at all.
func CheckConfig(path string, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	o.Config = path
	l := &loader{opts: o, nonce: newNonce(), problems: &problems{most: maxProblems}}
	if err := l.readConfig(); err != nil {
		return err
	}
	return l.err()
}

// LoadEntries returns the entries of a file for [Options.Config], for programs that use them
// without a workflow. The error is an *Error that holds every mistake, unless the file cannot be
// read at all.
func LoadEntries(path string, o Options) (*Entries, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Config = path
	l := &loader{
		opts: o, nonce: newNonce(), problems: &problems{most: maxProblems},
		env: Env{Root: o.Root, Out: o.Out, AllowHosts: o.AllowHosts, AllowExec: o.AllowExec},
	}
	if err := l.readConfig(); err != nil {
		return nil, err
	}
	ents := &Entries{all: map[string]map[string]*entry{}, used: map[*entry]bool{}, env: l.env}
	ents.add(&l.opts, l.conf)
	if len(l.conf) > 0 {
		ents.env.vault = l.conf[0].src.vault
	}
	return ents, l.err()
}

// readConfig decodes the file Options.Config, if there is one.
func (l *loader) readConfig() error {
	if l.opts.Config == "" {
		return nil
	}
	text, err := readAtMost(l.opts.Config)
	if err != nil {
		return err
	}
	src := &source{path: filepath.ToSlash(l.opts.Config), text: text, problems: l.problems, opts: &l.opts, exprs: exprs.NewCompiler(maxExprs)}
	src.vault = &vault{src: src, lookup: l.opts.lookup(), nonce: l.nonce, shared: true}
	known := len(l.problems.found)
	enough(func() *Workflow {
		if root := src.parse(); root != nil {
			l.config(src, root)
		}
		return nil
	})
	l.halfRead = slices.ContainsFunc(l.problems.found[known:], func(p Problem) bool { return !p.Warning })
	return nil
}

// readAtMost returns the text of a file, one byte more than allowed at most.
func readAtMost(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("workflow: %w", err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

func (l *loader) config(src *source, root *yaml.Node) {
	o, ok := src.record(root, "a shared file", slices.Concat([]string{"version", "secrets"}, l.opts.sectionNames())...)
	if !ok {
		return
	}
	src.version(root, o.get("version"))
	if n := o.get("secrets"); n != nil {
		src.vault.secrets = src.secrets(n)
	}
	src.types = maps.Clone(l.opts.Types)
	c := checker{source: src, plan: &plan{types: src.types, root: o}, load: l}
	l.conf = c.entries(o)
	l.hidden = src.vault.hidden
}

// bindEntries decodes the entries of the file, and gives them and the shared ones to the kinds.
func (c *checker) bindEntries() *Entries {
	own := c.entries(c.plan.root)
	known := len(c.found)
	ents := &Entries{all: map[string]map[string]*entry{}, used: map[*entry]bool{}, env: c.load.env}
	ents.add(&c.load.opts, c.load.conf)
	ents.add(&c.load.opts, own)
	c.load.halfRead = c.load.halfRead || len(c.found) > known
	c.vault.hidden = append(c.vault.hidden, c.load.hidden...)
	ents.env.vault, ents.env.types = c.vault, c.plan.types
	c.opts = c.load.opts.bind(ents)
	return ents
}
