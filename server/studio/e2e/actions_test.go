package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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

// paced may begin five tasks in a second.
const paced = `version: 1
name: paced
state:
  items: {type: list<int>, required: true}
  seen: {type: list<int>, reducer: append}
input: [items]
limits: {shared: {calls: {rate: 5/s}}}
nodes:
  each:
    for_each: {in: state.items, as: n}
    limit: calls
    set: {seen: ["${{ n }}"]}
    next: END
`

func TestTimes_AWaitForALimitHasItsName(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"paced.yaml": paced})
	b := s.open(t, "/studio/threads/"+s.runs(t, "paced", map[string]any{"items": numbers(3)}))
	b.until(`[...document.querySelectorAll('#chart-of-times .state-waiting title')].filter((t) => t.textContent.startsWith('each.each, waits for a limit, ') && t.textContent.endsWith(': limit calls')).length === 2`)
	b.until(`document.querySelectorAll('#chart-of-times .state-done').length === 4`)
	b.shot("wait-for-a-limit")
}

// A node that runs within one batch of events is seen running, too.
func TestThread_EachNodeThatRunsIsLit(t *testing.T) { eachNodeIsLit(t, "") }

// On a busy machine a frame may be drawn long after the node has run.
func TestThread_EachNodeIsLitByLateFrames(t *testing.T) {
	eachNodeIsLit(t, `window.requestAnimationFrame = (f) => setTimeout(f, 400)`)
}

