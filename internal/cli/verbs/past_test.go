package verbs_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// chooser selects its next node by its topic.
const chooser = `version: 1
name: chooser
state: {topic: string, score: {type: int, default: 0}, text: string}
input: [topic]
output: [text]
nodes:
  weigh:
    set: {score: "${{ len(state.topic) }}"}
    next:
      - if: state.score > 3
        to: long
      - else: short
  long: {set: {text: "${{ 'long ' + state.topic }}"}, next: END}
  short: {set: {text: "${{ 'short ' + state.topic }}"}, next: END}
`

func TestDiff_WritersAndPath(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", chooser)
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=golang")
	expect(t, "the diff", p.must(0, "diff", "t", "1", "3").stdout, `thread t, checkpoint 1 to 3

score: 0 → 6
    by weigh in step 1, checkpoint 2
text: nothing → "long golang"
    by long in step 2, checkpoint 3

the way there:
  2  turn 1, step 1: weigh
       weigh → long: state.score > 3
  3  turn 1, step 2: long
`)
	back := p.must(0, "diff", "t", "3", "1").stdout
	if !strings.Contains(back, "score: 6 → 0\n") || !strings.Contains(back, "by no node on the way") {
		t.Errorf("backwards:\n%s", back)
	}
	expect(t, "no difference", p.must(0, "diff", "t", "3", "3").stdout, "thread t, checkpoint 3 to 3\n\nno field differs\n")
	var d struct {
		Base    uint64
		Changes []struct{ Field string }
	}
	decode(t, p.must(0, "diff", "t", "1", "3", "--json"), &d)
	if d.Base != 1 || len(d.Changes) != 2 || d.Changes[0].Field != "score" {
		t.Errorf("as JSON: %+v", d)
	}
	for args, want := range map[string]string{
		"diff t 1 9":       `thread "t" has no checkpoint 9`,
		"diff t 9 1":       `thread "t" has no checkpoint 9`,
		"diff t x 1":       `"x" is not the number of a checkpoint`,
		"diff t 0 1":       `"0" is not the number`,
		"diff t 1":         "diff needs a THREAD and two checkpoints",
		"diff missing 1 2": `there is no thread "missing"`,
	} {
		if e := p.must(2, strings.Split(args, " ")...); !strings.Contains(e.stderr, want) || !strings.Contains(e.stderr, "\nnext: ") {
			t.Errorf("%s: %s", args, e.stderr)
		}
	}
}

func TestFork_ContinuesFromAnOlderCheckpoint(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", chooser)
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=golang")
	e := p.must(0, "fork", "t", "--at", "2", "--by", "ann")
	expect(t, "the new head", e.stdout, "4\n")
	expect(t, "the note", e.stderr, "weft: thread \"t\" goes on from checkpoint 2; it is pending: "+program+" resume --thread t\n")
	expect(t, "the result", p.must(0, "resume", "--thread", "t").stdout, "text: long golang\n")
	expect(t, "the history", withoutTimes(p.must(0, "history", "--thread", "t").stdout), `CHECKPOINT  FROM  BRANCH  TURN  STEP  SOURCE  RAN     NEXT   STATUS   TIME
5           -     4       1     2     step    long    -      done     TIME
4           2     4       1     1     update  (edit)  long   pending  TIME
3           -     -       1     2     step    long    -      done     TIME
2           -     -       1     1     step    weigh   long   pending  TIME
1           -     -       1     0     input   -       weigh  pending  TIME

DECISIONS, each beside its checkpoint
4  change of no field, by ann (cli, TIME)
`)
	expect(t, "the diff of two branches", withoutTimes(p.must(0, "diff", "t", "3", "4").stdout), `thread t, checkpoint 3 to 4, which go on from 2

text: "long golang" → nothing
    by no node on the way: a new turn reset it, or the other branch wrote it

the way there:
  4  turn 1, step 1: (edit)

the decisions on the way:
  4  change of no field, by ann (cli, TIME)
`)
	var f struct {
		Checkpoint, Parent int
		Status             string
		Next               []string
	}
	decode(t, p.must(0, "fork", "t", "--at", "1", "--json"), &f)
	if f.Checkpoint != 6 || f.Parent != 1 || f.Status != "pending" || len(f.Next) != 1 {
		t.Errorf("as JSON: %+v", f)
	}
	for args, want := range map[string]string{
		"fork t --at 99":      `thread "t" has no checkpoint 99`,
		"fork t":              "fork needs --at CHECKPOINT",
		"fork":                "fork needs a THREAD",
		"fork missing --at 1": `there is no thread "missing"`,
	} {
		if e := p.must(2, strings.Split(args, " ")...); !strings.Contains(e.stderr, want) || !strings.Contains(e.stderr, "\nnext: ") {
			t.Errorf("%s: %s", args, e.stderr)
		}
	}
}

