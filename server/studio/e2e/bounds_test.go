package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// bound is what a page may cost, whatever the size of what it shows.
type bound struct {
	requests int // including streams and what the browser has cached
	bytes    int // as they are sent
	rows     int // of tables
	elements int
}

// within checks what a page has cost since its traffic was counted last.
func (b *tab) within(what string, most bound) {
	b.Helper()
	got := b.traffic()
	got.rows = eval[int](b, `document.querySelectorAll('tr').length`)
	got.elements = eval[int](b, `document.querySelectorAll('*').length`)
	if got.requests > most.requests || got.bytes > most.bytes || got.rows > most.rows || got.elements > most.elements {
		b.Errorf("%s costs %+v, want at most %+v", what, got, most)
	}
	b.Logf("%s costs %+v", what, got)
}

// fast is a folder for a store that need not survive a loss of power.
func fast(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "weft-studio")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// What a page costs does not grow with the number of threads, steps and questions. Times are
// measured by BenchmarkGoals.
func TestPages_HaveBounds(t *testing.T) {
	t.Parallel()
	const steps, threads, questions = 10_000, 10_000, 60
	store := "sqlite:" + filepath.Join(fast(t), "weft.db")
	long := "8c0b3c1e-0000-4000-8000-000000000001"
	s := &server{TB: t, dir: t.TempDir()}
	for name, text := range map[string]string{"loops.yaml": loops, "asks.yaml": asks, "wide.yaml": wide()} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.weft(t, "run", "loops.yaml", "--input", fmt.Sprint("last=", steps), "--thread", long, "--store", store)
	s.run("dev", "--store", store)
	t.Cleanup(s.kill)
	s.call(t, "POST", "/threads", `{"thread_id":"`+long+`","metadata":{"graph_id":"loops"}}`, nil)
	for i := range questions {
		s.runs(t, "asks", map[string]any{"subject": fmt.Sprint("letter ", i)})
	}
	s.fill(t, threads-questions-1)

	b := s.open(t, "")
	show := func(path, ready string) {
		t.Helper()
		b.traffic()
		b.do(chromedp.Navigate(s.url + path))
		b.until(`document.readyState === 'complete' && customElements.get('weft-palette') && ` + ready)
	}
	const quiet = `true`
	show("/studio/graphs", quiet)
	b.within("the first page", bound{requests: 16, bytes: 60 << 10, rows: 0, elements: 200})
	show("/studio/threads", `document.querySelectorAll('tbody tr').length === 50`)
	b.sees(fmt.Sprintf("1 to 50 of %d", threads))
	b.within("a list of 10,000 threads", bound{requests: 16, bytes: 60 << 10, rows: 120, elements: 1200})
	show(fmt.Sprintf("/studio/threads?offset=%d", threads-50), `document.querySelectorAll('tbody tr').length === 50`)
	b.within("the end of the list", bound{requests: 16, bytes: 60 << 10, rows: 120, elements: 1200})

	show("/studio/threads/"+long, `document.querySelectorAll('#commits tbody tr').length === 100`)
	b.sees(fmt.Sprintf("checkpoint %[1]d of %[1]d", steps))
	thread := bound{requests: 16, bytes: 60 << 10, rows: 120, elements: 4000}
	b.within("a thread of 10,000 steps", thread)
	b.do(chromedp.Evaluate[chromedp.Void](`{const r = document.querySelector('#at'); r.value = 5000; r.dispatchEvent(new Event('input', {bubbles: true})); r.dispatchEvent(new Event('change', {bubbles: true}))}`))
	b.until(`document.querySelector('#summary').innerText.includes('checkpoint 5000 of')`)
	b.within("a jump to step 5,000", thread)
	show("/studio/threads/"+long+"?before=5000", `document.querySelectorAll('#commits tbody tr').length === 100`)
	b.within("older checkpoints", thread)

	show("/studio/graphs/wide", `document.querySelectorAll('.node').length >= 500`)
	b.within("a graph of 500 nodes", bound{requests: 16, bytes: 150 << 10, rows: 0, elements: 8000})

	show("/studio/inbox", `document.querySelectorAll('.question').length === 50`)
	b.within("an inbox", bound{requests: 16, bytes: 60 << 10, rows: 0, elements: 2500})
	b.patient()
	b.posted()
	b.press("Approve")
	b.press("Send now")
	b.sees("“Approve” is sent.")
	if got := b.posted(); len(got) != 1 || !strings.HasSuffix(got[0], "/answer") {
		t.Errorf("an answer is sent with %q, want one request", got)
	}
	var inbox struct {
		Questions []struct{ Thread string }
		Threads   int
	}
	s.call(t, "GET", "/studio/api/inbox", "", &inbox)
	if len(inbox.Questions) != 50 || inbox.Threads != questions-1 {
		t.Errorf("one call returns %d of %d questions, want 50 of %d", len(inbox.Questions), inbox.Threads, questions-1)
	}
}

// fill creates threads without checkpoints.
func (s *server) fill(t testing.TB, n int) {
	t.Helper()
	const callers = 8
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range n/callers + min(1, max(0, n%callers-i)) {
				r, err := http.Post(s.url+"/threads", "application/json", strings.NewReader(`{"metadata":{"graph_id":"asks"}}`))
				if err != nil {
					t.Error(err)
					return
				}
				if r.Body.Close(); r.StatusCode != http.StatusOK {
					t.Errorf("a thread is created with %s", r.Status)
					return
				}
			}
		})
	}
	all.Wait()
}
