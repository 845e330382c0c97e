package workflow_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// coded is an error with a code, for nodes that fail.
type coded struct{ code string }

func (e coded) Error() string { return "no luck: " + e.code }

func (e coded) Code() string { return e.code }

// with parses a text with kinds of the test.
func with(t *testing.T, text string, extra map[string]workflow.Kind) flow {
	t.Helper()
	return load(t, map[string]string{"main.yaml": text}, extra)
}

// failsBy is a node that fails with the code it is given, unless that is "".
func failsBy(runs *atomic.Int64) map[string]workflow.Kind {
	return map[string]workflow.Kind{"go:try": workflow.Go(func(_ context.Context, in struct {
		Code string `json:"code"`
	}) (string, error) {
		runs.Add(1)
		if in.Code != "" {
			return "", coded{in.Code}
		}
		return "fine", nil
	})}
}

const withHandler = `
version: 1
state: {code: string, log: {type: list<string>, reducer: append}}
input: [code]
output: [log]
nodes:
  a:
    uses: go:try
    with: {code: "${{ state.code }}"}
    output: {log: "${{ result }}"}
    on_error:
      - {if: error.code == "late", to: c, set: {log: "${{ error.node + ' ' + error.kind + ' ' + error.message }}"}}
      - {if: error.code startsWith "x", set: {log: mended}}
      - {if: error.code == "both", to: [b, c]}
    next: b
  b: {set: {log: b}, next: END}
  c: {set: {log: c}, next: END}
`

func TestOnError_TakesTheFirstTrueItem(t *testing.T) {
	var runs atomic.Int64
	f := with(t, withHandler, failsBy(&runs))
	f.gives(`{"code": ""}`, `{"log":["fine","b"]}`)
	g := func(code, want string) {
		t.Helper()
		with(t, withHandler, failsBy(&runs)).gives(`{"code": "`+code+`"}`, want)
	}
	g("xyz", `{"log":["mended","b"]}`)
	g("both", `{"log":["b","c"]}`)
	_, err := with(t, withHandler, failsBy(&runs)).start(`{"code": "other"}`)
	if err == nil || !strings.Contains(err.Error(), "no luck: other") || !strings.Contains(err.Error(), "main.yaml:12:7: no condition of on_error is true") {
		t.Errorf("got %v; a failure that no way takes fails the run with both errors", err)
	}
}

func TestOnError_ReadsTheError(t *testing.T) {
	var runs atomic.Int64
	res, err := with(t, withHandler, failsBy(&runs)).start(`{"code": "late"}`)
	if err != nil {
		t.Fatal(err)
	}
	log, _ := res.State.Get("log")
	if got := log.([]any); len(got) != 2 || !strings.HasPrefix(got[0].(string), "a error ") ||
		!strings.HasSuffix(got[0].(string), "no luck: late") || got[1] != "c" {
		t.Errorf("log is %v", log)
	}
}

func TestOnError_OfNodeWithConditions(t *testing.T) {
	var runs atomic.Int64
	text := `
version: 1
state: {log: {type: list<string>, reducer: append}, n: int}
output: [log]
nodes:
  a:
    uses: go:try
    with: {code: bad}
    on_error: {set: {log: mended, n: 1}}
    next: [{if: result == "fine", to: b}, {if: state.n == 1, to: c}]
  b: {set: {log: b}, next: END}
  c: {set: {log: c}, next: END}
`
	with(t, text, failsBy(&runs)).gives(`{}`, `{"log":["mended","c"]}`)
}

func TestForEach_OmitsFailedItems(t *testing.T) {
	kinds := map[string]workflow.Kind{"go:odd": workflow.Go(func(_ context.Context, in number) (int, error) {
		if in.N%2 == 0 {
			return 0, errors.New("even")
		}
		return in.N, nil
	})}
	text := `
version: 1
state: {got: {type: list<int>, reducer: append}}
nodes:
  a:
    for_each: {in: "1..5", as: n, on_item_error: skip}
    uses: go:odd
    with: {n: "${{ n }}"}
    output: {got: "${{ result }}"}
    next: END
`
	with(t, text, kinds).gives(`{}`, `{"got":[1,3,5]}`)
	text = strings.Replace(text, ", on_item_error: skip}", "}\n    on_error: {set: {got: \"${{ -n }}\"}}", 1)
	with(t, text, kinds).gives(`{}`, `{"got":[1,-2,3,-4,5]}`)
}

