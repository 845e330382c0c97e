package workflow

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weftrun/weft/internal/suggest"
)

// Code names a kind of mistake, such as WF203. A code never changes its meaning, and
// is not used again when its mistake can no longer be made. The first digit is the
// stage:
//
//   - 0: the file and its YAML
//   - 1: the shape
//   - 2: expressions
//   - 3: the paths through the graph
//   - 4: types and fields
//   - 5: nodes and their parameters
//   - 6: limits
//   - 7: secrets and the environment
//   - 8: the input of a run
//   - 9: the results of the tests of a file
type Code string

// Explanation describes what a code means.
type Explanation struct {
	Code  Code
	Title string // a few words
	Why   string // what is wrong and what to do, in a few lines
	Wrong string // a file that makes the mistake, or ""
	Right string // the same file without it, or ""
}

//go:embed codes/*.txt
var codeFiles embed.FS

// Codes returns all codes, sorted.
func Codes() []Explanation { return slices.Clone(explanations()) }

// Explain returns what a code means. The letters may be small; the error names the
// code that was probably meant.
func Explain(code string) (Explanation, error) {
	all := explanations()
	known := make([]string, len(all))
	for i, e := range all {
		if known[i] = string(e.Code); strings.EqualFold(known[i], code) {
			return e, nil
		}
	}
	err := fmt.Errorf("workflow: there is no code %q", code)
	if near := suggest.Nearest(strings.ToUpper(code), known); near != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return Explanation{}, err
}

// explanations reads the embedded files, of which every test reads all.
var explanations = sync.OnceValue(func() (all []Explanation) {
	files, _ := codeFiles.ReadDir("codes")
	for _, f := range files {
		text, _ := codeFiles.ReadFile("codes/" + f.Name())
		for _, part := range strings.Split(string(text), "=== ")[1:] {
			all = append(all, explanation(part))
		}
	}
	return all
})

// explanation reads one part: a line with code and title, why, and after lines "wrong:"
// and "right:" the two files.
func explanation(part string) (e Explanation) {
	head, rest, _ := strings.Cut(part, "\n")
	code, title, _ := strings.Cut(head, " ")
	why, examples, _ := strings.Cut(rest, "\nwrong:\n")
	wrong, right, _ := strings.Cut(examples, "\nright:\n")
	e = Explanation{Code: Code(code), Title: title, Why: strings.TrimSpace(why)}
	if wrong != "" {
		e.Wrong, e.Right = wrong+"\n", strings.TrimSpace(right)+"\n"
	}
	return e
}
