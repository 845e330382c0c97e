package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const flow = `version: 1
name: hello
state:
  name: {type: string, required: true}
  greeting: string
input: [name]
output: [greeting]
nodes:
  greet:
    set: {greeting: "Hello ${{ state.name }}"}
    next: END
tests:
  - name: greets
    input: {name: Ada}
    expect: {output: {greeting: Hello Ada}}
`

// edits starts a server with a workflow in its folder.
func edits(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{TB: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.dir, "hello.yaml"), []byte(flow), 0o644); err != nil {
		t.Fatal(err)
	}
	s.run(append([]string{"dev"}, args...)...)
	t.Cleanup(s.kill)
	return s
}

// types puts a text into the editor, as a person who pastes it.
func (b *tab) types(text string) {
	b.Helper()
	b.until(`document.querySelector('.under')`)
	data, err := json.Marshal(text)
	if err != nil {
		b.Fatal(err)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`{const t = document.querySelector('#text'); t.value = ` + string(data) + `; t.dispatchEvent(new Event('input', {bubbles: true}))}`))
}

func TestEditor_ShowsMistakesAndSaves(t *testing.T) {
	t.Parallel()
	s := edits(t)
	b := s.open(t, "/studio/editor")
	b.press("hello.yaml")
	b.sees("No mistakes")
	b.until(`document.querySelector('#drawn [data-node="greet"]')`)
	b.types(strings.Replace(flow, "state.name }}", "state.nam }}", 1))
	b.until(`document.querySelector('.gutter .bad')?.textContent === '10' && document.querySelector('.under .bad')?.textContent === 'nam'`)
	b.sees("WF")
	b.until(`document.querySelector('#drawn').classList.contains('stale')`)
	b.press("Save")
	b.allow("422")
	b.sees("was not saved, since it has mistakes")
	b.types(strings.Replace(flow, "    next: END", "    next: shout\n  shout:\n    set: {greeting: \"${{ upper(state.greeting) }}\"}\n    next: END", 1))
	b.until(`document.querySelector('#drawn [data-node="shout"]') && document.querySelectorAll('.gutter .bad').length === 0`) // the picture follows
	b.click(`//*[@id="drawn"]//*[@data-node="shout"]`)
	b.until(`location.hash === '#L12' && document.querySelector('.node.here')?.dataset.node === 'shout'`)
	b.press("Run its tests")
	b.sees("failed greets")
	b.types(strings.Replace(flow, "Hello ${", "Hi ${", 1))
	b.press("Run its tests")
	b.sees("failed greets")
	b.press("Save")
	b.sees("The file is saved")
	if text, err := os.ReadFile(filepath.Join(s.dir, "hello.yaml")); err != nil || !strings.Contains(string(text), "Hi ${") {
		t.Errorf("the file has %s, %v", text, err)
	}
	// The server runs what was saved.
	thread := ""
	deadline := time.Now().Add(wait)
	for {
		var made struct {
			ID string `json:"thread_id"`
		}
		var got struct{ Greeting string }
		s.call(t, "POST", "/threads", "{}", &made)
		s.call(t, "POST", "/threads/"+made.ID+"/runs/wait", `{"assistant_id":"hello","input":{"name":"Bob"}}`, &got)
		if thread = made.ID; got.Greeting == "Hi Bob" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server says %q", got.Greeting)
		}
	}
	s.open(t, "/studio/threads/"+thread).sees("Hi Bob")

	// A file that has changed meanwhile is a conflict, and the work stays.
	b.types(flow + "# mine\n")
	if err := os.WriteFile(filepath.Join(s.dir, "hello.yaml"), []byte(flow+"# theirs\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.allow("412")
	b.press("Save")
	b.sees("has changed since it was opened")
	b.press("The file as it is now")
	b.sees("# theirs")
	b.until(`document.querySelector('#text').value.includes('# mine')`)
	other := s.open(t, "/studio/editor/hello.yaml#L12")
	other.until(`document.activeElement.id === 'text' && document.querySelector('#text').value.slice(0, document.querySelector('#text').selectionStart).split('\n').length === 12`)
}

func TestEditor_KeepsUnsavedWork(t *testing.T) {
	t.Parallel()
	s := edits(t)
	b := s.open(t, "/studio/editor/hello.yaml")
	b.until(`document.querySelector('.under')`)
	b.types(flow + "# not saved\n")
	b.do(chromedp.Reload())
	b.sees("Work that was not saved is shown")
	b.until(`document.querySelector('#text').value.includes('# not saved')`)
	b.press("Show the file as it is")
	b.until(`!document.querySelector('#text').value.includes('# not saved')`)
}

func TestEditor_ReadOnly(t *testing.T) {
	t.Parallel()
	s := edits(t, "--studio=read")
	b := s.open(t, "/studio/editor/hello.yaml")
	b.types(strings.Replace(flow, "next: END", "next: nowhere", 1))
	b.until(`document.querySelector('.gutter .bad')?.textContent === '11'`)
	b.allow("403")
	form := `new URLSearchParams({path: 'hello.yaml', text: 'x', tag: document.querySelector('[name=tag]').value, act: '%s'})`
	for _, act := range []string{"save", "force"} {
		if n := eval[int](b, fmt.Sprintf(`document.querySelectorAll('button[value=%s]').length`, act)); n != 0 {
			t.Errorf("there is a button %q", act)
		}
		if status := eval[int](b, `fetch('/studio/editor', {method: 'POST', body: `+fmt.Sprintf(form, act)+`}).then((r) => r.status)`); status != 403 {
			t.Errorf("%s gets %d", act, status)
		}
	}
	if text, err := os.ReadFile(filepath.Join(s.dir, "hello.yaml")); err != nil || string(text) != flow {
		t.Errorf("the file has %s, %v", text, err)
	}
}