func TestDefaults_ApplyToNodes(t *testing.T) {
	var runs atomic.Int64
	text := `
version: 1
state: {log: {type: list<string>, reducer: append}}
defaults: {retry: {max: 3, initial: 1ms}, on_error: {to: sorry, set: {log: "${{ string(error.attempt) }}"}}}
nodes:
  a: {uses: go:try, with: {code: bad}, next: END}
  sorry: {uses: go:try, with: {code: ""}, output: {log: "${{ result }}"}, next: END}
`
	synctest.Test(t, func(t *testing.T) {
		with(t, text, failsBy(&runs)).gives(`{}`, `{"log":["3","fine"]}`)
	})
	if runs.Load() != 4 {
		t.Errorf("it ran %d times, want 3 and 1", runs.Load())
	}
	runs.Store(0)
	text = strings.Replace(text, "code: bad}", "code: bad}, retry: {max: 1}", 1)
	with(t, text, failsBy(&runs)).gives(`{}`, `{"log":["1","fine"]}`)
}

func TestRetryOn_KindsAndCodes(t *testing.T) {
	for on, want := range map[string]int64{
		`["http:429", "http:5xx"]`: 3, `["http:503"]`: 3, `["http:4xx"]`: 1, `[timeout]`: 1, `[error]`: 3,
	} {
		var runs atomic.Int64
		text := `
version: 1
nodes:
  a: {uses: go:try, with: {code: "http:503"}, retry: {max: 3, initial: 1ms, on: ` + on + `}, next: END}
`
		synctest.Test(t, func(t *testing.T) {
			if _, err := with(t, text, failsBy(&runs)).start(`{}`); err == nil {
				t.Error("it did not fail")
			}
		})
		if runs.Load() != want {
			t.Errorf("on: %s: it ran %d times, want %d", on, runs.Load(), want)
		}
	}
}

func TestRetry_SkipsPermanentFailures(t *testing.T) {
	var runs atomic.Int64
	kinds := map[string]workflow.Kind{"go:never": workflow.Go(func(context.Context, struct{}) (int, error) {
		runs.Add(1)
		return 0, graph.Permanent(errors.New("never"))
	})}
	_, err := with(t, "version: 1\nnodes: {a: {uses: go:never, retry: {max: 3, initial: 1ms}, next: END}}", kinds).start(`{}`)
	if err == nil || runs.Load() != 1 {
		t.Errorf("it ran %d times, %v", runs.Load(), err)
	}
}

