package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/internal/programtest"
)

func TestMain(m *testing.M) {
	programtest.Main(main)
	goleak.VerifyTestMain(m)
}

// process runs the program in a new process.
func process(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), programtest.Variable)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// stored describes the stored game.
func stored(t *testing.T, file string) string {
	t.Helper()
	s, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	docs, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state, err := thread.NewRepository[Game](docs).State(t.Context(), game)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("= version %d, room %s, %d rolls\n", state.Version, state.Data.Room, state.Data.Rolls)
}

// TestGame_ContinuesInEveryProcess plays the transcript. Each line after > is a strategy and a text
// for a new process. The reply and the stored game follow it.
func TestGame_ContinuesInEveryProcess(t *testing.T) {
	want, err := os.ReadFile("testdata/transcript.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	file := filepath.Join(t.TempDir(), "game.db")
	for line := range strings.Lines(string(want)) {
		turn, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		strategy, text, _ := strings.Cut(strings.TrimSpace(turn), " ")
		got.WriteString(line + process(t, file, strategy, text) + stored(t, file))
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

var errDown = errors.New("the disk is gone")

// failing returns errDown for writes while it is down.
type failing struct {
	document.Store
	down bool
}

func (f *failing) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	if f.down {
		return document.Doc{}, errDown
	}
	return f.Store.Set(ctx, p, c)
}

func agent(t *testing.T, docs document.Store, s thread.Strategy) Agent {
	t.Helper()
	m, err := thread.NewManager(thread.NewRepository[Game](docs), thread.Options{Strategy: s, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return Agent{m, s == thread.Implicit}
}

func TestProcess_FailsWithoutAConfiguration(t *testing.T) {
	for _, s := range []thread.Strategy{thread.Explicit, thread.Implicit} {
		docs := &failing{Store: &document.Map{}}
		a := agent(t, docs, s)
		if _, err := a.Process(t.Context(), "t", "look"); !errors.Is(err, thread.ErrThreadNotFound) {
			t.Errorf("%s: got %v without a configuration, want ErrThreadNotFound", s, err)
		}
		if err := a.SetConfig(t.Context(), "t", thread.Config{}); err != nil {
			t.Fatal(err)
		}
		docs.down = true
		if _, err := a.Process(t.Context(), "t", "look"); !errors.Is(err, thread.ErrStateSave) || !errors.Is(err, errDown) {
			t.Errorf("%s: got %v, want ErrStateSave with its cause", s, err)
		}
	}
}

func TestProcess_ReportsAFailedSave(t *testing.T) {
	for s, inReply := range map[thread.Strategy]bool{thread.Explicit: true, thread.Implicit: false} {
		docs := &failing{Store: &document.Map{}}
		a := agent(t, docs, s)
		if err := a.SetConfig(t.Context(), "t", thread.Config{}); err != nil {
			t.Fatal(err)
		}
		if reply, err := a.Process(t.Context(), "t", "roll"); err != nil || reply != "There are no dice in this game." {
			t.Errorf("%s: a tool that is not enabled: got %q, %v", s, reply, err)
		}
		docs.down = true
		reply, err := a.Process(t.Context(), "t", "go attic")
		if strings.Contains(reply, "not saved") != inReply || errors.Is(err, thread.ErrStateSave) == inReply {
			t.Errorf("%s: got %q, %v", s, reply, err)
		}
		docs.down = false
		if reply, err = a.Process(t.Context(), "t", "look"); err != nil || reply != "You are in the hall with nothing." {
			t.Errorf("%s: rule: a change that was not saved is lost\n got: %q, %v", s, reply, err)
		}
	}
}

func TestRun_RejectsWrongArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "game.db")
	for _, args := range [][]string{{}, {file}, {file, "sometimes", "look"}} {
		if err := run(t.Context(), &strings.Builder{}, args...); err == nil {
			t.Errorf("%q: got no error", args)
		}
	}
}
