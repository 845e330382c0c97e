package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// loops runs a step for each number.
const loops = `version: 1
name: loops
state:
  n: {type: int, reducer: add}
  last: {type: int, required: true}
input: [last]
limits: {steps: 20000}
nodes:
  step:
    set: {n: 1}
    next: [{if: state.n + 1 < state.last, to: step}, {else: END}]
`

// busy is loops with 50 steps a second.
var busy = strings.NewReplacer("name: loops", "name: busy", "limits: {steps: 20000}", "limits: {steps: 20000, shared: {pace: {rate: 50/s}}}",
	"    set: {n: 1}\n", "    limit: pace\n    set: {n: 1}\n").Replace(loops)

// asks asks a person.
const asks = `version: 1
name: asks
state: {subject: {type: string, required: true}}
input: [subject]
nodes:
  ask:
    approval: {title: "Send ${{ state.subject }}"}
    next: END
`

// large has a state of 1 MiB after two steps.
const large = `version: 1
name: large
state:
  texts: {type: list<string>, required: true}
  more: {type: list<string>, reducer: append}
input: [texts]
nodes:
  first:
    set: {more: ["${{ state.texts[0] }}"]}
    next: second
  second:
    set: {more: ["${{ state.texts[1] }}"]}
    next: END
`

// pacedRate is how many nodes begin in a second for 200 events a second: each waits for the limit,
// begins, ends, and its step is stored.
const pacedRate = 50

// chained returns a graph of a question and then n nodes, one after the other. It begins as many a
// second as rate allows; 0 is no limit.
func chained(name string, n, rate int) string {
	var b strings.Builder
	b.WriteString("version: 1\nname: " + name + "\nstate: {n: {type: int, reducer: add}}\ninput: []\n")
	limit := ""
	if rate > 0 {
		fmt.Fprintf(&b, "limits: {shared: {pace: {rate: %d/s}}}\n", rate)
		limit = "    limit: pace\n"
	}
	b.WriteString("nodes:\n  ask:\n    approval: {title: Begin}\n    next: n0\n")
	for i := range n {
		next := fmt.Sprintf("n%d", i+1)
		if i == n-1 {
			next = "END"
		}
		fmt.Fprintf(&b, "  n%d:\n%s    set: {n: 1}\n    next: %s\n", i, limit, next)
	}
	return b.String()
}

// watchLit makes a page note in window.lit when each node is first seen running, in ms since 1970.
const watchLit = `(() => {
	const lit = window.lit = {}
	new MutationObserver(() => {
		for (const n of document.querySelectorAll('.node.state-running')) lit[n.dataset.node] ??= performance.timeOrigin + performance.now()
	}).observe(document.body, {subtree: true, childList: true, attributes: true, attributeFilter: ['class']})
})()`

