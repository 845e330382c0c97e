package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// parent and child write a list and a sum, each in two steps.
const parent = `version: 1
name: parent
state:
  name: {type: string, required: true}
  notes: {type: list<string>, reducer: append}
  greeting: string
input: [name]
nodes:
  inner:
    workflow: child.yaml
    input: {name: "${{ state.name }}"}
    output: {greeting: "${{ result.greeting }}"}
    next: after
  after:
    set: {notes: ["${{ state.greeting }} twice"]}
    next: END
`

const child = `version: 1
name: child
state:
  name: {type: string, required: true}
  notes: {type: list<string>, reducer: append}
  tries: {type: int, reducer: add}
  greeting: string
input: [name]
output: [greeting]
nodes:
  first:
    set: {notes: ["first saw ${{ state.name }}"], tries: 1}
    next: second
  second:
    set: {notes: [second], tries: 1, greeting: "Hello ${{ state.name }}"}
    next: END
`

// difference is a field that differs, with who wrote it.
type difference struct {
	Before, After any
	Writers       string // in the words of a page
}

// Each checkpoint has the state of the command line, and the differences to those before it. So has
// each of a subgraph.
func TestCheckpoints_HaveStatesAndDifferencesOfTheCommandLine(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"parent.yaml": parent, "child.yaml": child}, "--store", "sqlite:weft.db")
	thread := s.runs(t, "parent", map[string]any{"name": "Ada"})
	b := s.open(t, "/studio/threads/"+thread)
	b.until(`document.querySelector('#subgraphs a')`)
	inner := eval[string](b, `new URL(document.querySelector('#subgraphs a').href).searchParams.get('ns')`)
	for _, ns := range []string{"", inner} {
		args := []string{"parent.yaml", "--json", "--store", "sqlite:weft.db"}
		if ns != "" {
			args = []string{"--namespace", ns, "--json", "--store", "sqlite:weft.db"}
		}
		for at := 1; at <= 3; at++ {
			b.do(chromedp.Navigate(fmt.Sprintf("%s/studio/threads/%s?at=%d&ns=%s", s.url, thread, at, url.QueryEscape(ns))))
			b.until(`document.querySelector('#fields .state')`)
			var want struct{ State map[string]any }
			s.printed(t, &want, append([]string{"state", thread, "--at", fmt.Sprint(at)}, args...)...)
			got := b.state()
			maps.DeleteFunc(got, func(name string, v any) bool { // no node wrote it
				_, there := want.State[name]
				return !there && (v == nil || v == "" || v == 0.0 || fmt.Sprint(v) == "[]")
			})
			if len(want.State) == 0 || !reflect.DeepEqual(got, want.State) {
				t.Errorf("%q at %d: the studio shows the state\n%v\nand the command line\n%v", ns, at, got, want.State)
			}
			for from := 1; from < at; from++ {
				b.do(chromedp.Navigate(fmt.Sprintf("%s/studio/threads/%s?at=%d&from=%d&ns=%s", s.url, thread, at, from, url.QueryEscape(ns))))
				b.sees(fmt.Sprintf("Changes since checkpoint %d", from))
				got, want := b.differences(), s.differences(t, append([]string{"diff", thread, fmt.Sprint(from), fmt.Sprint(at)}, args...)...)
				if len(want) == 0 || !reflect.DeepEqual(got, want) {
					t.Errorf("%q from %d to %d: the studio shows the differences\n%v\nand the command line\n%v", ns, from, at, got, want)
				}
			}
		}
	}
}

// printed reads the JSON that a command prints on its standard output.
func (s *server) printed(t *testing.T, v any, args ...string) {
	t.Helper()
	text := s.weft(t, args...)
	if err := json.Unmarshal([]byte(text[max(strings.IndexByte(text, '{'), 0):]), v); err != nil {
		t.Fatalf("weft %s: %v\n%s", strings.Join(args, " "), err, text)
	}
}

// state returns the state that a page shows.
func (b *tab) state() (all map[string]any) {
	b.Helper()
	all = map[string]any{}
	for name, text := range eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll('#fields .state tr')].map((r) => [r.cells[0].firstChild.textContent, r.cells[1].innerText.trim()]))`) {
		all[name] = b.value(text)
	}
	return all
}

// value reads a value of a page; nil for "nothing".
func (b *tab) value(text string) (v any) {
	b.Helper()
	if text == "nothing" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		b.Fatalf("the page shows the value %q: %v", text, err)
	}
	return v
}

// differences returns the changes that a page shows.
func (b *tab) differences() map[string]difference {
	b.Helper()
	all := map[string]difference{}
	for _, row := range eval[[][]string](b, `[...document.querySelectorAll('#differences .changes tbody tr')].map((r) => [r.cells[0].firstChild.textContent, ...[...r.cells].slice(1).map((c) => c.innerText.trim())])`) {
		d := difference{Before: b.value(row[1]), Writers: row[3]}
		if _, added, some := strings.Cut(row[2], " added: "); some {
			before, _ := d.Before.([]any)
			d.After = append(append([]any{}, before...), b.value(added).([]any)...)
		} else {
			d.After = b.value(row[2])
		}
		all[row[0]] = d
	}
	return all
}

// differences returns the changes that weft diff prints.
func (s *server) differences(t *testing.T, args ...string) map[string]difference {
	t.Helper()
	var printed struct {
		Changes []struct {
			Field         string
			Before, After any
			Writers       []struct {
				Node string
				Step int
			}
		}
	}
	s.printed(t, &printed, args...)
	all := map[string]difference{}
	for _, c := range printed.Changes {
		var writers []string
		for _, w := range c.Writers {
			writers = append(writers, fmt.Sprintf("%s in step %d", w.Node, w.Step))
		}
		all[c.Field] = difference{c.Before, c.After, strings.Join(writers, ", ")}
	}
	return all
}
