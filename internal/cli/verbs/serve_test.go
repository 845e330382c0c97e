//go:build unix

package verbs_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/internal/servertest"
)

// daemon is a process that serves until it is stopped.
type daemon struct {
	*testing.T
	cmd   *exec.Cmd
	first string // the line that reports that it works
	url   string
	heard *listener // its stderr
	ended bool
}

// start starts serve, dev or worker, and returns when it works.
func (p place) start(args ...string) *daemon {
	p.Helper()
	return p.startCommand(p.command(args...), func() {})
}

// startCommand starts a command, and returns when it has printed a line.
func (p place) startCommand(cmd *exec.Cmd, begun func()) *daemon {
	p.Helper()
	d := &daemon{T: p.T, cmd: cmd}
	d.heard = p.listen(d.cmd)
	out, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(d.kill)
	begun()
	if d.first, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		p.Fatalf("%v ended: %v\n%s", cmd.Args, err, d.heard.rest())
	}
	if rest, ok := strings.CutPrefix(d.first, "listening on "); ok {
		d.url, _, _ = strings.Cut(rest, " ")
	}
	return d
}

// kill ends the process as a crash does.
func (d *daemon) kill() {
	if !d.ended {
		_ = d.cmd.Process.Kill()
		d.wait()
	}
}

// wait returns the exit code of the process, -1 if a signal killed it.
func (d *daemon) wait() int {
	d.ended = true
	_ = d.cmd.Wait() // its exit code is what counts
	return d.cmd.ProcessState.ExitCode()
}

func (d *daemon) signal(sig os.Signal) {
	d.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		d.Fatal(err)
	}
}

var httpClient = &http.Client{Timeout: time.Minute}

// call makes a request, and returns the status and the body.
func (d *daemon) call(method, path, body string) (int, string) {
	d.Helper()
	req, err := http.NewRequestWithContext(d.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	res, err := httpClient.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		d.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// do makes a request that must succeed.
func (d *daemon) do(method, path, body string) string {
	d.Helper()
	status, text := d.call(method, path, body)
	if status >= 300 {
		d.Fatalf("%s %s: status %d\n%s", method, path, status, text)
	}
	return text
}

// create creates a thread with a run, and returns the path of the run.
func (d *daemon) create(body string) string {
	d.Helper()
	thread := gjson.Get(d.do("POST", "/threads", "{}"), "thread_id").String()
	run := gjson.Get(d.do("POST", "/threads/"+thread+"/runs", body), "run_id").String()
	return "/threads/" + thread + "/runs/" + run
}

// handed is a run of the workflow handover, which waits in its first node.
type handed struct {
	place
	began, release func() *os.File
	run            string
}

func (p place) handOver(d *daemon) handed {
	p.Helper()
	path, began := p.pipe("pipe")
	gate, release := p.pipe("gate")
	h := handed{p, began, release, d.create(fmt.Sprintf(`{"assistant_id":"handover","input":{"worklog":%q,"gate":%q}}`, path, gate))}
	receive(p.T, began(), "began\n")
	return h
}

// serving has the arguments of serve in these tests.
func serving(args ...string) []string {
	return append([]string{"serve", "--listen", "127.0.0.1:0", "--store", "sqlite:w.db"}, args...)
}

const draining = "weft: draining; one more signal stops at once"

// Requirement: A stopping server drains
func TestServe_DrainsAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"int": os.Interrupt, "term": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.write("w.yaml", handover)
			d := p.start(serving("w.yaml")...)
			h := p.handOver(d)
			d.signal(sig)
			d.heard.await(draining)
			for status := 200; status != 503; { // the signal arrives in the handler before the line
				status, _ = d.call("GET", "/ok", "")
			}
			status, body := d.call("POST", "/runs/wait", `{"assistant_id":"handover"}`)
			if status != 503 || gjson.Get(body, "code").String() != "draining" {
				t.Errorf("a wait at a server that drains: status %d, want 503\n%s", status, body)
			}
			h.release().Close()
			if code := d.wait(); code != 0 {
				t.Errorf("exit code %d, want 0\n%s", code, d.heard.rest())
			}
			again := p.start(serving("w.yaml")...)
			if got := again.do("GET", h.run+"/join", ""); gjson.Get(got, "second").String() != "done" {
				t.Errorf("the run ended as %s", got)
			}
			if got := again.do("GET", h.run, ""); gjson.Get(got, "status").String() != "success" {
				t.Errorf("the run is %s", got)
			}
			again.signal(sig)
			if code := again.wait(); code != 0 {
				t.Errorf("exit code %d, want 0\n%s", code, again.heard.rest())
			}
		})
	}
}

