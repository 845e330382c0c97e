package verbs_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// times matches the parts that differ between two runs of the same commands.
var times = regexp.MustCompile(`\b(\d+ms|\d+\.\ds|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\b`)

// decidedAt is the time of a decision.
var decidedAt = regexp.MustCompile(`\((cli|chat|go), [^)]*\)`)

func withoutTimes(s string) string {
	return decidedAt.ReplaceAllString(times.ReplaceAllString(s, "TIME"), "($1, TIME)")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\ngot:\n%s\nwant:\n%s", what, got, want)
	}
}

func TestRun_FromStartToEnd(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	run := []string{"run", worklogFile(t), "--thread", "demo", "--input", "worklog=" + p.path("worklog")}
	e := p.must(4, run...)
	expect(t, "the question", e.stdout, `The report:
all is well.

Publish?
(asked by the node "approve"; true or false)
Answer with:
  `+program+` resume --thread demo --answer true
`)
	expect(t, "the lines of a run", withoutTimes(e.stderr), `plan: finished in TIME
fetch: finished in TIME
side: finished in TIME
fetch a: finished in TIME
fetch b: finished in TIME
fetch c: finished in TIME
fetch d: finished in TIME
fetch e: finished in TIME
fetch f: finished in TIME
merge: finished in TIME
approve: waits for an answer
`)
	again := p.must(4, run...)
	expect(t, "the question, again", again.stdout, e.stdout)
	expect(t, "nothing ran", again.stderr, "")

	e = p.must(0, "resume", "--thread", "demo", "--answer", "true")
	expect(t, "the result", e.stdout, `approved: true
report: side fetcha fetchb fetchc fetchd fetche fetchf publish
got: ["fetcha","fetchb","fetchc","fetchd","fetche","fetchf"]
`)
	for _, args := range [][]string{{"resume", "--thread", "demo", "--answer", "true"}, {"resume", "--thread", "demo"}, run} {
		again := p.must(0, args...)
		expect(t, "the result of "+strings.Join(args, " "), again.stdout, e.stdout)
	}
	expect(t, "the note", p.run(run...).stderr, "weft: thread \"demo\" has already finished this input; --new-turn runs it again\n")
	p.must(4, append(run, "--new-turn")...)
	other := append(slices.Clone(run), "--input", "other=x")
	if got := p.run(other...); got.code != 2 {
		t.Errorf("another input over an open question: %d %s", got.code, got.stderr)
	}
	p.must(4, append(run, "--new-turn")...) // it drops the question
}

func TestStore_IsTheUsersByDefault(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.write("w.yaml", asking)
	p.must(4, "run", file, "--thread", "t")
	if _, err := os.Stat(p.path(".local/state/weft/weft.db")); err != nil {
		t.Error(err)
	}
	cmd := p.command("threads")
	cmd.Env = append(cmd.Env, "WEFT_STORE=sqlite:"+p.path("other.db"))
	expect(t, "threads of another store", p.finish(cmd).stdout, "THREAD  STATUS  WORKFLOW  TURN  STEP  TIME\n")
	if _, err := os.Stat(p.path("other.db")); err == nil {
		t.Error("looking at threads made a store")
	}
	e := p.must(4, "run", file, "--store", "memory:")
	if !regexp.MustCompile(`this is thread [0-9a-f-]{36}\n`).MatchString(e.stderr) || !strings.Contains(e.stderr, "gone with this process") {
		t.Errorf("a thread without a name, in memory: %s", e.stderr)
	}
}

func TestThreads_HistoryAndState(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.must(4, "run", "w.yaml", "--thread", "b", "--input", "count=3")
	p.must(4, "run", "w.yaml", "--thread", "a")
	p.must(0, "resume", "--thread", "a", "--answer", "two\nlines", "--by", "ann")

	expect(t, "threads", withoutTimes(p.must(0, "threads").stdout), `THREAD  STATUS       WORKFLOW  TURN  STEP  TIME
a       done         one       1     1     TIME
b       interrupted  one       1     0     TIME
`)
	expect(t, "threads after a", withoutTimes(p.must(0, "threads", "--after", "a", "--limit", "5").stdout), `THREAD  STATUS       WORKFLOW  TURN  STEP  TIME
b       interrupted  one       1     0     TIME
`)
	expect(t, "history", withoutTimes(p.must(0, "history", "--thread", "a").stdout), `CHECKPOINT  FROM  BRANCH  TURN  STEP  SOURCE  RAN   NEXT  STATUS   TIME
2           -     -       1     1     step    only  -     done     TIME
1           -     -       1     0     input   -     only  pending  TIME

DECISIONS, each beside its checkpoint
1  respond only: go? → "two\nlines", by ann (cli, TIME)
`)
	expect(t, "history before 2", withoutTimes(p.must(0, "history", "--thread", "a", "--before", "2").stdout), `CHECKPOINT  FROM  BRANCH  TURN  STEP  SOURCE  RAN  NEXT  STATUS   TIME
1           -     -       1     0     input   -    only  pending  TIME
`)
	expect(t, "state", p.must(0, "state", "--thread", "a").stdout, `thread a, checkpoint 2: turn 1, step 1, done

worklog: worklog
topic: go
result:
two
lines
`)
	expect(t, "state at 1", p.must(0, "state", "--thread", "a", "--at", "1").stdout, `thread a, checkpoint 1: turn 1, step 0, pending

worklog: worklog
topic: go
`)
}

