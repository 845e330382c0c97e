package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func TestThreads_AreRemovedTogether(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	var threads []string
	for range 3 {
		threads = append(threads, s.create(t, `{"question":"why?"}`))
	}
	b := s.open(t, "/studio/threads")
	boxes := func(want string) {
		t.Helper()
		const ticked = `document.querySelectorAll('main input[name=thread]:checked').length`
		if got := eval[string](b, `(() => { const all = document.querySelector('input[data-all]'); return `+ticked+` + (all.checked ? ' all' : all.indeterminate ? ' some' : ' none') })()`); got != want {
			t.Errorf("the boxes are %q, want %q", got, want)
		}
	}
	b.until(`customElements.get('weft-lists')`)
	b.click(`//main//label[input[@data-all]]`)
	boxes("3 all")
	b.click(fmt.Sprintf(`//main//label[input[@value=%q]]`, threads[2]))
	boxes("2 some")
	b.shot("threads-selected")
	b.press("Export")
	b.until(`!document.querySelector('main input:checked')`) // the page stays, and its list is not held
	for _, id := range threads[:2] {
		b.click(fmt.Sprintf(`//main//label[input[@value=%q]]`, id))
	}
	b.press("Delete")
	b.sees("Removes these threads with their histories.")
	b.do(chromedp.SendKeys(`//main//input[@name="confirm"]`, "delete 2"))
	b.shot("threads-confirm")
	b.press("Delete")
	b.until(`document.querySelectorAll('main tbody tr').length === 1`)
	b.sees(threads[2])
}

func TestThreads_AreSelected(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	why, how := s.create(t, `{"question":"why?"}`), s.create(t, `{"question":"how?"}`)
	b := s.open(t, "/studio/threads?state="+url.QueryEscape("question=how?"))
	b.sees("1 of the threads 1 to 2 of 2 have that state")
	if got := eval[string](b, `document.querySelector('tbody tr').innerText`); !strings.Contains(got, how) {
		t.Errorf("the state selects %s, want %s", got, how)
	}
	s.open(t, "/studio/threads/"+why).sees("Send this report?")
	b.do(chromedp.Navigate(s.url + "/studio/threads"))
	b.until(`customElements.get('weft-palette')`)
	b.key("k", ctrl)
	b.do(chromedp.SendKeys(`//dialog//input`, why[:len(why)-1]))
	b.click(`//dialog//a[starts-with(., "threads that begin with")]`)
	b.sees("1 to 1 of 1")
	if got := eval[[]string](b, `[...document.querySelectorAll('tbody td.number')].map((c) => c.innerText)`); len(got) != 3 || got[0] != "1" || got[1] != "7" || !strings.HasSuffix(got[2], "B") {
		t.Errorf("the turns, steps and bytes of the thread are %q, want 1, 7 and a size", got)
	}
}

func TestRecords_AreMadeAndRemoved(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	b := s.open(t, "/studio/assistants")
	b.press("New assistant")
	b.do(chromedp.SendKeys(`//main//input[@name="name"]`, "brief"), chromedp.SendKeys(`//textarea[@name="config"]`, `{"tags":["a"]}`))
	b.do(chromedp.SetValue(`//select[@name="graph"]`, "report"))
	b.press("Create the assistant")
	b.sees("Assistant brief")
	b.press("Edit the assistant")
	b.do(chromedp.SetValue(`//textarea[@name="config"]`, `{"tags":["b"]}`))
	b.press("Save as a new version")
	b.sees("Version 2, for the graph")
	b.press("Show changes")
	b.sees("From version 1 to 2")
	b.press("Use version 1")
	b.sees("Version 1, for the graph")
	b.press("Run")
	b.sees("with the settings of the assistant")
	b.do(chromedp.SendKeys(`//textarea[@name="in:question"]`, "why?"))
	b.press("Settings of the run")
	b.click(`//input[@name="before" and @value="write"]`)
	b.press("Start the run")
	b.sees("The run pauses before write")
	b.do(chromedp.Navigate(s.url + "/studio/store"))
	b.press("New item")
	b.do(chromedp.SendKeys(`//details//input[@name="ns"]`, "users.ada"), chromedp.SendKeys(`//input[@name="key"]`, "tea"), chromedp.SendKeys(`//textarea[@name="value"]`, `{"kind":"black"}`))
	b.press("Put the item")
	b.sees("Item tea")
	b.press("Delete")
	b.do(chromedp.SendKeys(`//input[@name="name"]`, "tea"))
	b.click(`//button[normalize-space(.)="Delete"]`)
	b.sees("There is no item here")
	b.do(chromedp.Navigate(s.url + "/studio/crons"))
	b.press("New cron")
	b.do(chromedp.SendKeys(`//details//input[@name="schedule"]`, "7 7 7 7 *"))
	b.press("Create the cron")
	b.press("Turn off")
	b.press("Turn on")
	b.sees("Turn off") // on the page that follows
	b.do(chromedp.SendKeys(`//td//input[@name="schedule"]`, "7 7 7 7 *"))
	b.press("Delete")
	b.sees("No run is scheduled")
}

