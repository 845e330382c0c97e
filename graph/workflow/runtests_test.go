package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

const tested = `version: 1
env: {REGION: {default: eu}}
state:
  topic: {type: string, required: true}
  found: {type: list<string>, reducer: append}
  pages: {type: list<string>, reducer: append}
  tries: {type: int, reducer: add}
  text: string
  at: string
input: [topic]
output: [text, pages]
nodes:
  search:
    http: {url: "https://example.org"}
    output: {found: "${{ result.json }}"}
    retry: {max: 2, initial: 1h}
    on_error: {to: sorry, set: {text: "${{ error.code }}"}}
    next: [{if: len(state.found) == 0, to: again}, {else: fetch}]
  again: {wait: {for: 100h}, next: count}
  count: {set: {tries: 1}, next: search}
  fetch:
    for_each: {in: state.found, as: url}
    uses: go:fetch
    with: {url: "${{ url }}"}
    output: {pages: "${{ result }}"}
    next: approve
  approve:
    approval: {title: "Publish in ${{ env.REGION }} at ${{ run.time }}?"}
    next: [{if: result.approved, to: [a, b]}, {else: sorry}]
  a: {set: {text: "${{ state.topic }}"}, next: END}
  b: {set: {at: "${{ run.time }}"}, next: END}
  sorry: {fail: {code: no, message: "not ${{ state.topic }}"}}
tests:
  - name: goes well
    now: "2026-11-21T09:30:00Z"
    input: {topic: go}
    mock:
      search: {results: [{json: []}, {json: [x, y]}]}
      fetch: {results: [X, Y]}
    answers: [{approve: true}]
    expect:
      path: [search, again, count, search, fetch, approve, [a, b]]
      output: {text: go, pages: [X, Y]}
      state: {tries: 1, at: "2026-11-21T09:30:00Z"}
  - name: waits
    input: {topic: go}
    mock: {search: {result: {json: [x]}}, fetch: {result: X}}
    expect: {asks: [approve]}
  - name: breaks
    input: {topic: go}
    mock: {search: {error: {message: gone, code: "http:404"}}}
    expect: {code: "no", error: not go, path: [search, sorry]}
`

func testedKinds() map[string]workflow.Kind {
	return map[string]workflow.Kind{"go:fetch": workflow.Go(func(context.Context, struct {
		URL string `json:"url"`
	}) (string, error) {
		return "", fmt.Errorf("it was not mocked")
	})}
}

