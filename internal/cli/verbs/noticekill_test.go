//go:build unix

package verbs_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/weftrun/weft/wake"
)

// reminding has a question with a reminder and an escalation.
const reminding = `version: 1
name: reminding
state: {said: string}
output: [said]
nodes:
  ask:
    approval: {title: Sure, to: anna, remind: 1s, escalate: [{after: 1ms, to: ben}]}
    output: {said: "${{ result.type }}"}
    next: END
`

// noticeTime is how long a waker may take to send a reminder and an escalation.
const noticeTime = 2 * time.Minute

// notices counts the notices that were printed, by kind and by the time at which they were due.
type notices map[wake.Kind]map[time.Time]int

func (n notices) add(kind wake.Kind, at time.Time) {
	if n[kind] == nil {
		n[kind] = map[time.Time]int{}
	}
	n[kind][at]++
}

// both reports whether a reminder and an escalation were printed.
func (n notices) both() bool { return len(n[wake.Reminder]) > 0 && len(n[wake.Escalation]) > 0 }

// check fails unless there is one escalation and at least one reminder. A notice may be sent twice
// only if a waker was killed.
func (n notices) check(t *testing.T, killed bool) {
	t.Helper()
	if len(n[wake.Escalation]) != 1 || len(n[wake.Reminder]) == 0 {
		t.Errorf("rule: one escalation and at least one reminder are sent\n got: %v", n)
	}
	again := 0
	for kind, times := range n {
		for at, sent := range times {
			if again += sent - 1; sent > 2 {
				t.Errorf("rule: a notice is sent at most twice\n got: the %s of %v, %d times", kind, at, sent)
			}
		}
	}
	if again > 0 && !killed {
		t.Errorf("rule: a notice is sent again only after a kill\n got: %v", n)
	}
}

// ask starts a run that waits for an answer.
func (p place) ask(store, thread string) {
	p.Helper()
	p.write("reminding.yaml", reminding)
	p.must(4, "run", p.path("reminding.yaml"), "--thread", thread, "--store", store)
}

// TestWake_KillAtEachWriteOfNotices kills a waker at each of its writes while it sends notices. The
// next waker sends the rest. After the answer no notice is sent.
func TestWake_KillAtEachWriteOfNotices(t *testing.T) {
	killAtEachWrite(t, 2, func(p place, store, crash string) (killed bool) {
		p.ask(store, "t")
		seen := notices{}
		if killed = p.printed(seen, "crash-all:"+crash); killed {
			p.printed(seen, store)
		}
		seen.check(p.T, killed)
		p.untilEnds(0, "resume", "--thread", "t", "--answer", "yes", "--store", store)
		got := p.must(0, "wake", p.path("reminding.yaml"), "--once", "--store", store).stdout
		expect(p.T, "what is due after the answer", got, "started 0, resumed 0, notices 0, failed 0\n")
		return killed
	})
}

// printed runs a waker until seen has a reminder and an escalation, or the waker is dead. It adds
// what the waker printed to seen, and reports whether it was killed.
func (p place) printed(seen notices, store string) (killed bool) {
	p.Helper()
	cmd := p.command("wake", p.path("reminding.yaml"), "--json", "--log", "error", "--store", store)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.Fatal(err)
	}
	late := time.AfterFunc(noticeTime, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var n wake.Notice
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			p.Errorf("%s: %v", lines.Text(), err)
			continue
		}
		if seen.add(n.Kind, n.At); seen.both() {
			_ = cmd.Process.Signal(os.Interrupt) // it may be dead
		}
	}
	_ = cmd.Wait() // the exit code is looked at below
	if !late.Stop() {
		p.Fatalf("the waker did not send both notices within %v; got %v", noticeTime, seen)
	}
	return cmd.ProcessState.ExitCode() == -1
}
