package weftcli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/cli/verbs"
)

const answering = `version: 1
name: answering
state: {question: {type: string, required: true}, reply: string}
input: [question]
output: [reply]
nodes: {say: {llm: {model: writer, prompt: "${{ state.question }}"}, output: {reply: "${{ result.text }}"}, next: END}}
`

const judging = `version: 1
types: {Verdict: {pass: bool, score: number, reason: string}, Reply: {reply: string}}
state:
  got: {type: Reply, required: true}
  want: {type: Reply, required: true}
  pass: bool
  score: number
  reason: string
input: [got, want]
output: [pass, score, reason]
nodes:
  compare:
    llm:
      model: judge
      system: Judge whether the answer means the same as the reference.
      prompt: "reference: ${{ state.want.reply }}, answer: ${{ state.got.reply }}"
      answer: Verdict
    output: {pass: "${{ result.answer.pass }}", score: "${{ result.answer.score }}", reason: "${{ result.answer.reason }}"}
    next: END
`

// A thread that one model has answered runs again with another one, and a third one judges.
func TestRecorded_AModelJudgesAnotherModel(t *testing.T) {
	dir := t.TempDir()
	file, judge := filepath.Join(dir, "answering.yaml"), filepath.Join(dir, "judge.yaml")
	for name, text := range map[string]string{file: answering, judge: judging} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	judged := model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		if text := r.Messages[len(r.Messages)-1].Text(); strings.Contains(text, "answer: Rome") {
			return model.Say(`{"pass": false, "score": 0.1, "reason": "another city"}`)
		}
		return model.Say(`{"pass": true, "score": 0.9, "reason": "the same"}`)
	})
	weft := func(code int, writer string, args ...string) string {
		t.Helper()
		c, err := (Config{Models: map[string]model.Model{"writer": model.Script(model.Say(writer)), "judge": judged}}).commandLine()
		if err != nil {
			t.Fatal(err)
		}
		var out, failed bytes.Buffer
		c.Args, c.Stdout, c.Stderr = append(args, "--store", "sqlite:"+filepath.Join(dir, "weft.db")), &out, &failed
		if got := verbs.Main(t.Context(), c); got != code {
			t.Fatalf("%q ends with %d, want %d\n%s%s", args, got, code, &out, &failed)
		}
		return out.String()
	}
	weft(0, "Paris", "run", file, "--thread", "t", "--input", "question=The capital of France?")
	test := []string{"test", file, "--recorded", "--yes", "--judge", judge}
	if out := weft(0, "It is Paris.", test...); !strings.Contains(out, "t       ok      0.9    -") {
		t.Errorf("another wording:\n%s", out)
	}
	if out := weft(1, "It is Paris.", append(test, "--exact")...); !strings.Contains(out, `reply was "Paris" and is "It is Paris."`) {
		t.Errorf("another wording, exactly:\n%s", out)
	}
	if out := weft(1, "Rome", test...); !strings.Contains(out, "t       failed  0.1    another city") {
		t.Errorf("another answer:\n%s", out)
	}
}
