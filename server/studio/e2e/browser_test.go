package e2e

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// wait bounds each step of a journey.
const wait = 30 * time.Second

// binary is the command line, which TestMain builds.
var binary string

// browser is the one that all tests share.
var browser context.Context

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "weft-studio")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "weft")
		build := exec.Command("go", "build", "-o", binary, "./cmd/weft")
		build.Dir, build.Stderr = "../../..", os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build the command line:", err)
			return 1
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.DisableGPU)
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if path, err := exec.LookPath(name); err == nil {
				options = append(options, chromedp.ExecPath(path))
				break
			}
		}
		allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
		defer end()
		var cancel context.CancelFunc
		browser, cancel = chromedp.NewContext(allocator)
		defer cancel()
		if err := chromedp.Do(browser); err != nil {
			fmt.Fprintln(os.Stderr, "start a browser:", err)
			return 1
		}
		return m.Run()
	}())
}

// server is a process that serves the studio.
type server struct {
	testing.TB
	cmd *exec.Cmd
	url string // of the server
	dir string // with its files
}

// start starts a server; the address is chosen if the arguments have none.
func start(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{TB: t, dir: t.TempDir()}
	s.run(args...)
	t.Cleanup(s.kill)
	return s
}

// run starts the process and returns when it listens.
func (s *server) run(args ...string) {
	s.Helper()
	if !strings.Contains(strings.Join(args, " "), "--listen") {
		args = append(args, "--listen", "127.0.0.1:0")
	}
	s.cmd = exec.Command(binary, args...)
	s.cmd.Dir = s.dir
	s.cmd.Env = s.env()
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			s.url, _, _ = strings.Cut(rest, " ")
			return
		}
	}
	s.Fatalf("%v ended before it listened", args)
}

// env is the environment of the processes of a server.
func (s *server) env() []string { return append(os.Environ(), "HOME="+s.dir, "XDG_DATA_HOME="+s.dir) }

// kill ends the process as a crash does.
func (s *server) kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait() // it was killed
	}
}

// action is a step in a tab.
type action = chromedp.Action[chromedp.Void]

// tab is a tab of the browser. It fails the test for a message on the console, a policy that was
// broken, and a request that leaves the origin.
type tab struct {
	testing.TB
	ctx    context.Context
	origin string

	mu       sync.Mutex
	mistakes []string
	allowed  []string // parts of mistakes that are meant
	sent     bound    // since it was asked for last
	posts    []string // the paths of requests that write
}

// open opens a page of a server in a tab with storage of its own.
func (s *server) open(t testing.TB, path string, before ...action) *tab {
	t.Helper()
	return openAt(t, s.url, path, before...)
}

func openAt(t testing.TB, origin, path string, before ...action) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	b := &tab{TB: t, ctx: ctx, origin: origin}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, m := range b.mistakes {
			t.Errorf("the page reports: %s", m)
		}
	})
	b.do(command(network.Enable, network.EnableParams{}), command(log.Enable, cdp.Empty{}), command(runtime.Enable, cdp.Empty{}), size(1024, 900))
	b.do(before...)
	if path != "" {
		b.do(chromedp.Navigate(origin + path))
	}
	return b
}

// command is an action that runs a command of the browser.
func command[P, R any](c cdp.Command[P, R], params P) action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// size is the size of the window.
func size(width, height int64) action { return chromedp.EmulateViewport(width, height) }

// listen notes what a page must not do.
func (b *tab) listen(event any) {
	text := ""
	switch e := event.(type) {
	case *network.EventLoadingFinished:
		b.count(func() { b.sent.bytes += int(e.EncodedDataLength) })
	case *network.EventRequestWillBeSent:
		b.count(func() {
			if b.sent.requests++; e.Request.Method == "POST" {
				b.posts = append(b.posts, e.Request.URL)
			}
		})
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "data" && u.Scheme != "blob" && u.Scheme+"://"+u.Host != b.origin {
			text = "a request to " + e.Request.URL
		}
	case *log.EventEntryAdded:
		text = fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *runtime.EventConsoleAPICalled:
		text = string(e.Type)
		for _, a := range e.Args {
			text += " " + string(a.Value) + a.Description
		}
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
	}
	if text == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.allowed {
		if strings.Contains(text, a) {
			return
		}
	}
	b.mistakes = append(b.mistakes, text)
}