// A person who has never seen the studio finds out why a run went where it went, which retry cost
// the most, and which node wrote a value. The person goes back to repair it.
func TestNewcomer_FindsAndRepairs(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	b := s.open(t, "/studio/graphs/report")
	b.ask("why?")
	if got := eval[[]string](b, `[...document.querySelectorAll('#picture .label')].map((l) => l.textContent)`); !strings.Contains(strings.Join(got, "|"), "rounds are left ×1") {
		t.Errorf("the picture has the labels %q", got)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#node\\:weigh').dispatchEvent(new MouseEvent('click', {bubbles: true}))`))
	b.sees("In this turn weigh ran in:")
	b.follow(`//*[@id="tasks"]//a[starts-with(normalize-space(.), "step ")]`)
	b.sees("1 of 2 rounds are done")
	b.do(chromedp.Navigate(strings.Split(b.location(), "?")[0])) // the whole turn, and not up to a step
	b.until(`document.querySelector('#times').textContent.includes('the source is busy: 503')`)
	costs := eval[[]string](b, `[...document.querySelectorAll('#times tbody tr')].map((r) => r.cells[0].textContent + ' ' + r.cells[1].textContent)`)
	if len(costs) != 4 || costs[0] != "search 2" {
		t.Errorf("the failed attempts are %q, want 4, and a second one as the costliest", costs)
	}
	b.follow(`//*[@id="fields"]//tr[th[contains(., "draft")]]//a`)
	b.until(`document.querySelector('#tasks').innerText.includes('In this turn write ran in: step 7')`)
	b.do(chromedp.Navigate(strings.Split(b.location(), "?")[0] + "?at=3")) // before the value was written
	b.press("Edit and go on")
	b.do(chromedp.SetValue(`//select[@name="field"]`, "question"), chromedp.SetValue(`//textarea[@name="value"]`, `"repaired"`))
	b.press("Change and go on")
	b.until(`document.querySelector('#asked').innerText.includes('about "repaired"')`)
	// The address of a view shows it again.
	at := b.location() + "?tab=task&node=weigh"
	b.do(chromedp.Navigate(at))
	other := s.open(t, strings.TrimPrefix(at, s.url))
	text := `document.querySelector('#tasks').innerText`
	if got, want := eval[string](other, text), eval[string](b, text); got != want || !strings.Contains(got, "weigh") {
		t.Errorf("%s shows\n%s\nand in another browser\n%s", at, want, got)
	}
}

func TestKeyboard_ForksAndCompares(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"why?"}`)
	s.open(t, "/studio/threads/"+thread).sees("Send this report?")
	b := s.open(t, "/studio/threads")
	b.until(`customElements.get('weft-palette')`)
	b.tabTo(`document.activeElement.textContent === '` + thread + `'`)
	b.do(chromedp.KeyEvent("\r"))
	b.until(`location.pathname.endsWith('` + thread + `') && customElements.get('weft-slider')`)
	b.do(chromedp.KeyEvent("["))
	b.until(`document.querySelector('#summary').innerText.includes('checkpoint 7 of 8')`)
	b.tabTo(`document.activeElement.textContent === 'Changes'`)
	b.do(chromedp.KeyEvent("\r"))
	b.until(`!document.querySelector('#state') && document.querySelector('#changes')`)
	b.tabTo(`document.activeElement.textContent === 'Fork here'`)
	b.do(chromedp.KeyEvent("\r"))
	b.tabTo(`document.activeElement.textContent === 'Fork at checkpoint 7'`)
	b.do(chromedp.KeyEvent("\r"))
	b.sees("branch of 7")
}

// follow clicks the first link that an XPath finds, also while parts of the page are replaced.
func (b *tab) follow(xpath string) {
	b.Helper()
	b.until(fmt.Sprintf(`(() => { const a = document.evaluate(%q, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue; a?.click(); return a })()`, xpath))
}

// tabTo presses the tabulator until an expression is true.
func (b *tab) tabTo(expression string) {
	b.Helper()
	for range 200 {
		if eval[bool](b, expression) {
			return
		}
		b.do(chromedp.KeyEvent("\t"))
	}
	b.fail(fmt.Errorf("no element where %s can be reached", expression))
}

const twoSteps = `version: 1
state: {n: int, way: string}
nodes:
  first: {set: {n: %d}, next: [{if: state.n > 2, to: high}, {else: low}]}
  high: {set: {way: high}, next: END}
  low: {set: {way: low}, next: END}
`

func TestReplay_ShowsWhereChangedCodeGoesAnotherWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "flow.yaml")
	write := func(n int) {
		if err := os.WriteFile(file, fmt.Appendf(nil, twoSteps, n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(1)
	s := start(t, "dev", file)
	var made struct {
		ID string `json:"thread_id"`
	}
	s.call(t, "POST", "/threads", "{}", &made)
	s.call(t, "POST", "/threads/"+made.ID+"/runs/wait", `{"assistant_id":"flow","input":{}}`, nil)
	b := s.open(t, "/studio/threads/"+made.ID)
	b.until(`[...document.querySelectorAll('#picture .label')].some((l) => l.textContent === 'else ×1')`)
	write(5)
	changed := func() bool {
		var verdict struct{ Divergence json.RawMessage }
		s.call(t, "POST", "/studio/api/threads/"+made.ID+"/replay", "{}", &verdict)
		return len(verdict.Divergence) > 0 && string(verdict.Divergence) != "null"
	}
	for deadline := time.Now().Add(wait); !changed(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the changed file was not read")
		}
	}
	b.press("Replay with current code")
	b.press("Run the steps again")
	b.sees("Checkpoint 2, step 1 of turn 1 (first) comes out otherwise")
	b.sees("now high")
	b.shot("divergence")
}

func TestAnotherProgram_OffersAReload(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	b := s.open(t, "/studio/inbox")
	b.until(`customElements.get('weft-lists')`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('meta[name=weft-build]').content = 'older'`))
	s.create(t, `{"question":"why?"}`)
	b.sees("The server has another version than this page")
	b.press("Reload")
	b.until(`!document.querySelector('#newer') && customElements.get('weft-lists')`)
}

func TestWithoutScripts_PagesCanBeRead(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"why?"}`)
	s.open(t, "/studio/threads/"+thread).sees("Send this report?")
	off := command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b := s.open(t, "/studio/threads/"+thread, off)
	b.do(chromedp.Click(`//a[normalize-space(.)="Tasks"]`, chromedp.NodeVisible), chromedp.WaitVisible(`//*[@id="task"]`))
	b.do(chromedp.Click(`//a[normalize-space(.)="sizes"]`, chromedp.NodeVisible), chromedp.WaitVisible(`//th[normalize-space(.)="facts"]`))
	b.do(chromedp.Click(`//nav[@aria-label="Pages"]//a[normalize-space(.)="System"]`, chromedp.NodeVisible), chromedp.WaitVisible(`//*[@id="queue"]`))
	if status, err := http.Get(s.url + "/studio/api/system"); err != nil || status.StatusCode != 200 {
		t.Errorf("got %v, %v", status, err)
	}
}
