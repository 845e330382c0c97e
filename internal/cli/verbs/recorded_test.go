package verbs_test

import (
	"encoding/xml"
	"os"
	"strings"
	"testing"
)

// greeter has a question, and text is what its last node writes.
func greeter(text string) string {
	return `version: 1
name: greet
state: {who: {type: string, required: true}, polite: bool, reply: string, words: int}
input: [who]
output: [reply, words]
nodes:
  check:
    ask: {title: "Polite?", answer: bool}
    output: {polite: "${{ result }}"}
    next: say
  say:
    set: {reply: "` + text + `", words: 2}
    next: END
`
}

const polite = "${{ state.polite ? 'Dear ' + state.who : 'Hey ' + state.who }}"

// recorded returns a place with two finished threads of greet.yaml and one that waits.
func recorded(t *testing.T) place {
	t.Helper()
	p := newPlace(t)
	p.write("greet.yaml", greeter(polite))
	for thread, answer := range map[string]string{"a": "true", "b": "false", "c": ""} {
		p.must(4, "run", "greet.yaml", "--thread", thread, "--input", "who="+strings.ToUpper(thread))
		if answer != "" {
			p.must(0, "resume", "--thread", thread, "--answer", answer)
		}
	}
	return p
}

func TestRecorded_ComparesOutputsExactly(t *testing.T) {
	t.Parallel()
	p := recorded(t)
	expect(t, "the same code", p.must(0, "test", "greet.yaml", "--recorded", "--yes").stdout, `THREAD  RESULT   SCORE  WHY
a       ok       -      -
b       ok       -      -
c       skipped  -      its last turn is interrupted
3 threads, 0 failed, 1 skipped
`)
	history := p.must(0, "history", "--thread", "b").stdout
	p.write("greet.yaml", greeter("Dear ${{ state.who }}"))
	expect(t, "new code", p.must(1, "test", "greet.yaml", "--recorded", "--yes", "--junit", "out.xml").stdout, `THREAD  RESULT   SCORE  WHY
a       ok       -      -
b       failed   -      reply was "Hey B" and is "Dear B"
c       skipped  -      its last turn is interrupted
3 threads, 1 failed, 1 skipped
`)
	expect(t, "one field", p.must(0, "test", "greet.yaml", "--recorded", "--yes", "--field", "words", "--thread", "b").stdout,
		"THREAD  RESULT  SCORE  WHY\nb       ok      -      -\n1 thread, 0 failed, 0 skipped\n")
	if after := p.must(0, "history", "--thread", "b").stdout; after != history {
		t.Errorf("the store was changed:\n%s\nwas\n%s", after, history)
	}
	text, err := os.ReadFile(p.path("out.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Skipped  int    `xml:"skipped,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Suites) != 1 || doc.Suites[0].Tests != 3 || doc.Suites[0].Failures != 1 || doc.Suites[0].Skipped != 1 ||
		doc.Suites[0].Cases[1].Failure == nil || doc.Suites[0].Cases[1].Failure.Message != `reply was "Hey B" and is "Dear B"` {
		t.Errorf("got\n%s", text)
	}
}

// A judge is a workflow: the types of its inputs are schemas, and its expressions judge.
func TestRecorded_JudgesByExpressionAndSchema(t *testing.T) {
	t.Parallel()
	p := recorded(t)
	const judge = `version: 1
types: {Greeting: {reply: string, words: TYPE}}
state: {got: {type: Greeting, required: true}, want: any, pass: bool, score: number, reason: string}
input: [got, want]
output: [pass, score, reason]
nodes:
  judge:
    set: {pass: "${{ state.got.reply startsWith 'Dear' }}", score: 0.5, reason: "it is rude"}
    next: END
`
	p.write("judge.yaml", strings.Replace(judge, "TYPE", "int", 1))
	expect(t, "by expression", p.must(1, "test", "greet.yaml", "--recorded", "--yes", "--judge", "judge.yaml", "--limit", "2").stdout, `THREAD  RESULT  SCORE  WHY
a       ok      0.5    -
b       failed  0.5    it is rude
2 threads, 1 failed, 0 skipped
`)
	p.write("judge.yaml", strings.Replace(judge, "TYPE", "list<string>", 1))
	e := p.must(1, "test", "greet.yaml", "--recorded", "--yes", "--judge", "judge.yaml", "--thread", "a")
	if !strings.Contains(e.stdout, "it does not fit the judge") {
		t.Errorf("by schema:\n%s%s", e.stdout, e.stderr)
	}
}

func TestRecorded_RefusesWhatCannotBeDone(t *testing.T) {
	t.Parallel()
	p := recorded(t)
	p.write("nojudge.yaml", "version: 1\nstate: {got: any, pass: string}\ninput: [got]\nnodes: {a: {set: {pass: x}, next: END}}\n")
	for args, want := range map[string]string{
		"test greet.yaml --recorded":                              "--yes to run them",
		"test greet.yaml --judge j.yaml":                          "add --recorded",
		"test greet.yaml greet.yaml --recorded --yes":             "takes one FILE",
		"test greet.yaml --recorded --yes --run x":                "--run, --cover and --record",
		"test greet.yaml --recorded --yes --limit 0":              "must be positive",
		"test greet.yaml --recorded --yes --thread zz":            `has no thread "zz"`,
		"test greet.yaml --recorded --yes --judge gone.yaml":      "gone.yaml",
		"test greet.yaml --recorded --yes --judge nojudge.yaml":   "the output pass, a bool",
		"replay --all greet.yaml":                                 "--yes",
		"replay --all greet.yaml --yes --from 1":                  "--all takes one FILE",
		"replay a --yes --junit x.xml":                            "--junit requires --all",
		"test greet.yaml --recorded --yes --store sqlite:none.db": "no thread of the graph",
	} {
		if e := p.must(2, strings.Split(args, " ")...); !strings.Contains(e.stderr, want) || !strings.Contains(e.stderr, "\nnext: ") {
			t.Errorf("%s: want %q\n%s", args, want, e.stderr)
		}
	}
}

func TestReplay_AllThreadsOfAFile(t *testing.T) {
	t.Parallel()
	p := recorded(t)
	expect(t, "the same code", p.must(0, "replay", "--all", "greet.yaml", "--yes").stdout, `THREAD  RESULT  SCORE  WHY
a       ok      -      -
b       ok      -      -
c       ok      -      -
3 threads, 0 failed, 0 skipped
`)
	p.write("greet.yaml", greeter("Dear ${{ state.who }}"))
	e := p.must(1, "replay", "--all", "greet.yaml", "--yes", "--junit", "out.xml")
	if !strings.Contains(e.stdout, "3 threads, 1 failed, 0 skipped") || !strings.Contains(e.stdout, `reply was "Hey B" and is "Dear B"`) {
		t.Errorf("got\n%s%s", e.stdout, e.stderr)
	}
	if text, err := os.ReadFile(p.path("out.xml")); err != nil || !strings.Contains(string(text), `failures="1"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// What is printed about recorded threads has no values of secrets.
func TestRecorded_PrintsNoSecrets(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-of-this-place"
	p := newPlace(t)
	text := func(version string) string {
		return `version: 1
name: keys
env: {WEFT_TEST_KEY: string}
secrets: {key: "${env:WEFT_TEST_KEY}"}
state: {said: string}
output: [said]
nodes: {say: {set: {said: "` + version + ` ${{ env.WEFT_TEST_KEY }}"}, next: END}}
`
	}
	run := func(code int, args ...string) string {
		t.Helper()
		cmd := p.command(args...)
		cmd.Env = append(cmd.Env, "WEFT_TEST_KEY="+secret)
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%q ends with %d, want %d: %v\n%s", args, got, code, err, out)
		}
		return string(out)
	}
	p.write("keys.yaml", text("old"))
	run(0, "run", "keys.yaml", "--thread", "a")
	p.write("keys.yaml", text("new"))
	got := run(1, "test", "keys.yaml", "--recorded", "--yes")
	if want := `said was "old [secret key]" and is "new [secret key]"`; !strings.Contains(got, want) || strings.Contains(got, secret) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := run(1, "test", "keys.yaml", "--recorded", "--yes", "--json"); strings.Contains(got, secret) || strings.Count(got, "[secret key]") != 4 {
		t.Errorf("as JSON it is %s", got)
	}
}
