package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// ask starts a run of the demonstration in the browser and waits for its question.
func (b *tab) ask(question string) {
	b.Helper()
	b.press("Run")
	b.do(chromedp.SendKeys(`//textarea[@name="in:question"]`, question))
	b.press("Start the run")
	b.sees("Send this report?")
}

// weft runs a command on the store of a server and returns what it prints.
func (s *server) weft(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = s.dir, s.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("weft %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestDemo_RunsAsksAndEnds(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	b := s.open(t, "/studio/graphs/report")
	b.press("Run")
	b.do(chromedp.SendKeys(`//textarea[@name="in:question"]`, "Why is the sky blue?"))
	b.press("Start the run")
	// The nodes that were seen running, in the order in which they were.
	b.until(`(() => {
		const seen = window.seenNodes ??= []
		for (const n of document.querySelectorAll('.node.state-running')) {
			const name = n.dataset.node
			if (name && seen.at(-1) !== name) seen.push(name)
		}
		return document.body.innerText.includes('Send this report?')
	})()`)
	if got := strings.Join(eval[[]string](b, `window.seenNodes`), " "); !strings.Contains(got, "plan search weigh") && !strings.Contains(got, "search weigh plan") {
		t.Errorf("nodes lit up in the order %q", got)
	}
	b.until(`document.querySelector('#node\\:review').classList.contains('state-asking')`)
	b.until(`[...document.querySelectorAll('.weft-gantt title')].some((t) => t.textContent.includes('the source is busy'))`)
	b.press("Approve")
	b.until(`document.querySelector('#summary .status-idle') && document.querySelector('#node\\:send').classList.contains('state-done')`)
	b.sees("approve")
}

func TestQuestion_IsAnsweredInTwoTabs(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"why?"}`)
	first, second := s.open(t, "/studio/inbox"), s.open(t, "/studio/threads/"+thread)
	second.sees("Send this report?")
	first.sees("Send this report?") // the list changed by itself
	first.patient()
	stale := s.open(t, "/studio/inbox")
	stale.sees("Send this report?")
	stale.patient()
	stale.do(chromedp.SendKeys(`//textarea[@name="message"]`, "shorter")) // what is being written stays
	first.do(chromedp.SendKeys(`//textarea[@name="message"]`, "add a summary"))
	first.press("Reject")
	first.press("Send now")
	second.sees("add a summary") // the decision, and who made it
	second.sees("over http")
	stale.allow("409")
	stale.press("Reject")
	stale.press("Send now")
	stale.sees("the question is not open any more: it was answered by")
	second.sees("Send this report?") // the node asks again with a new draft
	first.until(`document.querySelector('.question .prompt')`)
	second.press("Edit")
	second.enter("value:to", "a@example.org")
	second.enter("value:text", "by hand")
	second.press("Approve with these arguments")
	second.until(`document.querySelector('#summary .status-idle')`)
	first.sees("“Send this report?”: the question is not open any more: it was answered by")
	var state struct {
		Values struct{ Sent json.RawMessage }
	}
	s.call(t, "GET", "/threads/"+thread+"/state", "", &state)
	if want := `{"to":"a@example.org","text":"by hand"}`; string(state.Values.Sent) != want {
		t.Errorf("sent %s, want %s", state.Values.Sent, want)
	}
}

func TestSteps_ShowTheStatesOfTheCommandLine(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo", "--store", "sqlite:weft.db")
	b := s.open(t, "/studio/graphs/report")
	b.ask("why?")
	thread := b.location()[strings.LastIndexByte(b.location(), '/')+1:]
	for at := 2; at <= 8; at += 3 { // before, no node has written anything
		b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{const r = document.querySelector('#at'); r.value = %d; r.dispatchEvent(new Event('input', {bubbles: true})); r.dispatchEvent(new Event('change', {bubbles: true}))}`, at)))
		b.until(fmt.Sprintf(`document.querySelector('#summary').innerText.includes('checkpoint %d of 8')`, at))
		b.until(fmt.Sprintf(`document.querySelector('#commits tr[aria-current]').cells[0].textContent === '%d'`, at)) // what is fetched afterwards
		shown := eval[string](b, `fetch(document.querySelector('#fields a[href*="state.json"]').href).then((r) => r.json()).then((v) => JSON.stringify(v))`)
		var want, got map[string]any
		if err := json.Unmarshal([]byte(s.weft(t, "state", thread, "--at", fmt.Sprint(at), "--json", "--store", "sqlite:weft.db")), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(shown), &got); err != nil {
			t.Fatal(err)
		}
		if inner, ok := want["state"].(map[string]any); ok {
			want = inner
		}
		maps.DeleteFunc(got, func(_ string, v any) bool { list, ok := v.([]any); return ok && len(list) == 0 }) // no node wrote it
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("at %d the studio shows\n%v\nand the command line\n%v", at, got, want)
		}
	}
	// The address shows the same view in another browser.
	at := b.location()
	other := s.open(t, strings.TrimPrefix(at, s.url))
	text := `document.querySelector('#fields').innerText + document.querySelector('#differences').innerText`
	if got, want := eval[string](other, text), eval[string](b, text); got != want {
		t.Errorf("%s shows\n%s\nand in another browser\n%s", at, want, got)
	}
	b.do(chromedp.NavigateBack())
	b.until(`document.querySelector('#summary').innerText.includes('checkpoint 5 of 8')`)
}

// The address of each view shows it again in another browser.
func TestViews_HaveAddresses(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	b := s.open(t, "/studio/graphs/report")
	b.ask("why?")
	b.until(`document.querySelectorAll('#tabs a').length > 3 && customElements.get('weft-run')`)
	const text = `document.querySelector('.inspector').innerText + document.querySelector('#summary').innerText`
	other := s.open(t, "")
	same := func(what string) {
		t.Helper()
		at := b.location()
		other.do(chromedp.Navigate(at))
		other.until(`customElements.get('weft-run')`)
		if got, want := eval[string](other, text), eval[string](b, text); got != want || got == "" {
			t.Errorf("%s: %s shows\n%s\nand in another browser\n%s", what, at, want, got)
		}
	}
	names := eval[[]string](b, `[...document.querySelectorAll('#tabs a')].map((a) => a.textContent)`)
	for _, name := range names {
		b.follow(fmt.Sprintf(`//*[@id="tabs"]//a[.=%q]`, name))
		b.until(fmt.Sprintf(`document.querySelector('#tabs a[aria-current]').textContent === %q`, name))
		same(name)
	}
	b.follow(`//*[@id="commits"]//a[.="4"]`)
	b.until(`document.querySelector('#summary').innerText.includes('checkpoint 4 of 8')`)
	for _, name := range names {
		b.follow(fmt.Sprintf(`//*[@id="tabs"]//a[.=%q]`, name))
		b.until(fmt.Sprintf(`document.querySelector('#tabs a[aria-current]').textContent === %q`, name))
		same(name + " at checkpoint 4")
	}
}