func (b *tab) count(add func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	add()
}

// traffic returns the requests of the page since the last call, and the bytes of their answers.
func (b *tab) traffic() (sent bound) {
	b.count(func() { sent, b.sent = b.sent, bound{} })
	return sent
}

// posted returns the addresses of requests that write, since the last call.
func (b *tab) posted() (posts []string) {
	b.count(func() { posts, b.posts = b.posts, nil })
	return posts
}

// allow lets the page report what contains a text.
func (b *tab) allow(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = append(b.allowed, part)
}

// do runs actions within the time of a step.
func (b *tab) do(actions ...action) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, wait)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.fail(err)
	}
}

// run runs an action that has a result, within the time of a step.
func run[T any](b *tab, a chromedp.Action[T]) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, wait)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		b.fail(err)
	}
	return v
}

// fail stops the test with what the page shows.
func (b *tab) fail(err error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	at, _ := chromedp.Run(ctx, chromedp.Location())                                    // for the report alone
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`)) // for the report alone
	b.Fatalf("%v at %s, which shows\n%.3000s", err, at, text)
}

// eval returns the value of an expression, which may be a promise.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	return run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits until an expression is true.
func (b *tab) until(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, wait)
	defer cancel()
	for {
		// A page that is left in between has no answer, and the next one is asked.
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")")); ok && err == nil {
			return
		}
		select {
		case <-ctx.Done():
			b.fail(fmt.Errorf("%s did not become true", expression))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// sees waits until the page has a text.
func (b *tab) sees(text string) {
	b.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// click clicks what an XPath finds first, once it is visible. A page may replace what was found
// before it is clicked; then it is looked for again.
func (b *tab) click(xpath string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, wait)
	defer cancel()
	err := chromedp.Do(ctx, chromedp.Click(xpath, chromedp.NodeVisible))
	for gone := (*cdproto.Error)(nil); errors.As(err, &gone) && ctx.Err() == nil; {
		err = chromedp.Do(ctx, chromedp.Click(xpath, chromedp.NodeVisible))
	}
	if err != nil {
		b.fail(err)
	}
}

// press clicks a button or a link by its text.
func (b *tab) press(text string) {
	b.Helper()
	b.click(fmt.Sprintf(`(//main//button[normalize-space(.)=%[1]q]|//main//a[normalize-space(.)=%[1]q]|//main//summary[normalize-space(.)=%[1]q])[1]`, text))
}

// enter sets the value of a field, as typing does.
func (b *tab) enter(name, value string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{const field = document.querySelector('main [name=' + CSS.escape(%q) + ']'); field.value = %q; field.dispatchEvent(new Event('input', {bubbles: true}))}`, name, value)))
}

// key types a key.
func (b *tab) key(key string, with ...chromedp.KeyOption) {
	b.Helper()
	b.do(chromedp.KeyEvent(key, with...))
}

// location returns the address of the page.
func (b *tab) location() string {
	b.Helper()
	return run(b, chromedp.Location())
}

// shot saves a picture of the whole page, if WEFT_SHOTS names a folder.
func (b *tab) shot(name string) {
	b.Helper()
	dir := os.Getenv("WEFT_SHOTS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), run(b, chromedp.FullScreenshot(100)), 0o644); err != nil {
		b.Fatal(err)
	}
}

// theme sets what the page takes for the wish of the reader: "light" or "dark".
func theme(name string) action {
	return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

// password is the header of every request that a browser sends with a password.
func password(word string) action {
	value := "Basic " + base64.StdEncoding.EncodeToString([]byte(":"+word))
	return command(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": value}})
}
