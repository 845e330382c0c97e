package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
)

// counting is the state of a graph that counts, and asks at the end if it is to.
type counting struct {
	To    state.Value[int]    `json:"to"`
	Pause state.Value[int]    `json:"pause"` // of each step, in milliseconds
	Ask   state.Value[bool]   `json:"ask"`
	Done  state.List[int]     `json:"done"`
	Said  state.Value[string] `json:"said"`
}

// openCounting returns the graph count, whose steps append their ids to the file that the
// environment names.
func openCounting(_ context.Context, store checkpoint.Store) (graph.Untyped, error) {
	b := graph.New[counting]("count")
	b.Node("step", graph.Router(func(ctx context.Context, s *counting) (graph.Command, error) {
		if err := appendLine(os.Getenv(workerFile), graph.TaskID(ctx)); err != nil {
			return graph.Command{}, err
		}
		select {
		case <-time.After(time.Duration(s.Pause.Get()) * time.Millisecond):
		case <-ctx.Done():
			return graph.Command{}, context.Cause(ctx)
		}
		s.Done.Append(s.Done.Len())
		if settings, ok := graph.Settings(ctx).(server.Settings); ok && settings.Configurable["say"] != nil {
			s.Said.Set(fmt.Sprintf("%s to %s", settings.Configurable["say"], settings.Identity.Name))
		}
		switch {
		case s.Done.Len() < s.To.Get():
			return graph.Goto("step"), nil
		case s.Ask.Get():
			return graph.Goto("ask"), nil
		}
		return graph.Goto(graph.End), nil
	}, "step", "ask", graph.End))
	b.Node("ask", graph.Func(func(ctx context.Context, s *counting) error {
		said, err := graph.Ask[string](ctx, graph.Question{Prompt: "go on?"})
		s.Said.Set(said)
		return err
	}))
	b.Edge(graph.Start, "step")
	b.Edge("ask", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	return g.Untyped(), nil
}

// site is a process that serves.
type site struct {
	shell
	cmd *exec.Cmd
	url string
}

// serve starts a server of the graph count, and returns when it listens.
func (sh shell) serve(args ...string) *site {
	sh.Helper()
	s := &site{shell: sh, cmd: sh.command(append([]string{"serve", "count", "--listen", "127.0.0.1:0", "--log", "error"}, args...)...)}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		sh.Fatal(err)
	}
	sh.Cleanup(func() { kill(s.cmd) })
	line, err := bufio.NewReader(out).ReadString('\n')
	rest, ok := strings.CutPrefix(line, "listening on ")
	if !ok {
		sh.Fatalf("the server printed %q (%v), want that it listens", line, err)
	}
	s.url, _, _ = strings.Cut(rest, " ")
	return s
}

var calls = &http.Client{Timeout: time.Minute}