func TestJSON(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.write("bad.yaml", "version: 1\n")
	var waits struct {
		Status     string
		Interrupts []struct{ ID, Prompt string }
		Next       []string
	}
	decode(t, p.must(4, "run", "w.yaml", "--thread", "a", "--json"), &waits)
	if waits.Status != "interrupted" || waits.Interrupts[0].Prompt != "go?" || !strings.HasSuffix(waits.Next[0], "resume --thread a --answer TEXT") {
		t.Errorf("a run that waits: %+v", waits)
	}
	expect(t, "the result", p.must(0, "resume", "--thread", "a", "--json", "--answer", waits.Interrupts[0].ID[:6]+"=<b>").stdout,
		`{"thread":"a","workflow":"one","status":"done","output":{"result":"<b>"}}`+"\n")
	var state struct {
		Checkpoint int
		State      map[string]any
	}
	decode(t, p.must(0, "state", "--thread", "a", "--json"), &state)
	if state.Checkpoint != 2 || state.State["result"] != "<b>" {
		t.Errorf("the state: %+v", state)
	}
	got := p.must(0, "history", "--thread", "a", "--json").stdout
	if lines := strings.Split(got, "\n"); len(lines) != 4 || !strings.HasPrefix(lines[0], `{"thread":`) || !strings.HasPrefix(lines[2], `{"decision":`) {
		t.Errorf("the history is not one object a line, two checkpoints and a decision: %s", got)
	}
	var verdict struct {
		Valid    bool
		Problems []struct {
			Line    int
			Message string
		}
	}
	decode(t, p.must(3, "validate", "bad.yaml", "--json"), &verdict)
	if verdict.Valid || len(verdict.Problems) == 0 || verdict.Problems[0].Line != 1 {
		t.Errorf("the verdict: %+v", verdict)
	}
	e := p.must(2, "history", "--thread", "missing", "--json")
	expect(t, "an error", e.stderr, `{"error":{"code":2,"message":"there is no thread \"missing\"","next":"`+program+` threads lists the threads of the store"}}`+"\n")
	expect(t, "stdout of an error", e.stdout, "")
}

func decode(t *testing.T, e ended, into any) {
	t.Helper()
	if e.stderr != "" {
		t.Errorf("stderr is not empty: %s", e.stderr)
	}
	if err := json.Unmarshal([]byte(e.stdout), into); err != nil {
		t.Errorf("stdout is not one JSON document: %v\n%s", err, e.stdout)
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", one(`    set: {}`))
	p.write("w.yaml", strings.ReplaceAll(one("    uses: go:work\n    with: {worklog: x, name: \"${{ state.topic }}\"}"), "[result]", "[topic, count]"))
	p.write("in.json", `{"topic": "from file", "count": 7}`)
	p.write("topic.txt", "a text\nof two lines\n")
	for _, c := range []struct {
		args  []string
		stdin string
		want  string
	}{
		{args: []string{"topic=5"}, want: "topic: 5\ncount: null\n"},
		{args: []string{`topic="quoted"`, "count=5"}, want: "topic: quoted\ncount: 5\n"},
		{args: []string{"topic=a=b, c"}, want: "topic: a=b, c\ncount: null\n"},
		{args: []string{"@in.json"}, want: "topic: from file\ncount: 7\n"},
		{args: []string{"@in.json", "topic=@topic.txt"}, want: "topic:\na text\nof two lines\ncount: 7\n"},
		{args: []string{"-"}, stdin: `{"count": 1}`, want: "topic: go\ncount: 1\n"},
	} {
		args := []string{"run", "w.yaml", "--store", "memory:"}
		for _, a := range c.args {
			args = append(args, "--input", a)
		}
		cmd := p.command(args...)
		cmd.Stdin = strings.NewReader(c.stdin)
		e := p.finish(cmd)
		expect(t, strings.Join(c.args, " "), e.stdout, c.want)
	}
}

func TestRun_DoneThreadWithAnotherInputStartsATurn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.must(4, "run", "w.yaml", "--thread", "t")
	p.must(0, "resume", "--thread", "t", "--answer", "x")
	e := p.must(4, "run", "w.yaml", "--thread", "t", "--input", "topic=rust")
	if !strings.Contains(e.stdout, "rust?") {
		t.Errorf("the second turn asks: %s", e.stdout)
	}
}

func TestRun_FailedContinuesByTheSameCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", one("    uses: go:flaky\n    with: {worklog: \"${{ state.worklog }}\", name: there}"))
	e := p.must(1, "run", "w.yaml", "--thread", "t")
	expect(t, "stderr", withoutTimes(e.stderr), `only: failed after TIME
weft: node "only" failed in step 1: w.yaml:12:11: not yet
said twice
next: finished work is stored; go on with `+program+" resume --thread t\n")
	if got := p.must(0, "state", "--thread", "t").stdout; !strings.Contains(got, "node \"only\" failed at attempt 1: w.yaml:12:11: not yet …\n") {
		t.Errorf("the state does not contain the failure: %s", got)
	}
	if got := p.must(2, "run", "w.yaml", "--thread", "t", "--input", "topic=x").stderr; !strings.Contains(got, "--new-turn") {
		t.Errorf("another input over unfinished work: %s", got)
	}
	expect(t, "the result", p.must(0, "run", "w.yaml", "--thread", "t").stdout, "result: there\n")
}

func TestWorkflow_MovedOrChanged(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.must(4, "run", "w.yaml", "--thread", "t")
	p.write("w.yaml", asking+"\n# a remark\n")
	e := p.must(4, "resume", "--thread", "t")
	if !strings.Contains(e.stderr, "has changed") {
		t.Errorf("no word about the change: %s", e.stderr)
	}
	if err := os.Rename(p.path("w.yaml"), p.path("v.yaml")); err != nil {
		t.Fatal(err)
	}
	e = p.must(2, "resume", "--thread", "t")
	if !strings.Contains(e.stderr, p.path("w.yaml")+", which is no longer there") || !strings.Contains(e.stderr, "resume FILE --thread t") {
		t.Errorf("resume of a moved workflow: %s", e.stderr)
	}
	if e := p.must(0, "state", "--thread", "t"); !strings.Contains(e.stderr, p.path("w.yaml")+", which is no longer there") {
		t.Errorf("state of a moved workflow: %s", e.stderr)
	}
	p.must(0, "resume", "v.yaml", "--thread", "t", "--answer", "x")
	p.must(0, "resume", "--thread", "t")
	p.write("v.yaml", strings.ReplaceAll(asking, "only", "sole"))
	p.must(4, "run", "v.yaml", "--thread", "u")
	p.write("v.yaml", asking)
	e = p.must(1, "resume", "--thread", "u", "--answer", "x")
	if !strings.Contains(e.stderr, `another version of the graph: it waits for node "sole"`) {
		t.Errorf("a node that is gone: %s", e.stderr)
	}
}

func TestCommands_GraphValidateVersionHelp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	expect(t, "graph", p.must(0, "graph", "w.yaml").stdout, `flowchart TD
  start([start])
  n0["only"]
  stop([end])
  start --> n0
  n0 --> stop
`)
	p.write("bad.yaml", strings.ReplaceAll(strings.ReplaceAll(asking, "go:ask", "go:nothing"), "next: END", "next: nowhere"))
	e := p.must(3, "validate", "w.yaml", "bad.yaml")
	if !strings.HasPrefix(e.stdout, "w.yaml: ok\nbad.yaml:") || strings.Count(e.stdout, "bad.yaml:") != 2 {
		t.Errorf("validate: %s", e.stdout)
	}
	if got := p.must(3, "run", "bad.yaml").stderr; strings.Count(got, "\n  bad.yaml:") != 2 {
		t.Errorf("run of an invalid workflow: %s", got)
	}
	p.must(3, "graph", "bad.yaml")
	if got := p.must(0, "version").stdout; !strings.HasPrefix(got, "weft ") {
		t.Errorf("version: %s", got)
	}
	if got := p.must(0, "--help").stdout; !strings.Contains(got, "Available Commands") {
		t.Errorf("no help: %s", got)
	}
}
