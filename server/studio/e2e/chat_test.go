package e2e

import (
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// send sends a message in a chat.
func (b *tab) send(text string) {
	b.Helper()
	b.do(chromedp.SendKeys(`//textarea[@name="message"]`, text))
	b.until(`document.querySelector('form.composer button.main:enabled')`) // Send is disabled while a run is under way
	b.click(`//form[contains(@class,"composer")]//button[contains(@class,"main")]`)
}

// answered waits until nothing is being written.
func (b *tab) answered() {
	b.Helper()
	b.until(`document.querySelector('#summary .status-idle') && !document.querySelector('.draft')`)
}

func TestChat_AnswersWithTools(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo", "--store", "sqlite:weft.db")
	b := s.open(t, "/studio/graphs/assistant")
	b.press("Chat")
	b.send("Why is the sky blue?")
	b.until(`location.pathname.endsWith('/chat') && location.pathname.includes('/threads/')`)
	b.until(`document.querySelector('.thought')?.textContent.includes('The question is about')`)
	b.until(`document.querySelectorAll('.card-done').length === 2 && document.querySelectorAll('.card-failed').length === 1`)
	b.answered()
	b.sees("The archive has 3 entries")
	if got := eval[int](b, `document.querySelectorAll('#messages .text table tbody tr, #messages .text table tr').length`); got < 4 {
		t.Errorf("the table of the answer has %d rows", got)
	}
	b.shot("chat-answer")

	b.send("Send a letter")
	b.sees("May this letter be sent?")
	b.press("Approve")
	b.sees("is on its way")
	b.answered()

	// A branch in place of an earlier message, and back.
	b.click(`(//article[contains(@class,"by-user")])[2]//a[text()="edit"]`)
	b.do(chromedp.SetValue(`//textarea[@name="message"]`, "count to 3"))
	b.press("Send as a branch")
	b.until(`document.querySelector('#messages')?.innerText.includes('1 2 3') && document.querySelector('#summary .status-idle')`)
	b.sees("2/2")
	if text := eval[string](b, `document.querySelector('#messages').innerText`); strings.Contains(text, "is on its way") || !strings.Contains(text, "The archive has 3 entries") {
		t.Errorf("the branch has\n%s", text)
	}
	b.click(`//span[@class="switch"]/a[@rel="prev"]`)
	b.until(`document.querySelector('#messages').innerText.includes('is on its way')`)
	at := b.location()
	other := s.open(t, strings.TrimPrefix(at, s.url)) // the address shows the same view
	if got, want := eval[string](other, `document.querySelector('#messages').innerText`), eval[string](b, `document.querySelector('#messages').innerText`); got != want {
		t.Errorf("%s shows\n%s\nand in another browser\n%s", at, want, got)
	}

	// The command does what the form does.
	other.do(chromedp.Navigate(strings.Split(at, "?")[0]))
	other.press("As a command")
	other.do(chromedp.SendKeys(`//textarea[@name="message"]`, "count to 5"))
	other.until(`document.querySelector('.composer code').textContent.includes('count to 5')`)
	s.paste(t, eval[string](other, `document.querySelector('.composer code').textContent`))
	other.until(`document.querySelector('#messages').innerText.includes('1 2 3 4 5')`)
}

func TestChat_LosesNoWord(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1})
	t.Cleanup(proxy.Close)
	b := openAt(t, proxy.URL, "/studio/graphs/assistant/chat")
	b.allow("ERR_")
	b.send("count to 900")
	for _, n := range []int{100, 300, 500} {
		b.until(fmt.Sprintf(`document.querySelector('.draft')?.textContent.includes(' %d ')`, n))
		proxy.CloseClientConnections()
	}
	b.answered()
	var want strings.Builder
	for i := 1; i <= 900; i++ {
		fmt.Fprintf(&want, "%d ", i)
	}
	const text = `document.querySelector('#messages .by-assistant .text').textContent.trim()`
	if got := eval[string](b, text); got != strings.TrimSpace(want.String()) {
		t.Errorf("the answer is %s", got)
	}
}

func TestChat_StopsAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	b := s.open(t, "/studio/graphs/assistant/chat")
	b.send("count to 20000")
	b.until(`document.querySelector('.draft')?.textContent.includes(' 60 ')`)
	const top = `document.querySelector('#stop-run').getBoundingClientRect().top`
	before := eval[float64](b, top)
	b.until(`document.querySelector('.draft')?.textContent.includes(' 300 ')`)
	if after := eval[float64](b, top); after != before {
		t.Errorf("Stop has moved from %v to %v", before, after)
	}
	begun := time.Now()
	b.press("Stop")
	b.until(`!document.querySelector('#summary .status-busy') && document.querySelector('#summary')`)
	t.Logf("stopped in %s, as the browser shows it", time.Since(begun).Round(time.Millisecond))
	if eval[bool](b, `document.querySelector('#messages').textContent.includes(' 19999 ')`) {
		t.Error("the count ended before it was stopped")
	}
	b.send("count to 2") // the thread goes on
	b.until(`document.querySelector('#messages').innerText.includes('1 2') && document.querySelector('#summary .status-idle')`)
	b.send("count to 20000")
	b.until(`document.querySelector('.draft')?.textContent.includes(' 60 ')`)
	other := s.open(t, strings.TrimSuffix(strings.TrimPrefix(b.location(), s.url), "/chat"))
	s.paste(t, other.command("curl -X POST "+s.url+"/runs/cancel"))
	other.until(`document.querySelector('#summary') && !document.querySelector('#summary .status-busy')`)
}

func TestChat_WithoutScripts(t *testing.T) {
	t.Parallel()
	s := start(t, "dev", "--demo")
	off := command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b := s.open(t, "/studio/graphs/assistant/chat", off)
	b.do(chromedp.SendKeys(`//textarea[@name="message"]`, "Send a letter"))
	b.do(chromedp.Click(`//form[contains(@class,"composer")]//button[contains(@class,"main")]`, chromedp.NodeVisible))
	b.do(chromedp.WaitVisible(`//*[@id="summary"]`))
	thread := strings.Split(strings.TrimPrefix(b.location(), s.url), "?")[0]
	s.open(t, thread).sees("May this letter be sent?")
	b.do(chromedp.Reload())
	b.do(chromedp.Click(`//button[@value="approve"]`, chromedp.NodeVisible))
	b.do(chromedp.WaitVisible(`//*[@id="m-x" or @id="messages"]`))
	if !strings.HasSuffix(b.location(), "/chat") {
		t.Errorf("the answer leads to %s", b.location())
	}
	s.open(t, thread).sees("is on its way")
	b.do(chromedp.Reload(), chromedp.WaitVisible(`//*[contains(text(),"is on its way")]`))
}
