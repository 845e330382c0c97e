package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/state/message"
)

// say is a kind whose nodes ask a model, with a key at the end of the prompt.
type say struct {
	Prompt string          `json:"prompt"`
	Key    workflow.Secret `json:"key,omitzero"`
	model  model.Model
}

func (s *say) Run(ctx context.Context, env workflow.Env) (any, error) {
	key, err := env.Reveal(s.Key)
	if err != nil {
		return nil, err
	}
	said, err := model.Generate(ctx, s.model, model.Request{ID: graph.ExecutionID(ctx), Messages: []message.Message{message.User(s.Prompt + key)}})
	return said.Message.Text(), err
}

func (s *say) Recordable() bool { return true }

// speaker is a model for recordings, and counts its calls.
type speaker struct {
	calls atomic.Int64
	reply func(prompt string) model.Answer
}

func (s *speaker) kinds() map[string]workflow.Kind {
	m := recording.Model("small", model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		s.calls.Add(1)
		return s.reply(r.Messages[0].Text())
	}))
	return map[string]workflow.Kind{"say": {New: func() workflow.Runner { return &say{model: m} }, Outside: true}}
}

// recorded is a workflow on a disk, whose tests are recorded.
type recorded struct {
	*testing.T
	dir string
	speaker
}

func newRecorded(t *testing.T, reply func(prompt string) model.Answer) *recorded {
	return &recorded{T: t, dir: t.TempDir(), speaker: speaker{reply: reply}}
}

func (r *recorded) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

func (r *recorded) write(name, text string) {
	r.Helper()
	path := r.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		r.Fatal(err)
	}
}

func (r *recorded) read(name string) string {
	r.Helper()
	text, err := os.ReadFile(r.path(name))
	if err != nil {
		r.Fatal(err)
	}
	return string(text)
}

// run runs the tests of main.yaml, with this text if it is not empty. It returns the failures.
func (r *recorded) run(text string, o workflow.TestOptions) string {
	r.Helper()
	if text != "" {
		r.write("main.yaml", text)
	}
	all := kinds()
	all["locked"] = workflow.Kind{New: func() workflow.Runner { return new(locked) }, Outside: true}
	for name, k := range r.kinds() {
		all[name] = k
	}
	w, err := workflow.Load(r.path("main.yaml"), workflow.Options{Kinds: all, LookupEnv: func(name string) (string, bool) {
		return secretValue, name == "SECRET"
	}})
	if err != nil {
		r.Fatal(err)
	}
	report, err := w.RunTests(r.Context(), o)
	if err != nil {
		r.Fatal(err)
	}
	var b strings.Builder
	for _, t := range report.Tests {
		for _, p := range t.Failures {
			fmt.Fprintf(&b, "%s: %s\n", t.Name, strings.ReplaceAll(p.String(), r.dir+string(filepath.Separator), ""))
		}
	}
	return b.String()
}

// is runs the tests, and compares the failures and the number of calls of the model.
func (r *recorded) is(text string, o workflow.TestOptions, want string, calls int64) {
	r.Helper()
	before := r.calls.Load()
	got := r.run(text, o)
	if want == "" && got != "" || !strings.Contains(got, want) {
		r.Errorf("the tests give\n%swant %s", got, want)
	}
	if n := r.calls.Load() - before; n != calls {
		r.Errorf("the model got %d calls, want %d", n, calls)
	}
}

// locked is a kind that needs a permission which no test has.
type locked struct{}

func (locked) Run(context.Context, workflow.Env) (any, error) { return nil, errors.New("it ran") }
func (locked) Recordable() bool                               { return true }
func (locked) CheckEnv(workflow.Env) error                    { return errors.New("it is not allowed") }

