package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

func TestSet_UsesReducers(t *testing.T) {
	parse(t, `
version: 1
types: {P: {name: string, age: {type: int, default: 7}}}
state:
  n: int
  text: string
  sum: {type: int, reducer: add, default: 10}
  list: {type: list<int>, reducer: append, default: [1]}
  top: {type: number, reducer: max}
  low: {type: int, reducer: min}
  byname: {type: map<int>, reducer: merge, default: {x: 1, y: 2}}
  seen: {type: list<string>, reducer: union}
  p: P
  any: any
input: [n]
nodes:
  a:
    set:
      text: "${{ state.n }} and $${{ text }}"
      sum: ${{ state.n }}
      list: [2, "${{ state.n }}"]
      top: 1.5
      low: 3
      byname: {x: null, z: "${{ state.n }}"}
      seen: [b, a, b]
      p: {name: Ada}
      any: {deep: ["${{ state.n + 1 }}", null, true, 2.5, "no"]}
    next: b
  b:
    set: {sum: 1, list: "${{ state.n * 2 }}", top: 1, low: 1, seen: c}
    next: END
`).gives(`{"n": 4}`, `{"n":4,"text":"4 and ${{ text }}","sum":15,"list":[1,2,4,8],"top":1.5,"low":1,`+
		`"byname":{"y":2,"z":4},"seen":["a","b","c"],"p":{"age":7,"name":"Ada"},"any":{"deep":[5,null,true,2.5,"no"]}}`)
}

func TestNext_TakesTheFirstTrueCondition(t *testing.T) {
	f := parse(t, `
version: 1
state: {n: {type: int, required: true}, way: string}
input: [n]
output: [way]
nodes:
  a:
    uses: go:double
    with: {n: "${{ state.n }}"}
    next:
      - {if: result.n > 10, to: big}
      - {if: state.n > 1, to: middle}
      - {if: state.n == 1, to: END}
  big:    {set: {way: big}, next: END}
  middle: {set: {way: middle}, next: END}
`)
	f.gives(`{"n": 6}`, `{"way":"big"}`)
	f.gives(`{"n": 2}`, `{"way":"middle"}`)
	_, err := f.start(`{"n": 0}`)
	if err == nil || !strings.Contains(err.Error(), `node "a"`) || !strings.Contains(err.Error(), "main.yaml:11:7: no condition of next is true") {
		t.Errorf("got %v; want an error that names the node and the place", err)
	}
}

func TestIf_SkipsTheNode(t *testing.T) {
	text := `
version: 1
state: {ok: bool, n: {type: int, reducer: add}, each: {type: list<int>, reducer: append}}
input: [ok]
output: [n, each]
nodes:
  a: {if: state.ok, set: {n: 1}, next: b}
  b:
    if: state.ok
    for_each: {in: "[1, 2]"}
    set: {each: "${{ item }}"}
    next: c
  c:
    if: state.ok
    uses: go:double
    with: {n: 8}
    output: {n: "${{ result.n }}"}
    next: [{if: result == nil, to: d}, {else: END}]
  d: {set: {n: -1}, next: END}
`
	parse(t, text).gives(`{"ok": true}`, `{"n":17,"each":[1,2]}`)
	parse(t, text).gives(`{"ok": false}`, `{"n":-1,"each":[]}`)
}

func TestForEach_KeepsItemOrder(t *testing.T) {
	const text = `
version: 1
state: {n: int, got: {type: list<int>, reducer: append}, after: {type: int, reducer: add}}
input: [n]
output: [got, after]
nodes:
  each:
    for_each: {in: "state.n == 0 ? [] : 1..state.n", as: i}
    uses: go:double
    with: {n: "${{ i }}"}
    output: {got: "${{ result.n + 100 * i }}"}
    next: after
  after: {set: {after: 1}, next: END}
`
	for _, n := range []int{0, 1, 50} {
		want := []int{}
		for i := 1; i <= n; i++ {
			want = append(want, 102*i)
		}
		list, _ := json.Marshal(want)
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			parse(t, text).gives(fmt.Sprintf(`{"n": %d}`, n), fmt.Sprintf(`{"got":%s,"after":1}`, list))
		})
	}
}

