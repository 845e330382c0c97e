//go:build unix

package verbs_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/servertest"
)

// secretive asks for a number that must not be in the record.
const secretive = `version: 1
name: secretive
state: {pin: int, rest: int}
output: [rest]
nodes:
  ask: {ask: {title: "PIN?", answer: int, secret: true}, output: {pin: "${{ result }}"}, next: use}
  use: {set: {rest: "${{ state.pin % 10000 }}", pin: 0}, next: END}
`

// thePIN is in nothing by chance.
const thePIN = "8154711008154711"

// decided returns what is recorded of a thread.
func (p place) decided(address, thread string) (all []graph.DecisionRecord) {
	p.Helper()
	store, err := openAny(p.Context(), address)
	if err != nil {
		p.Fatal(err)
	}
	defer store.Close()
	for d, err := range graph.ThreadDecisions(p.Context(), store, thread) {
		if err != nil {
			p.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// A process is killed after it has stored an answer and before the step that uses it. It leaves one
// decision with its author and interface, and the run continues with the answer.
//
// Requirement: Decisions are recorded
func TestDecisions_ProcessKilledAfterTheAnswer(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) string{
		"sqlite": func(*testing.T) string { return "" },
		"redis":  func(t *testing.T) string { return servertest.Redis(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, server := newPlace(t), start(t)
			stored := 0
			for n := 1; ; n++ {
				for _, side := range []string{"before", "after"} {
					thread := fmt.Sprintf("%s%d", side, n)
					file := p.path(thread + ".db")
					h := newHistoryIn(p, thread, cmp.Or(server, "sqlite:"+file), new(tally))
					p.must(4, h.runArgs(h.store)...)
					crash := fmt.Sprintf("crash:%d:%s:%s", n, side, cmp.Or(server, file))
					code := p.run(append(h.resumeArgs(crash), "--by", "anna")...).code
					if code != -1 && code != 0 {
						t.Fatalf("%s: exit code %d", thread, code)
					}
					want := "ben"
					resume := append(h.resumeArgs(h.store), "--by", "ben")
					if after := p.decided(h.store, thread); len(after) > 0 {
						want = "anna"
						resume = []string{"resume", "--thread", thread, "--store", h.store, "--by", "ben"} // without an answer
						if code == -1 {
							stored++
						}
					}
					e := p.must(0, resume...)
					if all := p.decided(h.store, thread); len(all) != 1 || all[0].By != want || all[0].Via != graph.ViaCommandLine ||
						all[0].Type != graph.DecisionApprove || string(all[0].Value) != "true" || all[0].Prompt != "Publish?" {
						t.Errorf("%s: the record is %+v, want one approval by %s through the command line", thread, all, want)
					}
					if code == -1 && !strings.Contains(e.stdout, "approved: true") {
						t.Errorf("%s: the run ended with %s, want it approved", thread, e.stdout)
					}
					if code == -1 {
						continue
					}
					if n < 3 || stored < 2 {
						t.Errorf("there were %d writes, and %d kills with the answer stored; want at least 2 and 2", n-1, stored)
					}
					return
				}
			}
		})
	}
}

// A record of an earlier release may have names with control characters. Text shows them escaped.
func TestDecisions_NamesThatSteerATerminalAreEscaped(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", secretive)
	address := "sqlite:" + p.path("t.db")
	p.must(4, "run", "w.yaml", "--thread", "t", "--store", address)
	const hostile = "pay\u202eeve\x1b[2J\u2066\u2028"
	if e := p.run("resume", "--thread", "t", "--store", address, "--answer", "1", "--by", hostile); e.code == 0 ||
		!strings.Contains(e.stderr, `pay\u202eeve`) || len(p.decided(address, "t")) != 0 {
		t.Errorf("the name is not refused: %d %q", e.code, e.stderr)
	}
	store, err := sqlite.Open(t.Context(), p.path("t.db"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(graph.DecisionRecord{Type: graph.DecisionReject, Question: "q", Prompt: hostile, Node: hostile, Message: hostile,
		By: hostile, Via: hostile, Checkpoint: 1, Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	err = checkpoint.Put(t.Context(), store, checkpoint.Pending{Key: checkpoint.Key{Thread: "t"}, Head: 1,
		Entries: []checkpoint.Entry{{Slot: checkpoint.SlotDecision + "q/1", Data: data}}})
	if err := cmp.Or(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	p.must(0, "resume", "--thread", "t", "--store", address, "--answer", "1")
	for _, args := range []string{"history t", "diff t 1 3", "inbox", "export t", "export t --json", "history t --json"} {
		e := p.must(0, append(strings.Fields(args), "--store", address)...)
		text := !strings.HasPrefix(args, "export") && !strings.Contains(args, "--json") // import checks the sums of an export
		if text && strings.ContainsAny(e.stdout+e.stderr, "\u202e\u2066\x1b") {
			t.Errorf("%s shows %q", args, e.stdout)
		}
		if text && args != "inbox" && !strings.Contains(e.stdout, `pay\u202eeve`) {
			t.Errorf("%s leaves out the name: %q", args, e.stdout)
		}
		if strings.Contains(e.stdout, "\x1b") {
			t.Errorf("%s has control characters: %q", args, e.stdout)
		}
	}
}

// An answer, an approval and a rejection without --by are recorded with the login name of the user.
func TestDecisions_NameOfTheUserWithoutBy(t *testing.T) {
	t.Parallel()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	const count, approval = "ask: {title: Count, answer: int}", "approval: {title: Pay}"
	for name, c := range map[string]struct {
		ask  string
		args []string
		kind graph.DecisionType
	}{
		"answer":  {count, []string{"resume", "--answer", "1"}, graph.DecisionRespond},
		"approve": {approval, []string{"inbox", "approve"}, graph.DecisionApprove},
		"reject":  {approval, []string{"inbox", "reject"}, graph.DecisionReject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("w.yaml", one("    "+c.ask))
			address := "sqlite:" + p.path("t.db")
			p.must(4, "run", "w.yaml", "--thread", "t", "--store", address)
			p.must(0, append(c.args, "--thread", "t", "--store", address)...)
			all := p.decided(address, "t")
			if len(all) != 1 || all[0].By != u.Username || all[0].Type != c.kind {
				t.Errorf("got the decisions %+v, want one of kind %s by %q", all, c.kind, u.Username)
			}
			want := ", by " + u.Username + " (cli, "
			if e := p.must(0, "history", "t", "--store", address); !strings.Contains(e.stdout, want) {
				t.Errorf("the history is\n%s\nwant %q in it", e.stdout, want)
			}
		})
	}
}

// The marks of direction in the prompt of an open question are escaped on a terminal.
func TestPrompts_EscapeMarksOfDirection(t *testing.T) {
	t.Parallel()
	const want = `pay \u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069`
	for name, show := range map[string]func(p place) string{
		"run": func(p place) string {
			shown, _ := p.onTerminal(80, nil, "run", "w.yaml", "--thread", "t")
			return shown
		},
		"inbox": func(p place) string {
			p.must(4, "run", "w.yaml", "--thread", "t")
			shown, _ := p.onTerminal(80, nil, "inbox")
			return shown
		},
		"chat": func(p place) string {
			k := p.openKeyboard("chat", "parrot", "--thread", "t")
			k.see("> ")
			k.press("disguised" + newline)
			k.see("yes, no or /edit> ")
			k.press("no" + newline)
			k.see("> ")
			k.press("/exit" + newline)
			k.see("/exit")
			return k.all.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("w.yaml", one("    ask: {title: \"pay "+directions+"\", answer: bool}"))
			shown := show(p)
			if strings.ContainsAny(shown, directions) || !strings.Contains(shown, want) {
				t.Errorf("the terminal shows %q, want the prompt as %q", shown, want)
			}
		})
	}
}

// No command shows the answer to a question with secret: true. In an encrypted store the answer is
// nowhere in plain text.
//
// Requirement: a secret answer is not in the record of decisions
func TestDecisions_SecretAnswerOfAFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", secretive)
	address := "sqlite:" + p.path("plain.db")
	e := p.must(4, "run", "w.yaml", "--thread", "t", "--store", address)
	e = p.run("resume", "--thread", "t", "--store", address, "--answer", "x"+thePIN)
	if e.code == 0 || strings.Contains(e.stdout+e.stderr, thePIN) {
		t.Errorf("an answer that does not fit: exit code %d, %s%s", e.code, e.stdout, e.stderr)
	}
	e = p.must(0, "resume", "--thread", "t", "--store", address, "--answer", thePIN)
	if !strings.Contains(e.stdout, "rest: 4711\n") {
		t.Errorf("the run ended with %s", e.stdout)
	}
	p.must(0, "prune", "t", "--keep-last", "1", "--store", address) // the field held it for a step
	for _, args := range []string{"history t", "history t --json", "export t", "inbox", "state t"} {
		if e := p.must(0, append(strings.Fields(args), "--store", address)...); strings.Contains(e.stdout, thePIN) {
			t.Errorf("%s shows the secret: %s", args, e.stdout)
		}
	}
	if e := p.must(0, "history", "t", "--store", address); !strings.Contains(e.stdout, "PIN? → (secret)") {
		t.Errorf("the history is\n%s", e.stdout)
	}

	keys := &checkpoint.Keys{Current: "k", Ring: map[string][]byte{"k": checkpoint.NewKey()}}
	for name, codec := range map[string]checkpoint.Codec{"encrypted": {Keys: keys}, "plain": {}} {
		path := p.path(name + "2.db")
		file, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		store, err := checkpoint.Sealed(file, codec)
		if err != nil {
			t.Fatal(err)
		}
		w, err := workflow.Parse("w.yaml", []byte(secretive), workflow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := w.Compile(graph.Config{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		o := graph.RunOptions{Thread: "t", By: "anna"}
		input, err := w.Input(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Invoke(t.Context(), input, o); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Resume(t.Context(), graph.Reply(json.RawMessage(thePIN)), o); err != nil {
			t.Fatal(err)
		}
		for d, err := range graph.ThreadDecisions(t.Context(), store, "t") {
			if stored := string(d.Value) == thePIN; err != nil || !d.Secret || stored != (name == "encrypted") {
				t.Errorf("%s: the record has %+v, %v", name, d, err)
			}
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		var all []byte
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(path + suffix)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			all = append(all, data...)
		}
		if there := bytes.Contains(all, []byte(thePIN)); there != (name == "plain") {
			t.Errorf("%s: the file holds the secret in the clear: %v", name, there)
		}
	}
}
