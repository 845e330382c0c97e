package verbs

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// testFlags are the flags of test.
type testFlags struct {
	run, junit string
	cover      bool
	match      func(string) bool
	record     bool
	fresh      bool
	recorded   recordedFlags
}

func (a *app) testVerb() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test FILE|DIR...",
		Short: "Run the tests in workflow files",
		Long: `Test runs the tests in workflow files, or in all files of a folder. A test has its own
store in memory, makes no request, writes no file and does not wait. Test reports
which nodes and edges the tests reached; --cover lists those that no test reached. The exit code is 1
if a test fails.

With --record, the tests call the real models, tools, servers and programs. The calls are stored
beside the file, in testdata/recordings, without the values of secrets. Later runs replay them
without a network or a key, and a test fails at the first call that differs. Recorded calls
are not repeated, unless --fresh is given. A node with a mock is neither called nor recorded.

With --recorded, test repeats the last turn of each stored thread of a workflow, with its input
and its answers, and compares the outputs. The store is not changed, but the nodes do their work
again, so --yes is required. Use --config for other models. --judge names a workflow with the input
got and the output pass. Its inputs want, state and thread, and its outputs score and reason, are
optional.`,
		Args: a.arguments("FILE", 1, math.MaxInt),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := f.recorded.check(files, f.run != "" || f.cover || f.record); err != nil {
				return err
			}
			switch {
			case f.fresh && !f.record:
				return reports.Usage("add --record", "--fresh requires --record")
			case !f.recorded.on && cmd.Flags().Changed("limit"):
				return reports.Usage("add --recorded", "--limit requires --recorded")
			case !f.recorded.on && !f.record && cmd.Flags().Changed("timeout"):
				return reports.Usage("add --record or --recorded", "--timeout requires --record or --recorded")
			}
			if f.recorded.on {
				return a.testRecorded(cmd.Context(), files[0], f.junit, f.recorded)
			}
			if f.run != "" {
				re, err := regexp.Compile(f.run)
				if err != nil {
					return reports.Usage("give a regular expression", "--run %q cannot be read: %v", f.run, err)
				}
				f.match = re.MatchString
			}
			files, err := a.filesIn(files)
			if err != nil {
				return err
			}
			return a.test(cmd.Context(), files, f)
		},
	}
	cmd.Flags().StringVar(&f.run, "run", "", "only tests whose names match this regular expression")
	cmd.Flags().BoolVar(&f.cover, "cover", false, "list the nodes and edges that no test reached")
	cmd.Flags().StringVar(&f.junit, "junit", "", "also write the results to this file, as JUnit XML")
	cmd.Flags().BoolVar(&f.record, "record", false, "call the real models, tools, servers and programs, and store the calls for later runs")
	cmd.Flags().BoolVar(&f.fresh, "fresh", false, "with --record, repeat the recorded calls too")
	f.recorded.flags(cmd)
	return cmd
}

func (a *app) test(ctx context.Context, files []string, f testFlags) error {
	var failure *reports.Failure
	var all []reports.TestedFile
	for _, file := range files {
		t, err := a.testFile(ctx, file, f)
		if err != nil {
			c := a.Explain(ctx, err, true)
			a.Report(c)
			failure = &reports.Failure{Code: c.Code}
			if c.Code == terminal.ExitSignal {
				return failure
			}
			continue
		}
		if all = append(all, t); !t.Report.Passed() && failure == nil {
			failure = &reports.Failure{Code: reports.ExitFailed}
		}
		if err := a.printTests(t, f); err != nil {
			return err
		}
	}
	if f.match != nil && failure == nil && !slices.ContainsFunc(all, func(t reports.TestedFile) bool { return len(t.Report.Tests) > 0 }) {
		return reports.Usage(a.Invocation+" test without --run runs all tests and prints their names", "--run %q matches the name of no test", f.run)
	}
	if f.junit != "" {
		if err := reports.WriteJUnit(f.junit, all); err != nil {
			return reports.CannotWrite(f.junit, err)
		}
	}
	if failure == nil {
		return nil
	}
	return failure
}

func (a *app) testFile(ctx context.Context, file string, f testFlags) (reports.TestedFile, error) {
	flow, err := a.load(file)
	if err != nil {
		return reports.TestedFile{}, err
	}
	report, err := flow.RunTests(ctx, workflow.TestOptions{Match: f.match, Record: f.record, Fresh: f.fresh, Timeout: f.recorded.timeout})
	return reports.TestedFile{File: file, Report: report}, err
}

