package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// A region that is wider than the window has a shadow at the edge with more, which the picture in
// it does not cover.
func TestWideRegions_HaveACue(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"why?"}`)
	b := s.open(t, "/studio/threads/"+thread, size(400, 900))
	b.sees("Send this report?")
	b.until(`document.querySelector('#times').textContent.includes('Attempts that failed')`)
	// The page is refreshed while its thread begins to wait.
	for _, name := range []string{"Table of failed attempts", "Chart of the times", "Table of checkpoints", "Chart of the steps"} {
		region := fmt.Sprintf(`document.querySelector('.scroll[aria-label="%s"]')`, name)
		b.until(`getComputedStyle(` + region + `).backgroundImage.split('gradient').length === 9 && getComputedStyle(` + region + `).backgroundAttachment.includes('local')`)
	}
	b.until(`document.querySelector('[aria-label="Table of checkpoints"]').scrollWidth > 400`)
	b.until(`getComputedStyle(document.querySelector('.scroll .ground')).fill === 'none'`) // it does not cover the shadow
	b.do(chromedp.Evaluate[chromedp.Void](`for (const e of document.querySelectorAll('.scroll')) e.scrollLeft = 60`))
	b.shot("cue-400")
	b.do(size(1024, 900))
	b.shot("cue-1024")
}
