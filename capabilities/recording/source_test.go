package recording_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/state/message"
)

// server is a source of tools that counts how often it is asked for them.
type server struct {
	asked int
	err   error
	tools []tool.Tool
}

func (*server) Name() string { return "files" }

func (s *server) Tools(context.Context) ([]tool.Tool, error) {
	s.asked++
	return s.tools, s.err
}

// serving returns a server with a tool that answers with the name of the server.
func serving(name string, info tool.Info) *server {
	return &server{tools: []tool.Tool{tool.Func(info, func(context.Context, search) (string, error) { return "of " + name, nil })}}
}

// open opens a recorder, and ends it after do.
func open(t *testing.T, path string, o recording.Options, do func(ctx context.Context)) error {
	t.Helper()
	r, err := recording.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	do(r.Context(t.Context()))
	return r.Close(nil)
}

var fileInfo = tool.Info{
	Name: "files_read", Description: "Reads a file", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`),
	Mode: tool.Permit, Prompt: "May it?", Answer: json.RawMessage(`{"type":"string"}`), Within: time.Hour, Timeout: time.Minute, MaxResult: 9, Direct: true,
}

func infos(all []tool.Tool) (list []tool.Info) {
	for _, t := range all {
		list = append(list, t.Info())
	}
	return list
}

// A replay has the tools as they were, and does not ask the source.
func TestSource_ReplaysItsTools(t *testing.T) {
	s := serving("first", fileInfo)
	want := infos(s.tools)
	file := twice(t, recording.Options{}, func(ctx context.Context, replay bool) {
		for range 2 {
			got, err := recording.Source(s).Tools(ctx)
			if err != nil || !reflect.DeepEqual(infos(got), want) {
				t.Errorf("replay %v: got %+v, %v, want %+v", replay, infos(got), err, want)
			}
		}
	})
	if s.asked != 1 {
		t.Errorf("the source was asked %d times, want once: a run keeps the list", s.asked)
	}
	if n := strings.Count(file, "tools: files"); n != 1 {
		t.Errorf("the file has the list %d times, want once:\n%s", n, file)
	}
	if got, err := recording.Source(s).Tools(t.Context()); err != nil || !reflect.DeepEqual(infos(got), want) || s.asked != 2 {
		t.Errorf("without a recorder: got %+v, %v, want that of the source", infos(got), err)
	}
}

// Tasks that ask at the same time get the list, and the file has it once.
func TestSource_OfParallelTasks(t *testing.T) {
	file := twice(t, recording.Options{}, func(ctx context.Context, replay bool) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				got, err := recording.Source(shelf{"a shelf", "found"}).Tools(ctx)
				if err != nil || len(got) != 1 || got[0].Info().Description != "a shelf" {
					t.Errorf("replay %v: got %+v, %v", replay, infos(got), err)
				}
			})
		}
		all.Wait()
	})
	if n := strings.Count(file, "tools: shelf"); n != 1 {
		t.Errorf("the file has the list %d times, want once:\n%s", n, file)
	}
}

// A list that is not recorded is a difference, and the source is not asked for it.
func TestSource_OfAListThatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.yaml")
	if err := os.WriteFile(path, []byte("version: 1\ncalls: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serving("first", fileInfo)
	want := "recording: call 1, of the list of tools of files, is not in " + path
	err := open(t, path, recording.Options{}, func(ctx context.Context) {
		if _, err := recording.Source(s).Tools(ctx); fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
	var d *recording.Difference
	if !errors.As(err, &d) || err.Error() != want || s.asked != 0 {
		t.Errorf("Close returns %v after %d questions, want %s", err, s.asked, want)
	}
}

// A source that fails is asked again: its failure is not recorded.
func TestSource_DoesNotRecordItsFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.yaml")
	s := serving("first", fileInfo)
	err := open(t, path, recording.Options{Record: true}, func(ctx context.Context) {
		s.err = errors.New("down")
		if _, err := recording.Source(s).Tools(ctx); err != s.err {
			t.Errorf("got %v, want %v", err, s.err)
		}
		s.err = nil
		if got, err := recording.Source(s).Tools(ctx); err != nil || len(got) != 1 {
			t.Errorf("got %+v, %v, want the list", infos(got), err)
		}
	})
	if err != nil || s.asked != 2 {
		t.Errorf("Close returns %v after %d questions, want 2", err, s.asked)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "down") {
		t.Errorf("%v, and the file is\n%s", err, text)
	}
}

// A new call of a tool of a recorded list is made by the source as it is now.
func TestSource_MakesNewCallsOfARecordedList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.yaml")
	info := tool.Info{Name: "files_read", Description: "Reads a file"}
	call := func(s *server, args, want string, fails bool) {
		t.Helper()
		err := open(t, path, recording.Options{Record: true}, func(ctx context.Context) {
			set, err := tool.NewSet()
			if err != nil {
				t.Fatal(err)
			}
			set = recording.Tools(set.WithSources(recording.Source(s)))
			got := set.Do(ctx, message.Call{ID: "c1", Name: "files_read", Arguments: json.RawMessage(args)}, "id", tool.Limits{})
			if !strings.Contains(got.Text(), want) || got.IsError != fails {
				t.Errorf("got %q, failed %v, want %q", got.Text(), got.IsError, want)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
	call(serving("first", info), `{"query":"a"}`, "of first", false)
	second := serving("second", info)
	call(second, `{"query":"a"}`, "of first", false)
	if second.asked != 0 {
		t.Errorf("the source was asked %d times for recorded calls", second.asked)
	}
	call(second, `{"query":"b"}`, "of second", false)
	if second.asked != 1 {
		t.Errorf("the source was asked %d times, want once for the new call", second.asked)
	}
	call(&server{}, `{"query":"c"}`, `files does not have the recorded tool "files_read" any more`, true)
	down := &server{err: errors.New("the server is down")}
	call(down, `{"query":"d"}`, "the server is down", true)
}