// eachNodeIsLit evaluates an expression on the page of a thread, and then lets the thread go on.
func eachNodeIsLit(t *testing.T, expression string) {
	t.Parallel()
	s := served(t, map[string]string{"chained.yaml": chained("chained", 40, 0)})
	thread := s.runs(t, "chained", map[string]any{})
	b := s.open(t, "/studio/threads/"+thread)
	b.until(`customElements.get('weft-run')`)
	b.do(chromedp.Evaluate[chromedp.Void](expression))
	eval[any](b, watchLit)
	s.answered(t, thread, "chained")
	b.until(`Object.keys(window.lit).filter((n) => n !== 'ask').length === 40`)
	b.until(`document.querySelectorAll('#picture .kind-node.state-done').length === 41 && !document.querySelector('#picture .node.state-running')`)
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

func TestTimes_APartIsChosen(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"paced.yaml": paced})
	b := s.open(t, "/studio/threads/"+s.runs(t, "paced", map[string]any{"items": numbers(4)})) // 600 ms
	b.until(`customElements.get('weft-times')`)
	part := `(() => { const [from, to] = (new URL(location.href).searchParams.get('times') ?? '').split('-').map(Number); return to > from ? to - from : 0 })()`
	all := eval[float64](b, `(() => { const [from, to] = document.querySelector('weft-times').range; return to - from })()`)
	shows := func(least, most float64) {
		t.Helper()
		b.until(fmt.Sprintf(`%[1]s >= %[2]f && %[1]s <= %[3]f`, part, least*all-3, most*all+3))
		// The links are those of that part.
		b.until(`Math.abs(parseInt([...document.querySelectorAll('#times nav span')].at(-1)?.textContent) - ` + part + `) < 3 && document.querySelector('weft-times svg')`)
	}
	// A pause of a busy machine is drawn shorter, so half of the chart may be less of the time.
	b.press("zoom in")
	shows(0.2, 0.8)
	half := eval[float64](b, part)
	b.press("zoom in")
	shows(0.02, 0.9*half/all)
	quarter := eval[float64](b, part)
	b.press("earlier")
	b.press("zoom out")
	shows(2*quarter/all, 2*quarter/all)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('weft-times .scroll').focus()`))
	b.key("0")
	b.until(`!document.querySelector('#times').textContent.includes('all times') && !document.querySelector('weft-times').busy`)
	b.do(chromedp.Evaluate[chromedp.Void](`{
		const svg = document.querySelector('weft-times svg'), box = svg.getBoundingClientRect(), left = svg.dataset.times.split(':')[0] * box.width / svg.viewBox.baseVal.width
		const at = (type, share) => new PointerEvent(type, {bubbles: true, button: 0, pointerType: 'mouse', clientX: box.x + left + (box.width - left) * share, clientY: box.y + 5})
		svg.dispatchEvent(at('pointerdown', 0.3))
		dispatchEvent(at('pointermove', 0.5))
		dispatchEvent(at('pointerup', 0.6))
	}`))
	shows(0.1, 0.6)
	b.shot("times-part")
	other := s.open(t, strings.TrimPrefix(b.location(), s.url))
	other.sees("all times")
	b.press("all times")
	b.until(`!location.search.includes('times')`)
}

// paste runs a command of a page as a person does who has pasted it.
func (s *server) paste(t testing.TB, command string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", strings.Replace(command, "curl ", "curl -sSf ", 1))
	cmd.Dir, cmd.Env = s.dir, append(s.cmd.Env, "WEFT_STORE=sqlite:weft.db", "WEFT="+s.url, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	var mistakes strings.Builder
	cmd.Stderr = &mistakes
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out, mistakes.String())
	}
	return string(out)
}

// command returns the command of a page that begins with a prefix.
func (b *tab) command(prefix string) string {
	b.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll('main weft-copy code')].some((c) => c.textContent.startsWith(%q))`, prefix))
	all := eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll('main weft-copy code')].map((c) => c.textContent).filter((c) => c.startsWith(%q))`, prefix))
	if len(all) != 1 {
		b.Fatalf("the page has the commands %q that begin with %q, want one", all, prefix)
	}
	return all[0]
}

// Each command that an action shows does what the action does.
func TestCommands_DoWhatTheirActionsDo(t *testing.T) {
	t.Parallel()
	asks := strings.Replace(flow, "    next: END", "    next: ask\n  ask:\n    approval: {title: Send it}\n    next: END", 1)
	s := served(t, map[string]string{"hello.yaml": asks}, "--store", "sqlite:weft.db")
	thread := s.runs(t, "hello", map[string]any{"name": "Ada"})
	path, api := "/studio/threads/"+thread, "curl -X POST "+s.url+"/studio/api/threads/"+thread
	b := s.open(t, path+"?at=1")
	branches := func(want int) {
		t.Helper()
		b.do(chromedp.Navigate(s.url + path + "?at=1"))
		b.until(fmt.Sprintf(`document.querySelectorAll('nav[aria-label=Branches] a').length === %d`, want))
	}
	if out := s.paste(t, b.command("weft state")); !strings.Contains(out, "Ada") {
		t.Errorf("weft state prints %s", out)
	}
	s.paste(t, b.command("weft fork"))
	branches(2)
	s.paste(t, b.command(api+"/fork"))
	branches(3)
	b.press("Edit and go on")
	b.do(chromedp.SetValue(`//select[@name="field"]`, "name"))
	b.enter("value", `"Bob"`)
	s.paste(t, b.command(api+"/edit"))
	branches(4)
	b.do(chromedp.Navigate(s.url + path))
	b.until(`document.querySelector('#summary .status-interrupted')`) // it went on, and asks again
	b.sees("Hello Bob")
	if out := s.paste(t, b.command(api+"/replay")); !strings.Contains(out, `"steps":`) || strings.Contains(out, "divergence") {
		t.Errorf("the replay prints %s", out)
	}
	if out := s.paste(t, b.command("weft replay")); !strings.Contains(out, "step") {
		t.Errorf("weft replay prints %s", out)
	}
	b.do(chromedp.Navigate(s.url + path + "?at=1"))
	s.paste(t, b.command(api+"/rerun"))
	branches(5)
	b.do(chromedp.Navigate(s.url + path))
	b.until(`document.querySelector('#summary .status-interrupted')`)
	b.do(chromedp.Navigate(s.url + path + "?at=1"))
	s.paste(t, b.command("weft resume")+" || [ $? = 4 ]") // it waits for a person
	branches(6)
	b.do(chromedp.Navigate(s.url + path + "?tab=raw"))
	if out := s.paste(t, b.command("curl "+s.url+"/studio/api/threads/")); !strings.Contains(out, `"state"`) {
		t.Errorf("the commit as JSON is %s", out)
	}
	s.paste(t, b.command("weft prune"))
	b.do(chromedp.Navigate(s.url + path))
	b.until(`document.querySelectorAll('#commits tbody tr').length === 1`)
	s.paste(t, b.command("curl -X DELETE"))
	b.allow("404")
	b.do(chromedp.Navigate(s.url + path))
	b.sees("Thread with ID " + thread + " not found")
	for _, page := range []string{"assistants", "crons", "store"} {
		b.do(chromedp.Navigate(s.url + "/studio/" + page))
		if out := strings.TrimSpace(s.paste(t, b.command("curl"))); !strings.HasPrefix(out, "[") && !strings.HasPrefix(out, "{") || strings.Contains(out, "error") {
			t.Errorf("the command of %s prints %s", page, out)
		}
	}
}