func TestRecording_ChecksPermissionsBeforeTheFirstCall(t *testing.T) {
	r := newRecorded(t, reply)
	text := strings.Replace(twoCalls, "next: END", "next: open}\n  open: {locked: {}, next: END", 1)
	r.is(text, recordAll, "main.yaml:7:10: error[WF705]: locked: it is not allowed; nothing was called", 0)
	inside := strings.Replace(twoCalls, "next: END", "next: sub}\n  sub: {workflow: sub.yaml, next: END", 1)
	r.write("sub.yaml", "version: 1\nstate: {x: string}\nnodes:\n  open: {locked: {}, next: END}\n")
	r.is(inside, recordAll, "sub.yaml:4:10: error[WF705]: locked: it is not allowed; nothing was called", 0)
	mocked := strings.Replace(text, "    expect:", "    mock: {open: {result: null}}\n    expect:", 1)
	mocked = strings.Replace(mocked, "polish]", "polish, open]", 1)
	r.is(mocked, recordAll, "", 2)
}

func TestRecording_SecretThatIsACommonWord(t *testing.T) {
	r := newRecorded(t, reply)
	const text = `version: 1
secrets: {key: "${env:SECRET}"}
state: {text: string}
nodes:
  ask: {say: {prompt: "is it production? "}, output: {text: "${{ result }}"}, next: END}
tests:
  - name: asks
    env: {SECRET: Production}
`
	r.is(text, recordAll, "error[WF905]: the value of the secret key is a common word, which a recording cannot leave out; set another value to record", 0)
}

const secretValue = "a-secret-value"

var recordAll = workflow.TestOptions{Record: true}

const twoCalls = `version: 1
state: {topic: {type: string, required: true}, draft: string, text: string}
input: [topic]
nodes:
  draft: {say: {prompt: "draft ${{ state.topic }}"}, output: {draft: "${{ result }}"}, next: polish}
  polish: {say: {prompt: "polish ${{ state.draft }}"}, output: {text: "${{ result }}"}, next: END}
tests:
  - name: writes
    input: {topic: tea}
    expect: {path: [draft, polish], state: {text: "re: polish re: draft tea"}}
`

func reply(prompt string) model.Answer { return model.Say("re: " + prompt) }

func TestRecording_ReplaysWithoutTheModel(t *testing.T) {
	r := newRecorded(t, reply)
	r.is(twoCalls, workflow.TestOptions{}, "give it a mock, or record the test: weft test --record", 0)
	r.is("", recordAll, "", 2)
	const file = "testdata/recordings/main/writes.yaml"
	first := r.read(file)
	r.is("", workflow.TestOptions{}, "", 0)
	r.is("", recordAll, "", 0)
	r.is("", workflow.TestOptions{Record: true, Fresh: true}, "", 2)
	if again := r.read(file); again != first {
		t.Errorf("recorded again it is\n%s\nwant\n%s", again, first)
	}
}

func TestRecording_NamesTheFirstCallThatDiffers(t *testing.T) {
	r := newRecorded(t, reply)
	r.is(twoCalls, recordAll, "", 2)
	changed := strings.Replace(twoCalls, `"polish ${{`, `"make short ${{`, 1)
	r.is(changed, workflow.TestOptions{}, `main.yaml:8:11: error[WF905]: recording: node polish: call 1, of the model small, differs from testdata/recordings/main/writes.yaml:11: `+
		`request.messages[0].content is "make short re: draft tea", recorded "polish re: draft tea"`, 0)
	missing := strings.Replace(twoCalls, "polish:", "other:", 1)
	missing = strings.Replace(missing, "next: polish", "next: other", 1)
	missing = strings.Replace(missing, "[draft, polish]", "[draft, other]", 1)
	r.is(missing, workflow.TestOptions{}, `recording: node other: call 1, of the model small, is not in testdata/recordings/main/writes.yaml`, 0)
	left := strings.Replace(twoCalls, "next: polish", "next: END", 1)
	left = strings.Replace(left, "  polish:", "  # polish:", 1)
	left = strings.Replace(left, "expect: {path: [draft, polish], state: {text: \"re: polish re: draft tea\"}}", "expect: {path: [draft]}", 1)
	r.is(left, workflow.TestOptions{}, `recording: node polish: call 1, of the model small, was not made; it is recorded at testdata/recordings/main/writes.yaml:11`, 0)
	before := r.read("testdata/recordings/main/writes.yaml")
	r.is(left, recordAll, "", 0) // what is not used any more is removed
	after := r.read("testdata/recordings/main/writes.yaml")
	if !strings.HasPrefix(before, after) || strings.Contains(after, "polish") {
		t.Errorf("recorded again it is\n%s\nwant the first call of\n%s", after, before)
	}
	r.is(twoCalls, recordAll, "", 1) // and only what is new is called
	if again := r.read("testdata/recordings/main/writes.yaml"); again != before {
		t.Errorf("recorded again it is\n%s\nwant\n%s", again, before)
	}
}

