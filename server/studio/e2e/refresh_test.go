package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// refreshed fetches the page again and changes what differs.
func (b *tab) refreshed() {
	b.Helper()
	if !eval[bool](b, `import(document.querySelector('link[href$="/refresh.js"]').href).then((m) => m.refresh())`) {
		b.Fatal("the page could not be fetched")
	}
}

// What a refresh does not change stays the same element, with what a person does in it.
func TestRefresh_KeepsWhatIsTheSame(t *testing.T) {
	t.Parallel()
	text := strings.Replace(chained("chained", 40, 0), "nodes:\n", "nodes:\n  first:\n    set: {n: 1}\n    next: ask\n", 1)
	s := served(t, map[string]string{"chained.yaml": text})
	thread := s.runs(t, "chained", map[string]any{})
	b := s.open(t, "/studio/threads/"+thread)
	b.until(`customElements.get('weft-run') && document.querySelector('#checkpoint-1')`)
	b.do(chromedp.Evaluate[chromedp.Void](`{
		window.same = ['checkpoint-1', 'node:first', 'run', 'history', 'fields'].map((id) => document.getElementById(id))
		document.querySelector('#run ~ details').open = true
		document.querySelector('#checkpoint-1 a').focus()
		document.querySelector('weft-picture .scroll').scrollTop = 60
		document.getElementById('node:n30').dataset.mine = ''
	}`))
	s.answered(t, thread, "chained")
	b.until(`document.querySelector('#summary .status-idle') && document.querySelectorAll('#commits tbody tr').length === 43 && document.getElementById('node:n39').classList.contains('state-done')`)
	for what, stays := range map[string]string{
		"an element that did not change": `same.every((e) => e.isConnected && e === document.getElementById(e.id))`,
		"the text that is open":          `document.querySelector('#run ~ details').open`,
		"the focus":                      `document.activeElement === document.querySelector('#checkpoint-1 a')`,
		"the place in the picture":       `document.querySelector('weft-picture .scroll').scrollTop === 60`,
	} {
		if !eval[bool](b, stays) {
			t.Errorf("a refresh changes %s", what)
		}
	}
	// What has changed is as in a page that is loaded now.
	other := s.open(t, "/studio/threads/"+thread)
	other.until(`customElements.get('weft-run')`)
	const shown = `(() => {
		const parts = [...document.querySelectorAll('[data-part]')].map((p) => p.cloneNode(true))
		for (const p of parts) for (const e of p.querySelectorAll('[data-mine]')) delete e.dataset.mine
		for (const p of parts) for (const e of p.querySelectorAll('details')) e.open = false
		return parts.map((p) => p.outerHTML).join('\n')
	})()`
	b.refreshed()
	if got, want := eval[string](b, shown), eval[string](other, shown); got != want {
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		t.Errorf("after its refreshes the page shows\n%.300s\nand a page that is loaded now\n%.300s", got[max(0, i-100):], want[max(0, i-100):])
	}
}

// A page goes back and forth between steps as if each was loaded.
func TestRefresh_ShowsEachStepAsItIs(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	path := "/studio/threads/" + s.create(t, `{"question":"why?"}`)
	b, other := s.open(t, path), s.open(t, "")
	b.sees("Send this report?")
	b.until(`customElements.get('weft-run')`)
	const shown = `[...document.querySelectorAll('[data-part]')].map((p) => p.innerText).join('\n')`
	for _, at := range []int{1, 7, 3, 8, 2} {
		eval[any](b, fmt.Sprintf(`import(document.querySelector('link[href$="/refresh.js"]').href).then((m) => m.visit('%s?at=%d', false, false)).then(() => 1)`, path, at))
		other.do(chromedp.Navigate(fmt.Sprintf("%s%s?at=%d", s.url, path, at)))
		other.until(`customElements.get('weft-run') && customElements.get('weft-copy')`)
		if got, want := eval[string](b, shown), eval[string](other, shown); got != want {
			t.Errorf("checkpoint %d is shown as\n%s\nwant\n%s", at, got, want)
		}
	}
}

// A change that was refused stays to be mended, and not shown at another step.
func TestRefresh_ARefusedChangeIsOfItsStep(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"judged.yaml": judged})
	b := s.open(t, "/studio/threads/"+s.runs(t, "judged", map[string]any{"amount": 800})+"?at=1")
	b.press("Edit and go on")
	b.do(chromedp.SetValue(`//select[@name="field"]`, "total"), chromedp.SetValue(`//select[@name="as"]`, "judge"))
	b.enter("value", "952")
	b.allow("422")
	b.press("Change and go on")
	b.sees("The node \"judge\" chooses itself where to go on")
	b.until(`customElements.get('weft-run')`)
	b.refreshed()
	b.until(`document.querySelector('#acts form > [role=alert]') && document.querySelector('[name=value]').value === '952'`)
	b.click(`//*[@id="steps"]//a[contains(.,"later")]`)
	b.until(`document.querySelector('#acts form [name=at]').value === '2' && !document.querySelector('#acts [role=alert]') && document.querySelector('[name=value]').value === ''`)
}