func TestCache_RunsNodeOncePerKey(t *testing.T) {
	var runs atomic.Int64
	text := `
version: 1
state: {n: {type: int, reducer: add}, code: string, log: {type: list<string>, reducer: append}}
input: [code]
output: [log]
nodes:
  a:
    uses: go:try
    with: {code: ""}
    cache: {key: "${{ state.code }}", ttl: 1h}
    output: {log: "${{ result }}"}
    next: [{if: state.n >= 2, to: END}, {else: b}]
  b: {set: {n: 1}, next: a}
`
	with(t, text, failsBy(&runs)).gives(`{"code": "k"}`, `{"log":["fine","fine","fine"]}`)
	if runs.Load() != 1 {
		t.Errorf("it ran %d times for one key, want 1", runs.Load())
	}
	cache := new(graph.MemoryCache)
	turn := func(text, thread, code string) {
		t.Helper()
		f := with(t, text, failsBy(&runs))
		g, err := f.Compile(graph.Config{Store: new(checkpoint.Memory), Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		in := f.NewState()
		if err := in.Write("code", code); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Invoke(t.Context(), in, graph.RunOptions{Thread: thread}); err != nil {
			t.Fatal(err)
		}
	}
	runs.Store(0)
	turn(text, "one", "k")
	turn(text, "two", "k")
	turn(text, "three", "other")
	if runs.Load() != 2 {
		t.Errorf("it ran %d times for two keys in three runs, want 2", runs.Load())
	}
	turn(strings.Replace(text, "\"${{ result }}\"", "\"${{ result + '!' }}\"", 1), "four", "k")
	if runs.Load() != 3 {
		t.Errorf("a node that was changed took a result of before: %d runs, want 3", runs.Load())
	}
}

// crowd counts how many are in it at once.
type crowd struct{ now, most atomic.Int64 }

func (c *crowd) kind() workflow.Kind {
	return workflow.Go(func(ctx context.Context, _ struct{}) (int, error) {
		n := c.now.Add(1)
		defer c.now.Add(-1)
		for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return int(n), nil
	})
}

// Requirement: a limit counts configurations, not calls
func TestLimits_SharedByName(t *testing.T) {
	child := `
version: 1
limits: {shared: {api: {concurrency: 2}}}
nodes: {x: {for_each: {in: "1..4"}, uses: go:crowd, limit: api, next: END}}
`
	main := `
version: 1
limits: {shared: {api: {concurrency: 2}}}
start: [a, b]
nodes:
  a: {for_each: {in: "1..4"}, uses: go:crowd, limit: api, next: END}
  b: {workflow: child.yaml, next: END}
`
	synctest.Test(t, func(t *testing.T) {
		var c crowd
		f := load(t, map[string]string{"main.yaml": main, "child.yaml": child}, map[string]workflow.Kind{"go:crowd": c.kind()})
		began := time.Now()
		if _, err := f.start(`{}`); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); c.most.Load() != 2 || took != 4*time.Second {
			t.Errorf("%d ran at once, in %v; want 2, and 8 items two by two in 4s", c.most.Load(), took)
		}
	})
}

func TestRate_SpreadsStarts(t *testing.T) {
	text := `
version: 1
limits: {shared: {api: {rate: 60/m}}}
nodes: {a: {for_each: {in: "1..4"}, uses: go:double, with: {n: 1}, limit: api, next: END}}
`
	synctest.Test(t, func(t *testing.T) {
		f := parse(t, text)
		began := time.Now()
		if _, err := f.start(`{}`); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("4 beginnings at 60 a minute took %v, want 3s", took)
		}
	})
}

