package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// looks are tabs of a server, one in each theme.
type looks struct {
	server *server
	axe    string
	tabs   map[string]*tab
}

func (s *server) looks(t *testing.T, axe string) looks {
	t.Helper()
	l := looks{s, axe, map[string]*tab{}}
	for _, name := range []string{"light", "dark"} {
		l.tabs[name] = s.open(t, "", theme(name))
	}
	return l
}

// check checks a page in both themes and at three widths: it is accessible, as wide as the window,
// and shows a text. prepare is run on each page before.
func (l looks) check(t *testing.T, name, path, text string, prepare func(*tab)) {
	t.Helper()
	for look, b := range l.tabs {
		b.do(size(1024, 900), chromedp.Navigate(l.server.url+path))
		b.sees(text)
		if prepare != nil {
			prepare(b)
		}
		b.do(chromedp.Evaluate[chromedp.Void](l.axe))
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
	b.send("Why is the sky blue?")
	b.sees("You can ask for it again")
	b.answered()
	b.send("Send a letter")
	b.sees("May this letter be sent?")
	chat := strings.TrimPrefix(b.location(), s.url)
	l := s.looks(t, axe)
	l.check(t, "chat", chat, "May this letter be sent?", func(b *tab) { b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.log').scrollTop = 0`)) })
	l.check(t, "chat-end", chat, "May this letter be sent?", nil)
	l.check(t, "chat-new", "/studio/graphs/assistant/chat", "Begins a thread", nil)
	l.check(t, "editor", "/studio/editor", "No mistakes", func(b *tab) { b.until(`document.querySelector('.under')`) })
	l = edits(t).looks(t, axe)
	l.check(t, "editor-mistake", "/studio/editor/hello.yaml", "No mistakes", func(b *tab) {
		b.until(`document.querySelector('.under')`)
		b.types(strings.Replace(flow, "next: END", "next: nowhere", 1) + "# a remark\n")
		b.sees("1 mistake")
		b.press("Run its tests")
		b.sees("has no tests, or has mistakes")
		b.until(`document.querySelector('.gutter .bad')`)
	})
	l.check(t, "editor-choices", "/studio/editor/hello.yaml", "Workflow", func(b *tab) {
		b.types(strings.Replace(flow, "next: END", "nxt: END", 1))
		b.sees("Write next")
		b.cursor("    set: {greeting: \"Hello ${{ ")
		b.do(chromedp.KeyEvent(" ", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
		b.until(`!document.querySelector('#choices').hidden`)
	})
	l.check(t, "editor-files", "/studio/editor", "hello.yaml", nil)
	l = served(t, map[string]string{"configured.yaml": configured}).looks(t, axe)
	l.check(t, "run-settings", "/studio/graphs/configured/run", "which model is asked", nil)
}
