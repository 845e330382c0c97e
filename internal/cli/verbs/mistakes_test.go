package verbs_test

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

// TestUsage_Mistakes makes every mistake on a thread that waits, and looks at the thread
// after each.
func TestUsage_Mistakes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.write("list.json", "[1]")
	p.write("bool.yaml", one("    uses: go:approve\n    with: {worklog: x, name: x}"))
	p.write("other.yaml", strings.Replace(asking, "name: one", "name: other", 1))
	p.write("two.yaml", two)
	p.write("csv.yaml", one("    file: {read: missing.csv}"))
	p.must(4, "run", "w.yaml", "--thread", "t")
	p.must(4, "run", "bool.yaml", "--thread", "b")
	p.must(4, "run", "two.yaml", "--thread", "two")
	before := p.must(0, "threads").stdout

	p.write("key.yaml", strings.Replace(asking, "nodes:", "nodez: {}\nnodes:", 1))
	p.write("circle.yaml", "version: 1\nname: one\nnodes: &n {a: *n}\n")
	p.write("field.yaml", one("    set: {result: \"${{ state.topik }}\"}"))
	p.write("latin.json", "{\"topic\": \"caf\xe9\"}")
	for _, c := range []struct {
		code int
		args string
		want string // in stderr
	}{
		{2, "frobnicate", `unknown command "frobnicate"`},
		{2, "run --frobnicate w.yaml", "unknown flag: --frobnicate"},
		{2, "run", "run needs a FILE"},
		{2, "run w.yaml w.yaml", `does not take the argument "w.yaml"`},
		{2, "run nothing.yaml", "there is no file nothing.yaml"},
		{2, "run .", ". cannot be read"},
		{3, "run key.yaml --thread t", `unknown key "nodez"`},
		{3, "run circle.yaml --thread t", "circle.yaml:3:15: error[WF007]: the alias *n is inside its own anchor"},
		{3, "resume field.yaml --thread t", `did you mean "topic"?`},
		{2, "run w.yaml --thread=", "it must not be empty"},
		{2, "run w.yaml --thread " + strings.Repeat("x", 2048), "it must have at most 1024 bytes (got 2048)"},
		{2, "run w.yaml --thread \xff", "must be valid UTF-8"},
		{2, "run w.yaml --store nowhere", "did you mean sqlite:nowhere?"},
		{2, "run w.yaml --store ftp:x", "unknown scheme"},
		{2, "run w.yaml --store sqlite:", "names no file"},
		{2, "run w.yaml --store sqlite:w.db?sync=never", "write sqlite:PATH?sync=normal"},
		{2, "run w.yaml --thread t --input topic=rust", "waits for an answer, so it takes no new input"},
		{2, "run other.yaml --thread t", `belongs to the workflow "one"`},
		{2, "run w.yaml --thread n --input colour=red", `there is no input "colour"`},
		{2, "run w.yaml --thread n --input count=many", "input"},
		{2, "run w.yaml --thread n --input count=1.5", "1.5"},
		{2, "run w.yaml --thread n --input topic=\xff", "is not UTF-8 text"},
		{2, "run w.yaml --thread n --input topic=@latin.json", "the input from latin.json is not UTF-8 text"},
		{2, "run w.yaml --thread n --input @latin.json", "the input from latin.json is not UTF-8 text"},
		{2, "run w.yaml --thread n --input colour", "has no name"},
		{2, "run w.yaml --thread n --input @nothing.json", "cannot be read"},
		{2, "run w.yaml --thread n --input topic=@nothing.txt", "cannot be read"},
		{2, "run w.yaml --thread n --input @list.json", "is not a JSON object"},
		{2, "run w.yaml --thread n --metadata a=1 --metadata a=2", `the metadata "a" is given twice`},
		{2, "verify t --has=", "a hash must have 64 hex digits"},
		{2, "check w.yaml --against sqlite:nothing.db", "there is no file nothing.db"},
		{2, "runs --status runing", "did you mean running?"},
		{2, "runs --status=", `there is no status ""`},
		{2, "import .", ". is a folder"},
		{2, "inbox reject --thread t --message \xff", "is not UTF-8 text"},
		{2, "resume", "resume needs a THREAD"},
		{2, "resume --thread t --answer \xff", "is not UTF-8 text"},
		{2, "resume --thread missing", `there is no thread "missing"`},
		{2, "history --thread missing", `there is no thread "missing"`},
		{2, "state --thread missing", `there is no thread "missing"`},
		{2, "state --thread t --at 99", `thread "t" has no checkpoint 99`},
		{2, "history --thread t --limit -1", "must not be negative"},
		{2, "history --thread t --limit x", "invalid argument"},
		{2, "resume other.yaml --thread t", `belongs to the workflow "one"`},
		{2, "resume --thread b --answer maybe", `"maybe" to "Publish?"`},
		{2, "resume --thread b --answer 0123456789abcdef=true", "no such open question"},
		{2, "resume --thread b --answer deadbeef=true", "does not fit"},
		{2, "resume --thread two --answer true", "several questions are open"},
		{1, "run csv.yaml --thread t2 --store memory:", "missing.csv"},
		{1, "threads --store sqlite:.", "the store cannot be used"},
		{1, "threads --store panic:", "this is a bug: the opener has a bug ("},
	} {
		e := p.run(strings.Split(c.args, " ")...)
		if e.code != c.code || !strings.Contains(e.stderr, c.want) || e.stdout != "" {
			t.Errorf("%s: exit code %d, want %d\nstdout: %s\nstderr: %s\nwant in it: %s", c.args, e.code, c.code, e.stdout, e.stderr, c.want)
		}
		if !strings.HasPrefix(e.stderr, "weft: ") && !strings.Contains(e.stderr, "\nweft: ") || c.code == 2 && !strings.Contains(e.stderr, "\nnext: ") {
			t.Errorf("%s: the error is not a weft: line with a next: line\n%s", c.args, e.stderr)
		}
		if after := p.must(0, "threads").stdout; after != before {
			t.Fatalf("%s: the threads changed\n%s\nwere\n%s", c.args, after, before)
		}
	}
	p.must(0, "resume", "--thread", "t", "--answer", "b=c")
	p.must(0, "resume", "--thread", "b", "--answer", "false")
}