func TestForEach_KeepsItemTypes(t *testing.T) {
	const text = `
version: 1
name: kinds
state: {items: {type: any, required: true}, kinds: {type: list<string>, reducer: append}}
nodes:
  a:
    for_each: {in: state.items, as: i}
    set: {kinds: ["${{ type(i) }}"]}
    next: END
`
	f := parse(t, text)
	res, err := f.start(`{"items": [3, 3.0, 1e20, "3", null, [3.0], true]}`)
	if got := fmt.Sprint(f.Output(&res.State).Map()["kinds"]); err != nil || got != "[int float float string nil array bool]" {
		t.Errorf("got %s, %v", got, err)
	}
	for items, want := range map[string]string{`{}`: "an object", `"abc"`: "a text", `5`: "a number", `true`: "a bool"} {
		_, err := parse(t, text).start(`{"items": ` + items + `}`)
		if err == nil || !strings.Contains(err.Error(), "for_each requires a list, not "+want) {
			t.Errorf("%s: %v, want %s", items, err, want)
		}
	}
}

func TestForEach_IsBounded(t *testing.T) {
	f := parse(t, `
version: 1
state: {n: {type: int, reducer: add}}
limits: {fanout: 10}
nodes:
  a: {for_each: {in: 1..11}, set: {n: 1}, next: END}
`)
	_, err := f.start(`{}`)
	if !errors.Is(err, graph.ErrFanOut) || !strings.Contains(err.Error(), "main.yaml:6:22") {
		t.Errorf("got %v; want ErrFanOut at the list", err)
	}
}

func TestForEach_ChoosesNextOnceAtTheEnd(t *testing.T) {
	const text = `
version: 1
state: {items: list<int>, sum: {type: int, reducer: add}, big: {type: int, reducer: add}}
input: [items]
output: [sum, big]
nodes:
  a:
    for_each: {in: state.items, as: i}
    set: {sum: "${{ i }}"}
    next: [{if: state.sum > 5, to: big}, {else: END}]
  big: {set: {big: 1}, next: END}
`
	parse(t, text).gives(`{"items": [1, 2, 3]}`, `{"sum":6,"big":1}`)
	parse(t, text).gives(`{"items": [1, 2]}`, `{"sum":3,"big":0}`)
	parse(t, text).gives(`{"items": []}`, `{"sum":0,"big":0}`)
}

func TestJoin_WaitsForAllItems(t *testing.T) {
	const text = `
version: 1
state: {items: list<int>, sum: {type: int, reducer: add}, seen: {type: list<int>, reducer: append}}
input: [items]
output: [sum, seen]
start: [items, other]
nodes:
  items:
    for_each: {in: state.items, as: i}
    set: {sum: "${{ i }}"}
    next: gate
  other: {set: {sum: 100}, next: more}
  more: {set: {sum: 1000}, next: [gate]}
  gate:
    join: [items, more]
    set: {seen: "${{ state.sum }}"}
    next: END
`
	parse(t, text).gives(`{"items": [1, 2, 3]}`, `{"sum":1106,"seen":[1106]}`)
	parse(t, text).gives(`{"items": []}`, `{"sum":1100,"seen":[1100]}`)
}

