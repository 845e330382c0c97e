package author

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/server/studio"
	"github.com/weftrun/weft/state/record"
)

// maxFile is how many bytes of a file are read.
const maxFile = 1 << 20

// Folder is the workflows of a folder. It implements studio.Editor.
type Folder struct {
	// Path is the folder; "" keeps no files.
	Path string
	// List returns the paths of the workflows, seen from the current folder.
	List func() ([]string, error)
	// Named returns the path of the workflow of a graph, "" if there is none; nil knows none.
	Named func(graph string) string
	// Options returns what a workflow with this path may use.
	Options func(path string) (workflow.Options, error)

	mu sync.Mutex // held while a file is compared and written
}

var _ studio.Editor = (*Folder)(nil)

// Keeps implements studio.Editor.
func (f *Folder) Keeps() bool { return f.Path != "" }

// FileOf implements studio.Editor.
func (f *Folder) FileOf(graph string) (command, path string) {
	if f.Named != nil {
		command = f.Named(graph)
	}
	if path = f.below(command); f.check(path) != nil {
		path = ""
	}
	return command, path
}

// below returns the path, from the folder, of a file in it; "" for another file.
func (f *Folder) below(file string) string {
	if below, err := filepath.Rel(f.Path, file); err == nil && filepath.IsLocal(below) {
		return filepath.ToSlash(below)
	}
	return ""
}

// Files implements studio.Editor.
func (f *Folder) Files() (names []string, err error) {
	if !f.Keeps() {
		return nil, nil
	}
	list, err := f.List()
	if err != nil {
		return nil, err
	}
	for _, name := range list {
		if below := f.below(name); below != "" {
			names = append(names, below)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// check returns a *studio.PathError for a path that is not that of a workflow.
func (f *Folder) check(name string) error {
	wrong := func(reason string) error { return &studio.PathError{Path: name, Reason: reason} }
	switch extension := path.Ext(name); {
	case !f.Keeps():
		return wrong("cannot be stored here")
	case name == "":
		return wrong("needs a name, such as hello.yaml")
	case !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, "\\"):
		return wrong("must be below the folder that is served")
	case extension != ".yaml" && extension != ".yml":
		return wrong("must end in .yaml or .yml")
	case strings.HasPrefix(name, ".") || strings.Contains(name, "/."):
		return wrong("must not be hidden")
	}
	return nil
}

// Read implements studio.Editor.
func (f *Folder) Read(name string) (studio.File, error) {
	if err := f.check(name); err != nil {
		return studio.File{}, err
	}
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return studio.File{}, err
	}
	defer root.Close()
	return read(root, name)
}

func read(root *os.Root, name string) (studio.File, error) {
	file := studio.File{Path: name}
	wrong := func(reason string) error { return &studio.PathError{Path: name, Reason: reason} }
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file, wrong("does not exist")
	case err != nil:
		return file, wrong("cannot be read: " + reasonOf(err))
	case !info.Mode().IsRegular():
		return file, wrong("is no file")
	}
	in, err := root.Open(name)
	if err != nil {
		return file, wrong("cannot be read: " + reasonOf(err))
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return file, fmt.Errorf("author: read %q: %w", name, err)
	}
	if len(text) > maxFile {
		return file, wrong(fmt.Sprintf("must have at most %d bytes", maxFile))
	}
	file.Text, file.Tag = string(text), tagOf(text)
	return file, nil
}