func TestLimits_ProgramOverridesFile(t *testing.T) {
	text := `
version: 1
limits: {shared: {api: {concurrency: 4}}}
nodes: {a: {for_each: {in: "1..4"}, uses: go:crowd, limit: api, next: END}}
`
	synctest.Test(t, func(t *testing.T) {
		var c crowd
		f := with(t, text, map[string]workflow.Kind{"go:crowd": c.kind()})
		limits, err := graph.NewLimits(map[string]graph.Limit{"api": {Concurrency: 1}})
		if err != nil {
			t.Fatal(err)
		}
		g, err := f.Compile(graph.Config{Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Invoke(t.Context(), f.NewState(), graph.RunOptions{}); err != nil || c.most.Load() != 1 {
			t.Errorf("%d ran at once, %v; want 1", c.most.Load(), err)
		}
	})
}

func TestDefer_WaitsForOtherNodes(t *testing.T) {
	parse(t, `
version: 1
state: {log: {type: list<string>, reducer: append}}
start: [a, last]
nodes:
  last: {defer: true, set: {log: last}, next: END}
  a: {set: {log: a}, next: b}
  b: {set: {log: b}, next: c}
  c: {set: {log: c}, next: END}
`).gives(`{}`, `{"log":["a","b","c","last"]}`)
}

func TestEdges_Section(t *testing.T) {
	text := `
version: 1
state: {n: int, log: {type: list<string>, reducer: append}}
input: [n]
output: [log]
nodes:
  a: {set: {log: a}}
  b: {set: {log: b}}
  c: {set: {log: c}}
  d: {join: [b, c], set: {log: d}}
edges:
  - {from: START, to: a}
  - {from: a, to: END, if: state.n == 0}
  - {from: a, to: b, if: state.n == 1}
  - {from: a, to: [b, c]}
  - {from: [b, c], to: d}
  - {from: d, to: END}
`
	parse(t, text).gives(`{"n": 0}`, `{"log":["a"]}`)
	parse(t, text).gives(`{"n": 2}`, `{"log":["a","b","c","d"]}`)
}

func TestEdges_FollowFromRequiresAndProvides(t *testing.T) {
	text := `
version: 1
state: {topic: string, facts: string, tone: string, draft: string, log: {type: list<string>, reducer: append}}
input: [topic]
output: [draft, log]
nodes:
  publish: {requires: [draft], set: {log: publish}}
  write: {requires: [facts, tone], provides: [draft], set: {draft: "${{ state.facts + state.tone }}", log: write}}
  search: {requires: [topic], provides: [facts], set: {facts: "${{ state.topic + ' is old' }}", log: search}}
  style: {provides: [tone], set: {tone: "!", log: style}}
`
	f := parse(t, text)
	f.gives(`{"topic": "go"}`, `{"draft":"go is old!","log":["search","style","write","publish"]}`)
	written := parse(t, `
version: 1
state: {topic: string, facts: string, tone: string, draft: string, log: {type: list<string>, reducer: append}}
start: [search, style]
nodes:
  publish: {set: {}, next: END}
  write: {join: [search, style], set: {}, next: publish}
  search: {set: {}, next: write}
  style: {set: {}, next: write}
`)
	if a, b := f.Draw(0).Mermaid(), written.Draw(0).Mermaid(); a != b {
		t.Errorf("derived edges draw\n%s\nwritten ones\n%s", a, b)
	}
}

func TestInterrupt_PausesTheRun(t *testing.T) {
	f := parse(t, `
version: 1
state: {log: {type: list<string>, reducer: append}}
interrupt: {before: [b]}
nodes:
  a: {set: {log: a}, next: b}
  b: {set: {log: b}, next: END}
`)
	res, err := f.start(`{}`)
	if err != nil || res.Status != graph.Interrupted || res.Interrupts[0].Kind != "before" {
		t.Fatal(res.Status, res.Interrupts, err)
	}
	res, err = f.Resume(t.Context(), graph.Answers{}, thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"log":["a","b"]}`)
}

func TestIdempotencyKey_ReachesNodeAndStoresResult(t *testing.T) {
	var keys []string
	kinds := map[string]workflow.Kind{"go:pay": workflow.Go(func(ctx context.Context, _ struct{}) (map[string]any, error) {
		keys = append(keys, workflow.IdempotencyKey(ctx))
		return map[string]any{"n": 1 << 60, "ok": true}, nil
	})}
	f := with(t, `
version: 1
state: {order: string, n: int}
input: [order]
output: [n]
nodes:
  a: {uses: go:pay, idempotency_key: "order-${{ state.order }}", output: {n: "${{ result.n }}"}, next: END}
`, kinds)
	f.gives(`{"order": "7"}`, `{"n":1152921504606846976}`)
	if strings.Join(keys, " ") != "order-7" {
		t.Errorf("the node got the keys %q, want order-7 once", keys)
	}
}

// The result is stored before the node has ended, so a failure after the work does not repeat it.
func TestIdempotencyKey_ResultIsReused(t *testing.T) {
	for key, want := range map[string]int64{"idempotency_key: pay,": 1, "": 2} {
		var runs atomic.Int64
		f := with(t, `
version: 1
state: {n: int}
nodes: {a: {uses: go:pay, `+key+` output: {n: "${{ result.missing }}"}, next: END}}
`, map[string]workflow.Kind{"go:pay": workflow.Go(func(context.Context, struct{}) (map[string]any, error) {
			runs.Add(1)
			return map[string]any{}, nil
		})})
		_, first := f.start(`{}`)
		_, second := f.Resume(t.Context(), graph.Answers{}, thread)
		if first == nil || second == nil || runs.Load() != want {
			t.Errorf("%q: it ran %d times, want %d (%v, %v)", key, runs.Load(), want, first, second)
		}
	}
}