func TestApproval_AnsweredInAnotherProcess(t *testing.T) {
	f := parse(t, `
version: 1
state: {text: string, done: string}
input: [text]
output: [done]
nodes:
  ask:
    approval: {title: "Publish ${{ state.text }}?", show: "all of ${{ state.text }}"}
    next: [{if: result.approved, to: publish}, {else: END}]
  publish: {set: {done: published}, next: END}
`)
	res, err := f.start(`{"text": "it"}`)
	if err != nil || res.Status != graph.Interrupted {
		t.Fatal(res.Status, err)
	}
	if q := res.Interrupts[0]; q.Prompt != "Publish it?" || q.Detail != "all of it" {
		t.Errorf("the question is %q with %q", q.Prompt, q.Detail)
	}
	res, err = f.Resume(context.Background(), graph.Reply(true), thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"done":"published"}`)
	if res, err = f.start(`{"text": "that"}`); err != nil {
		t.Fatal(err)
	}
	if res, err = f.Resume(context.Background(), graph.Reply(false), thread); err != nil || res.Status != graph.Done {
		t.Errorf("after a no: %q, %v; want done", res.Status, err)
	}
}

func TestApproval_OfItemsOneByOne(t *testing.T) {
	f := parse(t, `
version: 1
state: {yes: {type: list<string>, reducer: append}}
nodes:
  ask:
    for_each: {in: [a, b, c], as: x}
    approval: {title: "${{ x }}"}
    output: {yes: "${{ result.approved ? [x] : [] }}"}
    next: END
`)
	res, err := f.start(`{}`)
	if err != nil || len(res.Interrupts) != 3 {
		t.Fatal(res.Interrupts, err)
	}
	for i, answer := range []bool{true, false, true} {
		res, err = f.Resume(context.Background(), graph.Answer(res.Interrupts[0].ID, answer), thread)
		if err != nil || len(res.Interrupts) != 2-i {
			t.Fatal(res.Interrupts, err)
		}
	}
	f.ended(res, `{"yes":["a","c"]}`)
}

func TestSubWorkflow_AsksThroughItsParent(t *testing.T) {
	files := map[string]string{
		"main.yaml": `
version: 1
state: {n: int, twice: int, ok: bool, log: {type: list<string>, reducer: append}}
input: [n]
nodes:
  child:
    if: state.n > 0
    workflow: parts/child.yaml
    input: {n: "${{ state.n }}"}
    output: {twice: "${{ result.twice }}", ok: "${{ result.ok }}", log: "${{ result.log }}"}
    next: [{if: "state.ok ?? false", to: after}, {else: END}]
  after: {set: {log: after}, next: END}
`,
		"parts/child.yaml": `
version: 1
state: {n: {type: int, required: true}, twice: int, ok: bool, log: {type: list<string>, reducer: append}}
input: [n]
output: [ok, twice, log]
nodes:
  double: {uses: "go:double", with: {n: "${{ state.n }}"}, output: {twice: "${{ result.n }}", log: doubled}, next: ask}
  ask:
    approval: {title: "Is ${{ state.twice }} right?"}
    output: {ok: "${{ result.approved }}"}
    next: END
`}
	f := load(t, files, nil)
	res, err := f.start(`{"n": 21}`)
	if err != nil || len(res.Interrupts) != 1 || res.Interrupts[0].Prompt != "Is 42 right?" {
		t.Fatal(res.Interrupts, err)
	}
	res, err = f.Resume(context.Background(), graph.Reply(true), thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"n":21,"twice":42,"ok":true,"log":["doubled","after"]}`)
	load(t, files, nil).gives(`{"n": 0}`, `{"n":0,"twice":null,"ok":null,"log":[]}`)
}

func TestRetry_RepeatsTransientFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int
		flaky := workflow.Go(func(context.Context, struct{}) (int, error) {
			if calls++; calls < 3 {
				return 0, errors.New("not yet")
			}
			return calls, nil
		})
		f := load(t, map[string]string{"main.yaml": `
version: 1
state: {n: int}
nodes:
  a:
    uses: go:flaky
    output: {n: "${{ result }}"}
    retry: {max: 4, initial: 10s, backoff: constant}
    next: END
`}, map[string]workflow.Kind{"go:flaky": flaky})
		begun := time.Now()
		f.gives(`{}`, `{"n":3}`)
		if took := time.Since(begun); took != 20*time.Second {
			t.Errorf("two retries took %v, want 20s", took)
		}
	})
}

func TestRetry_InitialOfZeroRetriesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		flaky := workflow.Go(func(context.Context, struct{}) (int, error) {
			if calls++; calls < 3 {
				return 0, errors.New("not yet")
			}
			return calls, nil
		})
		f := load(t, map[string]string{"main.yaml": `
version: 1
state: {n: int}
nodes:
  a: {uses: go:flaky, output: {n: "${{ result }}"}, retry: {max: 4, initial: 0s}, next: END}
`}, map[string]workflow.Kind{"go:flaky": flaky})
		begun := time.Now()
		f.gives(`{}`, `{"n":3}`)
		if took := time.Since(begun); took != 0 {
			t.Errorf("two retries waited %v, want no wait", took)
		}
	})
}

