package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// looks checks a page in both themes and at three widths: it is accessible, as wide as the window,
// and shows a text. prepare is run on each page before.
func (s *server) looks(t *testing.T, axe, name, path, text string, prepare func(*tab)) {
	t.Helper()
	for _, look := range []string{"light", "dark"} {
		b := s.open(t, path, theme(look))
		b.sees(text)
		if prepare != nil {
			prepare(b)
		}
		b.do(chromedp.Evaluate[chromedp.Void](axe))
		for _, f := range eval[[]string](b, `axe.run().then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')))`) {
			t.Errorf("%s, %s: %s", name, look, f)
		}
		for _, width := range []int64{400, 1024, 1600} {
			b.do(size(width, 1000))
			if wide := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
				t.Errorf("%s at %d px is %d px too wide", name, width, wide)
			}
			b.shot(fmt.Sprintf("%s-%s-%d", name, look, width))
		}
	}
}

func TestChatAndEditor_AreAccessible(t *testing.T) {
	t.Parallel()
	axe := installed(t)
	s := start(t, "dev", "--demo")
	b := s.open(t, "/studio/graphs/assistant/chat")
	b.says("Why is the sky blue?")
	b.sees("You can ask for it again")
	b.answered()
	b.says("Send a letter")
	b.sees("May this letter be sent?")
	chat := strings.TrimPrefix(b.location(), s.url)
	s.looks(t, axe, "chat", chat, "May this letter be sent?", func(b *tab) { b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.log').scrollTop = 0`)) })
	s.looks(t, axe, "chat-end", chat, "May this letter be sent?", nil)
	s.looks(t, axe, "chat-new", "/studio/graphs/assistant/chat", "Begins a thread", nil)
	s.looks(t, axe, "editor", "/studio/editor", "No mistakes", func(b *tab) { b.until(`document.querySelector('.under')`) })
	e := edits(t)
	e.looks(t, axe, "editor-mistake", "/studio/editor/hello.yaml", "No mistakes", func(b *tab) {
		b.until(`document.querySelector('.under')`)
		b.types(strings.Replace(flow, "next: END", "next: nowhere", 1) + "# a remark\n")
		b.sees("1 mistake")
		b.press("Run its tests")
		b.sees("has no tests, or has mistakes")
		b.until(`document.querySelector('.gutter .bad')`)
	})
	e.looks(t, axe, "editor-files", "/studio/editor", "hello.yaml", nil)
}