// two asks two questions at once.
const two = `version: 1
name: two
state: {a: string, b: string}
start: [left, right]
nodes:
  left: {uses: go:ask, with: {worklog: x, name: left}, output: {a: "${{ result }}"}, next: END}
  right: {uses: go:ask, with: {worklog: x, name: right}, output: {b: "${{ result }}"}, next: END}
`

func TestQuestion_PrefixOfItsIDIsEnough(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("two.yaml", two)
	var commands []string
	for line := range strings.Lines(p.must(4, "run", "two.yaml", "--thread", "t").stdout) {
		if _, command, ok := strings.Cut(strings.TrimSpace(line), "--answer "); ok {
			commands = append(commands, strings.TrimSuffix(command, "TEXT"))
		}
	}
	if len(commands) != 2 {
		t.Fatalf("%d commands are offered, want 2: %v", len(commands), commands)
	}
	p.must(4, "resume", "--thread", "t", "--answer", commands[1]+"5")
	p.must(4, "resume", "--thread", "t", "--answer", commands[1]+"5") // as after a crash
	e := p.must(0, "resume", "--thread", "t", "--answer", commands[0]+"true", "--answer", commands[1]+"5")
	expect(t, "the result", e.stdout, "a: true\nb: 5\n")
	p.must(0, "resume", "--thread", "t", "--answer", commands[0]+"true", "--answer", commands[1]+"5")
	p.must(2, "resume", "--thread", "t", "--answer", commands[0]+"other")
}

const twice = `
version: 1
name: twice
state: {a: bool, b: bool}
nodes:
  first: {approval: {title: first}, output: {a: "${{ result.approved }}"}, next: second}
  second: {approval: {title: second}, output: {b: "${{ result.approved }}"}, next: END}
`

func TestAnswer_WithoutIDIsForTheQuestionShown(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", twice)
	p.must(4, "run", "w.yaml", "--thread", "t")
	p.must(4, "resume", "--thread", "t", "--answer", "true")
	expect(t, "the result", p.must(0, "resume", "--thread", "t", "--answer", "false").stdout, "a: true\nb: false\n")
	p.must(0, "resume", "--thread", "t", "--answer", "true") // as after a crash
}

func TestAnswer_RepeatedIsNotForTheNextQuestion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", twice)
	p.must(4, "run", "w.yaml", "--thread", "t", "--store", "sqlite:s.db")
	answerUnseen(t, p)
	e := p.must(4, "resume", "--thread", "t", "--store", "sqlite:s.db", "--answer", "true")
	if !strings.Contains(e.stdout, "second") || !strings.Contains(e.stderr, "answer again") {
		t.Errorf("the second question is not shown: %s%s", e.stdout, e.stderr)
	}
	expect(t, "the result", p.must(0, "resume", "--thread", "t", "--store", "sqlite:s.db", "--answer", "false").stdout, "a: true\nb: false\n")
}

// answerUnseen answers the first question as a process does that is killed before it
// shows the second.
func answerUnseen(t *testing.T, p place) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), p.path("s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	flow, err := workflow.Load(p.path("w.yaml"), workflow.Options{Kinds: nodes.Kinds()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := flow.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Resume(t.Context(), graph.Reply(true), graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
}

func TestStore_ThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.write("text.db", strings.Repeat("this is not a database\n", 100))
	p.must(4, "run", "w.yaml", "--thread", "t", "--store", "sqlite:good.db")
	damage(t, p.path("good.db"), p.path("bad.db"))
	for _, c := range []struct{ store, want string }{
		{"sqlite:text.db", "not know"},
		{"sqlite:bad.db", "damaged"},
	} {
		for _, verb := range []string{"run w.yaml", "resume", "history", "state"} {
			args := append(strings.Split(verb, " "), "--thread", "t", "--store", c.store)
			e := p.run(args...)
			if e.code != 1 || !strings.Contains(e.stderr, c.want) || !strings.Contains(e.stderr, "\nnext: ") {
				t.Errorf("%s on %s: exit code %d, want 1 and %q in\n%s", verb, c.store, e.code, c.want, e.stderr)
			}
		}
	}
}

// damage copies a store and overwrites the middle of what it holds.
func damage(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(data); i++ {
		data[i] ^= 0x55
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStore_Locked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.must(4, "run", "w.yaml", "--thread", "t", "--store", "sqlite:held.db")
	held, err := sqlite.Open(t.Context(), p.path("held.db")) // keeps the driver's own locks on
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	db, err := sql.Open("sqlite", p.path("held.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	e := p.must(1, "resume", "--thread", "t", "--store", "hasty:held.db", "--answer", "x")
	if !strings.Contains(e.stderr, "busy") || !strings.Contains(e.stderr, "\nnext: ") {
		t.Errorf("a locked store: %s", e.stderr)
	}
	if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	p.must(0, "resume", "--thread", "t", "--store", "sqlite:held.db", "--answer", "x")
}
