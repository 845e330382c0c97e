package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestScan_FindsTestsThatScale(t *testing.T) {
	const head = "package a\n\n"
	for name, c := range map[string]struct{ text, want string }{
		"directly":            {"func TestA(t *testing.T) { racescale.Of(9, 1) }\nfunc TestB(t *testing.T) {}\n", "some ./a: TestA"},
		"the detector itself": {"func FuzzA(f *testing.F) {\n\tif racescale.Raced {\n\t}\n}\n", "some ./a: FuzzA"},
		"as a value":          {"var f = racescale.Of\n\nfunc TestA(t *testing.T) { f(9, 1) }\n", "some ./a: TestA"},
		"by a helper":         {"func few() int { return racescale.Of(9, 1) }\nfunc more() { few() }\nfunc TestA(t *testing.T) { more() }\n", "some ./a: TestA"},
		"by a method":         {"func (x) few() int { return racescale.Of(9, 1) }\nfunc TestA(t *testing.T) { y.z.few() }\n", "some ./a: TestA"},
		"by a type":           {"type n [racescale.Raced]int\n\nfunc TestA(t *testing.T) { var _ n }\n", "some ./a: TestA"},
		"by the tries":        {"func TestMain(m *testing.M) { racescale.Tries(9, 1) }\nfunc TestA(t *testing.T) { rapid.Check(t, nil) }\nfunc TestB(t *testing.T) {}\n", "some ./a: TestA"},
		"by a suite":          {"import _ \"github.com/weftrun/weft/checkpoint/checkpointtest\"\n\nfunc TestMain(m *testing.M) { racescale.Tries(9, 1) }\n", "whole ./a"},
		"by TestMain":         {"var n = racescale.Of(9, 1)\n\nfunc TestMain(m *testing.M) { run(n) }\n", "whole ./a"},
		"not at all":          {"func TestMain(m *testing.M) { racescale.Parallel(8); racescale.ShortTries(9, 1) }\nfunc TestA(t *testing.T) { racescale.Soak(1, 2); rapid.Check(t, nil) }\n", ""},
	} {
		f, err := scan(fstest.MapFS{
			"a/a_test.go":   {Data: []byte(head + c.text)},
			"b/go.mod":      {},
			"b/c/c_test.go": {Data: []byte(head + "func TestC(t *testing.T) { racescale.Of(9, 1) }\n")},
		})
		got := ""
		for _, dir := range f.whole {
			got += "whole " + dir
		}
		for _, dir := range f.some {
			got += fmt.Sprintf("some %s: %s", dir, strings.Join(f.tests, " "))
		}
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestScan_RefusesLibrariesThatScale(t *testing.T) {
	_, err := scan(fstest.MapFS{"a/a.go": {Data: []byte("package a\n\nfunc N() int { return racescale.Of(9, 1) }\n")}})
	if err == nil || !strings.Contains(err.Error(), "a/a.go") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

func TestScan_OfThisModule(t *testing.T) {
	f, err := scan(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	all := " " + strings.Join(append(append(f.whole, f.some...), f.tests...), " ") + " "
	for _, want := range []string{"./checkpoint/sqlite", "./internal/refmodel", "TestSimulation", "TestConnections_CutAtRandom", "TestParse_RejectsBillionLaughs"} {
		if !strings.Contains(all, " "+want+" ") {
			t.Errorf("%s is not repeated", want)
		}
	}
}
