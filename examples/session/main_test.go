package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// call opens the file anew, as another process would.
func call(t *testing.T, file string, args ...string) string {
	t.Helper()
	var out strings.Builder
	if err := run(t.Context(), &out, append([]string{file}, args...)...); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.String()
}

func TestALongChatIsSummedUpAndRemembered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	got := ""
	for _, text := range []string{"I drink green tea.", "My dog is called Byron.", "What time is it?"} {
		got = call(t, file, "monday", "say", text)
	}
	if want := "You said \"What time is it?\", and I was sent 6 messages.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = call(t, file, "monday", "show")
	for _, want := range []string{"system: Be brief.\n", "system: Summary of previous context: I drink green tea; My dog is called Byron.\n", "user: What time is it?\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("rule: a long chat is summed up\n got: %s\nwant: %s", got, want)
		}
	}
	if got := call(t, file, "monday", "end"); got != "1 session offloaded\n" {
		t.Errorf("got %q", got)
	}
	got = call(t, file, "tuesday", "show")
	for _, want := range []string{"system: Be brief.", "- I drink green tea. (" + time.Now().UTC().Format("2006-01-02")[:7], "- My dog is called Byron."} {
		if !strings.Contains(got, want) {
			t.Errorf("rule: a new session begins with what is known\n got: %s\nwant: %s", got, want)
		}
	}
}

func TestTwoAtWorkOnOneSession(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	call(t, file, "s", "show")
	var wg sync.WaitGroup
	said := make(chan string, 2)
	for i := range 2 {
		wg.Go(func() {
			var out strings.Builder
			for { // the turn of one may be overtaken by the other
				if err := run(t.Context(), &out, file, "s", "say", fmt.Sprint("I am worker ", i, ".")); err == nil {
					break
				} else if !strings.Contains(err.Error(), "another worker") {
					t.Error(err)
					break
				}
			}
			said <- out.String()
		})
	}
	wg.Wait()
	if a, b := <-said, <-said; a == "" || b == "" {
		t.Errorf("got the answers %q and %q", a, b)
	}
}

func TestWrongCallsSayHow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	for _, args := range [][]string{{}, {file}, {file, "s", "sing"}} {
		if err := run(t.Context(), &strings.Builder{}, args...); err == nil {
			t.Errorf("%q: got no error", args)
		}
	}
}
