package workflow

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/record"
)

// TestOptions select the tests of a file to run, and how. The zero TestOptions run all.
type TestOptions struct {
	// Match chooses tests by their name; nil means all.
	Match func(name string) bool
	// Record runs the tests with what they call outside of the process, and writes the calls to a
	// file for each test: see [Workflow.Recording]. A call that is in the file already is not made
	// again, unless Fresh is set. Files of tests that are gone are removed if Match is nil.
	Record, Fresh bool
	// Timeout limits each test while it records; 0 is no limit.
	Timeout time.Duration
}

// TestReport has the results of the tests of a file.
type TestReport struct {
	Tests    []TestResult `json:"tests"` // in the order of the file
	Coverage Coverage     `json:"coverage"`
}

// Passed reports whether no test failed.
func (r TestReport) Passed() bool {
	return !slices.ContainsFunc(r.Tests, func(t TestResult) bool { return !t.Passed() })
}

// TestResult is the result of one test.
type TestResult struct {
	Name string `json:"name"`
	File string `json:"file"`
	Line int    `json:"line"` // of the test's name, from 1
	Col  int    `json:"col"`
	// Failures are the expectations that were not met, each with its place in the file. It is empty
	// if the test has passed.
	Failures []Problem    `json:"failures,omitempty"`
	Status   graph.Status `json:"status"`
	Path     [][]string   `json:"path"` // the nodes that ran: a list for each step, sorted by name
	// Output has the outputs of the file, from the last state of the run, without secrets.
	Output  Values        `json:"output"`
	Err     error         `json:"-"` // why the run failed
	Elapsed time.Duration `json:"elapsed"`
	// Recording is what the test did with its recording; nil for a test without one.
	Recording *TestRecording `json:"recording,omitempty"`
}

// Passed reports whether every expectation was met.
func (r TestResult) Passed() bool { return len(r.Failures) == 0 }

// Coverage reports which nodes and edges of a file ran in its tests.
type Coverage struct {
	Nodes []NodeCoverage `json:"nodes"` // in the order of the file
	Edges []EdgeCoverage `json:"edges"` // in the order of the nodes they lead from
}

// NodeCoverage reports how often a node ran.
type NodeCoverage struct {
	Node string `json:"node"`
	Line int    `json:"line"`
	Runs int    `json:"runs"`
}

// EdgeCoverage reports how often an edge between two nodes was taken.
type EdgeCoverage struct {
	From string `json:"from"`
	To   string `json:"to"` // END for the end
	Line int    `json:"line"`
	// Kind is "next" for an edge without conditions, "choice" for one of a next that has them, or
	// "error" for one of an on_error.
	Kind  string `json:"kind"`
	Taken int    `json:"taken"`
}

// RunTests runs the tests of the file, each with a store of its own in memory. Nodes that reach
// outside of the process must be mocked or recorded; waits and the pauses before retries take no
// time, and the environment is that of the test. While a test records, a secret that it does not
// set is that of the program. The error is that of ctx, of a graph that does not compile, or of a
// recording that cannot be removed.
func (w *Workflow) RunTests(ctx context.Context, o TestOptions) (TestReport, error) {
	report := TestReport{Tests: []TestResult{}}
	all := newTrace()
	for _, t := range w.plan.tests {
		if o.Match != nil && !o.Match(t.name) {
			continue
		}
		res, err := w.runTest(ctx, t, all, o)
		if err != nil {
			return report, err
		}
		report.Tests = append(report.Tests, res)
	}
	report.Coverage = w.coverage(all)
	if o.Record && o.Match == nil {
		return report, w.removeRecordings()
	}
	return report, nil
}

// Tests returns the names of the file's tests, in its order.
func (w *Workflow) Tests() []string {
	names := make([]string, len(w.plan.tests))
	for i, t := range w.plan.tests {
		names[i] = t.name
	}
	return names
}

// testRun is one test under way.
type testRun struct {
	*Workflow
	*graph.Graph[record.Record]
	t    *test
	res  TestResult
	last graph.Result[record.Record]
	out  *source // collects the failures
	seen *trace

	redact func(string) string // removes secrets
}

func (w *Workflow) runTest(ctx context.Context, t *test, seen *trace, o TestOptions) (TestResult, error) {
	own := *w
	lookup, secrets := t.lookup(), w.testSecrets(t)
	own.vault = w.vault.with(lookup)
	r := &testRun{Workflow: &own, t: t, seen: seen, out: new(*w.src), redact: recording.Redact(secrets)}
	r.out.problems = new(problems)
	r.res = TestResult{Name: t.name, File: w.src.path, Line: t.at.Line, Col: t.at.Column, Path: [][]string{}}
	mocks := map[string]*mock{}
	for _, m := range t.mocks {
		mocks[m.name] = m
	}
	tape, err := w.openRecording(t, o, secrets)
	if err != nil {
		r.out.fail(t.at, "WF905", "%v", err)
		r.res.Status = graph.Failed
		r.end(err)
		return r.res, nil
	}
	cfg, err := testConfig()
	if err == nil {
		r.Graph, err = own.compile(cfg, making{graphs: children{}, test: true, mocks: mocks, seen: seen, taping: taping{tape != nil, o.Record}})
	}
	if err != nil {
		return r.res, err
	}
	began := time.Now()
	running := tape.context(context.WithValue(ctx, testEnvKey{}, testEnv{lookup, o.Record}))
	if o.Record && o.Timeout > 0 {
		var cancel context.CancelFunc
		running, cancel = context.WithTimeout(running, o.Timeout)
		defer cancel()
	}
	if o.Record {
		if w.mayRecord(running, tape, "", mocks, r.out.problems); r.out.err() != nil {
			tape.Discard()
			r.res.Status = graph.Failed
			r.end(nil)
			return r.res, nil
		}
	}
	r.run(running)
	r.res.Elapsed = time.Since(began)
	if ctx.Err() != nil {
		return r.res, context.Cause(ctx)
	}
	r.closeRecording(tape, o)
	r.end(r.res.Err)
	return r.res, nil
}