// answered lets a thread that asks go on, and waits until its run has ended.
func (s *server) answered(t testing.TB, thread, graph string) {
	t.Helper()
	s.call(t, "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"`+graph+`","command":{"resume":true}}`, nil)
}

// starts returns when each node of an ended run was started, in ms since 1970, by the log of its
// events.
func (s *server) starts(t testing.TB, thread string) map[string]float64 {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/threads/"+thread+"/stream/events", strings.NewReader(`{"channels":["tasks","lifecycle"]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	at := map[string]float64{}
	lines := bufio.NewScanner(answer.Body)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct {
			Method string
			Params struct {
				Timestamp float64
				Data      struct {
					Event, Name string
					Triggers    []string // of a start
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatal(err)
		}
		switch d := event.Params.Data; {
		case event.Method == "lifecycle" && d.Event == "completed":
			return at
		case event.Method == "tasks" && d.Triggers != nil:
			at[d.Name] = event.Params.Timestamp
		}
	}
	t.Fatalf("the events of thread %s end before its run: %v", thread, lines.Err())
	return nil
}

// wide returns a graph of 500 nodes and about 800 edges.
func wide() string {
	var b strings.Builder
	b.WriteString("version: 1\nname: wide\nstate: {n: {type: int, reducer: add}}\ninput: []\nnodes:\n")
	for i := range 500 {
		fmt.Fprintf(&b, "  n%d:\n    set: {n: 1}\n", i)
		switch {
		case i == 499:
			b.WriteString("    next: END\n")
		case i%5 < 3 && i+5 < 500:
			fmt.Fprintf(&b, "    next: [{if: state.n > %d, to: n%d}, {else: n%d}]\n", i, i+5, i+1)
		default:
			fmt.Fprintf(&b, "    next: n%d\n", i+1)
		}
	}
	return b.String()
}

// load opens a page and returns, in ms, when it was painted first, could be used and was whole.
func (b *tab) load(path string) (paint, usable, whole float64) {
	b.Helper()
	b.do(chromedp.Navigate(b.origin + path))
	b.until(`document.readyState === 'complete' && performance.getEntriesByType('paint').length > 0 && customElements.get('weft-palette')`)
	got := eval[[]float64](b, `(() => {
		const n = performance.getEntriesByType('navigation')[0]
		return [performance.getEntriesByType('paint').at(-1).startTime, n.domInteractive, n.loadEventEnd]
	})()`)
	return got[0], got[1], got[2]
}

// frames returns how many frames a second the browser shows while an expression is run in each.
func (b *tab) frames(each string) float64 {
	b.Helper()
	return eval[float64](b, `new Promise((done) => {
		let n = 0
		const begun = performance.now()
		const step = (now) => {
			if (now - begun > 2000) { done(1000 * n / (now - begun)); return }
			n++
			`+each+`
			requestAnimationFrame(step)
		}
		requestAnimationFrame(step)
	})`)
}

// shown is an expression for the ms from a change of the page until a part of it has a text.
func shown(change, part, text string) string {
	return fmt.Sprintf(`(async () => {
		const begun = performance.now()
		%s
		while (!document.querySelector(%q).innerText.includes(%q)) await new Promise((r) => setTimeout(r, 5))
		return performance.now() - begun
	})()`, change, part, text)
}

// BenchmarkGoals measures the studio once, in one run. Each goal makes the threads that it shows.
//
//	go test -run '^$' -bench Goals -benchtime 1x
func BenchmarkGoals(b *testing.B) {
	s := served(b, map[string]string{"loops.yaml": loops, "asks.yaml": asks, "large.yaml": large, "wide.yaml": wide(), "fan.yaml": fan, "paced.yaml": chained("paced", 4*pacedRate, pacedRate)}, "--store", "sqlite:weft.db")
	goal := func(name string, measure func(b *testing.B, t *tab)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				measure(b, s.open(b, "")) // a browser without a cache
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	open := func(path string) func(*testing.B, *tab) {
		return func(b *testing.B, t *tab) {
			paint, usable, whole := t.load(path)
			b.ReportMetric(paint, "ms-painted")
			b.ReportMetric(usable, "ms-usable")
			b.ReportMetric(whole, "ms-whole")
			b.ReportMetric(eval[float64](t, `document.querySelectorAll('*').length`), "elements")
		}
	}
	goal("graphs", open("/studio/graphs"))
	goal("graph-of-500", func(b *testing.B, t *tab) {
		open("/studio/graphs/wide")(b, t)
		b.ReportMetric(t.frames(`document.querySelector('weft-picture .scroll').scrollTop = 37 * n % 3000`), "fps-pan")
		b.ReportMetric(t.frames(`if (n % 6 === 0) document.querySelector('weft-picture').scale(n % 12 ? 1 : -1)`), "fps-zoom")
	})
	goal("thread-of-10000", func(b *testing.B, t *tab) {
		open("/studio/threads/"+s.runs(b, "loops", map[string]any{"last": 10_000}))(b, t)
		b.ReportMetric(eval[float64](t, `document.querySelectorAll('#commits tbody tr').length`), "rows")
		jump := `const range = document.querySelector('#at')
			range.value = '5000'
			range.dispatchEvent(new Event('input', {bubbles: true}))`
		b.ReportMetric(eval[float64](t, shown(jump, "#summary", "checkpoint 5000 of")), "ms-jump")
		b.ReportMetric(t.frames(`scrollTo(0, 29 * n % document.body.scrollHeight)`), "fps-scroll")
	})
	goal("diff-of-1MiB", func(b *testing.B, t *tab) {
		text := strings.Repeat("0123456789abcdef", 15<<10)
		big := "/studio/threads/" + s.runs(b, "large", map[string]any{"texts": []string{text, text}})
		open(big+"?at=3&from=2")(b, t)
		t.do(chromedp.Navigate(t.origin + big + "?at=3&from=2&tab=raw"))
		t.until(`customElements.get('weft-palette')`)
		b.ReportMetric(eval[float64](t, shown(`document.querySelector('.tabs a[href*="tab=diff"]').click()`, "#differences", "Changes since checkpoint 2")), "ms-diff")
	})
	goal("tree-of-50-branches", func(b *testing.B, t *tab) {
		branched := s.runs(b, "loops", map[string]any{"last": 5})
		for range 50 {
			var history []struct {
				Checkpoint json.RawMessage `json:"checkpoint"`
			}
			s.call(b, "POST", "/threads/"+branched+"/history", `{"limit":1000}`, &history)
			s.call(b, "POST", "/threads/"+branched+"/state", `{"values":{"n":1},"checkpoint":`+string(history[len(history)-2].Checkpoint)+`}`, nil)
		}
		open("/studio/threads/"+branched)(b, t)
		b.ReportMetric(eval[float64](t, `(() => {
			const parts = ['nav[aria-label=Branches]', '#commits'].map((name) => document.querySelector(name))
			const begin = performance.now()
			for (const part of parts) part.outerHTML = part.outerHTML
			document.body.offsetHeight // has the layout made
			return performance.now() - begin
		})()`), "ms-drawn-again")
	})
	goal("fan-out-of-500", func(b *testing.B, t *tab) {
		open("/studio/threads/"+s.runs(b, "fan", map[string]any{"items": numbers(500)}))(b, t)
	})
	goal("node-lit-at-200-events", func(b *testing.B, t *tab) {
		thread := s.runs(b, "paced", map[string]any{})
		t.do(chromedp.Navigate(t.origin + "/studio/threads/" + thread))
		t.until(`customElements.get('weft-run')`)
		eval[any](t, watchLit)
		s.answered(b, thread, "paced")
		at := s.starts(b, thread)
		t.until(fmt.Sprintf(`Object.keys(window.lit).length > %d`, 3*pacedRate))
		lit := eval[map[string]float64](t, `window.lit`)
		var late []float64
		first, last := math.Inf(1), 0.0
		for node, seen := range lit {
			late = append(late, seen-at[node])
			first, last = min(first, at[node]), max(last, at[node])
		}
		slices.Sort(late)
		b.ReportMetric(late[len(late)/2], "ms-lit-p50")
		b.ReportMetric(late[len(late)*95/100], "ms-lit-p95")
		b.ReportMetric(float64(len(late))/(last-first)*1000, "nodes/s")
	})
	b.Run("demo", func(b *testing.B) { // from the command to its page
		for b.Loop() {
			begun := time.Now()
			start(b, "dev", "--demo").open(b, "/studio/graphs").until(`document.querySelector('.cards a')`)
			b.ReportMetric(float64(time.Since(begun).Milliseconds()), "ms-whole")
		}
		b.ReportMetric(0, "ns/op")
	})
	goal("answer-of-another-tab", func(b *testing.B, t *tab) {
		path := "/studio/threads/" + s.runs(b, "asks", map[string]any{"subject": "letter"})
		other := s.open(b, path)
		t.do(chromedp.Navigate(t.origin + path))
		for _, one := range []*tab{t, other} {
			one.until(`document.querySelector('button[value=approve]')`)
		}
		eval[any](other, `window.answered = new Promise((seen) => new MutationObserver(() => {
			if (!document.querySelector('button[value=approve]')) seen(performance.timeOrigin + performance.now())
		}).observe(document.body, {subtree: true, childList: true})), 1`)
		pressed := eval[float64](t, `(document.querySelector('button[value=approve]').click(), performance.timeOrigin + performance.now())`)
		b.ReportMetric(eval[float64](other, `window.answered`)-pressed, "ms-seen")
	})
	goal("inbox-and-threads-of-1000", func(b *testing.B, t *tab) {
		for i := range 1000 {
			s.runs(b, "asks", map[string]any{"subject": fmt.Sprint("letter ", i)})
		}
		paint, _, _ := t.load("/studio/threads")
		b.ReportMetric(paint, "ms-threads-painted")
		open("/studio/inbox")(b, t)
	})
}

// BenchmarkHeap measures what a page keeps that is open on a busy thread: the heap of its scripts
// after an eighth of 28,800 events, which is one a second for 8 hours, and after all of them.
//
//	go test -run '^$' -bench Heap -benchtime 1x
func BenchmarkHeap(b *testing.B) {
	const steps = 28_800 / 4
	for b.Loop() {
		s := served(b, map[string]string{"busy.yaml": busy}, "--store", "sqlite:weft.db")
		var made struct {
			ID string `json:"thread_id"`
		}
		s.call(b, "POST", "/threads", "{}", &made)
		s.call(b, "POST", "/threads/"+made.ID+"/runs", fmt.Sprintf(`{"assistant_id":"busy","input":{"last":%d}}`, steps+1), nil)
		t := s.open(b, "/studio/threads/"+made.ID)
		first := t.heapAt(made.ID, steps/8)
		last := t.heapAt(made.ID, steps)
		b.ReportMetric(first/1e6, "MB-after-1-hour")
		b.ReportMetric(last/1e6, "MB-after-8-hours")
	}
	b.ReportMetric(0, "ns/op")
}

// heapAt waits until a thread of busy has made a step, and returns the bytes that the scripts and
// elements of the page use after a collection.
func (b *tab) heapAt(thread string, step int) float64 {
	b.Helper()
	for made := 0; made < step; {
		select {
		case <-b.ctx.Done():
			b.fail(b.ctx.Err())
		case <-time.After(time.Second):
		}
		made = eval[int](b, fmt.Sprintf(`fetch('/threads/%s/state').then((a) => a.json()).then((s) => s.values.n ?? 0)`, thread))
	}
	b.do(command(heapprofiler.CollectGarbage, cdp.Empty{}))
	return run(b, chromedp.Action[float64](func(ctx context.Context, t *chromedp.Target) (float64, error) {
		used, err := cdp.Call(ctx, t, runtime.GetHeapUsage, cdp.Empty{})
		return used.UsedSize + used.EmbedderHeapUsedSize, err
	}))
}

// BenchmarkChat measures 2,000 words at 200 a second.
func BenchmarkChat(b *testing.B) {
	s := start(b, "dev", "--demo")
	for b.Loop() {
		t := s.open(b, "/studio/graphs/assistant/chat")
		t.send("count to 2000")
		t.until(`document.querySelector('.draft')?.textContent.includes(' 50 ')`)
		b.ReportMetric(t.frames(""), "fps")
		t.until(`document.querySelector('#summary .status-idle') && !document.querySelector('.draft')`)
		words := eval[[]string](t, `document.querySelector('#messages .by-assistant .text').textContent.trim().split(/\s+/)`)
		lost := 2000 - len(words)
		for i, w := range words {
			if w != fmt.Sprint(i+1) {
				b.Fatalf("word %d is %s", i+1, w)
			}
		}
		b.ReportMetric(float64(lost), "lost")

		t.send("count to 2000")
		t.until(`document.querySelector('.draft')?.textContent.includes(' 50 ')`)
		begun := time.Now()
		t.press("Stop")
		t.until(`!document.querySelector('#summary .status-busy') && document.querySelector('#summary')`)
		b.ReportMetric(float64(time.Since(begun).Milliseconds()), "ms-stopped")
	}
	b.ReportMetric(0, "ns/op")
}