// do makes a request, and returns the status and the body.
func (s *site) do(method, path, body string) (int, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	res, err := calls.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// get makes a request that must succeed, and returns the field of the body; "" is all of it.
func (s *site) get(method, path, body, field string) string {
	s.Helper()
	status, text := s.do(method, path, body)
	if status >= 300 {
		s.Fatalf("%s %s: status %d\n%s", method, path, status, text)
	}
	if field == "" {
		return text
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		s.Fatal(err)
	}
	return fmt.Sprint(fields[field])
}

// thread creates a thread and returns its path.
func (s *site) thread() string {
	s.Helper()
	return "/threads/" + s.get("POST", "/threads", "{}", "thread_id")
}

// run creates a run on a thread and returns its path.
func (s *site) run(thread, input, more string) string {
	s.Helper()
	return thread + "/runs/" + s.get("POST", thread+"/runs", `{"assistant_id":"count","input":`+input+more+`}`, "run_id")
}

// until waits until a field of a document has a value.
func (s *site) until(path, field, want string) {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for got := ""; got != want; {
		if got = s.get("GET", path, "", field); got == want {
			return
		}
		select {
		case <-tick.C:
		case <-s.Context().Done():
			s.Fatalf("%s of %s is %q, want %q", field, path, got, want)
		}
	}
}

// variable is what differs between two runs of the same requests.
var variable = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[^"]*|[0-9a-f]{32,64}|"id":"[0-9a-f]{16}"|\b[0-9a-z]{20,30}\b|(?m)^id: .*$|^: .*$`)

// conversation makes the requests of clients, and returns the answers.
func (s *site) conversation() (answers []string) {
	s.Helper()
	note := func(what, text string) {
		answers = append(answers, what+": "+variable.ReplaceAllString(strings.TrimSpace(text), "X"))
	}
	count := func(to, pause int, ask bool) string {
		return fmt.Sprintf(`{"to":%d,"pause":%d,"ask":%t}`, to, pause, ask)
	}
	t := s.thread()
	note("wait", s.get("POST", t+"/runs/wait", `{"assistant_id":"count","input":`+count(2, 0, false)+`}`, ""))
	for _, mode := range []string{"values", "updates", "tasks", "checkpoints"} {
		_, text := s.do("POST", s.thread()+"/runs/stream", `{"assistant_id":"count","input":`+count(2, 0, false)+`,"stream_mode":"`+mode+`"}`)
		note("stream of "+mode, text)
	}
	note("a run without a thread", s.get("POST", "/runs/wait", `{"assistant_id":"count","input":`+count(1, 0, false)+`}`, ""))

	t = s.thread()
	note("a question", s.get("POST", t+"/runs/wait", `{"assistant_id":"count","input":`+count(1, 0, true)+`}`, ""))
	note("the thread", s.get("GET", t, "", "status"))
	note("the answer", s.get("POST", t+"/runs/wait", `{"assistant_id":"count","command":{"resume":"yes"}}`, ""))
	note("the states", fmt.Sprint(strings.Count(s.get("GET", t+"/history", "", ""), `"checkpoint_id"`)))

	t = s.thread()
	note("another question", s.get("POST", t+"/runs/wait", `{"assistant_id":"count","input":`+count(1, 0, true)+`}`, ""))
	note("an edit with an answer", s.get("POST", t+"/runs/wait", `{"assistant_id":"count","command":{"update":{"to":7},"resume":"no"}}`, ""))

	t = s.thread()
	r := s.run(t, count(4, 50, false), "")
	note("join", s.get("GET", r+"/join", "", ""))
	note("a run that was joined", s.get("GET", r, "", "status"))

	t = s.thread()
	r = s.run(t, count(1000, 20, false), "")
	s.until(r, "status", "running")
	status, _ := s.do("POST", t+"/runs", `{"assistant_id":"count","input":{},"multitask_strategy":"reject"}`)
	note("a run on a busy thread", fmt.Sprint(status))
	s.get("POST", r+"/cancel?wait=1", "", "")
	note("a cancelled run", s.get("GET", r, "", "status"))
	note("its thread", s.get("GET", t, "", "status"))

	r = s.run(t, count(1000, 20, false), "")
	behind := s.run(t, count(0, 0, false), `,"multitask_strategy":"interrupt"`)
	s.get("GET", behind+"/join", "", "")
	note("a run that was replaced", s.get("GET", r, "", "status"))
	note("the run in its place", s.get("GET", behind, "", "status"))

	r = s.run(t, count(1000, 20, false), "")
	s.until(r, "status", "running")
	behind = s.run(t, count(0, 0, false), `,"multitask_strategy":"rollback"`)
	s.get("GET", behind+"/join", "", "")
	status, _ = s.do("GET", r, "")
	note("a run that was rolled back", fmt.Sprint(status))
	note("the run after it", s.get("GET", behind, "", "status"))

	t = s.thread()
	settings := `,"config":{"tags":["x"],"recursion_limit":50,"configurable":{"say":"hello"}},"context":{"a":1},"metadata":{"of":"the run"}`
	note("a run that pauses before and after its nodes", s.get("POST", t+"/runs/wait",
		`{"assistant_id":"count","input":`+count(2, 0, true)+`,"interrupt_before":["ask"],"interrupt_after":["step"]`+settings+`}`, ""))
	note("where it pauses", s.get("GET", t+"/state", "", "next"))
	note("the metadata", fmt.Sprint(strings.Count(s.get("GET", t+"/history", "", ""), `"the run"`)))
	note("on from there", s.get("POST", t+"/runs/wait", `{"assistant_id":"count","interrupt_before":["*"]`+settings+`}`, ""))
	note("where it pauses now", s.get("GET", t+"/state", "", "next"))
	note("up to the question", s.get("POST", t+"/runs/wait", `{"assistant_id":"count"}`, ""))
	status, text := s.do("POST", t+"/runs/wait", `{"assistant_id":"count","command":{"resume":"yes"},"config":{"recursion_limit":1}}`)
	note("the answer to it", fmt.Sprint(status, text))
	status, text = s.do("POST", s.thread()+"/runs/wait", `{"assistant_id":"count","input":`+count(5, 0, false)+`,"config":{"recursion_limit":2}}`)
	note("a limit of steps", fmt.Sprint(status, text))

	t = s.thread()
	first := s.run(t, count(3, 30, false), "")
	second := s.run(t, count(5, 0, false), "")
	s.get("GET", second+"/join", "", "")
	note("a run with one behind it", s.get("GET", first, "", "status"))
	note("the state after both", s.get("GET", t+"/state", "", "values"))
	return answers
}

// engineOf returns the arguments for the shared server with a task queue.
func engineOf(queue string) []string {
	return []string{"--engine", "temporal://" + shared.Address + "/default?queue=" + queue}
}

// A server that hands its runs to the engine answers as one that runs them itself.
func TestServe_AnswersTheSameOnTheEngine(t *testing.T) {
	newShell := func() shell {
		dir := t.TempDir()
		return shell{T: t, dir: dir, env: []string{workerFile + "=" + filepath.Join(dir, "lines")}}
	}
	want := newShell().serve().conversation()
	sh := newShell()
	on := engineOf("serve")
	sh.worker(append(on, "count")...)
	got := sh.serve(on...).conversation()
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("on the engine:\n%s\nwant, as in the process of the server:\n%s", got[min(i, len(got)-1)], want[i])
		}
	}
}