func runTests(t *testing.T, text string) workflow.TestReport {
	t.Helper()
	report, err := with(t, text, testedKinds()).RunTests(t.Context(), workflow.TestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestRunTests_Pass(t *testing.T) {
	report := runTests(t, tested)
	for _, r := range report.Tests {
		if !r.Passed() {
			t.Errorf("%s: %v (%v)", r.Name, r.Failures, r.Err)
		}
	}
	if len(report.Tests) != 3 || !report.Passed() {
		t.Errorf("%d tests, passed %v", len(report.Tests), report.Passed())
	}
	if out, _ := json.Marshal(report.Tests[0].Output); string(out) != `{"text":"go","pages":["X","Y"]}` {
		t.Errorf("the output is %s", out)
	}
	if s := report.Tests[1].Status; s != graph.Interrupted {
		t.Errorf("a test that waits has the status %q", s)
	}
}

func TestCoverage_CountsNodesAndEdges(t *testing.T) {
	c := runTests(t, tested).Coverage
	var got strings.Builder
	for _, n := range c.Nodes {
		fmt.Fprintf(&got, "%s:%d ", n.Node, n.Runs)
	}
	for _, e := range c.Edges {
		fmt.Fprintf(&got, "\n%d %s %s %s %d", e.Line, e.From, e.Kind, e.To, e.Taken)
	}
	const want = `search:4 again:1 count:1 fetch:2 approve:2 a:1 b:1 sorry:1 
18 search choice again 1
18 search choice fetch 2
17 search error sorry 1
19 again next count 1
20 count next search 1
26 fetch next approve 2
29 approve choice a 1
29 approve choice b 1
29 approve choice sorry 0
30 a next END 1
31 b next END 1`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// Each edit makes the first test fail, with these words at this line.
func TestRunTests_FailureNamesPlaceAndReason(t *testing.T) {
	for _, c := range []struct {
		from, to string
		line     int
		want     string
	}{
		{"output: {text: go, pages", "output: {text: no, pages", 43, `error[WF903]: text is "go", want "no"`},
		{"state: {tries: 1,", "state: {tries: 2,", 44, `error[WF903]: tries is 1, want 2`},
		{"fetch, approve, [a, b]]", "fetch, approve, a, b]", 42, "error[WF902]: the path is [search, again, count, search, fetch, approve, [a, b]], want [search, again, count, search, fetch, approve, a, b]"},
		{"answers: [{approve: true}]", "answers: [{approve: false}]", 42, "error[WF901]: the run is failed, want done"},
		{"answers: [{approve: true}]", "answers: [{approve: 3}]", 40, "error[WF904]: the answer to approve does not fit"},
		{"answers: [{approve: true}]", "answers: []", 42, "the run is interrupted, want done, with open questions of approve"},
		{"answers: [{approve: true}]", "answers: [{approve: true}, {approve: true}]", 40, "error[WF904]: no open question of approve accepts this answer"},
		{"      fetch: {results: [X, Y]}\n", "", 41, "it was not mocked"},
	} {
		report := runTests(t, strings.Replace(tested, c.from, c.to, 1))
		var lines []string
		found := false
		for _, f := range report.Tests[0].Failures {
			lines = append(lines, f.String())
			found = found || f.Line == c.line && strings.Contains(f.String(), c.want)
		}
		if !found || report.Passed() {
			t.Errorf("%q: got\n%s\nwant line %d: %s", c.to, strings.Join(lines, "\n"), c.line, c.want)
		}
	}
}

func TestRunTests_RequiresMocksOfOutsideEffects(t *testing.T) {
	report := runTests(t, `
version: 1
nodes: {a: {http: {url: "http://example.org"}, next: END}}
tests: [{name: t, expect: {status: done}}]
`)
	if report.Passed() || !strings.Contains(report.Tests[0].Failures[0].Msg, "node a reaches outside of the process; give it a mock") {
		t.Errorf("got %v", report.Tests[0].Failures)
	}
}

func TestRunTests_SelectsByName(t *testing.T) {
	f := with(t, tested, testedKinds())
	report, err := f.RunTests(t.Context(), workflow.TestOptions{Match: func(name string) bool { return name == "waits" }})
	if err != nil || len(report.Tests) != 1 || report.Tests[0].Name != "waits" || strings.Join(f.Tests(), ",") != "goes well,waits,breaks" {
		t.Errorf("got %v, %v of %v", report.Tests, err, f.Tests())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.RunTests(ctx, workflow.TestOptions{}); err == nil {
		t.Error("a cancelled context was no error")
	}
}

func TestRunTests_SubWorkflowRunsOrIsMocked(t *testing.T) {
	child := `
version: 1
state: {text: string}
output: [text]
nodes:
  x: {ask: {title: Well}, output: {text: "${{ result }}"}, next: END}
`
	main := `
version: 1
state: {text: string}
nodes:
  a: {workflow: child.yaml, output: {text: "${{ result.text }}"}, next: END}
tests:
  - {name: mocked, mock: {a: {result: {text: m}}}, expect: {output: {text: m}, path: [a]}}
  - {name: real, answers: [{x: real}], expect: {output: {text: real}, path: [a]}}
`
	f := load(t, map[string]string{"main.yaml": main, "child.yaml": child}, nil)
	report, err := f.RunTests(t.Context(), workflow.TestOptions{})
	if err != nil || !report.Passed() {
		t.Errorf("%v: %+v", err, report.Tests)
	}
}

// The time of the turn is that of its input, in each node and after each pause.
func TestRunTime_IsRecorded(t *testing.T) {
	f := load(t, map[string]string{"main.yaml": `
version: 1
state: {log: {type: list<string>, reducer: append}}
nodes:
  a: {ask: {title: Well}, output: {log: "${{ run.time }}"}, next: b}
  b: {workflow: child.yaml, output: {log: "${{ string(result.unix) }}"}, next: END}
`, "child.yaml": `
version: 1
state: {unix: int}
nodes: {x: {set: {unix: "${{ run.unix }}"}, next: END}}
`}, nil)
	in := f.NewState()
	stored, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var began struct {
		Unix int64 `json:"run_time"`
	}
	if err := json.Unmarshal(stored, &began); err != nil || began.Unix == 0 {
		t.Fatalf("%s: %v", stored, err)
	}
	if err := in.Write("run_time", int64(1_700_000_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Invoke(t.Context(), in, thread); err != nil {
		t.Fatal(err)
	}
	res, err := f.Resume(t.Context(), graph.Reply("x"), thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"log":["2023-11-14T22:13:20Z","1700000000"]}`)
}

func TestJoin_MockedGraphMayBeSkipped(t *testing.T) {
	w, err := workflow.Parse("in.yaml", []byte(`
version: 1
state: {n: int, text: string}
start: [a, b]
nodes:
  a: {if: state.n > 3, agent: {prompt: hello}, output: {text: "${{ result.text }}"}, next: c}
  b: {set: {n: 5}, next: c}
  c: {join: [a, b], set: {n: 2}, next: END}
tests:
  - {name: runs, input: {n: 4}, mock: {a: {result: {text: hi}}}, expect: {output: {n: 2, text: hi}}}
  - {name: is skipped, input: {n: 0}, mock: {a: {result: {text: hi}}}, expect: {output: {n: 2, text: null}}}
  - {name: needs a mock, input: {n: 4}, expect: {error: node a reaches outside of the process}}
`), workflow.Options{Kinds: kinds()})
	if err != nil {
		t.Fatal(err)
	}
	report, err := w.RunTests(t.Context(), workflow.TestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Tests {
		if !r.Passed() {
			t.Errorf("%s: %v (%v)", r.Name, r.Failures, r.Err)
		}
	}
}

func TestRunTests_MockNamesABlob(t *testing.T) {
	hash := strings.Repeat("a", 64)
	report := runTests(t, `version: 1
state: {picture: blob, size: int}
nodes:
  load:
    http: {url: "https://example.org"}
    output: {picture: "${{ result.json }}"}
    next: measure
  measure: {set: {size: "${{ state.picture.size }}"}, next: END}
tests:
  - name: loads
    mock: {load: {result: {json: {$blob: `+hash+`, size: 3}}}}
    expect: {state: {size: 3, picture: {$blob: `+hash+`, size: 3}}}
`)
	if !report.Passed() {
		t.Errorf("got %+v", report.Tests)
	}
}