// Items that ask the same, retries, questions, mocks, handled failures and sub-workflows.
const manyCalls = `version: 1
state: {all: {type: list<string>, reducer: append}, text: string, mood: string}
nodes:
  many:
    for_each: {in: "[1, 2, 3, 4]", as: item}
    say: {prompt: "the same"}
    output: {all: "${{ result }}"}
    next: busy
  busy: {say: {prompt: busy}, retry: {max: 3, initial: 1ms}, output: {all: "${{ result }}"}, next: asks}
  asks: {ask: {title: Mood, answer: string}, output: {mood: "${{ result }}"}, next: mocked}
  mocked: {say: {prompt: "mocked ${{ state.mood }}"}, output: {all: "${{ result }}"}, next: refused}
  refused: {say: {prompt: refuse}, output: {all: "${{ result }}"}, on_error: {if: "error.code == 'model_refused'", to: inside, set: {all: no}}, next: END}
  inside: {workflow: sub.yaml, input: {mood: "${{ state.mood }}"}, output: {text: "${{ result.text }}"}, next: END}
tests:
  - name: all
    mock: {mocked: {result: mocked}}
    answers: [{asks: fine}]
    expect: {output: {text: "re: inside fine", all: [%s, "re: busy", mocked, "no"]}}
  - name: fails
    mock: {many: {result: x}, busy: {error: {message: no, code: none}}}
    expect: {status: failed, code: none}
`

const insideCalls = `version: 1
state: {mood: {type: string, required: true}, text: string}
input: [mood]
output: [text]
nodes: {a: {say: {prompt: "inside ${{ state.mood }}"}, output: {text: "${{ result }}"}, next: END}}
`

func TestRecording_OfManyKindsOfCalls(t *testing.T) {
	var n, busy atomic.Int64
	r := newRecorded(t, func(prompt string) model.Answer {
		switch {
		case prompt == "the same":
			return model.Say(fmt.Sprint("re: ", n.Add(1)))
		case prompt == "busy" && busy.Add(1) < 3:
			return model.Fail(&model.Error{Kind: model.RateLimited, Message: "wait", Wait: 1})
		case prompt == "refuse":
			return model.Fail(&model.Error{Kind: model.Refused, Message: "no"})
		}
		return reply(prompt)
	})
	r.write("sub.yaml", insideCalls)
	// The order of the parallel answers is that of the record, so the first run finds it out.
	got := r.run(fmt.Sprintf(manyCalls, "x"), recordAll)
	_, list, ok := strings.Cut(got, "all is [")
	if !ok {
		t.Fatal(got)
	}
	four := strings.Join(strings.Split(list, ",")[:4], ", ")
	r.is(fmt.Sprintf(manyCalls, four), workflow.TestOptions{}, "", 0)
	const file = "testdata/recordings/main/all.yaml"
	first := r.read(file)
	for _, node := range []string{"node: many.each\n    index: 3", "node: busy", "kind: rate_limited", "node: refused", "node: inside/a"} {
		if !strings.Contains(first, node) {
			t.Errorf("the recording lacks %q:\n%s", node, first)
		}
	}
	if strings.Contains(first, "mocked fine") {
		t.Errorf("the recording has a call of the mocked node:\n%s", first)
	}
	r.is("", recordAll, "", 0)
	if again := r.read(file); again != first {
		t.Errorf("recorded again it is\n%s\nwant\n%s", again, first)
	}
	if _, err := os.Stat(r.path("testdata/recordings/main/fails.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a test without calls has a recording: %v", err)
	}
}

