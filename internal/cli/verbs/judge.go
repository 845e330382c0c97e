package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
)

// judge is a workflow that judges outputs.
type judge struct {
	open  opening
	takes []string
}

// openJudge opens the workflow of --judge.
func (a *app) openJudge(ctx context.Context, file string) (*judge, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, reports.CannotRead(file, err)
	}
	open, err := a.unobserved(file)
	if err != nil {
		return nil, err
	}
	d, err := open(ctx, new(checkpoint.Memory))
	if err != nil {
		return nil, err
	}
	if d.flow == nil {
		return nil, reports.Usage("name a workflow file", "the judge %q is no workflow", file)
	}
	j := &judge{open: open}
	for _, f := range d.flow.Inputs() {
		if !slices.Contains([]string{"got", "want", "state", "thread"}, f.Name) && f.Required {
			return nil, reports.Usage("give it a default, or take got, want, state or thread", "%s: nothing gives the input %q of a judge", file, f.Name)
		}
		j.takes = append(j.takes, f.Name)
	}
	passes := slices.ContainsFunc(d.flow.Outputs(), func(f workflow.Field) bool { return f.Name == "pass" && f.Type == "bool" })
	if !passes || !slices.Contains(j.takes, "got") {
		return nil, reports.Usage("declare them under state, input and output", "%s: a judge has the input got and the output pass, a bool", file)
	}
	return j, d.checkEnv()
}

// errAsks is the error of a judge that asks a person.
var errAsks = errors.New("the judge asks a person")

// judge lets the workflow judge an output. A value that does not fit the type of an input of the
// judge is a failure.
func (j *judge) judge(ctx context.Context, e *evaluation, given map[string]json.RawMessage) error {
	d, err := j.open(ctx, new(checkpoint.Memory))
	if err != nil {
		return err
	}
	for name := range given {
		if !slices.Contains(j.takes, name) {
			delete(given, name)
		}
	}
	input, err := d.begin(given, nil)
	if err != nil {
		e.fail("it does not fit the judge: %s", reports.Message(err))
		return nil
	}
	res, err := d.Invoke(ctx, input, graph.RunOptions{Thread: "judge"})
	if err == nil && res.Status != graph.Done {
		err = errAsks
	}
	if err != nil {
		return fmt.Errorf("the judge failed: %w", err)
	}
	out, err := d.output(ctx, "judge", res.State)
	if err != nil {
		return err
	}
	e.Score, _ = out.Get("score")
	if pass, _ := out.Get("pass"); pass != true {
		reason, _ := out.Get("reason")
		if text, ok := reason.(string); ok && text != "" {
			e.fail("%s", text)
		} else {
			e.fail("the judge does not pass it")
		}
	}
	return nil
}
