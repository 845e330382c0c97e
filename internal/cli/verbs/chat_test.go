//go:build unix

package verbs_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// keyboard is a command on a terminal. The test reads what it shows and types keys.
type keyboard struct {
	*testing.T
	cmd  *exec.Cmd
	tty  *os.File
	read strings.Builder // shown text that no call of see has matched
	all  strings.Builder
}

func (p place) openKeyboard(args ...string) *keyboard {
	p.Helper()
	cmd := p.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=1")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { tty.Close() })
	return &keyboard{T: p.T, cmd: cmd, tty: tty}
}

// see waits until the terminal shows a text.
func (k *keyboard) see(want string) {
	k.Helper()
	buf := make([]byte, 4096)
	for {
		if _, rest, ok := strings.Cut(k.read.String(), want); ok {
			k.read.Reset()
			k.read.WriteString(rest)
			return
		}
		n, err := k.tty.Read(buf)
		k.read.Write(buf[:n])
		k.all.Write(buf[:n])
		if err != nil {
			k.Fatalf("the chat ended without showing %q; it showed:\n%s", want, k.all.String())
		}
	}
}

func (k *keyboard) press(keys string) {
	k.Helper()
	if _, err := k.tty.WriteString(keys); err != nil {
		k.Fatal(err)
	}
}

// ends reads until the command ends, and compares its exit code.
func (k *keyboard) ends(want int) {
	k.Helper()
	buf := make([]byte, 4096)
	for {
		n, err := k.tty.Read(buf)
		k.all.Write(buf[:n])
		if err != nil {
			break
		}
	}
	var exit *exec.ExitError
	if err := k.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		k.Fatal(err)
	}
	if code := k.cmd.ProcessState.ExitCode(); code != want {
		k.Fatalf("exit code %d, want %d; it showed:\n%s", code, want, k.all.String())
	}
}

// The keys of a terminal.
const (
	newline, tab, up   = "\r", "\t", "\x1b[A"
	ctrlC, ctrlD, wipe = "\x03", "\x04", "\x15"
)

func TestChat_Terminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	path, began := p.pipe("pipe")
	k := p.openKeyboard("chat", "parrot", "--thread", "t")
	k.see("> ")
	k.press("/pla" + tab)
	k.see("/planning")
	k.press(tab + tab) // the options have a common prefix
	k.see(":o")
	k.press(tab)
	k.see("/planning:off  /planning:on\r\n")
	k.press(wipe + "/stat" + tab + newline)
	k.see("There are no messages yet.")
	k.see("> ")
	k.press("hello world" + newline)
	k.see("heard: hello world (0 steps)\r\n")
	k.see("> ")
	k.press("risky business" + newline)
	k.see(`Approve "risky": take a risk?`)
	k.see("yes, no or /edit> ")
	k.press("/edit " + tab)
	k.see(`/edit {"n":1}`)
	k.press(wipe + "yes" + newline)
	k.see("heard: risky business (1 steps)")
	k.see("> ")
	k.press("work " + path + newline)
	receive(t, began(), "began\n")
	k.press(ctrlC)
	k.see("the turn is stopped; /continue goes on with it")
	k.see("> ")
	p.write("pipe.done", "")
	k.press("/continue" + newline)
	k.see("heard: work " + path)
	k.see("> ")
	k.press("/nonsense" + newline)
	k.see("there is no such command")
	k.see("next: /help lists the commands")
	k.see("> ")
	k.press("half a line" + ctrlC)
	k.see("Ctrl-C again leaves")
	k.see("> ")
	k.press(ctrlC)
	k.ends(0)

	k = p.openKeyboard("chat", "parrot", "--thread", "t", "--last", "3")
	k.see("assistant: heard: risky business (1 steps)\r\nuser: work " + path + "\r\nassistant: heard: work " + path)
	k.see("> ")
	k.press(up + up)
	k.see("risky business")
	k.press(newline)
	k.see("yes, no or /edit> ")
	k.press(ctrlD)
	k.ends(4)
	if strings.Contains(k.all.String(), "hello world") {
		t.Errorf("more than three messages are shown:\n%s", k.all.String())
	}
}

// The step of this test continues after its context has ended. The first Ctrl-C announces what a
// second one does, and the second one leaves at once. The next chat continues the turn.
func TestChat_SecondCtrlC(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	path, open := p.pipe("pipe")
	k := p.openKeyboard("chat", "parrot", "--thread", "t")
	k.see("> ")
	k.press("stuck " + path + newline)
	receive(t, open(), "began\n")
	k.press(ctrlC)
	k.see("weft: stopping the turn; Ctrl-C again leaves at once\r\n")
	receive(t, open(), "clings\n")
	k.press(ctrlC)
	k.see("weft: stopped by a signal\r\n")
	k.see("next: the conversation is stored; go on with " + program + " chat parrot --thread t\r\n")
	k.ends(130)

	p.write("pipe.done", "")
	e := p.must(0, "chat", "parrot", "--thread", "t", "--say", "hello")
	expect(t, "stdout", e.stdout, "heard: stuck "+path+" (1 steps)\n\nheard: hello (0 steps)\n\n")
}

func TestChat_SignalWithoutATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	path, began := p.pipe("pipe")
	cmd := p.command("chat", "parrot", "--thread", "t", "--say", "work "+path)
	said := p.listen(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	receive(t, began(), "began\n")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest := said.rest()
	_ = cmd.Wait() // its exit code is checked below
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if want := "weft: stopped by a signal\nnext: the conversation is stored; go on with " + program + " chat parrot --thread t\n"; !strings.HasSuffix(rest, want) {
		t.Errorf("got %q, want at its end %q", rest, want)
	}
}

