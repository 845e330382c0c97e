package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/internal/programtest"
)

func TestMain(m *testing.M) {
	programtest.Main(main)
	goleak.VerifyTestMain(m)
}

// process returns a command, not yet started, that runs one call in a new process.
func process(t *testing.T, file string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{file}, args...)...)
	cmd.Env = append(os.Environ(), programtest.Variable)
	return cmd
}

func call(t *testing.T, file string, args ...string) string {
	t.Helper()
	out, err := process(t, file, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// has checks that got contains all of parts and none of without.
func has(t *testing.T, rule, got string, parts, without []string) {
	t.Helper()
	for _, want := range parts {
		if !strings.Contains(got, want) {
			t.Errorf("rule: %s\n got: %s\nwant: %s", rule, got, want)
		}
	}
	for _, never := range without {
		if strings.Contains(got, never) {
			t.Errorf("rule: %s\n got: %s\nwant it without: %s", rule, got, never)
		}
	}
}

func TestLongChat_IsSummarizedAndRemembered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	texts := []string{"I drink green tea.", "My dog is called Byron.", "What time is it?", "I live by the sea."}
	for i, text := range texts[:3] {
		want := fmt.Sprintf("You said %q, and I was sent %d messages.\n", text, 2+2*i)
		if got := call(t, file, "monday", "say", text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	has(t, "the window slides", call(t, file, "monday", "show"), []string{"system: Be brief.\n", "user: My dog is called Byron.\n", "user: What time is it?\n"}, []string{"user: I drink"})
	call(t, file, "monday", "say", texts[3])
	has(t, "a long chat is summarized", call(t, file, "monday", "show"),
		[]string{"system: Be brief.\n", "system: Summary of previous context: I drink green tea; My dog is called Byron; What time is it?.\n", "user: I live by the sea.\n"}, []string{"user: I drink", "user: My dog"})
	has(t, "nothing leaves the log", call(t, file, "monday", "log"), texts, []string{"Summary"})
	if got := call(t, file, "monday", "end"); got != "offloaded: 1\n" {
		t.Errorf("got %q", got)
	}
	has(t, "a new session begins with the memory", call(t, file, "tuesday", "show"),
		[]string{"system: Be brief.", "- I drink green tea. (" + time.Now().UTC().Format("2006-01-02")[:7], "- My dog is called Byron.", "- I live by the sea."}, []string{"What time"})
}

// TestSession_SurvivesTwoProcesses runs enough turns that the processes conflict.
func TestSession_SurvivesTwoProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	call(t, file, "s", "show")
	const turns = 3
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			for n := range turns {
				if out, err := process(t, file, "s", "say", fmt.Sprintf("Worker %d has said %d.", i, n)).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			}
		})
	}
	wg.Wait()
	log := call(t, file, "s", "log")
	for i := range 2 {
		at := 0
		for n := range turns {
			answered := fmt.Sprintf("assistant: You said \"Worker %d has said %d.\"", i, n)
			next := strings.Index(log[at:], answered)
			if next < 0 {
				t.Fatalf("rule: two processes on one session lose nothing\n got: %s\nwant: %s", log, answered)
			}
			at += next
		}
	}
	if n := strings.Count(log, "\nuser: "); n != 2*turns {
		t.Errorf("rule: each message is in the log once\n got: %d of %d in %s", n, 2*turns, log)
	}
}

func TestEnd_ReportsAnUnknownSession(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	if got := call(t, file, "friday", "end"); got != "offloaded: 0\nthere was no session \"friday\" to end\n" {
		t.Errorf("got %q", got)
	}
}

func TestRun_RejectsWrongArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	for _, args := range [][]string{{}, {file}, {file, "s", "sing"}, {file, "s", "say"}, {file, "s", "show", "more"}} {
		if err := run(t.Context(), &strings.Builder{}, args...); err == nil {
			t.Errorf("%q: got no error", args)
		}
	}
}