func TestServe_SecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", one("    uses: go:wait\n    with: {worklog: \"${{ state.worklog }}\", name: x}"))
	d := p.start(serving("w.yaml")...)
	path, began := p.pipe("pipe")
	run := d.create(fmt.Sprintf(`{"assistant_id":"one","input":{"worklog":%q}}`, path))
	receive(t, began(), "began\n")
	d.signal(syscall.SIGTERM)
	d.heard.await(draining)
	d.signal(syscall.SIGTERM)
	if code := d.wait(); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, d.heard.rest())
	}
	d = p.start(serving("w.yaml")...)
	receive(t, began(), "began\n") // the run goes on
	if got := d.do("GET", run, ""); gjson.Get(got, "status").String() != "running" {
		t.Errorf("the run is %s", got)
	}
	d.do("POST", run+"/cancel?wait=1", "")
}

// Requirement: Readers in other processes get the next events
func TestWorker_RunsWhatAServerAccepts(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "w.db") },
		"redis":    func(t *testing.T) string { return servertest.Redis(t) },
		"postgres": func(t *testing.T) string { return servertest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, store := newPlace(t), address(t)
			p.write("w.yaml", handover)
			d := p.start("serve", "w.yaml", "--listen", "127.0.0.1:0", "--slots", "0", "--store", store)
			w := p.start("worker", "w.yaml", "--store", store)
			h := p.handOver(d)
			go func() { // the stream below has begun, or has all events in the log
				if f, err := os.Open(p.path("gate")); err == nil {
					f.Close()
				}
			}()
			req, err := http.NewRequestWithContext(t.Context(), "GET", d.url+h.run+"/stream?stream_mode=updates", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Last-Event-ID", "-1")
			res, err := httpClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			if err != nil || strings.Count(string(text), "event: updates\n") != 2 {
				t.Errorf("the stream of a run in another process: %v\n%s", err, text)
			}
			w.signal(syscall.SIGTERM)
			if code := w.wait(); code != 0 {
				t.Errorf("the worker's exit code is %d, want 0\n%s", code, w.heard.rest())
			}
		})
	}
}

func TestDev_ReadsWorkflowsAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.Mkdir(p.path("flows"), 0o700); err != nil {
		t.Fatal(err)
	}
	flow := func(name, text string) string {
		return "version: 1\nname: " + name + "\nstate: {text: string}\noutput: [text]\nnodes:\n  say: {set: {text: \"${{ '" + text + "' }}\"}, next: END}\n"
	}
	p.write("flows/a.yaml", flow("a", "first"))
	d := p.start("dev", "flows", "review", "--listen", "127.0.0.1:0", "--store", "memory:")
	text := func(graph string) string {
		return gjson.Get(d.do("POST", "/runs/wait", `{"assistant_id":"`+graph+`","input":{}}`), "text").String()
	}
	expect(t, "before the change", text("a"), "first")
	p.write("flows/a.yaml", flow("a", "second"))
	d.heard.await("weft: read the workflows again: a, review")
	expect(t, "after the change", text("a"), "second")
	p.write("flows/a.yaml", "nodes: [")
	d.heard.await("weft: the workflow is not valid:")
	expect(t, "with a file that is not valid", text("a"), "second")
	p.write("flows/a.yaml", flow("a", "third"))
	p.write("flows/b.yaml", flow("b", "new"))
	d.heard.await("weft: read the workflows again: a, b, review")
	expect(t, "a new file", text("a")+" "+text("b"), "third new")
}

func TestServe_Refuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.write("keys", "not a key\n")
	p.write("secret", "short\n")
	p.write("twice.yaml", asking)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "w.yaml", "--listen", "0.0.0.0:0"}, "no caller would be authenticated"},
		{[]string{"serve", "w.yaml", "--studio=all"}, "there is no studio \"all\""},
		{[]string{"serve", "w.yaml", "--listen", ":0"}, "no caller would be authenticated"},
		{[]string{"dev", "w.yaml", "--listen", "192.0.2.1:0"}, "no caller would be authenticated"},
		{[]string{"serve", "w.yaml", "--listen", "2024"}, "--listen must be HOST:PORT"},
		{[]string{"serve", "w.yaml", "--auth", "keys:keys"}, "line 1 of the keys"},
		{[]string{"serve", "w.yaml", "--auth", "keys:missing"}, "missing"},
		{[]string{"serve", "w.yaml", "--auth", "jwt:secret"}, "at least 32 bytes"},
		{[]string{"serve", "w.yaml", "--auth", "jwt:env:WEFT_NO_SUCH"}, "WEFT_NO_SUCH must be set"},
		{[]string{"serve", "w.yaml", "--auth", "ldap:x"}, "ldap"},
		{[]string{"serve", "w.yaml", "--auth-issuer", "x"}, "need --auth"},
		{[]string{"serve", "w.yaml", "--auth", "keys:keys", "--insecure"}, "--insecure accepts all"},
		{[]string{"serve", "w.yaml", "--log", "loud"}, "there is no level"},
		{[]string{"serve", "w.yaml", "twice.yaml"}, "both have a graph named"},
		{[]string{"serve", "missing.yaml"}, "missing.yaml"},
		{[]string{"serve", "mute"}, "cannot be used"},
		{[]string{"worker", "w.yaml", "--store", "memory:"}, "a worker shares no store in memory"},
	} {
		if e := p.run(c.args...); e.code != 2 || !strings.Contains(e.stderr, c.want) {
			t.Errorf("%v: exit code %d, want 2 and %q\n%s", c.args, e.code, c.want, e.stderr)
		}
	}
}