// A run that ends otherwise than expected leaves the recording as it is; one whose output differs
// is recorded.
func TestRecording_OfAFailingTest(t *testing.T) {
	down := false
	r := newRecorded(t, func(prompt string) model.Answer {
		if down {
			return model.Fail(&model.Error{Kind: model.Auth, Message: "the key " + secretValue + " is wrong"})
		}
		return reply(prompt)
	})
	r.is(twoCalls, recordAll, "", 2)
	const file = "testdata/recordings/main/writes.yaml"
	first := r.read(file)
	down = true
	fresh := workflow.TestOptions{Record: true, Fresh: true}
	r.is("", fresh, "error[WF901]: the run is failed, want done, so it was not recorded", 1)
	if r.read(file) != first {
		t.Error("the recording was replaced by that of a failed run")
	}
	refused := "secrets: {k: \"${env:SECRET}\"}\n" + strings.Replace(twoCalls, `{path: [draft, polish], state: {text: "re: polish re: draft tea"}}`, "{status: failed, code: model_auth}", 1)
	refused = strings.Replace(refused, "secrets: {k: \"${env:SECRET}\"}\nversion: 1\n", "version: 1\nsecrets: {k: \"${env:SECRET}\"}\n", 1)
	r.is(refused, fresh, "", 1)
	if text := r.read(file); strings.Contains(text, secretValue) || !strings.Contains(text, "the key [secret k] is wrong") {
		t.Errorf("the recording is\n%s", text)
	}
	r.is("", workflow.TestOptions{}, "", 0)
	down = false
	r.is(strings.Replace(twoCalls, `"re: polish re`, `"or: polish re`, 1), fresh, "error[WF903]: text is", 2)
	if r.read(file) != first {
		t.Error("a run with another output was not recorded")
	}
}

const withKeys = `version: 1
secrets: {k: "${env:SECRET}"}
state: {all: {type: list<string>, reducer: append}}
nodes:
  a: {say: {prompt: "use ", key: "${secret:k}"}, output: {all: "${{ result }}"}, next: b}
  b: {workflow: sub.yaml, output: {all: "${{ result.text }}"}, next: END}
tests:
  - name: keys
    env: {SECRET: the-value-of-the-test}
    expect: {output: {all: ["re: use [secret k], not [secret k 2]", "re: sub [secret k], not [secret k 2]"]}}
`

// Nodes get the secrets of the environment of the test, which are redacted like the others.
func TestRecording_HasNoSecretsOfTheTest(t *testing.T) {
	r := newRecorded(t, func(prompt string) model.Answer {
		if !strings.HasSuffix(prompt, " the-value-of-the-test") {
			t.Errorf("the prompt is %q, want the value of the test", prompt)
		}
		return model.Say("re: " + prompt + ", not " + secretValue)
	})
	r.write("sub.yaml", `version: 1
secrets: {k: "${env:SECRET}"}
state: {text: string}
output: [text]
nodes: {a: {say: {prompt: "sub ", key: "${secret:k}"}, output: {text: "${{ result }}"}, next: END}}
`)
	r.run(withKeys, recordAll)
	text := r.read("testdata/recordings/main/keys.yaml")
	if strings.Contains(text, "the-value-of-the-test") || strings.Contains(text, secretValue) || strings.Count(text, "[secret k]") != 4 {
		t.Errorf("the recording is\n%s", text)
	}
	r.is("", workflow.TestOptions{}, "", 0)
	r.is("", recordAll, "", 0)
}

