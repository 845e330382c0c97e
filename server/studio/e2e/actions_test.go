package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// fan has a task for each item.
const fan = `version: 1
name: fan
state:
  items: {type: list<int>, required: true}
  seen: {type: list<int>, reducer: append}
input: [items]
limits: {fanout: 1000}
nodes:
  each:
    for_each: {in: state.items, as: n}
    set: {seen: ["${{ n }}"]}
    next: END
`

// runs starts a run of a graph on a new thread, and returns when it has ended or asks.
func (s *server) runs(t testing.TB, graph string, input any) (thread string) {
	t.Helper()
	var made struct {
		ID string `json:"thread_id"`
	}
	s.call(t, "POST", "/threads", "{}", &made)
	body, err := json.Marshal(map[string]any{"assistant_id": graph, "input": input})
	if err != nil {
		t.Fatal(err)
	}
	s.call(t, "POST", "/threads/"+made.ID+"/runs/wait", string(body), nil)
	return made.ID
}

// served starts a server with workflows.
func served(t testing.TB, files map[string]string, args ...string) *server {
	t.Helper()
	s := &server{TB: t, dir: t.TempDir()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.run(append([]string{"dev"}, args...)...)
	t.Cleanup(s.kill)
	return s
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestFanOut_IsOneStripThatUnfolds(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"fan.yaml": fan})
	b := s.open(t, "/studio/threads/"+s.runs(t, "fan", map[string]any{"items": numbers(500)}))
	b.until(`[...document.querySelectorAll('.weft-gantt title')].some((t) => t.textContent.startsWith('500 tasks, at most'))`)
	if n := eval[int](b, `document.querySelector('#differences').innerText.length`); n > 500 {
		t.Errorf("the changes have %d characters", n)
	}
	b.click(`//*[@id="times"]//a[contains(.,"500 tasks of")]`)
	b.until(`document.querySelectorAll('#times tbody tr').length === 100`)
	b.press("later tasks")
	b.sees("101 to 200 of 500")
	if n := eval[int](b, `document.querySelectorAll('*').length`); n > 3000 {
		t.Errorf("the page has %d elements", n)
	}
	other := s.open(t, strings.TrimPrefix(b.location(), s.url))
	other.sees("101 to 200 of 500")
	b.shot("fan-out")
}

func TestReplay_ShowsTheFirstDifference(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"hello.yaml": flow})
	thread := s.runs(t, "hello", map[string]any{"name": "Ada"})
	b := s.open(t, "/studio/editor/hello.yaml")
	b.until(`document.querySelector('.under')`)
	b.types(strings.NewReplacer("Hello ${", "Goodbye ${", "Hello Ada", "Goodbye Ada").Replace(flow))
	b.press("Save")
	b.sees("The file is saved")
	for i := 0; ; i++ { // until the server has read the file again
		b.do(chromedp.Navigate(s.url + "/studio/threads/" + thread))
		b.press("Replay with current code")
		b.press("Run the steps again")
		b.until(`document.querySelector('main .notice')`)
		if !eval[bool](b, `document.body.innerText.includes('comes out as recorded')`) || i == 50 {
			break
		}
	}
	b.sees("Checkpoint 2, step 1 of turn 1 (greet) comes out otherwise")
	b.sees("Goodbye Ada")
	b.sees("Hello Ada")
	b.shot("divergence")
}

// The commands beside the actions do what the actions do.
func TestCommands_DoWhatTheActionsDo(t *testing.T) {
	t.Parallel()
	asks := strings.Replace(flow, "    next: END", "    next: ask\n  ask:\n    approval: {title: Send it}\n    next: END", 1)
	s := served(t, map[string]string{"hello.yaml": asks}, "--store", "sqlite:weft.db")
	s.cmd.Env = append(s.cmd.Env, "WEFT_STORE=sqlite:weft.db")
	thread := s.runs(t, "hello", map[string]any{"name": "Ada"})
	b := s.open(t, "/studio/threads/"+thread+"?at=1")
	command := func(action string) string {
		t.Helper()
		b.press(action)
		return eval[string](b, fmt.Sprintf(`[...document.querySelectorAll('#acts details')].find((d) => d.querySelector('summary').textContent === %q).querySelector('weft-copy code').textContent`, action))
	}
	head := func() (n int) {
		t.Helper()
		var history []json.RawMessage
		s.call(t, "POST", "/threads/"+thread+"/history", `{"limit":1000}`, &history)
		return len(history)
	}
	if got := s.shell(t, eval[string](b, `document.querySelector('#steps weft-copy code').textContent`)); !strings.Contains(got, "Ada") {
		t.Errorf("the state at 1 is %s", got)
	}
	before := head()
	s.shell(t, command("Fork here"))
	if after := head(); after <= before {
		t.Errorf("a fork leaves %d commits of %d", after, before)
	}
	b.do(chromedp.Navigate(s.url + "/studio/threads/" + thread))
	edit := strings.Replace(command("Edit and go on"), `"Ada"`, `"Bob"`, 1)
	s.shell(t, edit)
	var state struct{ Values struct{ Name string } }
	s.call(t, "GET", "/threads/"+thread+"/state", "", &state)
	if state.Values.Name != "Bob" {
		t.Errorf("after %s the name is %q", edit, state.Values.Name)
	}
	b.until(`document.querySelector('#summary .status-interrupted')`) // it went on, and asks again
	b.sees("Hello Bob")
	b.do(chromedp.Navigate(s.url + "/studio/threads/" + thread))
	if got := s.shell(t, command("Replay with current code")+" || true"); !strings.Contains(got, "step") {
		t.Errorf("the replay says %s", got)
	}
	if got := s.shell(t, command("Prune")); head() > 2 {
		t.Errorf("after %s there are %d commits", got, head())
	}
	s.shell(t, command("Delete"))
	b.allow("404")
	b.do(chromedp.Reload())
	b.sees("Thread with ID " + thread + " not found")
}