func TestRuns_OfAServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", one("    uses: go:wait\n    with: {worklog: \"${{ state.worklog }}\", name: x}"))
	d := p.start(serving("w.yaml")...)
	path, began := p.pipe("pipe")
	run := strings.Split(d.create(fmt.Sprintf(`{"assistant_id":"one","input":{"worklog":%q}}`, path)), "/")
	thread, id := run[2], run[4]
	receive(t, began(), "began\n")
	for _, from := range [][]string{{"--server", d.url}, {"--store", "sqlite:w.db"}} {
		list := p.must(0, append([]string{"runs", "--json"}, from...)...).stdout
		want := id + " " + thread + " one running"
		if got := fmt.Sprint(gjson.Get(list, "run"), " ", gjson.Get(list, "thread"), " ", gjson.Get(list, "graph"), " ", gjson.Get(list, "status")); got != want {
			t.Errorf("%v: got %q, want %q\n%s", from, got, want, list)
		}
		show := p.must(0, append([]string{"runs", "show", id[:30], "--json"}, from...)...).stdout
		if got := gjson.Get(show, "input.worklog").String(); got != path {
			t.Errorf("%v: the input is %q, want %q\n%s", from, got, path, show)
		}
	}
	p.must(0, "runs", "cancel", id, "--server", d.url)
	d.do("GET", "/threads/"+thread+"/runs/"+id+"/join", "")
	list := p.must(0, "runs", "--json", "--thread", thread, "--server", d.url).stdout
	if got := gjson.Get(list, "status").String(); got != "interrupted" {
		t.Errorf("after cancel the run is %s", list)
	}
	if e := p.must(1, "runs", "--server", d.url+"/nowhere"); !strings.Contains(e.stderr, "the server answers 404: Not Found") {
		t.Errorf("another server: %s", e.stderr)
	}
}

func TestServe_JSON(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	for _, verb := range []string{"serve", "dev", "worker"} {
		args := []string{verb, "w.yaml", "--json", "--store", "sqlite:w.db"}
		if verb != "worker" {
			args = append(args, "--listen", "127.0.0.1:0")
		}
		d := p.start(args...)
		if graphs := gjson.Get(d.first, "graphs").String(); graphs != `["one"]` || (verb != "worker") != gjson.Get(d.first, "url").Exists() {
			t.Errorf("%s prints %s", verb, d.first)
		}
		if want := map[string]string{"dev": gjson.Get(d.first, "url").String() + "/studio/"}[verb]; gjson.Get(d.first, "studio").String() != want {
			t.Errorf("%s prints %s, want the studio at %q", verb, d.first, want)
		}
		d.signal(os.Interrupt)
		if code := d.wait(); code != 0 {
			t.Errorf("%s: exit code %d, want 0\n%s", verb, code, d.heard.rest())
		}
	}
}

func TestServe_WithKeys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	// The SHA-256 of "open sesame".
	p.write("keys", "ann 41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb\n")
	d := p.start("serve", "w.yaml", "--listen", "127.0.0.1:0", "--store", "memory:", "--auth", "keys:keys", "--studio")
	if status, _ := d.call("POST", "/threads", "{}"); status != 401 {
		t.Errorf("without a key: status %d, want 401", status)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", d.url+"/threads", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "open sesame")
	res, err := httpClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("with the key: status %d, want 200", res.StatusCode)
	}
	for password, want := range map[string]int{"": 401, "open": 401, "open sesame": 200} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", d.url+"/studio/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("", password)
		res, err := httpClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != want {
			t.Errorf("the studio with the password %q: status %d, want %d", password, res.StatusCode, want)
		}
	}
}

func TestServe_RefusesOtherHosts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	d := p.start("serve", "w.yaml", "--listen", "127.0.0.1:0", "--store", "memory:", "--host", "weft.test")
	for host, want := range map[string]int{"": 200, "localhost": 200, "app.localhost:80": 200, "WEFT.test.": 200, "[::1]:1": 200, "evil.test": 421, "127.0.0.1.evil.test": 421} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", d.url+"/ok", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := httpClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("with the Host %q: status %d, want %d", host, res.StatusCode, want)
		}
	}
}

