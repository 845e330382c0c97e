package session_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/conversation"
	"github.com/weftrun/weft/checkpoint/session"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/pace"
	"github.com/weftrun/weft/state/message"
)

// Where a worker that a test starts finds its file, and its name.
const workerFile, workerName = "WEFT_TEST_SESSION_FILE", "WEFT_TEST_SESSION_WORKER"

const workerMessages = 10

// overFile returns a manager and a repository over a file, as a process has them.
func overFile(t testing.TB, path string) (*session.Manager, *conversation.Repository) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	docs, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := session.New(session.Config{Store: docs, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := conversation.NewRepository(docs)
	if err != nil {
		t.Fatal(err)
	}
	return m, repo
}

// TestWorkerProcess is a process of its own; without its environment it has nothing to do.
func TestWorkerProcess(t *testing.T) {
	path, name := os.Getenv(workerFile), os.Getenv(workerName)
	if path == "" {
		return
	}
	m, repo := overFile(t, path)
	for i := range workerMessages {
		said := message.User(fmt.Sprint(name, i))
		if _, err := m.Append(t.Context(), "s", said, message.Assistant("to "+said.Text())); err != nil {
			t.Fatal(err)
		}
		if _, err := repo.Add(t.Context(), "t", said); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoProcessesLoseNoMessage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	m, repo := overFile(t, path)
	if _, err := m.Create(t.Context(), session.Start{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	var workers []*exec.Cmd
	for _, name := range []string{"a", "b"} {
		w := exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$")
		w.Env = append(pace.Environ(), workerFile+"="+path, workerName+"="+name)
		w.Stdout = os.Stdout
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, w)
	}
	for _, w := range workers {
		if err := w.Wait(); err != nil {
			t.Errorf("a worker failed: %v", err)
		}
	}
	log, err := m.Log(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	thread, err := repo.Get(t.Context(), "t", conversation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, said := range log {
		if i%2 == 1 && said.Text() != "to "+log[i-1].Text() {
			t.Errorf("rule: what one Append adds stays together\n got: %q after %q", said.Text(), log[i-1].Text())
		}
	}
	for where, list := range map[string][]message.Message{"session": log, "thread": thread} {
		for _, name := range []string{"a", "b"} {
			var got, want []string
			for i := range workerMessages {
				want = append(want, fmt.Sprint(name, i))
			}
			for _, said := range list {
				if strings.HasPrefix(said.Text(), name) {
					got = append(got, said.Text())
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("rule: two processes on one %s lose nothing\n got: %q\nwant: %q", where, got, want)
			}
		}
	}
}
