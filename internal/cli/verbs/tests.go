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
		Long: `Test runs the tests in workflow files, or in all files of a folder. Each test has its own
store in memory: it makes no request, writes no file and does not wait. Test reports
which nodes and edges the tests reached; --cover lists those that no test reached. The exit code is 1
if a test fails.

With --record, the tests call the real models, tools, servers and programs. The calls are stored
beside the file, in testdata/recordings, without the values of secrets. Later runs replay them
without a network or a key, and a test fails at the first call that differs. A call that is recorded
already is not made again; with --fresh all are. A node with a mock is neither called nor recorded.

With --recorded, test runs the last turn of each recorded thread of a workflow again, from its
recorded input and with its recorded answers, and compares the output with the recorded one. The
store is not changed, but the nodes do their work again: --yes permits that. With --config the
turns run with other models. --judge names a workflow that gets the inputs got, want, state and
thread, those that it declares, and has the output pass, and optionally score and reason.`,
		Args: a.arguments("FILE", 1, math.MaxInt),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := f.recorded.check(files, f.run != "" || f.cover || f.record); err != nil {
				return err
			}
			switch {
			case f.fresh && !f.record:
				return reports.Usage("add --record", "--fresh belongs to --record")
			case !f.recorded.on && cmd.Flags().Changed("limit"):
				return reports.Usage("add --recorded", "--limit belongs to --recorded")
			case !f.recorded.on && !f.record && cmd.Flags().Changed("timeout"):
				return reports.Usage("add --record or --recorded", "--timeout belongs to --record and --recorded")
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
	cmd.Flags().BoolVar(&f.cover, "cover", false, "list the nodes and ways that no test went through")
	cmd.Flags().StringVar(&f.junit, "junit", "", "also write the results to this file, as JUnit XML")
	cmd.Flags().BoolVar(&f.record, "record", false, "make the calls of models, tools, servers and programs, and store them for later runs")
	cmd.Flags().BoolVar(&f.fresh, "fresh", false, "with --record, make the recorded calls again too")
	f.recorded.flags(cmd)
	return cmd
}

func (a *app) test(ctx context.Context, files []string, f testFlags) error {
	var worst *reports.Failure
	var all []reports.TestedFile
	for _, file := range files {
		t, err := a.testFile(ctx, file, f)
		if err != nil {
			c := a.Explain(ctx, err, true)
			a.Report(c)
			worst = &reports.Failure{Code: c.Code}
			if c.Code == terminal.ExitSignal {
				return worst
			}
			continue
		}
		if all = append(all, t); !t.Report.Passed() && worst == nil {
			worst = &reports.Failure{Code: reports.ExitFailed}
		}
		if err := a.printTests(t, f); err != nil {
			return err
		}
	}
	if f.match != nil && worst == nil && !slices.ContainsFunc(all, func(t reports.TestedFile) bool { return len(t.Report.Tests) > 0 }) {
		return reports.Usage(a.Invocation+" test without --run lists the tests by name", "no test has a name that --run %q matches", f.run)
	}
	if f.junit != "" {
		if err := reports.WriteJUnit(f.junit, all); err != nil {
			return reports.CannotWrite(f.junit, err)
		}
	}
	if worst == nil {
		return nil
	}
	return worst
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
		covered(len(t.Report.Coverage.Nodes), len(nodes), "node"), covered(len(t.Report.Coverage.Edges), len(edges), "way"))
	if f.cover {
		for _, n := range nodes {
			fmt.Fprintf(&b, "%s:%d: node %s never ran\n", t.File, n.Line, n.Node)
		}
		for _, e := range edges {
			fmt.Fprintf(&b, "%s:%d: the way from %s to %s was never taken\n", t.File, e.Line, e.From, e.To)
		}
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// reportsError reports whether a failure of a test has the error of the run, or the reason for it.
func reportsError(p workflow.Problem) bool { return p.Code == "WF901" || p.Code == "WF905" }

// recordingNote describes what a test recorded; "" for one that did not.
func recordingNote(r *workflow.TestRecording) string {
	switch {
	case r == nil || !r.Written:
		return ""
	case r.Replayed == 0:
		return fmt.Sprintf(" (recorded %s)", counted(r.Made, "call"))
	}
	return fmt.Sprintf(" (recorded %s, %d as before)", counted(r.Made, "call"), r.Replayed)
}

// covered describes how many of all ran.
func covered(all, missed int, noun string) string {
	return fmt.Sprintf("%d of %s", all-missed, counted(all, noun))
}

// missed returns the parts of a file that no test reached.
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

// testOutcome is a test as JSON.
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
