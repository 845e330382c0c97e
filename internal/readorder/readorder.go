package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// reference leads from a file to another one that declares what it uses.
type reference struct {
	from, to string
	names    []string // what from uses, sorted
}

// report is what count found.
type report struct {
	references int         // between any two files
	upward     []reference // those that run against the order, by the places of from and to
}

// share returns how many of 100 references run upwards.
func (r report) share() float64 {
	return 100 * float64(len(r.upward)) / float64(max(1, r.references))
}

// count counts the references of the package in a folder by the order that a file lists. It returns
// an error if that does not name each file of the package once, and no other.
func count(folder, order string) (report, error) {
	text, err := os.ReadFile(order)
	if err != nil {
		return report{}, err
	}
	p, err := list(folder)
	if err != nil {
		return report{}, err
	}
	place, err := places(string(text), p.GoFiles)
	if err != nil {
		return report{}, fmt.Errorf("%s: %w", order, err)
	}
	refs, err := referencesOf(p)
	if err != nil {
		return report{}, err
	}
	rep := report{references: len(refs)}
	for _, r := range refs {
		if place[r.to] < place[r.from] {
			rep.upward = append(rep.upward, r)
		}
	}
	slices.SortFunc(rep.upward, func(a, b reference) int {
		return cmp.Or(cmp.Compare(place[a.from], place[b.from]), cmp.Compare(place[a.to], place[b.to]))
	})
	return rep, nil
}

// fileName is the name of a file in the order.
var fileName = regexp.MustCompile(`\b\w+\.go\b`)

// places returns the place of each file in the order that a doc comment lists.
func places(text string, files []string) (map[string]int, error) {
	_, section, ok := strings.Cut(text, "\n// # Reading order\n")
	if !ok {
		return nil, errors.New(`there is no heading "# Reading order"`)
	}
	section, _, _ = strings.Cut(section, "\n// # ")
	place := map[string]int{}
	var mistakes []error
	for _, name := range fileName.FindAllString(section, -1) {
		_, twice := place[name]
		switch {
		case twice:
			mistakes = append(mistakes, fmt.Errorf("%s is listed twice: remove one", name))
			continue
		case !slices.Contains(files, name):
			mistakes = append(mistakes, fmt.Errorf("%s is listed, but is no file of the package: remove it", name))
		}
		place[name] = len(place)
	}
	for _, f := range files {
		if _, ok := place[f]; !ok {
			mistakes = append(mistakes, fmt.Errorf("%s is not listed: add it under %q, after the files that use it", f, "# Reading order"))
		}
	}
	return place, errors.Join(mistakes...)
}

// listed is a package as "go list -export" describes it.
type listed struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
	DepOnly                 bool

	exports map[string]string // import path → file with its types
}

// list describes the package in a folder, with the exported types of what it imports.
func list(folder string) (listed, error) {
	var own listed
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles,DepOnly", ".")
	var stderr strings.Builder
	cmd.Dir, cmd.Stderr = folder, &stderr
	out, err := cmd.Output()
	if err != nil {
		return own, fmt.Errorf("go list in %s: %w\n%s", folder, err, &stderr)
	}
	exports := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return own, err
		}
		if exports[p.ImportPath] = p.Export; !p.DepOnly {
			own = p
		}
	}
	own.exports = exports
	return own, nil
}

// referencesOf returns the references between the files of a package, in no order.
func referencesOf(p listed) ([]reference, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(p.exports[path]) }
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	pkg, err := config.Check(p.ImportPath, fset, files, info)
	if err != nil {
		return nil, err
	}
	names := map[[2]string]map[string]bool{} // from and to → what is used
	for id, used := range info.Uses {
		if used.Pkg() != pkg || isLocal(used) {
			continue
		}
		pair := [2]string{fileOf(fset, id.Pos()), fileOf(fset, used.Pos())}
		if pair[0] == pair[1] {
			continue
		}
		if names[pair] == nil {
			names[pair] = map[string]bool{}
		}
		names[pair][used.Name()] = true
	}
	refs := make([]reference, 0, len(names))
	for pair, used := range names {
		refs = append(refs, reference{pair[0], pair[1], slices.Sorted(maps.Keys(used))})
	}
	return refs, nil
}

func fileOf(fset *token.FileSet, at token.Pos) string {
	return filepath.Base(fset.Position(at).Filename)
}

// isLocal reports whether an object is declared inside a function.
func isLocal(o types.Object) bool {
	switch o := o.(type) {
	case *types.Var:
		if o.IsField() {
			return false
		}
	case *types.Func:
		if o.Signature().Recv() != nil {
			return false
		}
	}
	return o.Parent() != o.Pkg().Scope()
}
