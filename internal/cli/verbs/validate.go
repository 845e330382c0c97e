package verbs

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
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
.yml and have nodes; hidden files and folders are left out. As text it shows the lines; json is one object a file; github
is what GitHub Actions shows beside the lines of a pull request; sarif is one SARIF
2.1.0 document for code scanning and editors.`,
		Args: a.arguments("FILE", 1, math.MaxInt),
		RunE: func(cmd *cobra.Command, files []string) error {
			switch changed := cmd.Flags().Changed("format"); {
			case !slices.Contains(verdictForms, format):
				return reports.Usage("use one of "+strings.Join(verdictForms, ", "), "there is no format %q", format)
			case a.JSON && changed && format != "json":
				return reports.Usage("leave one of them out", "--json and --format %s are two forms of the result", format)
			case a.JSON:
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

// validate checks all files, even if one of them cannot be read.
func (a *app) validate(files []string, format string) error {
	var worst *reports.Failure
	var all []reports.Verdict
	for _, file := range files {
		v, err := a.verdict(file)
		switch {
		case err != nil:
			a.Report(a.Classify(err))
			worst = &reports.Failure{Code: reports.ExitUsage}
			continue
		case !v.Valid && worst == nil:
			worst = &reports.Failure{Code: reports.ExitInvalid}
		}
		if all = append(all, v); format == "sarif" {
			continue
		}
		if err := a.say(v, format); err != nil {
			return err
		}
	}
	if format == "sarif" {
		if err := a.PrintJSON(reports.SARIF(a.Name, version(), all, worst == nil || worst.Code != reports.ExitUsage)); err != nil {
			return err
		}
	}
	if worst == nil {
		return nil
	}
	if code := firstCode(all); format == "text" && code != "" {
		fmt.Fprintf(a.Stderr, "next: %s explain %s describes the first mistake\n", a.Invocation, code)
	}
	return worst
}

// verdict checks one file. The error is that of reading it.
func (a *app) verdict(file string) (reports.Verdict, error) {
	if filepath.Base(file) == workflow.ConfigName {
		if text, err := terminal.ReadFileAtMost(file, terminal.MaxInput); err == nil && !workflowKey.Match(text) {
			return a.sharedVerdict(file)
		}
	}
	flow, err := a.load(file)
	if err == nil {
		_, err = flow.Compile(graph.Config{})
	}
	switch {
	case err == nil && len(flow.Warnings()) > 0:
		warned := &workflow.Error{Problems: flow.Warnings()}
		return reports.Verdict{File: file, Valid: true, Problems: reports.Problems(warned), Text: file + ": ok, with warnings\n" + reports.Excerpts(warned)}, nil
	case err == nil:
		return reports.Verdict{File: file, Valid: true, Text: file + ": ok"}, nil
	case reports.IsInvalid(err):
		return reports.Verdict{File: file, Problems: reports.Problems(err), Text: reports.Excerpts(err)}, nil
	}
	return reports.Verdict{}, err
}

// sharedVerdict checks a file with models and tools.
func (a *app) sharedVerdict(file string) (reports.Verdict, error) {
	err := workflow.CheckConfig(file, a.options())
	switch {
	case err == nil:
		return reports.Verdict{File: file, Valid: true, Text: file + ": ok"}, nil
	case reports.IsInvalid(err):
		return reports.Verdict{File: file, Problems: reports.Problems(err), Text: reports.Excerpts(err)}, nil
	}
	return reports.Verdict{}, reports.CannotRead(file, err)
}

// say prints a verdict.
func (a *app) say(v reports.Verdict, format string) (err error) {
	switch {
	case format == "json":
		return a.PrintJSON(v)
	case format == "github":
		for _, p := range v.Problems {
			if _, err = fmt.Fprintln(a.Stdout, p.Annotation()); err != nil {
				return err
			}
		}
		return nil
	default:
		_, err = fmt.Fprintln(a.Stdout, v.Text)
	}
	return err
}

func firstCode(all []reports.Verdict) workflow.Code {
	for _, v := range all {
		for _, p := range v.Problems {
			if p.Severity == "" {
				return p.Code
			}
		}
	}
	return ""
}
