package e2e

import (
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
	if n := eval[int](b, `[...document.querySelectorAll('#commits tbody tr td:first-child')].length`); n != 8 {
		t.Errorf("the thread has %d checkpoints, want 8", n)
	}
}

func TestForm_ReportsMistakes(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	b := s.open(t, "/studio/graphs/report/run")
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
