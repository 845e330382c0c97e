package cli

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

func (a *app) validateVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check workflows and report every mistake",
		Args:  a.arguments("FILE", 1, math.MaxInt),
		RunE:  func(_ *cobra.Command, files []string) error { return a.validate(files) },
	}
}

// verdict is what validate says of one file, as JSON.
type verdict struct {
	File     string    `json:"file"`
	Valid    bool      `json:"valid"`
	Problems []problem `json:"problems,omitempty"`
}

type problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// validate looks at all files, even if one of them cannot be read.
func (a *app) validate(files []string) error {
	var worst *failure
	for _, file := range files {
		err := a.check(file)
		if err == nil {
			err = a.say(verdict{File: file, Valid: true}, file+": ok")
			if err != nil {
				return err
			}
			continue
		}
		if !isInvalid(err) {
			a.report(a.classify(err))
			worst = &failure{code: exitUsage}
			continue
		}
		if err := a.say(verdict{File: file, Problems: problems(err)}, err.Error()); err != nil {
			return err
		}
		if worst == nil {
			worst = &failure{code: exitInvalid}
		}
	}
	if worst == nil {
		return nil
	}
	return worst
}

func (a *app) check(file string) error {
	flow, err := a.load(file)
	if err == nil {
		_, err = flow.Compile(graph.Config{})
	}
	return err
}

func (a *app) say(v verdict, text string) error {
	if a.json {
		return a.printJSON(v)
	}
	_, err := fmt.Fprintln(a.Stdout, text)
	return err
}

func problems(err error) (all []problem) {
	var we *workflow.Error
	if !errors.As(err, &we) {
		return []problem{{Message: err.Error()}}
	}
	for _, p := range we.Problems {
		all = append(all, problem{p.File, p.Line, p.Col, p.Msg, p.Hint})
	}
	return all
}