// judged has a node that computes a wrong total, and chooses where to go on.
const judged = `version: 1
name: judged
state:
  amount: {type: number, required: true}
  total: number
input: [amount]
nodes:
  judge:
    set: {total: "${{ state.amount - 152 }}"}
    next: [{if: state.amount > 500, to: review}, {else: END}]
  review:
    approval: {title: "Pay ${{ state.total }}?"}
    next: END
`

// A wrong value is replaced in the name of the node that wrote it. That node chooses its way.
func TestEdit_RepairsWhatARouterWrote(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"judged.yaml": judged})
	path := "/studio/threads/" + s.runs(t, "judged", map[string]any{"amount": 800})
	b := s.open(t, path)
	b.sees("Pay 648")
	b.press("judge in step 1") // the writer of the total
	b.until(`new URL(location.href).searchParams.get('at') === '2' && document.querySelector('.task')?.innerText.includes('judge')`)
	b.press("Edit and go on")
	b.sees("To ask it again, go to an earlier checkpoint")
	b.click(`//*[@id="steps"]//a[contains(.,"earlier")]`)
	b.until(`new URL(location.href).searchParams.get('at') === '1' && document.querySelector('[name=at][value="1"]')`)
	b.do(chromedp.SetValue(`//select[@name="field"]`, "total"), chromedp.SetValue(`//select[@name="as"]`, "judge"))
	b.enter("value", "952")
	b.allow("422")
	b.press("Change and go on")
	b.sees("The node \"judge\" chooses itself where to go on")
	b.until(`document.querySelector('[name=value]').value === '952' && new URL(location.href).searchParams.get('at') === '1'`)
	eval[bool](b, `import(document.querySelector('link[href$="/refresh.js"]').href).then((m) => m.refresh())`)
	b.until(`document.querySelector('[name=value]').value === '952'`) // the page is fetched again, and the form stays
	b.do(chromedp.SetValue(`//select[@name="goto"]`, "review"))
	b.press("Change and go on")
	b.sees("Pay 952")
	b.press("Approve")
	b.until(`document.querySelector('#summary .status-idle')`)
	b.do(chromedp.Navigate(s.url + path + "?at=2")) // the old branch is as it was
	b.until(`document.querySelector('#fields').innerText.includes('648')`)
}

func TestFork_EditAndGoOn(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	b := s.open(t, "/studio/graphs/report")
	b.ask("why?")
	b.do(chromedp.Navigate(b.location() + "?at=3"))
	b.press("Edit and go on")
	b.do(chromedp.SetValue(`//select[@name="field"]`, "question"), chromedp.SetValue(`//textarea[@name="value"]`, `"how?"`))
	b.press("Change and go on")
	b.sees("branch of 3")
	b.until(`document.querySelector('#asked').innerText.includes('about "how?"')`)
	b.click(`//nav[@aria-label="Branches"]/a[1]`) // the old branch is as it was
	b.until(`document.querySelector('#fields').innerText.includes('"why?"')`)
	b.click(`//nav[@aria-label="Branches"]/a[2]`)
	b.until(`document.querySelector('#fields').innerText.includes('"how?"')`)
	b.do(chromedp.Navigate(strings.Split(b.location(), "?")[0] + "?at=4"))
	b.press("Fork here")
	b.press("Fork at checkpoint 4")
	b.until(`document.querySelectorAll('nav[aria-label=Branches] a').length === 3`)
}

func TestReplay_ShowsNoDifference(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"hello.yaml": flow})
	b := s.open(t, "/studio/threads/"+s.runs(t, "hello", map[string]any{"name": "Ada"}))
	b.press("Replay with current code")
	b.press("Run the steps again")
	b.sees("out as recorded")
}
