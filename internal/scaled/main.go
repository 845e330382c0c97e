// Command scaled finds the tests that .ci/run repeats without the race detector: those that use
// racescale.Of, Tries or Raced, and so try less under the detector or allow more. All others do the
// same there.
//
// It reads the sources, and follows names inside a package. A test scales if it uses a helper, a
// variable or a method of a name that scales. In a package that calls racescale.Tries, tests
// with rapid scale. If TestMain or a test suite of another package may scale, all tests are
// repeated.
//
// It prints three lines: the packages of which all tests are repeated, other packages, and a
// pattern of the names of their tests.
//
// Usage: go run ./internal/scaled
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	f, err := scan(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "scaled:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(f.whole, " "))
	fmt.Println(strings.Join(f.some, " "))
	fmt.Println(f.pattern())
}

// found is what is repeated.
type found struct {
	whole, some []string // packages, as ./graph
	tests       []string // names of tests of the packages in some
}

// pattern returns a value for the flag -run.
func (f found) pattern() string { return "^(" + strings.Join(f.tests, "|") + ")$" }

// scan reads the test files of a module, without the modules below it.
func scan(tree fs.FS) (f found, err error) {
	packages := map[string]*sources{}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return enter(tree, name)
		case !strings.HasSuffix(name, ".go"):
			return nil
		}
		dir := path.Dir(name)
		if packages[dir] == nil {
			packages[dir] = &sources{uses: map[string]map[string]bool{}}
		}
		return packages[dir].read(tree, name)
	})
	if err != nil {
		return f, err
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		whole, tests := packages[dir].scaled()
		switch {
		case whole:
			f.whole = append(f.whole, "./"+dir)
		case len(tests) > 0:
			f.some = append(f.some, "./"+dir)
			f.tests = append(f.tests, tests...)
		}
	}
	slices.Sort(f.tests)
	f.tests = slices.Compact(f.tests)
	return f, nil
}

// enter returns fs.SkipDir for a folder without packages of the module.
func enter(tree fs.FS, dir string) error {
	if base := path.Base(dir); base == "testdata" || base == "node_modules" || base != "." && strings.HasPrefix(base, ".") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(tree, dir+"/go.mod"); err == nil && dir != "." {
		return fs.SkipDir
	}
	return nil
}

// sources are the test files of a folder.
type sources struct {
	uses  map[string]map[string]bool // the names in each declaration, by the name of what is declared
	suite bool                       // a test suite that uses rapid is imported
}

// read adds a file. In files that are no tests, nothing may scale: other packages use them.
func (s *sources) read(tree fs.FS, name string) error {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	all := names(file)
	if !strings.HasSuffix(name, "_test.go") {
		if scales(all) && path.Dir(name) != "internal/racescale" {
			return fmt.Errorf("%s uses racescale to try less; only test files may", name)
		}
		return nil
	}
	for _, i := range file.Imports {
		s.suite = s.suite || strings.HasSuffix(i.Path.Value, `/checkpoint/checkpointtest"`)
	}
	for _, d := range file.Decls {
		for _, declared := range declares(d) {
			if s.uses[declared] == nil {
				s.uses[declared] = map[string]bool{}
			}
			maps.Copy(s.uses[declared], names(d))
		}
	}
	return nil
}

// Names of package racescale by which tests try less.
const of, tries, raced = "racescale.Of", "racescale.Tries", "racescale.Raced"

func scales(names map[string]bool) bool { return names[of] || names[tries] || names[raced] }

// declares returns the names that a declaration declares, those of methods without the receiver.
func declares(d ast.Decl) (list []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					list = append(list, n.Name)
				}
			case *ast.TypeSpec:
				list = append(list, spec.Name.Name)
			}
		}
	}
	return list
}

// names returns the names in a part of a file, and the selectors as racescale.Of.
func names(n ast.Node) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			all[n.Name] = true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				all[x.Name+"."+n.Sel.Name] = true
			}
		}
		return true
	})
	return all
}

// scaled reports whether all tests scale, or returns the names of those that do.
func (s *sources) scaled() (whole bool, tests []string) {
	marked := map[string]bool{of: true, raced: true}
	for _, used := range s.uses {
		if used[tries] {
			marked["rapid"] = true
		}
	}
	if marked["rapid"] && s.suite {
		return true, nil
	}
	for more := true; more; {
		more = false
		for declared, used := range s.uses {
			if marked[declared] {
				continue
			}
			for name := range used {
				if marked[name] {
					marked[declared], more = true, true
					break
				}
			}
		}
	}
	for declared := range s.uses {
		if !marked[declared] {
			continue
		}
		if declared == "TestMain" || declared == "init" || declared == "_" {
			return true, nil
		}
		for _, kind := range []string{"Test", "Fuzz", "Example"} {
			if strings.HasPrefix(declared, kind) {
				tests = append(tests, declared)
			}
		}
	}
	slices.Sort(tests)
	return false, tests
}
