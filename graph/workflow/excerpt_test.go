package workflow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
)

func TestExcerpt_UnderlinesTheProblem(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"an expression", "version: 1\nstate: {sources: list<string>}\nnodes:\n  a:\n    set: {}\n    next:\n      - if: len(state.sorces) == 0\n        to: END\n      - else: END\n", `
in.yaml:7:23: error[WF203]: unknown field sorces; did you mean "sources"?
   7 |       - if: len(state.sorces) == 0
     |                       ^^^^^^
   help: known are sources`},
		{"a quoted value", "version: 1\nstate: {n: {type: int, default: \"a b\"}}\nnodes: {a: {set: {}, next: END}}\n", `
in.yaml:2:33: error[WF407]: the default of n does not fit: want int, got string
   2 | state: {n: {type: int, default: "a b"}}
     |                                 ^^^^^`},
		{"a key, behind CRLF", "version: 1\r\nnodes:\r\n  a: {wait: {for: 1s, fore: 1s}, next: END}\r\n", `
in.yaml:3:23: error[WF501]: unknown parameter "fore" of wait; did you mean "for"?
   3 |   a: {wait: {for: 1s, fore: 1s}, next: END}
     |                       ^^^^
   help: known are for, until, event, expires`},
		{"a tab", "version: 1\nnodes:\n  a: {set: {},\tnext: b}\n", `
in.yaml:3:22: error[WF304]: next names "b", which is not a node
   3 |   a: {set: {},	next: b}
     |               	      ^`},
		{"a line that is too long to read", "version: 1\ndescription: \"" + strings.Repeat("x", 2000) + "\"\nnodes: {a: {set: {}, next: b, description: " + strings.Repeat("y", 1000) + "}}\n", `
in.yaml:3:28: error[WF304]: next names "b", which is not a node`},
		{"a long line", "version: 1\nnodes: {a: {description: " + strings.Repeat("y", 200) + ", set: {}, next: b}}\n", `
in.yaml:2:243: error[WF304]: next names "b", which is not a node
   2 | …` + strings.Repeat("y", 23) + `, set: {}, next: b}}
     |                                          ^`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := workflow.Parse("in.yaml", []byte(c.src), workflow.Options{Kinds: kinds(), Sections: sections()})
			var e *workflow.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if got := "\n" + e.Excerpts(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