func TestHistory_FilterAndCursor(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", chooser)
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=golang")
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=go")
	numbers := func(args ...string) (all []int) {
		t.Helper()
		for line := range strings.Lines(p.must(0, append([]string{"history", "--thread", "t", "--json"}, args...)...).stdout) {
			var point struct{ Checkpoint int }
			if err := json.Unmarshal([]byte(line), &point); err != nil {
				t.Fatal(err)
			}
			all = append(all, point.Checkpoint)
		}
		return all
	}
	for _, c := range []struct {
		args string
		want []int
	}{
		{"--where node=weigh", []int{5, 2}},
		{"--where node=weigh --where turn=1", []int{2}},
		{"--where next=short", []int{5}},
		{"--where source=input", []int{4, 1}},
		{"--where status=done --limit 1", []int{6}},
		{"--where status=done --before 6", []int{3}},
		{"--where branch=0 --where step=1 --limit 5", []int{2}},
		{"--where workflow=" + p.path("w.yaml") + " --limit 2", []int{6, 5}},
		{"--where colour=red", nil},
	} {
		got := numbers(strings.Split(c.args, " ")...)
		if text(got) != text(c.want) {
			t.Errorf("%s: checkpoints %v, want %v", c.args, got, c.want)
		}
	}
	e := p.must(0, "history", "--thread", "t", "--limit", "4")
	expect(t, "the cursor", e.stderr, "weft: there are older ones: add --before 3\n")
	expect(t, "no cursor at the end", p.must(0, "history", "--thread", "t", "--limit", "6").stderr, "")
	p.must(2, "history", "--thread", "t", "--where", "node")
}

func text(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func TestPruneAndDelete_RemoveCheckpoints(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", chooser)
	run := []string{"run", "w.yaml", "--thread", "t", "--input", "topic=go"}
	p.must(0, run...)
	p.must(0, append(run, "--new-turn")...)
	expect(t, "nothing is old", p.must(0, "prune", "t", "--keep-for", "1d").stdout, "thread t: dropped 0 of 6 checkpoints\n")
	expect(t, "the last two", p.must(0, "prune", "t", "--keep-last", "2", "--json").stdout, `{"thread":"t","dropped":4,"left":2}`+"\n")
	expect(t, "the older of what is left", p.must(0, "state", "--thread", "t", "--at", "5", "--path", "score").stdout, "2\n")
	p.must(0, append(run, "--new-turn")...)
	for args, want := range map[string]string{
		"prune t":                   "--keep-last N or --keep-for TIME",
		"prune t --keep-last 0":     "cannot keep its last 0",
		"prune t --keep-for soon":   `"soon" is no time`,
		"prune t --keep-for -1h":    `"-1h" is no time`,
		"prune no --keep-last 1":    `there is no thread "no"`,
		"delete no --yes":           `there is no thread "no"`,
		"delete t":                  "delete t --yes",
		"export no":                 `there is no thread "no"`,
		"import none":               "there is no file none",
		"delete t --wait --yes=no ": "invalid argument",
	} {
		if e := p.must(2, strings.Fields(args)...); !strings.Contains(e.stderr, want) {
			t.Errorf("%s: %s", args, e.stderr)
		}
	}
	expect(t, "delete", p.must(0, "delete", "t", "--yes").stdout, "thread t is gone\n")
	expect(t, "no thread", p.must(0, "threads", "--json").stdout, "")
}

func TestImport_DamagedExport(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", chooser)
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=go")
	whole := p.must(0, "export", "t").stdout
	for name, c := range map[string]struct{ text, want string }{
		"no export":  {"hello\n", "line 1"},
		"empty":      {"", "line 1"},
		"cut":        {whole[:len(whole)-40], "cut off"},
		"one letter": {strings.Replace(whole, "chooser", "choose_", 1), "line 2: the checksum does not match"},
	} {
		p.write("f", c.text)
		e := p.must(1, "import", "f", "--thread", "u")
		if !strings.Contains(e.stderr, c.want) || !strings.Contains(e.stderr, "nothing was stored") {
			t.Errorf("%s: %s", name, e.stderr)
		}
	}
	if got := p.must(0, "threads").stdout; strings.Contains(got, "\nu ") {
		t.Errorf("something was stored: %s", got)
	}
	p.write("f", whole)
	p.must(0, "import", "f", "--thread", "u")
	expect(t, "the copy", p.must(0, "state", "--thread", "u", "--path", "text").stdout, "short go\n")
}
