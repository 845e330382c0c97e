package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
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
	b.sees("Hi Ada") // the answer to this press: one that came later would hide what Save answers
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
			t.Fatalf("the server answers %q, want %q", got.Greeting, "Hi Bob")
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

// place is where a mistake is.
type place struct {
	Code      string
	Line, Col int
}

// wrong returns the examples of docs/errors.md with a mistake, by its code, in their order.
func wrong(t *testing.T) (codes []string, texts map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for _, entry := range strings.Split(string(page), "\n### ")[1:] {
		code, rest, _ := strings.Cut(entry, "\n")
		_, rest, ok := strings.Cut(rest, "\nWrong:\n\n```yaml\n")
		if text, _, _ := strings.Cut(rest, "```\n"); ok {
			codes, texts[code] = append(codes, code), text
		}
	}
	return codes, texts
}

// The first 50 mistakes are shown where the command line reports them. Those of several files or of
// a configuration are left out.
func TestEditor_ShowsEachCodeAtItsPlace(t *testing.T) {
	t.Parallel()
	codes, texts := wrong(t)
	s := edits(t)
	files := t.TempDir()
	args := []string{"validate", "--json"}
	for _, code := range codes {
		args = append(args, code+".yaml")
		if err := os.WriteFile(filepath.Join(files, code+".yaml"), []byte(texts[code]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = files, s.cmd.Env
	out, err := cmd.Output() // it fails: the files have mistakes
	expected := map[string][]place{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var file struct {
			File     string
			Problems []struct {
				place
				File string
			}
		}
		if err := d.Decode(&file); err != nil {
			t.Fatalf("weft validate prints %s, %v", out, err)
		}
		for _, p := range file.Problems {
			if p.File == file.File {
				expected[strings.TrimSuffix(filepath.Base(file.File), ".yaml")] = append(expected[strings.TrimSuffix(filepath.Base(file.File), ".yaml")], p.place)
			}
		}
	}
	if len(expected) == 0 {
		t.Fatalf("weft validate prints %s, %v", out, err)
	}
	b := s.open(t, "/studio/editor/hello.yaml")
	b.until(`document.querySelector('.under')`)
	var times []float64
	for _, code := range codes {
		want, text := expected[code], texts[code]
		if len(times) == 50 {
			break
		}
		if !slices.ContainsFunc(want, func(p place) bool { return p.Code == code }) {
			continue
		}
		typed, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		places, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := eval[float64](b, `(async () => {
			const text = document.querySelector('#text'), want = `+string(places)+`
			const key = (all) => all.map((p) => p.Line + ':' + p.Col + ':' + (p.Code ?? p.Text.slice(0, 5))).sort().join(' ')
			const begun = performance.now()
			text.value = `+string(typed)+`
			text.dispatchEvent(new Event('input', {bubbles: true}))
			const marked = () => key(JSON.parse(document.querySelector('#found').dataset.places)) === key(want)
				&& want.every((p) => document.querySelector('.gutter').children[Math.min(p.Line, document.querySelector('.gutter').children.length) - 1].matches('.bad, .warned'))
			while (!marked() && performance.now() - begun < 10000) await new Promise((r) => setTimeout(r, 4))
			return marked() ? performance.now() - begun : -1
		})()`)
		if got < 0 {
			t.Errorf("%s: the editor marks %s, want %s", code, eval[string](b, `document.querySelector('#found').dataset.places`), places)
		}
		times = append(times, got)
	}
	slices.Sort(times)
	if len(times) < 50 {
		t.Fatalf("%d mistakes were tried, want 50", len(times))
	}
	t.Logf("a mistake is shown after %.0f ms, at most %.0f ms", times[len(times)/2], times[len(times)-1])
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

// cursor puts the cursor behind the first place of a text.
func (b *tab) cursor(after string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{const t = document.querySelector('#text'); t.focus(); const n = t.value.indexOf(%[1]q) + %[1]q.length; t.setSelectionRange(n, n)}`, after)))
}

func TestEditor_OffersWords(t *testing.T) {
	t.Parallel()
	b := edits(t).open(t, "/studio/editor/hello.yaml")
	const list, text = `document.querySelector('#choices')`, `document.querySelector('#text')`
	offers := func(want string) {
		t.Helper()
		b.until(fmt.Sprintf(`!%[1]s.hidden && [...%[1]s.querySelectorAll('b')].map((e) => e.textContent).join(' ') === %[2]q`, list, want))
	}
	b.types(strings.Replace(flow, "    next: END", "    next: ", 1))
	b.cursor("    next: ")
	b.do(chromedp.KeyEvent("g"))
	offers("greet")
	b.do(chromedp.KeyEvent("\r"))
	b.until(text + `.value.includes("    next: greet\n") && ` + list + `.hidden`)
	b.cursor("    set: ")
	b.do(chromedp.KeyEvent(" ", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.until(list + `.hidden`) // a mapping is there
	b.cursor("${{ state.")
	b.do(chromedp.KeyEvent(" ", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	offers("greeting name")
	b.until(text + `.getAttribute('aria-activedescendant') === 'choice-0'`)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.until(list + `.querySelector('[aria-selected=true] b').textContent === 'name'`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(list + `.hidden && ` + text + `.value.includes('state.name')`)
	b.cursor("    ne")
	b.until(`document.querySelector('#word').textContent.startsWith('next: the next node')`)

	b.types(strings.Replace(flow, "    next:", "    nxt:", 1))
	b.press("Write next")
	b.until(text + `.value === ` + quote(flow))
	b.sees("No mistakes")
}

// quote returns a text as a literal of JavaScript.
func quote(text string) string {
	data, _ := json.Marshal(text) // of a string
	return string(data)
}

// lastRemark is the end of a text that is longer than the editor.
const lastRemark = "# the last"

// typesLong types a long text with the cursor at its end and the editor scrolled. It returns the
// condition that the editor is there.
func (b *tab) typesLong(flow string) (here string) {
	b.Helper()
	long := flow + strings.Repeat("# a remark\n", 100) + lastRemark
	b.types(long)
	b.cursor(lastRemark)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#text').scrollTop = 700`))
	return fmt.Sprintf(`document.querySelector('#text').selectionStart === %d && Math.abs(document.querySelector('#text').scrollTop - 700) < 2`, len(long))
}

func TestEditor_KeepsItsPlaceWhenSaved(t *testing.T) {
	t.Parallel()
	s := edits(t)
	b := s.open(t, "/studio/editor/hello.yaml")
	here := b.typesLong(flow)
	b.press("Save")
	b.sees("The file is saved.")
	b.until(`document.activeElement.id === 'text' && ` + here)

	// A mistake is shown first.
	here = b.typesLong(strings.Replace(flow, "state.name }}", "state.nam }}", 1))
	b.allow("422")
	b.press("Save")
	b.sees("was not saved, since it has mistakes")
	b.until(`document.activeElement.id !== 'text' && scrollY === 0 && ` + here)

	// The first save of a file leads to another page.
	b = s.open(t, "/studio/editor?new=")
	here = b.typesLong(flow)
	b.enter("path", "long.yaml")
	b.press("Save")
	b.sees("The file is saved.")
	b.until(`location.pathname.endsWith('/editor/long.yaml') && document.activeElement.id === 'text' && ` + here)
}

// A node of the picture of a workflow leads to its line.
func TestGraph_NodeLeadsToItsLine(t *testing.T) {
	t.Parallel()
	b := edits(t).open(t, "/studio/graphs/hello")
	b.do(chromedp.Focus(`//*[@data-node="greet"]`))
	b.key("\r")
	b.until(`location.pathname.endsWith('/editor/hello.yaml') && location.hash === '#L9'`)
}

// A node is found by its name however deep the text indents it.
func TestEditor_GoesToANodeOfAnyIndentation(t *testing.T) {
	t.Parallel()
	graph, _, _ := strings.Cut(flow, "tests:")
	s := served(t, map[string]string{"hello.yaml": strings.ReplaceAll(graph, "  ", "    ")})
	b := s.open(t, "/studio/editor/hello.yaml#node=greet")
	b.until(`location.hash === '#L9' && document.querySelector('#text').value.slice(document.querySelector('#text').selectionStart).startsWith('greet:')`)
}
