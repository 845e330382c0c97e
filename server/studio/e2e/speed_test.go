package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

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
	s := served(b, map[string]string{"loops.yaml": loops, "asks.yaml": asks, "large.yaml": large, "wide.yaml": wide(), "fan.yaml": fan}, "--store", "sqlite:weft.db")
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
	})
	goal("fan-out-of-500", func(b *testing.B, t *tab) {
		open("/studio/threads/"+s.runs(b, "fan", map[string]any{"items": numbers(500)}))(b, t)
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
	}
	b.ReportMetric(0, "ns/op")
}
