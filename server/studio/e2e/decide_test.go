package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// mails has a conversation, and asks before it sends.
const mails = `version: 1
name: mails
state:
  messages: {type: messages}
  sent: any
  why: string
input: [messages]
nodes:
  ask:
    approval:
      title: Send it?
      action: {name: send, args: {to: ada, copies: 1}}
      allow: [approve, edit, reject]
    output: {sent: "${{ result.args }}", why: "${{ result.type }}: ${{ result.message }}"}
    next: END
`

// Each decision changes the state as the command line does, on each page that asks.
func TestDecisions_AreThoseOfTheCommandLine(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{"mails.yaml": mails}, "--store", "sqlite:weft.db")
	thread := func() string { return s.runs(t, "mails", map[string]any{"messages": "Hello"}) }
	state := func(thread string) string {
		t.Helper()
		var v struct {
			State struct {
				Sent json.RawMessage
				Why  string
			}
		}
		s.printed(t, &v, "state", thread, "mails.yaml", "--json", "--store", "sqlite:weft.db")
		return v.State.Why + string(v.State.Sent)
	}
	decisions := map[string]struct {
		command []string
		act     func(*tab)
	}{
		"approve": {[]string{"approve"}, func(b *tab) { b.press("Approve") }},
		"edit": {[]string{"edit", "--args", `{"to":"bob","copies":2}`}, func(b *tab) {
			b.press("Edit")
			b.enter("value:", `{"to":"bob","copies":2}`)
			b.press("Approve with these arguments")
		}},
		"reject": {[]string{"reject", "--message", "too late"}, func(b *tab) {
			b.enter("message", "too late")
			b.press("Reject")
		}},
	}
	for _, word := range slices.Sorted(maps.Keys(decisions)) {
		d := decisions[word]
		decided := "by " + word
		cmd := exec.Command(binary, "run", "mails.yaml", "--input", "messages=Hello", "--thread", decided, "--store", "sqlite:weft.db")
		cmd.Dir, cmd.Env = s.dir, s.env()
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 4 { // it waits for a person
			t.Fatalf("weft run: %v\n%s", err, out)
		}
		s.weft(t, append([]string{"inbox", d.command[0], decided, "--store", "sqlite:weft.db"}, d.command[1:]...)...)
		want := state(decided)
		if !strings.HasPrefix(want, word+": ") {
			t.Fatalf("weft inbox %s leads to %s", word, want)
		}
		for _, page := range []string{"/studio/inbox?text=%s", "/studio/threads/%s", "/studio/threads/%s/chat"} {
			id := thread()
			b := s.open(t, fmt.Sprintf(page, id))
			b.sees("Send it?")
			b.until(`document.readyState === 'complete' && (customElements.get('weft-inbox') || !document.querySelector('weft-inbox'))`)
			if strings.Contains(page, "inbox") {
				b.patient()
			}
			d.act(b)
			if strings.Contains(page, "inbox") {
				b.press("Send now")
				b.sees("is sent.")
				b.do(chromedp.Navigate(s.url + "/studio/threads/" + id))
			}
			b.until(`document.querySelector('#summary .status-idle')`)
			if got := state(id); got != want {
				t.Errorf("%s on %s leads to %s, and weft inbox to %s", word, page, got, want)
			}
		}
	}
}
