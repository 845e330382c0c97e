package reports

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
)

// TestError_EndsWithWhatToDoNext goes through the errors of other packages that are known here,
// and one of each exit code that is not.
func TestError_EndsWithWhatToDoNext(t *testing.T) {
	errs := []error{errors.New("any"), Usage("", "no hint"), &Failure{ExitInvalid, errors.New("bad"), ""}, &workflow.Error{}}
	for _, r := range rules {
		errs = append(errs, fmt.Errorf("around it: %w", r.is))
	}
	for _, err := range errs[:3] {
		errs = append(errs, fmt.Errorf("around it: %w", err))
	}
	for _, asJSON := range []bool{false, true} {
		for _, err := range errs {
			if w := (*workflow.Error)(nil); errors.As(err, &w) {
				err = &workflow.Error{Problems: []workflow.Problem{{File: "w.yaml", Line: 1, Col: 1, Msg: "bad"}}}
			}
			var out bytes.Buffer
			o := &Output{Name: "weft", Invocation: "weft", Stdout: &out, Stderr: &out, Store: "sqlite:x.db", JSON: asJSON,
				Advice: func(h Hint) string { return "try again with " + string(h) }}
			code := o.Report(o.Explain(t.Context(), err, true))
			want := "\nnext: "
			if asJSON {
				want = `"next":"`
			}
			if _, next, ok := strings.Cut(out.String(), want); !ok || len(next) < 10 || code == ExitDone {
				t.Errorf("rule: an error ends with what to do next\n%v: exit code %d, %q", err, code, out.String())
			}
		}
	}
}
