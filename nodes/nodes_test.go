package nodes_test

import (
	"context"
	"encoding/json"
	"errors"
	"github.com/weftrun/weft/capabilities/tool/mcp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/mcptest"
	"github.com/weftrun/weft/internal/subprocess"
	"github.com/weftrun/weft/nodes"
)

func TestMain(m *testing.M) {
	if mcptest.Serve() {
		return
	}
	closing := closesIdle{m}
	goleak.VerifyTestMain(closing, goleak.IgnoreAnyFunction("github.com/weftrun/weft/internal/subprocess.startAll"))
}

// closesIdle ends the programs of the tests before goroutines are counted.
type closesIdle struct{ *testing.M }

func (c closesIdle) Run() int {
	code := c.M.Run()
	subprocess.CloseIdle()
	mcp.CloseIdle()
	return code
}

// do runs a workflow with one node, and returns its result from the field r.
func do(t *testing.T, dir, node string) (any, error) {
	t.Helper()
	text := "version: 1\nstate: {r: any, n: {type: any, default: 7}}\nnodes:\n  node:\n    " +
		strings.ReplaceAll(strings.TrimSpace(node), "\n", "\n    ")
	if !strings.HasPrefix(node, "fail:") {
		text += "\n    output: {r: \"${{ result }}\"}\n    next: END\n"
	}
	w, err := workflow.Parse(filepath.Join(dir, "in.yaml"), []byte(text), workflow.Options{Kinds: nodes.Kinds()})
	if err != nil {
		return nil, err
	}
	g, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		return nil, err
	}
	res, err := g.Invoke(context.Background(), w.NewState(), graph.RunOptions{Thread: "t"})
	v, _ := res.State.Get("r")
	return v, err
}

// gives is do, with the result compared as JSON.
func gives(t *testing.T, dir, node, want string) {
	t.Helper()
	v, err := do(t, dir, node)
	got, _ := json.Marshal(v)
	if err != nil || string(got) != want {
		t.Errorf("%s\n got %s, error %v\nwant %s", node, got, err, want)
	}
}

// fails is do, with an error that holds a text.
func fails(t *testing.T, dir, node, want string) error {
	t.Helper()
	v, err := do(t, dir, node)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s\n got %v, error %v\nwant error with %s", node, v, err, want)
	}
	return err
}

func TestToolNode_ComputedArguments(t *testing.T) {
	fails(t, t.TempDir(), `wait: {for: "${{ '-' + string(state.n) }}s"}`, "for must not be negative")
	fails(t, t.TempDir(), `file: {write: "${{ state.n > 7 ? 'x' : '' }}", text: x}`, "the name of the file is empty")
	fails(t, t.TempDir(), `file: {read: "${{ state.n > 7 ? 'x' : '' }}"}`, "the name of the file is empty")
}

func TestWait_TakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		gives(t, t.TempDir(), `wait: {for: "${{ state.n }}m"}`, "null")
		if took := time.Since(begun); took != 7*time.Minute {
			t.Errorf("it took %v, want 7m", took)
		}
	})
}

func TestWait_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := (&nodes.Wait{For: nodes.Duration(time.Hour)}).Run(ctx, workflow.Env{}); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestFail_EndsTheRun(t *testing.T) {
	err := fails(t, t.TempDir(), `fail: {code: none, message: "nothing for ${{ state.n }}"}`, `in.yaml:5:5: none: nothing for 7`)
	var f *nodes.FailError
	if !errors.As(err, &f) || *f != (nodes.FailError{Code: "none", Message: "nothing for 7"}) {
		t.Errorf("got %#v, want the code and the message", f)
	}
}

func TestApproval_ShowsItsSubject(t *testing.T) {
	w, err := workflow.Parse("in.yaml", []byte(`
version: 1
state: {ok: bool}
nodes:
  ask:
    approval: {title: Ship it, show: all of it, data: {n: 9007199254740993}}
    output: {ok: "${{ result.approved }}"}
    next: END
`), workflow.Options{Kinds: nodes.Kinds()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	run := graph.RunOptions{Thread: "t"}
	res, err := g.Invoke(context.Background(), w.NewState(), run)
	if err != nil || len(res.Interrupts) != 1 {
		t.Fatal(res.Interrupts, err)
	}
	q := res.Interrupts[0]
	if q.Prompt != "Ship it" || q.Detail != "all of it" || string(q.Data) != `{"n":9007199254740993}` {
		t.Errorf("the question is %+v", q)
	}
	if _, err = g.Resume(context.Background(), graph.Reply("yes"), run); !errors.Is(err, graph.ErrAnswer) {
		t.Errorf("an answer that is no bool: %v, want ErrAnswer", err)
	}
	res, err = g.Resume(context.Background(), graph.Reply(false), run)
	if ok, _ := res.State.Get("ok"); err != nil || res.Status != graph.Done || ok != false {
		t.Errorf("after false: %v, %v, %v", res.Status, ok, err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}