// end stores the collected failures, and the error of the run, in the result. They and the output
// have no secrets then.
func (r *testRun) end(err error) {
	r.res.Err = cleanError(err, r.redact)
	for i := range r.res.Output {
		r.res.Output[i].Value = clean(r.res.Output[i].Value, r.redact)
	}
	if e, ok := r.out.err().(*Error); ok {
		r.res.Failures = e.Problems
		for i := range e.Problems {
			e.Problems[i].Msg = r.redact(e.Problems[i].Msg)
		}
	}
}

// testEnv is the environment of a test, in the context of its run.
type testEnv struct {
	lookup  func(string) (string, bool)
	records bool
}

type testEnvKey struct{}

// lookup returns the environment of a test: only the variables that the test sets.
func (t *test) lookup() func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := t.env[name]
		return v, ok
	}
}

// run runs the graph, and resumes it while the test has answers to what is open.
func (r *testRun) run(ctx context.Context) {
	values, config := r.plainsOf(r.t.input), r.plainsOf(r.t.config)
	input, err := r.fill(values, config, r.t.now)
	if err != nil {
		r.res.Status, r.res.Err = graph.Failed, err
		return
	}
	steps := map[int]map[string]bool{}
	thread := graph.RunOptions{Thread: "test", Modes: graph.Tasks | graph.Ended}
	left := slices.Clone(r.t.answers)
	r.follow(r.Stream(ctx, input, thread), steps)
	for r.res.Status == graph.Interrupted {
		given, ok := r.answer(&left)
		if !ok {
			break
		}
		r.follow(r.StreamResume(ctx, given, thread), steps)
	}
	for _, a := range left {
		if r.res.Status != graph.Failed {
			r.out.fail(a.at, "WF904", "no open question of %s accepts this answer", a.name)
		}
	}
	if rec, _, err := r.Thread("test").State(ctx, 0); err == nil && r.res.Status == graph.Failed {
		r.last.State, r.res.Output = rec, r.Output(&rec) // what was stored before it failed
	}
	for _, n := range slices.Sorted(maps.Keys(steps)) {
		r.res.Path = append(r.res.Path, slices.Sorted(maps.Keys(steps[n])))
	}
	r.seen.path(r.res.Path)
}

func (r *testRun) plainsOf(o object) map[string]any {
	values := map[string]any{}
	for _, m := range o {
		values[m.key.Value] = r.src.plainOf(m.value)
	}
	return values
}

// answer removes the next answers to the open questions from left and returns them. ok is false if
// there is nothing to resume with, or an answer does not fit.
func (r *testRun) answer(left *[]answer) (given graph.Answers, ok bool) {
	for _, in := range r.last.Interrupts {
		if !in.IsQuestion() {
			ok = true // a static interrupt
			continue
		}
		name := r.asker(in)
		at := slices.IndexFunc(*left, func(a answer) bool { return a.name == name })
		if at < 0 {
			continue
		}
		a := (*left)[at]
		*left = slices.Delete(*left, at, at+1)
		data, err := json.Marshal(a.value)
		if err == nil {
			err = in.Accepts(data)
		}
		if err != nil {
			r.out.fail(a.at, "WF904", "the answer to %s does not fit: %s", a.name, innermost(err))
			return given, false
		}
		given, ok = given.Answer(in.ID, json.RawMessage(data)), true
	}
	return given, ok
}

// innermost returns the text of the last error that err wraps, by its method Unwrap() []error.
func innermost(err error) string {
	if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) > 0 {
		return innermost(many.Unwrap()[len(many.Unwrap())-1])
	}
	return err.Error()
}

// follow reads the events of a run to its end.
func (r *testRun) follow(events func(func(graph.Event, error) bool), steps map[int]map[string]bool) {
	for ev, err := range events {
		if err != nil {
			r.res.Status, r.res.Err = graph.Failed, err
			continue
		}
		if ev.Mode == graph.Ended && ev.Namespace == "" {
			r.ended(ev)
		}
		if ev.Mode != graph.Tasks || ev.Namespace != "" || strings.Contains(ev.Node, ".") {
			continue
		}
		if steps[ev.Step] == nil {
			steps[ev.Step] = map[string]bool{}
		}
		steps[ev.Step][ev.Node] = true
		if ev.Phase == graph.Finished {
			r.seen.finished(ev.Node)
		}
	}
}

func (r *testRun) ended(ev graph.Event) {
	r.res.Status, r.last.Interrupts = ev.Status, ev.Interrupts
	if rec, ok := ev.State.(*record.Record); ok {
		r.last.State = *rec
		r.res.Output = r.Output(rec)
	}
}
