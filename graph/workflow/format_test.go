package workflow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
)

func TestFormat_Indents(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"indentation", "version: 1\nnodes:\n    a:\n        set: {}\n        next:\n        - if: true\n          to: END\n        -   else: END\n", "version: 1\nnodes:\n  a:\n    set: {}\n    next:\n      - if: true\n        to: END\n      - else: END\n"},
		{"comments", "# top\n\n\n\nversion: 1   # one  \nnodes:\n    # of a\n    a:\n        set: {}   \n        # end of a\n    # of b\n    b: {}\n# bottom", "# top\n\nversion: 1   # one\nnodes:\n  # of a\n  a:\n    set: {}\n    # end of a\n  # of b\n  b: {}\n# bottom\n"},
		{"blank lines and the ends of lines", "\n\nversion: 1\r\n\r\n\r\nname: x\t\r\n\r\n", "version: 1\n\nname: x\n"},
		{"a block of text", "nodes:\n    a:\n        set:\n            x: |\n                one  \n\n\n                  # two\n            y: >-\n              three\n\n    # of b\n    b: {}\n", "nodes:\n  a:\n    set:\n      x: |\n          one  \n\n\n            # two\n      y: >-\n        three\n\n  # of b\n  b: {}\n"},
		{"a block that keeps its end", "a:\n    b: |+\n        x\n\n\n    c: 1\n", "a:\n  b: |+\n      x\n\n\n  c: 1\n"},
		{"text over lines", "a:\n    b: one\n      two\n\n      three\n    c: \"four\n\n\n      # five\"\n", "a:\n  b: one\n    two\n\n    three\n  c: \"four\n\n\n    # five\"\n"},
		{"flow over lines", "a:\n    b: {x: 1,   # first\n        y: [2,\n          3]}\n", "a:\n  b: {x: 1,   # first\n      y: [2,\n        3]}\n"},
		{"lists in lists", "a:\n-   - 1\n    -   2\n-   b: 1\n    c: 2\n", "a:\n  - - 1\n    - 2\n  - b: 1\n    c: 2\n"},
		{"an anchor", "a: &x\n    b: 1\nc: &y\n-   1\n-   *x\n", "a: &x\n  b: 1\nc: &y\n  - 1\n  - *x\n"},
		{"a dash alone", "a:\n-\n    b: 1\n-   # why\n    c: 2\n", "a:\n  -\n    b: 1\n  - # why\n    c: 2\n"},
		{"the other ends of lines of YAML", "a:\u0085    b: 1\r    \u2028    c: 2\u2029", "a:\n  b: 1\n\n  c: 2\n"},
		{"spaces alone behind another end of a line", "a:\u0085  b: 1\n  \n", "a:\n  b: 1\n"},
		{"what is aligned stays", "state:\n  topic:   string\n  n:       int\n", "state:\n  topic:   string\n  n:       int\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := workflow.Format("in.yaml", []byte(c.src))
			if err != nil || string(got) != c.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, c.want)
			}
			if again, err := workflow.Format("in.yaml", got); err != nil || string(again) != string(got) {
				t.Errorf("again: got %v\n%s\nwant\n%s", err, again, got)
			}
		})
	}
}

func TestFormat_RejectsInvalidYAML(t *testing.T) {
	_, err := workflow.Format("in.yaml", []byte("a: [}"))
	var e *workflow.Error
	if !errors.As(err, &e) || e.Problems[0].Code != "WF001" {
		t.Errorf("got %v", err)
	}
}

func TestFormat_RejectsFilesItWouldChange(t *testing.T) {
	out, err := workflow.Format("in.yaml", []byte("a:\n-   k: |2\n        x\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "in.yaml:1:1: error[WF013]: ") || out != nil {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestFormat_IsIdempotent(t *testing.T) {
	for name, src := range validFiles(t) {
		formatsSafely(t, name, src)
	}
	for name, src := range invalidFiles(t) {
		formatsSafely(t, name, src)
	}
}

// formatsSafely checks that formatting keeps every word of a file and is stable.
func formatsSafely(t *testing.T, name, src string) {
	t.Helper()
	once, err := workflow.Format("in.yaml", []byte(src))
	if err != nil {
		return // it is not YAML, or refused
	}
	if got, want := strings.Fields(string(once)), strings.Fields(src); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: words were lost\n%s\nwas\n%s", name, once, src)
	}
	if twice, err := workflow.Format("in.yaml", once); err != nil || string(twice) != string(once) {
		t.Errorf("%s: %v: twice gives\n%q\nonce\n%q\nwas\n%q", name, err, twice, once, src)
	}
}

func FuzzFormat(f *testing.F) {
	seed(f)
	f.Add("- \n@")
	f.Add("a:\u0085  b: 1\n  \n")
	f.Add("\ufeffé:\r\n    - \u2028-   'x\n\n      y'\r    \u0085? b\n: &c |2-\n     é\n")
	f.Add("a: &b\n-   \"x\\\n  y\"\n-   *b\n-   !!str z\n-\n\n#\n-   >+\n      t\n\n")
	f.Add("a:\n-   - 1\n    -   2\n-   b: 1\n    c: 2\n")
	f.Add("a:\n    b: |+\n        x\n\n\n    c: 1\n")
	f.Add("a:\n    b: one\n      two\n\n      three\n    c: \"four\n\n\n      # five\"\n")
	f.Add("# top\n\n\n\nversion: 1   # one  \nnodes:\n    # of a\n    a:\n        set: {}   \n        # end of a\n    # of b\n    b: {}\n# bottom")
	f.Fuzz(func(t *testing.T, src string) { formatsSafely(t, "fuzzed", src) })
}