func TestRetry_SkipsDeterministicErrors(t *testing.T) {
	for name, node := range map[string]string{
		"fail":       `{fail: {message: "no ${{ state.n }}", code: none}, retry: {max: 3, initial: 1h}}`,
		"expression": `{set: {n: "${{ state.list[3] }}"}, retry: {max: 3, initial: 1h}, next: END}`,
		"type":       `{set: {n: "${{ state.any }}"}, retry: {max: 3, initial: 1h}, next: END}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := parse(t, "version: 1\nstate: {n: {type: int, default: 1}, any: {type: any, default: x}, list: list<int>}\nnodes:\n  a: "+node+"\n")
				begun := time.Now()
				_, err := f.start(`{}`)
				if err == nil || !strings.Contains(err.Error(), `node "a"`) || !strings.Contains(err.Error(), "main.yaml:4:") {
					t.Errorf("got %v; want an error that names the node and the place", err)
				}
				if took := time.Since(begun); took != 0 {
					t.Errorf("it waited %v for another attempt", took)
				}
			})
		})
	}
}

func TestWait_ResumesTheRemainingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := parse(t, "version: 1\nnodes:\n  a: {wait: {for: 1h}, next: END}\n")
		rec, err := f.Input(nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
		defer cancel()
		if _, err := f.Invoke(ctx, rec, thread); err == nil {
			t.Fatal("a run that was cut off has ended")
		}
		time.Sleep(15 * time.Minute) // no process runs
		begun := time.Now()
		res, err := f.Resume(context.Background(), graph.Answers{}, thread)
		if err != nil {
			t.Fatal(err)
		}
		f.ended(res, "{}")
		if took := time.Since(begun); took < 24*time.Minute || took > 25*time.Minute {
			t.Errorf("it waited for %v more, want the 25m that are left of 1h", took)
		}
	})
}

func TestTimeout_EndsTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := parse(t, "version: 1\nnodes:\n  a: {wait: {for: 1h}, timeout: 3s, next: END}\n")
		if _, err := f.start(`{}`); !errors.Is(err, graph.ErrTimeout) {
			t.Errorf("got %v, want ErrTimeout", err)
		}
	})
}

func TestLimits_OfTheFile(t *testing.T) {
	f := parse(t, `
version: 1
state: {n: {type: int, reducer: add}}
limits: {steps: 7}
nodes:
  a: {set: {n: 1}, next: [{if: state.n > 100, to: END}, {else: a}]}
`)
	res, err := f.start(`{}`)
	if n, _ := res.State.Get("n"); !errors.Is(err, graph.ErrSteps) || n != int64(7) {
		t.Errorf("%v after %v steps; want ErrSteps after 7", err, n)
	}
}

func TestScope_TurnFieldsAreReset(t *testing.T) {
	f := parse(t, `
version: 1
state: {said: {type: list<string>, reducer: append}, word: string, now: {type: list<string>, reducer: append, scope: turn}}
input: [word]
output: [said, now]
nodes:
  a: {set: {said: "${{ state.word }}", now: "${{ state.word }}"}, next: END}
`)
	f.gives(`{"word": "one"}`, `{"said":["one"],"now":["one"]}`)
	f.gives(`{"word": "two"}`, `{"said":["one","two"],"now":["two"]}`)
}

func TestExpressions_IntegersAreExact(t *testing.T) {
	f := parse(t, `
version: 1
state: {n: int, all: {type: list<int>, reducer: append}}
input: [n]
nodes:
  a:
    for_each: {in: "[state.n]", as: i}
    uses: go:double
    with: {n: "${{ i }}"}
    output: {all: ["${{ i }}", "${{ result.n }}"]}
    next: END
`)
	f.gives(`{"n": 4503599627370497001}`, `{"n":4503599627370497001,"all":[4503599627370497001,9007199254740994002]}`)
}
