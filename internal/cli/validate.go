package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// verdictForms are the values of --format.
var verdictForms = []string{"text", "json", "github", "sarif"}

func (a *app) validateVerb() *cobra.Command {
	var format string
	var strict bool
	cmd := &cobra.Command{
		Use:   "validate FILE|DIR...",
		Short: "Check workflows and report every mistake",
		Long: `Validate checks workflows and reports every mistake, each with its place and a code
that explain explains. Of a folder it checks all files below it that end in .yaml or
.yml and have nodes; hidden folders are left out. As text it shows the lines; json is one object a file; github
is what GitHub Actions shows beside the lines of a pull request; sarif is one SARIF
2.1.0 document for code scanning and editors.`,
		Args: a.arguments("FILE", 1, math.MaxInt),
		RunE: func(cmd *cobra.Command, files []string) error {
			switch changed := cmd.Flags().Changed("format"); {
			case !slices.Contains(verdictForms, format):
				return usage("use one of "+strings.Join(verdictForms, ", "), "there is no format %q", format)
			case a.json && changed && format != "json":
				return usage("leave one of them out", "--json and --format %s are two forms of the result", format)
			case a.json:
				format = "json"
			}
			a.strict = strict
			files, err := a.filesIn(files)
			if err != nil {
				return err
			}
			return a.validate(files, format)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "make errors of warnings")
	cmd.Flags().StringVar(&format, "format", "text", "text, json, github or sarif")
	return cmd
}

// verdict is what validate says of one file, as JSON.
type verdict struct {
	File     string    `json:"file"`
	Valid    bool      `json:"valid"`
	Problems []problem `json:"problems,omitempty"`
	text     string
}

type problem struct {
	Code    workflow.Code `json:"code,omitempty"`
	File    string        `json:"file,omitempty"`
	Line    int           `json:"line,omitempty"`
	Col     int           `json:"col,omitempty"`
	Width   int           `json:"width,omitempty"`
	Message string        `json:"message"`
	Hint    string        `json:"hint,omitempty"`
	// Severity is "warning", or "" for an error.
	Severity string `json:"severity,omitempty"`
}

// validate looks at all files, even if one of them cannot be read.
func (a *app) validate(files []string, format string) error {
	var worst *failure
	var all []verdict
	for _, file := range files {
		v, err := a.verdict(file)
		switch {
		case err != nil:
			a.report(a.classify(err))
			worst = &failure{code: exitUsage}
			continue
		case !v.Valid && worst == nil:
			worst = &failure{code: exitInvalid}
		}
		if all = append(all, v); format == "sarif" {
			continue
		}
		if err := a.say(v, format); err != nil {
			return err
		}
	}
	if format == "sarif" {
		if err := a.printJSON(a.sarif(all, worst == nil || worst.code != exitUsage)); err != nil {
			return err
		}
	}
	if worst == nil {
		return nil
	}
	if code := firstCode(all); format == "text" && code != "" {
		fmt.Fprintf(a.Stderr, "next: %s explain %s says more about the first mistake\n", a.as, code)
	}
	return worst
}

// verdict checks one file. The error is one of reading it.
func (a *app) verdict(file string) (verdict, error) {
	flow, err := a.load(file)
	if err == nil {
		_, err = flow.Compile(graph.Config{})
	}
	switch {
	case err == nil && len(flow.Warnings()) > 0:
		warned := &workflow.Error{Problems: flow.Warnings()}
		return verdict{File: file, Valid: true, Problems: problems(warned), text: file + ": ok, with warnings\n" + excerpts(warned)}, nil
	case err == nil:
		return verdict{File: file, Valid: true, text: file + ": ok"}, nil
	case isInvalid(err):
		return verdict{File: file, Problems: problems(err), text: excerpts(err)}, nil
	}
	return verdict{}, err
}

// say prints a verdict.
func (a *app) say(v verdict, format string) (err error) {
	switch {
	case format == "json":
		return a.printJSON(v)
	case format == "github":
		for _, p := range v.Problems {
			if _, err = fmt.Fprintln(a.Stdout, p.annotation()); err != nil {
				return err
			}
		}
		return nil
	default:
		_, err = fmt.Fprintln(a.Stdout, v.text)
	}
	return err
}

// annotation is a problem as a command of GitHub Actions.
func (p problem) annotation() string {
	var at string
	if p.File != "" {
		at = fmt.Sprintf(" file=%s,line=%d,col=%d,endColumn=%d,title=%s", inProperty.Replace(p.File), p.Line, p.Col, p.Col+p.Width, p.Code)
	}
	return "::" + cmp.Or(p.Severity, "error") + at + "::" + inMessage.Replace(p.text())
}

// text is the message with its hint.
func (p problem) text() string {
	if p.Hint == "" {
		return p.Message
	}
	return p.Message + " (" + p.Hint + ")"
}

// What means something in a command of GitHub Actions is escaped.
var (
	inMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func problems(err error) (all []problem) {
	var we *workflow.Error
	if !errors.As(err, &we) {
		return []problem{{Message: err.Error()}}
	}
	for _, p := range we.Problems {
		one := problem{Code: p.Code, File: p.File, Line: p.Line, Col: p.Col, Width: p.Width, Message: p.Msg, Hint: p.Hint}
		if p.Warning {
			one.Severity = p.Severity()
		}
		all = append(all, one)
	}
	return all
}

func firstCode(all []verdict) workflow.Code {
	for _, v := range all {
		for _, p := range v.Problems {
			if p.Severity == "" {
				return p.Code
			}
		}
	}
	return ""
}

// excerpts returns what is wrong with a workflow, with the lines where that is known.
func excerpts(err error) string {
	var we *workflow.Error
	if errors.As(err, &we) {
		return we.Excerpts()
	}
	return err.Error()
}
