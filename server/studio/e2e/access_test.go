package e2e

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// pages are the addresses of all pages, of a thread with a question.
func pages(thread string) map[string]string {
	return map[string]string{
		"graphs": "/studio/graphs", "graph": "/studio/graphs/report", "run": "/studio/graphs/report/run", "threads": "/studio/threads",
		"inbox": "/studio/inbox", "assistants": "/studio/assistants", "assistant": "/studio/assistants/report?from=1&to=1", "crons": "/studio/crons", "store": "/studio/store", "system": "/studio/system",
		"sizes": "/studio/threads/" + thread + "/sizes", "tasks": "/studio/threads/" + thread + "?tab=task&at=4", "raw": "/studio/threads/" + thread + "?tab=raw",
		"inbox-none": "/studio/inbox?text=none&overdue=1", "thread": "/studio/threads/" + thread, "step": "/studio/threads/" + thread + "?at=4", "missing": "/studio/none",
	}
}

func TestPages_AreAccessible(t *testing.T) {
	t.Parallel()
	script := installed(t)
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"why?"}`)
	s.open(t, "/studio/threads/"+thread).sees("Send this report?")
	l := s.looks(t, script)
	for _, b := range l.tabs {
		b.allow("404")
	}
	for name, path := range pages(thread) {
		l.check(t, name, path, "", nil)
	}
}

// installed returns the script of axe-core.
func installed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("npm", "install", "--silent", "--no-audit", "--no-fund", "axe-core@4")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("install axe-core: %v\n%s", err, out)
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script) + "; undefined"
}

func TestKeyboard_AnswersAQuestion(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"why?"}`)
	b := s.open(t, "/studio/graphs")
	b.until(`customElements.get('weft-palette')`)
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("i"))
	b.sees("Send this report?")
	for range 40 { // tab to the button, as a person does
		if eval[string](b, `document.activeElement.value ?? ''`) == "approve" {
			break
		}
		b.do(chromedp.KeyEvent("\t"))
	}
	b.do(chromedp.KeyEvent("\r"))
	b.sees("“Approve” is sent. Thread " + thread) // after a moment
	b.do(chromedp.Navigate(s.url + "/studio/threads/" + thread))
	b.until(`document.querySelector('#summary .status-idle')`)
	name := eval[string](b, `document.querySelector('#node\\:search').getAttribute('aria-label')`)
	if !strings.HasPrefix(name, "search, worker, ran 6 times") || !strings.HasSuffix(name, "finished") {
		t.Errorf("a screen reader reads the node as %q", name)
	}
	b.do(chromedp.KeyEvent("["))
	b.until(`document.querySelector('#summary').innerText.includes('checkpoint 9 of 10')`)
	b.sees("Changes since checkpoint 8")
}

func TestWithoutScripts_AQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"why?"}`)
	s.open(t, "/studio/threads/"+thread).sees("Send this report?")
	off := command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b := s.open(t, "/studio/inbox", off)
	b.do(chromedp.WaitVisible(`//p[@class="prompt"]`))
	b.do(chromedp.Click(`//button[@value="approve"]`, chromedp.NodeVisible))
	b.do(chromedp.WaitVisible(`//*[@id="node:review"]`))
	if !strings.HasSuffix(b.location(), thread) {
		t.Errorf("the answer leads to %s", b.location())
	}
	s.open(t, "/studio/threads/"+thread).until(`document.querySelector('#summary .status-idle')`)
}

func TestWithoutScripts_ArgumentsAreEdited(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"why?"}`)
	s.open(t, "/studio/threads/"+thread).sees("Send this report?")
	off := command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b := s.open(t, "/studio/inbox?text=report", off)
	b.do(chromedp.Click(`//summary[.="Edit"]`, chromedp.NodeVisible))
	b.do(chromedp.SendKeys(`//textarea[@name="value:to"]`, "!", chromedp.NodeVisible))
	b.do(chromedp.Click(`//button[.="Approve with these arguments"]`, chromedp.NodeVisible))
	b.do(chromedp.WaitVisible(`//*[@id="node:review"]`))
	s.open(t, "/studio/threads/"+thread).until(`document.querySelector('#summary .status-idle')`)
	var state struct {
		Values struct{ Sent struct{ To, Text string } }
	}
	s.call(t, "GET", "/threads/"+thread+"/state", "", &state)
	if sent := state.Values.Sent; len(sent.To) != len("team@example.org!") || !strings.Contains(sent.To, "!") || !strings.HasPrefix(sent.Text, "About") {
		t.Errorf("sent %+v, want the arguments with another address", sent)
	}
}

func TestKeys_ShowOwnThreads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	text := ""
	for _, name := range []string{"ada", "bob"} {
		text += fmt.Sprintf("%s %x\n", name, sha256.Sum256([]byte(name+"-key")))
	}
	if err := os.WriteFile(keys, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "dev", "--demo", "--auth", "keys:"+keys)
	refused, err := http.Get(s.url + "/studio/threads")
	if err != nil {
		t.Fatal(err)
	}
	defer refused.Body.Close()
	if refused.StatusCode != http.StatusUnauthorized {
		t.Errorf("a caller without a key gets %d", refused.StatusCode)
	}
	ada := s.open(t, "/studio/graphs/report", password("ada-key"))
	ada.ask("a secret of Ada")
	id := ada.location()[strings.LastIndexByte(ada.location(), '/')+1:]
	bob := s.open(t, "/studio/threads", password("bob-key"))
	bob.allow("404")
	bob.sees("No thread matches")
	bob.do(chromedp.Navigate(s.url + "/studio/threads/" + id))
	bob.sees("Not Found")
	if shown := eval[string](bob, `document.body.innerText`); strings.Contains(shown, "secret") {
		t.Errorf("Bob sees\n%s", shown)
	}
}

func TestReadOnly_HasNoControlThatWrites(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo", "--studio=read")
	thread := s.create(t, `{"question":"why?"}`)
	b := s.open(t, "/studio/threads/"+thread)
	b.sees("Send this report?")
	for name, path := range pages(thread) {
		b.allow("404")
		b.allow("403")
		b.do(chromedp.Navigate(s.url + path))
		if n := eval[int](b, `document.querySelectorAll('form[method=post]').length`); n != 0 {
			t.Errorf("%s has %d forms that write", name, n)
		}
	}
	b.allow("405")
	for _, path := range []string{"/studio/api/threads/" + thread + "/fork", "/studio/assistants", "/studio/crons", "/studio/store/item"} {
		if status := eval[int](b, `fetch('`+path+`', {method: 'POST', body: '{}'}).then((r) => r.status)`); status != http.StatusMethodNotAllowed {
			t.Errorf("%s is answered with %d", path, status)
		}
	}
	if status := eval[int](b, `fetch(location.pathname + '/delete', {method: 'POST', body: new URLSearchParams({name: 'x'})}).then((r) => r.status)`); status != http.StatusMethodNotAllowed {
		t.Errorf("a form that writes gets %d", status)
	}
}

func TestProxy_BelowAnotherPath(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo", "--studio-base", "/tools/weft/studio")
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := startProxy(t, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	b := openAt(t, proxy, "/tools/weft/studio/graphs/report")
	b.ask("why?")
	b.press("Approve")
	b.until(`document.querySelector('#summary .status-idle')`)
	if !strings.HasPrefix(b.location(), proxy+"/tools/weft/studio/threads/") {
		t.Errorf("the page is at %s", b.location())
	}
}