// A process is killed in the middle of a turn. The next one does not plan again.
func TestChat_ContinuesAfterAKill(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	path, began := p.pipe("pipe")
	cmd := p.command("chat", "parrot", "--thread", "t", "--say", "work "+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	receive(t, began(), "began\n")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	p.write("pipe.done", "")
	e := p.must(0, "chat", "parrot", "--thread", "t", "--say", "hello")
	expect(t, "stdout", e.stdout, "heard: work "+path+" (1 steps)\n\nheard: hello (0 steps)\n\n")
	if n := strings.Count(e.stderr, "Planning…"); n != 1 || !strings.HasPrefix(e.stderr, "weft: the last turn was cut off; it goes on\n  [1/2] work\n") {
		t.Errorf("it planned %d times, want once, for the second message:\n%s", n, e.stderr)
	}
}

func TestChat_NewTurnDropsTheLastOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	path, began := p.pipe("pipe")
	cmd := p.command("chat", "parrot", "--thread", "t", "--say", "work "+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	receive(t, began(), "began\n")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	e := p.must(0, "chat", "parrot", "--thread", "t", "--new-turn", "--say", "hello")
	expect(t, "stdout", e.stdout, "heard: hello (0 steps)\n\n")
}

func TestChat_Reset(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must(0, "chat", "parrot", "--thread", "t", "--say", "hello")
	e := p.must(0, "chat", "parrot", "--thread", "t", "--say", "/reset")
	expect(t, "stdout", e.stdout, "The conversation is empty.\n\n")
	cmd := p.command("chat", "parrot", "--thread", "t")
	cmd.Stdin = strings.NewReader("again\n/reset\n")
	e = p.finish(cmd)
	expect(t, "stdout", e.stdout, "heard: again (0 steps)\n\nThe conversation is empty.\n\n")
	if strings.Contains(e.stderr, "hello") {
		t.Errorf("a message of before is shown:\n%s", e.stderr)
	}
}

func TestChat_LinesOfTheInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.command("chat", "parrot", "--thread", "t")
	cmd.Stdin = strings.NewReader("hello\n\nrisky one\nno, thanks\n/exit\nnever read\n")
	e := p.finish(cmd)
	if e.code != 0 || !strings.HasPrefix(e.stdout, "heard: hello (0 steps)\n\nApprove \"risky\": take a risk?\n") ||
		!strings.Contains(e.stdout, "was rejected: thanks") || strings.Contains(e.stdout, "never") {
		t.Errorf("exit code %d\n%s\n%s", e.code, e.stdout, e.stderr)
	}
	cmd = p.command("chat", "parrot", "--thread", "t", "--last", "2")
	cmd.Stdin = strings.NewReader("risky two")
	e = p.finish(cmd)
	if e.code != 4 || !strings.HasPrefix(e.stderr, "user: risky one\nassistant: Not done, as decided: take a risk (risky) was rejected: thanks\n") {
		t.Errorf("exit code %d, want 4\n%s", e.code, e.stderr)
	}
	cmd = p.command("chat", "parrot", "--thread", "t", "--last", "0")
	cmd.Stdin = strings.NewReader("")
	e = p.finish(cmd)
	if e.code != 4 || !strings.HasPrefix(e.stdout, "Approve \"risky\": take a risk?\n") || e.stderr != "" {
		t.Errorf("exit code %d, want 4\n%s\n%s", e.code, e.stdout, e.stderr)
	}
}

func TestChat_JSON(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.must(4, "chat", "parrot", "--thread", "t", "--json", "--say", "risky business")
	second := p.must(0, "chat", "parrot", "--thread", "t", "--json", "--say", `/edit {"n":2}`)
	cmd := p.command("chat", "parrot", "--thread", "t", "--json", "--last", "1")
	cmd.Stdin = strings.NewReader("/dance")
	third := p.finish(cmd)
	type line struct {
		Event, Thread, Kind, Status, Role, Delta, Text string
		Begins                                         bool
		Plan                                           []struct{ Capability string }
		Questions                                      []struct {
			Data struct{ Data json.RawMessage }
		}
		UI []string
	}
	var all []line
	events := ""
	for l := range strings.Lines(first.stdout + second.stdout + third.stdout) {
		var one line
		if err := json.Unmarshal([]byte(l), &one); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		all, events = append(all, one), events+one.Event+" "
	}
	expect(t, "stderr", first.stderr+second.stderr+third.stderr, "")
	expect(t, "the events", events, "status status status plan status reply status status token token token token token reply message reply ")
	asked, answered, danced := all[5], all[13], all[15]
	if len(all[3].Plan) != 2 || asked.Kind != "begin" || asked.Status != "interrupted" || asked.Thread != "t" || len(asked.Questions) != 1 || string(asked.Questions[0].Data.Data) != `{"n":1}` {
		t.Errorf("the question: %+v", asked)
	}
	if !all[8].Begins || all[9].Begins || all[8].Delta != "heard: " || answered.Kind != "resume" || answered.Status != "done" || answered.Text != "heard: risky business (1 steps)" {
		t.Errorf("the answer: %+v", answered)
	}
	if all[14].Role != "assistant" || all[14].Text != answered.Text || danced.Kind != "none" || danced.Status != "" || len(danced.UI) != 1 || danced.UI[0] != "dance" {
		t.Errorf("the end: %+v %+v", all[14], danced)
	}
}
