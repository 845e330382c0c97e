package doccheck

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	environment = regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\("(\w+)"\)`)
	constraint  = regexp.MustCompile(`(?m)^//go:build (.+)$`)
	// returns matches a test that returns at once because of how it is run.
	returns = regexp.MustCompile(`if [^\n]*(?:testing\.Short\(\)|racescale\.\w+|Getenv\([^\n]*\))[^\n]*\{\n(?:\t+(?:t|tb|b|p)\.Logf?\([^\n]*\n)?\t+return\n`)
)

// variables are those that tests may read, with the files that read them: CI leaves out no check
// because it does not set them.
var variables = map[string][]string{
	"PATH":        {"internal/cli/verbs/main_test.go", "server/studio/e2e/actions_test.go"},  // the programs that a test runs
	"WEFT_GOLDEN": {"checkpoint/golden_test.go"},                                             // writes new golden files, and checks none
	"WEFT_MAIN":   {"models/cmd/weft/main_test.go", "otel/cmd/weft/main_test.go"},            // the test runs itself as the command
	"WEFT_MUTANT": {"internal/mutation/mutation_test.go"},                                    // in the code that the test builds
	"WEFT_SHOTS":  {"server/studio/e2e/browser_test.go", "server/studio/e2e/readme_test.go"}, // a folder for pictures, beside the checks
}

// unrun says why a test file does not run in CI as a whole, or "".
func unrun(name, text string) string {
	for _, m := range environment.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(variables[m[1]], name) {
			return "a test reads " + m[1] + ": what depends on it is not run in CI; use racescale.Soak, whose short form is run"
		}
	}
	if m := constraint.FindStringSubmatch(text); m != nil && declared.MatchString(text) && !slices.Contains([]string{"unix", "linux"}, m[1]) {
		return "tests are built with " + m[1] + " only"
	}
	if at := returns.FindString(text); at != "" {
		return "a test returns without a check: " + strings.Join(strings.Fields(at), " ")
	}
	return ""
}

// A document that cites a test says that something holds. A test that does nothing unless it is asked
// to by a variable or a flag holds nothing.
func TestTests_RunInCI(t *testing.T) {
	walk(t, func(name string, text []byte) {
		if strings.HasSuffix(name, "_test.go") && name != "internal/doccheck/unrun_test.go" && name != "internal/racescale/racescale_test.go" {
			if why := unrun(name, string(text)); why != "" {
				t.Errorf("%s: %s", name, why)
			}
		}
	})
}

func TestUnrun_FindsTestsThatDoNothing(t *testing.T) {
	for text, want := range map[string]bool{
		"func TestA(t *testing.T) {\n\tif m.quick || os.Getenv(\"WEFT_SOAK\") != \"\" {\n\t\tm.run(t)\n\t}\n}\n": true,
		"func TestA(t *testing.T) {\n\tif testing.Short() {\n\t\treturn\n\t}\n}\n":                               true,
		"func TestA(t *testing.T) {\n\tif racescale.Raced {\n\t\tt.Log(\"slow\")\n\t\treturn\n\t}\n}\n":          true,
		"//go:build soak\n\nfunc TestA(t *testing.T) {}\n":                                                       true,
		"//go:build unix\n\nfunc TestA(t *testing.T) {}\n":                                                       false,
		"func TestA(t *testing.T) {\n\tif testing.Short() {\n\t\tn = 5\n\t}\n}\n":                                false,
		"func few(n int) int {\n\tif testing.Short() {\n\t\treturn n / 5\n\t}\n}\n":                              false,
	} {
		if why := unrun("a_test.go", text); (why != "") != want {
			t.Errorf("unrun(%q) = %q, want something: %v", text, why, want)
		}
	}
}

// .ci/run runs every package with the race detector, and without it too the tests that internal/scaled
// finds, which try less there.
// Those that read the sources, or run programs that they build, run only without it.
func TestCI_RunsEveryPackage(t *testing.T) {
	want := map[string][]string{
		".ci/run": {"\n\tplain='./internal/cli/verbs ./internal/doccheck ./internal/importpolicy ./internal/mutation ./internal/readorder'\n",
			"\n\t.ci/race -p 4 $(comm -23 <(go list ./... | sort) <(go list $plain | sort))\n", "\n\t.ci/race -C otel ./...\n", "\n\t{ read -r whole; read -r some; read -r names; } < <(go run ./internal/scaled)\n",
			"\n\t.ci/test -vet=off -p 4 $plain $whole\n", "\n\t.ci/test -vet=off -p 4 -run \"$names\" $some\n"},
		".ci/test": {"\nexec go test -timeout 30m \"$@\"\n"},
		".ci/race": {"\ngo test -C \"$folder\" \"${race[@]}\" -timeout 30m \"${@:-./...}\"\n"},
	}
	walk(t, func(name string, text []byte) {
		for _, line := range want[name] {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s does not have the line %q: it does not run all tests", name, line)
			}
		}
		delete(want, name)
	})
	for file := range want {
		t.Errorf("%s is missing", file)
	}
}