func (a *app) printTests(t reports.TestedFile, f testFlags) error {
	if a.JSON {
		return a.printTestsJSON(t)
	}
	var b strings.Builder
	failed := 0
	for _, r := range t.Report.Tests {
		if r.Passed() {
			fmt.Fprintf(&b, "ok    %s: %s%s\n", t.File, r.Name, recordingNote(r.Recording))
			continue
		}
		failed++
		fmt.Fprintf(&b, "FAIL  %s: %s%s\n", t.File, r.Name, recordingNote(r.Recording))
		for _, p := range r.Failures {
			b.WriteString(marked("      ", p.Excerpt()))
		}
		if r.Err != nil && !slices.ContainsFunc(r.Failures, reportsError) {
			b.WriteString(marked("      ", "the run failed: "+reports.Message(r.Err)))
		}
	}
	if len(t.Report.Tests) == 0 {
		fmt.Fprintf(&b, "none  %s\n", t.File)
	}
	nodes, edges := missed(t.Report.Coverage)
	fmt.Fprintf(&b, "%s, %d failed; %s and %s\n", counted(len(t.Report.Tests), "test"), failed,
		covered(len(t.Report.Coverage.Nodes), len(nodes), "node"), covered(len(t.Report.Coverage.Edges), len(edges), "edge"))
	if f.cover {
		for _, n := range nodes {
			fmt.Fprintf(&b, "%s:%d: node %s never ran\n", t.File, n.Line, n.Node)
		}
		for _, e := range edges {
			fmt.Fprintf(&b, "%s:%d: the edge from %s to %s was never taken\n", t.File, e.Line, e.From, e.To)
		}
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// reportsError reports whether a failure of a test shows the error of the run, or its cause.
func reportsError(p workflow.Problem) bool { return p.Code == "WF901" || p.Code == "WF905" }

// recordingNote describes what a test recorded; "" for one that did not.
func recordingNote(r *workflow.TestRecording) string {
	switch {
	case r == nil || !r.Written:
		return ""
	case r.Replayed == 0:
		return fmt.Sprintf(" (recorded %s)", counted(r.Made, "call"))
	}
	return fmt.Sprintf(" (recorded %s, replayed %d)", counted(r.Made, "call"), r.Replayed)
}

// covered returns a text such as "2 of 3 nodes".
func covered(all, missed int, noun string) string {
	return fmt.Sprintf("%d of %s", all-missed, counted(all, noun))
}

// missed returns the nodes and edges that no test reached.
func missed(c workflow.Coverage) (nodes []workflow.NodeCoverage, edges []workflow.EdgeCoverage) {
	for _, n := range c.Nodes {
		if n.Runs == 0 {
			nodes = append(nodes, n)
		}
	}
	for _, e := range c.Edges {
		if e.Taken == 0 {
			edges = append(edges, e)
		}
	}
	return nodes, edges
}

// testOutcome is the result of a test, as JSON.
type testOutcome struct {
	Name     string            `json:"name"`
	Line     int               `json:"line"`
	Passed   bool              `json:"passed"`
	Failures []reports.Problem `json:"failures,omitempty"`
	Error    string            `json:"error,omitempty"`
	Path     [][]string        `json:"path"`
	Output   workflow.Values   `json:"output"`
	// Recording is nil for a test without one.
	Recording *workflow.TestRecording `json:"recording,omitempty"`
}

func (a *app) printTestsJSON(t reports.TestedFile) error {
	all := []testOutcome{}
	for _, r := range t.Report.Tests {
		o := testOutcome{Name: r.Name, Line: r.Line, Passed: r.Passed(), Path: r.Path, Output: r.Output, Recording: r.Recording}
		if len(r.Failures) > 0 {
			o.Failures = reports.Problems(&workflow.Error{Problems: r.Failures})
		}
		if r.Err != nil {
			o.Error = reports.Message(r.Err)
		}
		all = append(all, o)
	}
	return a.PrintJSON(struct {
		File     string            `json:"file"`
		Passed   bool              `json:"passed"`
		Tests    []testOutcome     `json:"tests"`
		Coverage workflow.Coverage `json:"coverage"`
	}{t.File, t.Report.Passed(), all, t.Report.Coverage})
}
