package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// held reports whether the question of a thread waits to be sent.
func held(thread string) string {
	return fmt.Sprintf(`document.querySelector('.question[data-held] a[href$=%q]')`, thread)
}

// ctrl is the key that sends a form together with Enter.
var ctrl = chromedp.KeyModifiers(chromedp.ModifierCtrl)

// patient lets answers wait for the test, and not for 5 s.
func (b *tab) patient() {
	b.Helper()
	b.until(`customElements.get('weft-inbox')`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('weft-inbox').dataset.moment = '3600000'`))
}

func TestInbox_KeysDecideAndUndo(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"asks.yaml": asks})
	first, second := s.runs(t, "asks", map[string]any{"subject": "letter 1"}), s.runs(t, "asks", map[string]any{"subject": "letter 2"})
	b := s.open(t, "/studio/inbox")
	b.until(`document.querySelectorAll('.question').length === 2`)
	b.patient()
	b.posted()
	b.key("j") // the newest
	b.key("a")
	b.until(held(second))
	b.shot("inbox-undo")
	b.key("u")
	b.until(`!document.querySelector('[data-held]') && document.activeElement.matches('.question')`)
	b.key("j")
	b.key("r")
	b.until(`document.activeElement.name === 'message' && document.activeElement.form.querySelector('button.main').dataset.key === 'r'`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.value = ''`)) // the driver also types the key
	b.key("no")
	b.key("\r", ctrl)
	b.until(held(first))
	if sent := b.posted(); len(sent) > 0 {
		t.Errorf("%q is sent before its time", sent)
	}
	b.press("Send now")
	b.sees("“Reject” is sent. Thread " + first)
	b.until(`document.querySelectorAll('.question').length === 1`)

	// A page that is left sends what waits.
	b.key("a")
	b.until(held(second))
	b.do(chromedp.Navigate(s.url + "/studio/threads/" + second))
	b.until(`document.querySelector('#summary .status-idle')`)
	b.sees("approve")
	if got := s.decisions(t, first); got != "rejected no" {
		t.Errorf("the first question is decided with %q, want a rejection with the reason", got)
	}
}

func TestInbox_CountsDownAndMarksWhatIsNew(t *testing.T) {
	t.Parallel()
	until := func(name, after string) string {
		return strings.NewReplacer("name: asks", "name: "+name, `}"}`, `}", expires: {after: `+after+`, then: reject}}`).Replace(asks)
	}
	s := served(t, map[string]string{"asks.yaml": asks, "soon.yaml": until("soon", "1h"), "late.yaml": until("late", "50h")})
	for _, graph := range []string{"late", "soon", "asks"} { // the newest last
		s.runs(t, graph, map[string]any{"subject": graph})
	}
	b := s.open(t, "/studio/inbox?order=expires")
	prompts := `[...document.querySelectorAll('.question .prompt')].map((p) => p.textContent).join()`
	b.until(prompts + `=== 'Send soon,Send late,Send asks'`)
	b.until(`/expires in 5\d min \d+ s \(/.test(document.querySelector('.question').innerText) && document.body.innerText.includes('expires in 2 d 1 h (')`)
	b.until(`document.querySelectorAll('.question .new').length > 0`)
	b.shot("inbox-new")
	b.until(`JSON.parse(localStorage.getItem('weft-seen') ?? '[]').length >= 1`)
	b.do(chromedp.Navigate(s.url + "/studio/inbox"))
	b.until(prompts + `=== 'Send asks,Send soon,Send late'`)
	b.until(`document.querySelectorAll('.question .new').length < 3`)
}

func TestInbox_CountsDownUntilItSends(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"asks.yaml": asks})
	s.runs(t, "asks", map[string]any{"subject": "letter"})
	b := s.open(t, "/studio/inbox")
	b.until(`document.querySelectorAll('.question').length === 1 && document.querySelector('#waiting').textContent === '1'`)
	b.patient()
	b.press("Approve")
	b.until(`Number(/is sent in (\d+) s\./.exec(document.body.innerText)?.[1]) < 3600`)
	s.runs(t, "asks", map[string]any{"subject": "another"})
	b.until(`document.querySelector('#waiting').textContent === '2'`)
	b.press("Send now")
	b.until(`document.querySelector('#waiting').textContent === '1'`)
}

func TestInbox_KeysPressTheButtonWithTheFocusOnce(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"asks.yaml": asks})
	for i := range 2 {
		s.runs(t, "asks", map[string]any{"subject": fmt.Sprint("letter ", i)})
	}
	b := s.open(t, "/studio/inbox")
	b.until(`document.querySelectorAll('.question').length === 2`)
	b.patient()
	b.do(chromedp.Focus(`//button[@data-key="r"]`))
	b.key("\r", ctrl)
	b.sees("“Reject” is sent in")
	b.key("u")
	b.until(`!document.querySelector('[data-held]')`)
	b.do(chromedp.Evaluate[chromedp.Void](`for (const repeat of [false, true, true]) {
		document.querySelector('.question:not([data-held])')?.focus()
		document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', repeat, bubbles: true, cancelable: true}))
	}`))
	b.sees("“Approve” is sent in")
	if n := eval[int](b, `document.querySelectorAll('[data-held]').length`); n != 1 {
		t.Errorf("a key that is held down decides %d questions, want 1", n)
	}
}