// The reminders of a question are sent to a URL, by a server and by a worker.
func TestServe_SendsNotices(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"serve": serving("w.yaml"), "worker": {"worker", "w.yaml", "--store", "sqlite:w.db"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("w.yaml", `version: 1
name: w
state: {paid: string}
nodes:
  ask:
    approval: {title: Pay the bill, to: ann, remind: 1s}
    output: {paid: "${{ result.type }}"}
    next: END
`)
			notices := make(chan string, 1)
			hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				select {
				case notices <- string(body):
				default:
				}
			}))
			t.Cleanup(hook.Close)
			p.must(4, "run", "w.yaml", "--thread", "pay", "--store", "sqlite:w.db")
			p.start(append(args, "--notify", hook.URL, "--allow-private-webhooks")...)
			got := <-notices
			if gjson.Get(got, "kind").String() != "reminder" || gjson.Get(got, "thread").String() != "pay" || gjson.Get(got, "to").String() != "ann" || gjson.Get(got, "question.prompt").String() != "Pay the bill" {
				t.Errorf("the notice is %s", got)
			}
		})
	}
}

// A file that is not valid keeps its last valid version, and the others are served as they are.
func TestDev_ReadsEachFileByItself(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.Mkdir(p.path("flows"), 0o700); err != nil {
		t.Fatal(err)
	}
	flow := func(name, text string) string {
		return "version: 1\nname: " + name + "\nstate: {text: string}\noutput: [text]\nschedules:\n  daily: {cron: \"0 0 * * *\"}\n" +
			"nodes:\n  say: {set: {text: \"${{ '" + text + "' }}\"}, next: END}\n"
	}
	for _, name := range []string{"a", "b", "gone"} {
		p.write("flows/"+name+".yaml", flow(name, "first"))
	}
	d := p.start("dev", "flows", "--listen", "127.0.0.1:0", "--store", "sqlite:w.db")
	text := func(graph string) string {
		return gjson.Get(d.do("POST", "/runs/wait", `{"assistant_id":"`+graph+`","input":{}}`), "text").String()
	}
	p.write("flows/b.yaml", "# nothing yet\n")
	d.heard.await("weft: still serving the last valid version of flows/b.yaml")
	p.write("flows/a.yaml", flow("a", "second"))
	d.heard.await("weft: read the workflows again: a, b, gone\nweft: still serving the last valid version of flows/b.yaml")
	expect(t, "beside a file that is not valid", text("a")+" "+text("b"), "second first")
	if err := os.Remove(p.path("flows/gone.yaml")); err != nil {
		t.Fatal(err)
	}
	d.heard.await("weft: read the workflows again: a, b\nweft: still serving the last valid version of flows/b.yaml")
	if got := p.must(0, "schedules", "--json", "--store", "sqlite:w.db").stdout; strings.Count(got, "/daily") != 2 || strings.Contains(got, "gone") {
		t.Errorf("the schedules are %s, want those of a and b", got)
	}
	p.write("flows/copy.yaml", flow("a", "copied"))
	d.heard.await("weft: flows/a.yaml and flows/copy.yaml both have a graph named \"a\"\nnext: give one of them another name\n" +
		"weft: still serving the last valid version of flows/b.yaml\nweft: not serving flows/copy.yaml")
	p.write("flows/b.yaml", flow("b", "second"))
	d.heard.await("weft: read the workflows again: a, b\nweft: not serving flows/copy.yaml")
	expect(t, "a mended file", text("a")+" "+text("b"), "second second")
}

// The schedules of a file begin runs while dev serves it, also those of a changed file.
func TestDev_StoresSchedules(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	flow := func(name string) string {
		return "version: 1\nname: w\nschedules:\n  " + name + ": {at: \"2026-01-02T06:00:00Z\"}\n  of-" + name +
			": {cron: \"0 0 * * *\"}\nnodes: {a: {set: {}, next: END}}\n"
	}
	begun := func(thread string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !strings.Contains(p.run("state", thread, "--store", "sqlite:w.db").stdout, "done"); {
			if time.Now().After(end) {
				t.Fatalf("the run %s was not begun", thread)
			}
		}
	}
	p.write("w.yaml", flow("first"))
	d := p.start("dev", "w.yaml", "--listen", "127.0.0.1:0", "--store", "sqlite:w.db")
	begun("w/first/2026-01-02T06:00:00Z")
	p.write("w.yaml", flow("second"))
	d.heard.await("weft: read the workflows again: w")
	begun("w/second/2026-01-02T06:00:00Z")
	if got := p.must(0, "schedules", "--json", "--store", "sqlite:w.db").stdout; gjson.Get(got, "name").String() != "w/of-second" || strings.Contains(got, "first") {
		t.Errorf("the schedules are %s, want w/of-second", got)
	}
}
