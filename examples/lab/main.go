// Lab is an agent of a control room. It declares three settings and a kind of command of its own,
// which the runtime stores and does not interpret:
//
//	go run ./examples/lab chat --thread shift-1 --say 'set magnet 3.5'       # writes are off
//	go run ./examples/lab chat --thread shift-1 --say '/writes!:on'
//	go run ./examples/lab chat --thread shift-1 --say 'set magnet 3.5'       # asks
//	go run ./examples/lab chat --thread shift-1 --say yes
//	go run ./examples/lab chat --thread shift-1 --say 'python print(2 ** 10)'
//
// The machine is a folder with a file for each channel: machine, or the folder that LAB_MACHINE
// names. Each calculation is also a notebook there.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/weftcli"
)

// The settings of this agent. Each can be set for a turn, for a thread, and by the program.
const (
	writesEnabled = "epics_writes_enabled"              // a bool; without it nothing is written
	codeApproval  = "python_execution_approval_enabled" // a bool; true if it is not set
	codeMode      = "python_execution_approval_mode"    // all_code, or epics_writes: only code that writes
)

func main() {
	weftcli.Main(weftcli.Config{Name: "lab", Chats: map[string]weftcli.Chat{
		"lab": func(_ context.Context, store checkpoint.Store) (turn.Untyped, error) {
			a, err := lab(store, machine(cmp.Or(os.Getenv("LAB_MACHINE"), "machine")))
			if err != nil {
				return nil, err
			}
			return a.Untyped(), nil
		},
	}})
}

// lab returns the agent of a machine.
func lab(store checkpoint.Store, m machine) (*turn.Agent[agent.State], error) {
	registry, err := capabilities.NewRegistry(set(m), python(m))
	if err != nil {
		return nil, err
	}
	types, err := agent.NewTypes(agent.TypeOf[Setpoint](), agent.TypeOf[Result]())
	if err != nil {
		return nil, err
	}
	manager := agent.StateManager{Types: types}
	g, err := turn.Graph("lab", turn.Config{Manager: manager, Capabilities: registry, Match: match}, graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	a := turn.NewAgent(g, manager)
	a.Commands, err = turn.NewCommands(append(turn.BuiltinCommands(),
		turn.Command{Name: "writes", Help: "allows writes to the machine", Options: []string{"on", "off"}, Default: "on", Settings: own(writesEnabled, map[string]any{"on": true, "off": false})},
		turn.Command{Name: "code", Help: "sets which code needs approval", Options: []string{"all_code", "epics_writes", "none"}, Default: "all_code", Settings: codeSettings})...)
	return a, err
}

// own returns the Settings function of a command that sets one setting.
func own(name string, values map[string]any) func(option string) agent.Settings {
	return func(option string) agent.Settings {
		value, _ := json.Marshal(values[option]) // a bool or a string
		return agent.Settings{Own: map[string]json.RawMessage{name: value}}
	}
}

func codeSettings(option string) agent.Settings {
	enabled := own(codeApproval, map[string]any{"all_code": true, "epics_writes": true, "none": false})(option)
	if option != "none" {
		enabled.Own[codeMode] = own(codeMode, map[string]any{option: option})(option).Own[codeMode]
	}
	return enabled
}

// needsApproval reports whether code needs approval, by the settings.
func needsApproval(s agent.Settings, writes bool) (bool, string) {
	enabled, ok, err := agent.OwnSetting[bool](s, codeApproval)
	mode, _, wrong := agent.OwnSetting[string](s, codeMode)
	switch {
	case err != nil || wrong != nil:
		return true, "the settings cannot be read"
	case ok && !enabled:
		return false, "code needs no approval"
	case mode == "epics_writes" && !writes:
		return false, "only code that writes needs approval"
	}
	return true, "code needs approval"
}

// match chooses a capability by the first word of the message.
func match(_ context.Context, r turn.MatchRequest) (bool, error) {
	first, _, _ := strings.Cut(r.Task, " ")
	return first == r.Capability.Name, nil
}
