package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// shift is an agent with its machine.
type shift struct {
	t *testing.T
	*turn.Agent[agent.State]
	machine
}

func begin(t *testing.T) shift {
	t.Helper()
	m := machine(filepath.Join(t.TempDir(), "machine"))
	a, err := lab(&checkpoint.Memory{}, m)
	if err != nil {
		t.Fatal(err)
	}
	return shift{t, a, m}
}

// say sends a message and checks the status and a part of the reply.
func (s shift) say(text string, status graph.Status, want string) turn.Reply[agent.State] {
	s.t.Helper()
	r, err := s.Say(s.t.Context(), "shift-1", text)
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	if r.Status != status || !strings.Contains(r.Text, want) {
		s.t.Errorf("%s: got %s: %s, want %s: %s", text, r.Status, r.Text, status, want)
	}
	return r
}

func TestSet_NeedsTheSettingAndAnApproval(t *testing.T) {
	s := begin(t)
	s.say("/approval!:selective", "", "")
	s.say("set magnet 3.5", graph.Interrupted, "set")
	s.say("yes", graph.Done, "writes are off")
	s.say("/writes!:on", "", "/writes:on is set for this conversation.")
	s.say("set magnet 3.5", graph.Interrupted, "set")
	s.say("yes", graph.Done, "magnet is 3.5")
	data, err := os.ReadFile(filepath.Join(string(s.machine), "magnet.pv"))
	if err != nil || string(data) != "3.5\n" {
		t.Errorf("the channel: %q, %v", data, err)
	}
	s.say("/code!:none", "", "")
	s.say("set magnet 4", graph.Done, "magnet is 4")
	s.say("/writes:off set magnet 5", graph.Done, "writes are off")
}

// Requirement: notebooks are never shown
func TestPython_LeavesANotebook(t *testing.T) {
	s := begin(t)
	s.say("python print(2 ** 10)", graph.Interrupted, "python")
	r := s.say("yes", graph.Done, "1024")
	commands := r.State.UI.LaunchableCommands.Slice()
	if len(commands) != 1 || commands[0].Type != "notebook" || strings.Contains(r.Text, commands[0].URI) {
		t.Fatalf("commands: %+v; reply: %s", commands, r.Text)
	}
	data, err := os.ReadFile(commands[0].URI)
	var notebook struct {
		Cells []struct{ Source string }
	}
	if err == nil {
		err = json.Unmarshal(data, &notebook)
	}
	if err != nil || len(notebook.Cells) != 1 || notebook.Cells[0].Source != "print(2 ** 10)" {
		t.Errorf("the notebook: %s, %v", data, err)
	}
	s.say("/code!:epics_writes", "", "")
	s.say("python print(6 * 7)", graph.Done, "42")
	s.say("python print(", graph.Done, "SyntaxError")
}

func TestNeedsApproval_ReadsTheSettings(t *testing.T) {
	for text, want := range map[string][2]bool{ // code that writes, and code that does not
		`{}`: {true, true},
		`{"python_execution_approval_enabled":false}`:                {false, false},
		`{"python_execution_approval_mode":"epics_writes"}`:          {true, false},
		`{"python_execution_approval_mode":"all_code"}`:              {true, true},
		`{"python_execution_approval_enabled":"yes"}`:                {true, true},
		`{"python_execution_approval_mode":["epics_writes"],"x":[]}`: {true, true},
	} {
		var settings agent.Settings
		if err := json.Unmarshal([]byte(text), &settings); err != nil {
			t.Fatal(err)
		}
		writes, _ := needsApproval(settings, true)
		reads, _ := needsApproval(settings, false)
		if got := [2]bool{writes, reads}; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