// A question stays if its answer was not taken: a proxy wants a login, or the thread is busy.
func TestInbox_KeepsAnAnswerThatIsNotTaken(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"asks.yaml": asks})
	thread := s.runs(t, "asks", map[string]any{"subject": "letter 1"})
	b := s.open(t, "/studio/inbox")
	b.until(`document.querySelectorAll('.question').length === 1`)
	b.patient()
	b.enter("message", "too late")
	for _, c := range []struct{ answer, note string }{
		{`served('/studio', {redirect: 'manual'})`, "was not sent: the server leads to another page"},
		{`Promise.resolve(new Response('<main><p>the thread is busy</p></main>', {status: 409}))`, "the thread is busy"},
	} {
		b.do(chromedp.Evaluate[chromedp.Void](`window.served ??= window.fetch; window.fetch = (to, how) => how?.method === 'POST' ? ` + c.answer + ` : served(to, how)`))
		b.press("Reject")
		b.press("Send now")
		b.sees(c.note)
		b.until(`document.querySelector('.question:not([data-held]) [name=message]')?.value === 'too late'`)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`window.fetch = served`))
	b.press("Reject")
	b.press("Send now")
	b.sees("“Reject” is sent.")
	if got := s.decisions(t, thread); got != "rejected too late" {
		t.Errorf("the question is decided with %q", got)
	}
}

// An answer that is refused stays with its mistake while the list changes.
func TestInbox_KeepsAnAnswerWithAMistake(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"counts.yaml": `version: 1
name: counts
state: {n: int}
nodes:
  ask: {ask: {title: "How many?", answer: int}, output: {n: "${{ result }}"}, next: END}
`})
	s.runs(t, "counts", map[string]any{})
	b := s.open(t, "/studio/inbox")
	b.until(`document.querySelectorAll('.question').length === 1`)
	b.patient()
	b.allow("422")
	b.enter("answer", "1.5")
	b.press("Send")
	b.press("Send now")
	const shown = `document.querySelector('.question > [role=alert]') && document.querySelector('[name=answer]').value === '1.5'`
	b.until(shown)
	s.runs(t, "counts", map[string]any{})
	if !eval[bool](b, `import(document.querySelector('link[href$="refresh.js"]').href).then((m) => m.refresh()).then(() => !!(`+shown+`))`) {
		t.Error("a change of the list removes an answer with a mistake")
	}
	b.enter("answer", "2")
	b.press("Send")
	b.press("Send now")
	b.sees("“Send” is sent.")
}

// decisions returns what was decided on a thread, and why.
func (s *server) decisions(t *testing.T, thread string) (all string) {
	t.Helper()
	b := s.open(t, "/studio/threads/"+thread)
	b.until(`document.querySelector('#decisions tbody tr')`)
	return eval[string](b, `[...document.querySelectorAll('#decisions tbody tr')].map((r) => r.cells[0].innerText + ' ' + (r.querySelector('.hint')?.innerText ?? '')).join('|')`)
}

func TestInbox_EditsArgumentsInAForm(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"why?"}`)
	b := s.open(t, "/studio/inbox")
	b.sees("Send this report?")
	b.until(`customElements.get('weft-form')`)
	b.patient()
	b.key("e")
	b.until(`document.activeElement.name === 'value:to'`)
	b.enter("value:to", "")
	b.sees("a value is required")
	b.enter("value:to", "ada@example.org")
	b.until(`!document.querySelector('.mistake') && document.querySelectorAll('.changed').length === 1 && document.querySelector('[name=raw]').value.includes('ada@')`)
	b.shot("inbox-edit")
	b.do(chromedp.Evaluate[chromedp.Void](`{const to = document.querySelector('[name="value:to"]'); to.value = to.defaultValue; to.dispatchEvent(new Event('input', {bubbles: true}))}`))
	b.until(`!document.querySelector('.changed') && document.querySelector('[name=raw]').value === document.querySelector('[name=raw]').defaultValue`)
	b.press("As JSON")
	b.enter("raw", `{"to": 7}`)
	b.sees("has type")
	b.enter("raw", `{"to": "bob@example.org", "text": "by hand"}`)
	b.until(`document.querySelector('[name="value:to"]').value === 'bob@example.org' && document.querySelectorAll('.changed').length === 2`)
	b.press("Approve with this JSON")
	b.press("Send now")
	b.sees("is sent.")
	s.open(t, "/studio/threads/"+thread).until(`document.querySelector('#summary .status-idle')`)
	var state struct {
		Values struct{ Sent json.RawMessage }
	}
	s.call(t, "GET", "/threads/"+thread+"/state", "", &state)
	if want := `{"to":"bob@example.org","text":"by hand"}`; string(state.Values.Sent) != want {
		t.Errorf("sent %s, want %s", state.Values.Sent, want)
	}
}