// reasonOf returns an error without the path, which the caller has.
func reasonOf(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

func tagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Write implements studio.Editor. The file is replaced at once.
func (f *Folder) Write(file studio.File) (tag string, err error) {
	if err := f.check(file.Path); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := read(root, file.Path)
	var none *studio.PathError
	switch {
	case errors.As(err, &none) && !exists(root, file.Path):
		now = studio.File{Path: file.Path}
	case err != nil:
		return "", err
	}
	if now.Tag != file.Tag {
		return "", &studio.ConflictError{Now: now}
	}
	mode := fs.FileMode(0o644)
	if info, err := root.Stat(file.Path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := root.MkdirAll(path.Dir(file.Path), 0o755); err != nil {
		return "", fmt.Errorf("author: write %q: %w", file.Path, err)
	}
	beside := path.Join(path.Dir(file.Path), "."+path.Base(file.Path)+".saving")
	if err := write(root, beside, file.Text, mode); err != nil {
		return "", errors.Join(fmt.Errorf("author: write %q: %w", file.Path, err), ignoreMissing(root.Remove(beside)))
	}
	if err := root.Rename(beside, file.Path); err != nil {
		return "", errors.Join(fmt.Errorf("author: write %q: %w", file.Path, err), ignoreMissing(root.Remove(beside)))
	}
	return tagOf([]byte(file.Text)), nil
}

func exists(root *os.Root, name string) bool {
	_, err := root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// write writes a new file and syncs it.
func write(root *os.Root, name, text string, mode fs.FileMode) error {
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// shown returns the name of a file in mistakes.
func (f *Folder) shown(name string) string {
	if f.Keeps() && f.check(name) == nil {
		return name
	}
	return "workflow.yaml"
}

// parse reads a text as the workflow with a path. done must be called afterwards.
func (f *Folder) parse(name, text string) (w *workflow.Workflow, shown string, done func(), err error) {
	done = func() {}
	shown = f.shown(name)
	file := filepath.Join(f.Path, filepath.FromSlash(shown))
	if !f.Keeps() { // an empty folder, since a text must not name files of this machine
		empty, err := os.MkdirTemp("", "weft-editor-")
		if err != nil {
			return nil, shown, done, err
		}
		done = func() { _ = os.RemoveAll(empty) } // it is empty
		file = filepath.Join(empty, shown)
	}
	o, err := f.Options(file)
	if err != nil {
		return nil, shown, done, err
	}
	w, err = workflow.Parse(file, []byte(text), o)
	return w, filepath.ToSlash(file), done, err
}

// Check implements studio.Editor.
func (f *Folder) Check(_ context.Context, name, text string) (c studio.Checked, err error) {
	w, file, done, err := f.parse(name, text)
	defer done()
	var g *graph.Graph[record.Record]
	if err == nil {
		c.Name, c.Tests = w.Name, w.Tests()
		if g, err = w.Compile(graph.Config{}); err == nil {
			c.Mistakes = mistakesOf(w.Warnings(), file)
			d := g.Untyped().Draw(1)
			c.Drawing = &d
			return c, nil
		}
	}
	var invalid *workflow.Error
	if !errors.As(err, &invalid) {
		return c, err
	}
	c.Mistakes = mistakesOf(invalid.Problems, file)
	return c, nil
}

// mistakesOf returns problems as the studio shows them. Those of the file itself have no name.
func mistakesOf(problems []workflow.Problem, file string) (all []studio.Mistake) {
	for _, p := range problems {
		m := studio.Mistake{Code: string(p.Code), Line: max(p.Line, 1), Col: max(p.Col, 1), Width: max(p.Width, 1), Text: p.Msg, Hint: p.Hint, Warning: p.Warning, Fix: studio.Fix(p.Fix)}
		if path.Clean(p.File) != path.Clean(file) {
			m.File = path.Base(p.File)
		}
		all = append(all, m)
	}
	return all
}

// Format implements studio.Editor.
func (f *Folder) Format(name, text string) string {
	out, err := workflow.Format(path.Base(name), []byte(text))
	if err != nil {
		return text
	}
	return string(out)
}

// Test implements studio.Editor.
func (f *Folder) Test(ctx context.Context, name, text string) (all []studio.Tested, err error) {
	w, file, done, err := f.parse(name, text)
	defer done()
	var invalid *workflow.Error
	if errors.As(err, &invalid) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	report, err := w.RunTests(ctx, workflow.TestOptions{})
	if err != nil && !errors.As(err, &invalid) {
		return nil, err
	}
	for _, t := range report.Tests {
		tested := studio.Tested{Name: t.Name, Line: t.Line, Mistakes: mistakesOf(t.Failures, file), Took: t.Elapsed}
		if t.Err != nil {
			tested.Error = t.Err.Error()
		}
		all = append(all, tested)
	}
	return all, nil
}
