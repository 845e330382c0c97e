package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestThread_RecoversWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo", "--store", "sqlite:weft.db")
	b := s.open(t, "/studio/graphs/report")
	b.press("Run")
	b.do(chromedp.SendKeys(`//textarea[@name="in:question"]`, "why?"))
	b.press("Start the run")
	b.until(`document.querySelector('#summary')?.innerText.includes('checkpoint 3')`)
	b.allow("ERR_")
	s.kill()
	b.sees("The connection is lost")
	s.run("dev", "--demo", "--store", "sqlite:weft.db", "--listen", strings.TrimPrefix(s.url, "http://"))
	b.until(`document.querySelector('#lost').hidden`)
	b.sees("Send this report?")
	b.until(`document.querySelectorAll('#commits tbody tr td:first-child').length === 8`)

	b.press("Approve")
	b.until(`document.querySelector('#summary .status-idle') && document.querySelector('#node\\:send').classList.contains('state-done')`)
	b.until(`document.querySelectorAll('#commits tbody tr td:first-child').length >= 9`)
	rows := eval[[]string](b, `[...document.querySelectorAll('#commits tbody tr td:first-child')].map((td) => td.textContent)`)
	slices.Sort(rows)
	if len(slices.Compact(slices.Clone(rows))) != len(rows) {
		t.Errorf("the thread ends with the checkpoints %q, want each once", rows)
	}
}

func TestForm_ReportsMistakes(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	b := s.open(t, "/studio/graphs/report/run")
	b.allow("422")
	b.press("Start the run")
	b.until(`document.querySelector('[name="in:question"]').getAttribute('aria-invalid')`)
	b.until(`customElements.get('weft-form')`)
	b.sees("a value is required") // also when the script has asked for the JSON
	b.do(chromedp.SendKeys(`//textarea[@name="in:question"]`, "why?"), chromedp.SendKeys(`//input[@name="in:options.rounds"]`, "ten"))
	b.sees("this must be a number")
	b.do(chromedp.SetValue(`//input[@name="in:options.rounds"]`, "1"), chromedp.SendKeys(`//textarea[@name="in:options.sources"]`, "archive\npress"))
	b.until(`(() => { try { return JSON.stringify(JSON.parse(document.querySelector('[name=raw]').value)) } catch { return '' } })() ===
		'{"options":{"rounds":1,"sources":["archive","press"]},"question":"why?"}'`)
	b.do(chromedp.Evaluate[chromedp.Void](`{
		const raw = document.querySelector('[name=raw]')
		raw.value = '{"question":"how?","options":{"style":"short"}}'
		raw.dispatchEvent(new Event('input', {bubbles: true}))
	}`))
	b.until(`document.querySelector('[name="in:question"]').value === 'how?' && document.querySelector('[name="in:options.style"]').value === '"short"'`)
	b.press("Start the run")
	b.sees("Send this report?")
}

// configured is a workflow whose node writes its config.
const configured = `version: 1
name: configured
config:
  model: {type: string, default: small, description: which model is asked}
  size: int
state: {text: {type: string, required: true, description: what to say}, out: string}
input: [text]
nodes:
  say: {set: {out: "${{ config.model }} ${{ config.size }} ${{ state.text }}"}, next: END}
`

func TestForm_HasTheConfigOfAWorkflow(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"configured.yaml": configured})
	b := s.open(t, "/studio/graphs/configured/run")
	b.until(`customElements.get('weft-form')`)
	names := eval[[]string](b, `[...document.querySelectorAll('main form [name]')].filter((e) => e.name.includes(':')).map((e) => e.name)`)
	if got := strings.Join(names, " "); got != "in:text set:model set:size" {
		t.Errorf("the form has the fields %q", got)
	}
	b.do(chromedp.SendKeys(`//textarea[@name="in:text"]`, "hello"), chromedp.SendKeys(`//input[@name="set:size"]`, "big"))
	b.sees("this must be a number")
	b.shot("run-settings")
	b.do(chromedp.Evaluate[chromedp.Void](`{const size = document.querySelector('[name="set:size"]'); size.value = '3'; size.dispatchEvent(new Event('input', {bubbles: true}))}`))
	b.until(`!document.querySelector('.mistake')`) // what moves the button
	b.do(chromedp.SetValue(`//select[@name="durability"]`, "exit"))
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[name=durability]').dispatchEvent(new Event('input', {bubbles: true}))`))
	b.until(`(() => {
		const text = document.querySelector('weft-copy code').textContent
		return ['"input":{"text":"hello"}', '"context":{"model":"small","size":3}', '"durability":"exit"'].every((part) => text.includes(part))
			&& document.querySelector('weft-copy button').ariaLabel.endsWith(text.slice(0, 200))
	})()`)
	if got := s.paste(t, b.command("curl")); !strings.Contains(got, "small 3 hello") {
		t.Errorf("the command of the form answers with %s", got)
	}
	b.press("Start the run")
	b.until(`document.querySelector('#summary .status-idle')`)
	b.sees("small 3 hello")

	var schemas struct {
		Context struct {
			Properties map[string]struct{ Description string }
			Required   []string
		} `json:"context_schema"`
	}
	s.call(t, "GET", "/assistants/configured/schemas", "", &schemas)
	if got := schemas.Context; got.Properties["model"].Description != "which model is asked" || strings.Join(got.Required, " ") != "size" {
		t.Errorf("the context schema of the assistant is %+v", got)
	}

	// The JSON of the input is sent with the settings beside it.
	b.do(chromedp.Navigate(s.url + "/studio/graphs/configured/run"))
	b.until(`customElements.get('weft-form') && document.querySelector('[name=raw]').value.includes('{')`)
	const typed = `{ "text" : "goodbye" }` // as the server does not write it
	b.enter("raw", typed)
	b.until(`document.querySelector('[name="in:text"]').value === 'goodbye'`)
	b.enter("set:model", "large")
	b.enter("set:size", "big")
	b.sees("this must be a number") // the answer after the setting
	if got := eval[string](b, `document.querySelector('[name=raw]').value`); got != typed {
		t.Errorf("a setting changes the JSON of the input to %q", got)
	}
	b.enter("set:size", "5")
	b.until(`!document.querySelector('.mistake')`) // what moves the button
	b.press("Start with this JSON")
	b.until(`document.querySelector('#summary .status-idle')`)
	b.sees("large 5 goodbye")
}