// Files whose names differ in their endings have folders of their own.
func TestRecording_FilesWithOtherEndings(t *testing.T) {
	r, paths := newRecorded(t, nil), map[string]string{}
	for _, name := range []string{"a.yaml", "a.yml", "a.weft.yaml"} {
		r.write(name, "version: 1\nstate: {x: int}\nnodes:\n  n: {set: {x: 1}, next: END}\n")
		w, err := workflow.Load(r.path(name), workflow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		path := w.Recording("test")
		if other := paths[path]; other != "" {
			t.Errorf("%s and %s have the same recording %s", name, other, path)
		}
		paths[path] = name
	}
}

// A file that another process is writing is no recording of a test that is gone.
func TestRecording_LeavesWhatIsBeingWritten(t *testing.T) {
	r := newRecorded(t, func(string) model.Answer { return model.Say("ok") })
	const text = `version: 1
state: {text: string}
nodes:
  n: {say: {prompt: go}, output: {text: "${{ result }}"}, next: END}
tests:
  - name: writes
`
	if got := r.run(text, recordAll); got != "" {
		t.Fatal(got)
	}
	const file = "testdata/recordings/main/writes.yaml"
	r.write("testdata/recordings/main/.recording-1", r.read(file))
	r.write("testdata/recordings/main/gone.yaml", r.read(file))
	if got := r.run("", recordAll); got != "" {
		t.Fatal(got)
	}
	r.read("testdata/recordings/main/.recording-1")
	if _, err := os.Stat(r.path("testdata/recordings/main/gone.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the recording of a test that is gone is there: %v", err)
	}
}

const differing = `version: 1
secrets: {k: "${env:SECRET}"}
state: {text: string, all: {type: list<string>, reducer: append}}
nodes:
  n: {say: {prompt: go}, output: {text: "${{ result }}", all: "${{ result }}"}, next: ends}
  ends: {set: {all: end}, next: END}
tests:
  - name: writes
    expect: {output: {text: something else}, state: {all: [a]}}
`

// The report of a test has no secrets: neither what differs, nor the output and the error.
func TestRunTests_ReportsNoSecrets(t *testing.T) {
	r := newRecorded(t, func(string) model.Answer { return model.Say("it is " + secretValue) })
	got := r.run(differing, recordAll)
	for _, want := range []string{`text is "it is [secret k]", want "something else"`, `all is ["it is [secret k]","end"], want ["a"]`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	// Without a recording, by the environment of the test.
	const set = `version: 1
secrets: {k: "${env:SECRET}"}
env: {SECRET: string}
state: {text: string}
nodes: {n: {set: {text: "it is ${{ env.SECRET }}"}, next: END}}
tests:
  - name: sets
    env: {SECRET: the-value-of-the-test}
    expect: {output: {text: "it is another"}}
`
	reports := []string{got, r.run(set, workflow.TestOptions{})}
	if want := `text is "it is [secret k]", want "it is another"`; !strings.Contains(reports[1], want) {
		t.Errorf("got %s, want %s", reports[1], want)
	}
	same := r.run(strings.Replace(set, "it is another", "it is "+secretValue, 1), workflow.TestOptions{})
	if want := `text is "it is [secret k]", want "it is [secret k 2]"`; !strings.Contains(same, want) {
		t.Errorf("got %s, want %s", same, want)
	}
	for _, report := range append(reports, same) {
		if strings.Contains(report, secretValue) || strings.Contains(report, "the-value-of-the-test") {
			t.Errorf("the report has a secret: %s", report)
		}
	}
}

func TestTestResult_HasNoSecrets(t *testing.T) {
	w, err := workflow.Parse("in.yaml", []byte(`version: 1
secrets: {k: "${env:SECRET}"}
env: {SECRET: string}
state: {text: string, more: any}
nodes:
  n: {set: {text: "${{ env.SECRET }}", more: {a: ["${{ env.SECRET }}"]}}, next: fails}
  fails: {fail: {message: "not with ${{ env.SECRET }}", code: none}}
tests:
  - name: fails
    env: {SECRET: the-value-of-the-test}
    expect: {status: failed, code: other, error: nothing}
`), workflow.Options{Kinds: kinds()})
	if err != nil {
		t.Fatal(err)
	}
	report, err := w.RunTests(t.Context(), workflow.TestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	res := report.Tests[0]
	all := fmt.Sprint(res.Output, res.Err, res.Failures)
	if strings.Contains(all, "the-value-of-the-test") || strings.Count(all, "[secret k]") < 5 {
		t.Errorf("the result is %s", all)
	}
	if !errors.As(res.Err, new(interface{ Code() string })) {
		t.Errorf("the error %v has lost its code", res.Err)
	}
}