// calledOnce fails the test unless count's steps ran so many times, at most again more than once.
func (sh shell) calledOnce(want, again int) {
	sh.Helper()
	data, err := os.ReadFile(filepath.Join(sh.dir, "lines"))
	if err != nil {
		sh.Fatal(err)
	}
	lines, seen := 0, map[string]bool{}
	for line := range strings.Lines(string(data)) {
		lines, seen[line] = lines+1, true
	}
	if len(seen) != want || lines > want+again {
		sh.Errorf("%d tasks were called %d times, want %d tasks, and at most %d calls more", len(seen), lines, want, again)
	}
}

// A run goes on while no server lives, and the next server waits for its end.
func TestServe_LeavesRunsToTheEngine(t *testing.T) {
	for name, stop := range map[string]func(*site){
		"drain": func(s *site) {
			began := time.Now()
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				s.Fatal(err)
			}
			if err := s.cmd.Wait(); err != nil || time.Since(began) > 5*time.Second {
				s.Errorf("the server ended after %v with %v, want soon and without an error", time.Since(began), err)
			}
		},
		"kill": func(s *site) { kill(s.cmd) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			sh := shell{T: t, dir: dir, env: []string{workerFile + "=" + filepath.Join(dir, "lines")}}
			on := engineOf("serve-" + name)
			sh.worker(append(on, "count")...)
			first := sh.serve(on...)
			thread := first.thread()
			r := first.run(thread, `{"to":40,"pause":100}`, "")
			first.until(r, "status", "running")
			stop(first)
			second := sh.serve(on...)
			end := second.get("GET", r+"/join", "", "")
			if got := second.get("GET", r, "", "status"); got != "success" {
				t.Errorf("the run is %q, want success: %s", got, end)
			}
			sh.calledOnce(40, 0)

			r = second.run(thread, `{"to":10000,"pause":10}`, "")
			second.until(r, "status", "running")
			kill(second.cmd)
			third := sh.serve(on...)
			third.get("POST", r+"/cancel?wait=1", "", "")
			if got := third.get("GET", r, "", "status"); got != "interrupted" {
				t.Errorf("the run that another server cancelled is %q, want interrupted", got)
			}
			if got := third.get("POST", thread+"/runs/wait", `{"assistant_id":"count","input":{"to":0,"pause":0}}`, "to"); got != "0" {
				t.Errorf("the next run of the thread ended with to = %s, want 0", got)
			}
		})
	}
}
