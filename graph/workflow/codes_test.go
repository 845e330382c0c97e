package workflow_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
)

// withoutExample are the codes whose mistake does not fit on a page, or is not made in a file.
var withoutExample = []workflow.Code{"WF005", "WF013", "WF208", "WF320", "WF417", "WF519", "WF601", "WF602", "WF603", "WF605", "WF606", "WF607", "WF704", "WF705", "WF801", "WF802", "WF803", "WF804",
	"WF901", "WF902", "WF903", "WF904", "WF905"}

func codesIn(err error) (codes []workflow.Code) {
	var e *workflow.Error
	if errors.As(err, &e) {
		for _, p := range e.Problems {
			codes = append(codes, p.Code)
		}
	}
	return codes
}

func parseExample(src string) error {
	_, err := workflow.Parse("testdata/codes/in.yaml", []byte(src), workflow.Options{Kinds: kinds(), Sections: sections()})
	return err
}

func TestCodes_ExamplesAreRightAndWrong(t *testing.T) {
	for _, e := range workflow.Codes() {
		if e.Title == "" || e.Why == "" || !regexp.MustCompile(`^WF[0-9][0-9][0-9]$`).MatchString(string(e.Code)) {
			t.Errorf("%+v is incomplete", e)
		}
		if e.Wrong == "" {
			if !slices.Contains(withoutExample, e.Code) {
				t.Errorf("%s has no example", e.Code)
			}
			continue
		}
		if err := parseExample(e.Wrong); !slices.Contains(codesIn(err), e.Code) {
			t.Errorf("%s: the wrong example gives %v", e.Code, err)
		}
		if err := parseExample(e.Right); err != nil {
			t.Errorf("%s: the right example gives %v", e.Code, err)
		}
	}
	if !slices.IsSortedFunc(workflow.Codes(), func(a, b workflow.Explanation) int { return strings.Compare(string(a.Code), string(b.Code)) }) {
		t.Error("the codes are not sorted, or one is there twice")
	}
}

// TestCodes_EachIsRegisteredAndUsed looks for the codes in the sources, in the golden files
// and in what TestParse_RejectsHostileFilesFast and TestInput_ReportsEveryMistake expect.
func TestCodes_EachIsRegisteredAndUsed(t *testing.T) {
	made, expected := codesInFiles(t, "*.go", false), codesInFiles(t, "testdata/invalid/*", true)
	for c := range codesInFiles(t, "*_test.go", true) {
		expected[c] = true
	}
	registered := map[string]bool{}
	for _, e := range workflow.Codes() {
		c := string(e.Code)
		registered[c] = true
		if !made[c] {
			t.Errorf("%s is made nowhere", c)
		}
		if !expected[c] {
			t.Errorf("%s is expected by no golden file", c)
		}
	}
	for c := range made {
		if !registered[c] {
			t.Errorf("%s is not explained in codes", c)
		}
	}
}

// codesInFiles returns the codes in quotes, or in brackets as in errors.
func codesInFiles(t *testing.T, pattern string, errs bool) map[string]bool {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, err)
	}
	code, codes := regexp.MustCompile(`"(WF\d\d\d)"`), map[string]bool{}
	if errs {
		code = regexp.MustCompile(`error\[(WF\d\d\d)\]`)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if info, _ := os.Stat(file); err != nil && info.IsDir() || !errs && strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			codes[m[1]] = true
		}
	}
	return codes
}

func TestExplain_SuggestsCodes(t *testing.T) {
	if e, err := workflow.Explain("wf203"); err != nil || e.Title != "An unknown field" {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, err := workflow.Explain("WF2O3"); err == nil || !strings.Contains(err.Error(), "did you mean WF203?") {
		t.Errorf("got %v", err)
	}
	if _, err := workflow.Explain("nonsense"); err == nil || strings.Contains(err.Error(), "mean") {
		t.Errorf("got %v", err)
	}
}
