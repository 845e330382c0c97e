package turn

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/suggest"
	"github.com/weftrun/weft/state/agent"
)

// Command is a slash command: /name, /name:option, or with /name! for the thread instead of the
// turn.
type Command struct {
	Name    string // a letter or _, then letters, digits, _ and -
	Aliases []string
	Help    string // one line
	// Options are the valid options; nil takes none. Default is used when none is given. If Default
	// is "", an option is required, unless Options contains "".
	Options []string
	Default string
	// AnyOption accepts every option, and none.
	AnyOption bool
	// Text is true for a command that takes the rest of the message: a reason, a message, JSON.
	Text bool
	// Capability is true if the option must be the name of a capability. Names are completed.
	Capability bool
	// Hidden commands are neither listed nor completed.
	Hidden bool
	// Settings returns what an option sets, for the turn, or for the thread with "!". If it is nil,
	// "!" is an error.
	Settings func(option string) agent.Settings
	// Do is what the agent or the user interface does: see the constants. Other words are passed to
	// the user interface in Request.UI.
	Do string
}

// What the agent does for a command. Other words are for the user interface.
const (
	DoHelp    = "help"
	DoConfig  = "config"  // shows the settings that apply
	DoStatus  = "status"  // shows the status of the thread
	DoPending = "pending" // shows the open questions
	DoApprove = "approve"
	DoReject  = "reject"
	DoEdit    = "edit"
	DoCancel  = "cancel" // declines all open questions
	DoNew     = "new"    // begins a turn although questions are open
	// DoContinue continues a turn that failed or was cut off: see [Agent.Continue].
	DoContinue = "continue"
	// DoReset removes what a thread has: see [Agent.Reset].
	DoReset = "reset"
)

// CommandError is returned for a command that cannot run. Nothing has changed. Its text is for the
// user.
type CommandError struct {
	Name    string
	Why     string
	Suggest string // a similar command, or ""
}

func (e *CommandError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Name, e.Why)
	if e.Suggest != "" {
		text += fmt.Sprintf("; did you mean %s?", e.Suggest)
	}
	return text
}

// BuiltinCommands returns the default commands of an agent.
func BuiltinCommands() []Command {
	onOff := []string{"on", "off"}
	flag := func(set func(s *agent.Settings, on *bool), on string) func(string) agent.Settings {
		return func(option string) (s agent.Settings) {
			set(&s, new(option == on))
			return s
		}
	}
	which := "of all, or of one by its number"
	return []Command{
		{Name: "help", Aliases: []string{"h", "?"}, Help: "shows the commands, or one of them", AnyOption: true, Text: true, Do: DoHelp},
		{Name: "config", Help: "shows the settings that apply; /help config describes them", Do: DoConfig},
		{Name: "status", Help: "shows the status of the conversation", Do: DoStatus},
		{Name: "pending", Help: "shows the open questions", Do: DoPending},
		{Name: "approve", Help: "approves the open question: " + which, AnyOption: true, Do: DoApprove},
		{Name: "reject", Help: "rejects the open question, with an optional reason: " + which, AnyOption: true, Text: true, Do: DoReject},
		{Name: "edit", Help: "approves the open question with the JSON that follows", AnyOption: true, Text: true, Do: DoEdit},
		{Name: "cancel", Help: "ends the waiting turn, with an optional reason", Text: true, Do: DoCancel},
		{Name: "new", Help: "starts a turn with the message that follows, and drops the waiting turn", Text: true, Do: DoNew},
		{Name: "continue", Help: "continues a turn that was cut off or failed", Do: DoContinue},
		{Name: "reset", Help: "starts over: the messages, the contexts and the session of the conversation are removed", Do: DoReset},
		{Name: "planning", Help: "shows each plan before it runs", Options: onOff, Default: "on",
			Settings: flag(func(s *agent.Settings, v *bool) { s.PlanningMode = v }, "on")},
		{Name: "approval", Help: "sets what needs approval", Options: []string{"on", "off", "selective"}, Default: "on", Settings: approvalMode},
		{Name: "task", Help: "extracts a task from the conversation, or uses all of it", Options: onOff, Default: "on",
			Settings: flag(func(s *agent.Settings, v *bool) { s.TaskExtractionBypass = v }, "off")},
		{Name: "caps", Aliases: []string{"capabilities"}, Help: "chooses capabilities, or uses all", Options: onOff, Default: "on",
			Settings: flag(func(s *agent.Settings, v *bool) { s.CapabilitySelectionBypass = v }, "off")},
		{Name: "pin", Help: "limits the choice to one capability, named after a colon; without a name all are available", AnyOption: true, Capability: true,
			Settings: func(option string) agent.Settings { return agent.Settings{PinnedCapability: &option} }},
		{Name: "clear", Aliases: []string{"cls", "c"}, Help: "clears the screen", Do: "clear"},
		{Name: "exit", Aliases: []string{"quit", "bye", "q"}, Help: "leaves", Do: "exit"},
	}
}

func approvalMode(option string) agent.Settings {
	mode := map[string]string{"on": agent.ApproveAll, "off": agent.ApproveNothing, "selective": agent.ApproveSelected}[option]
	return agent.Settings{ApprovalMode: &mode}
}

// Commands is a set of slash commands. It is immutable.
type Commands struct {
	all    []Command
	byName map[string]*Command // and by alias
}

var builtin = func() *Commands {
	c, err := NewCommands(BuiltinCommands()...)
	if err != nil {
		panic(err) // not reachable: a test builds them
	}
	return c
}()

var commandName = regexp.MustCompile(`^(\?|[A-Za-z_][A-Za-z0-9_-]*)$`)

// NewCommands returns a set of commands, or an error that joins every mistake: a name that is
// invalid or used twice, a default that is no option, a command that does nothing.
func NewCommands(all ...Command) (*Commands, error) {
	c := &Commands{slices.Clone(all), map[string]*Command{}}
	var errs []error
	for i := range c.all {
		cmd := &c.all[i]
		for _, name := range append([]string{cmd.Name}, cmd.Aliases...) {
			key := strings.ToLower(name)
			if !commandName.MatchString(name) {
				errs = append(errs, fmt.Errorf("turn: command %d: the name must be ? or match [A-Za-z_][A-Za-z0-9_-]* (got %q)", i+1, name))
			} else if c.byName[key] != nil {
				errs = append(errs, fmt.Errorf("turn: the command /%s is defined twice", name))
			}
			c.byName[key] = cmd
		}
		if cmd.Default != "" && !slices.Contains(cmd.Options, cmd.Default) {
			errs = append(errs, fmt.Errorf("turn: the default %q of /%s is not one of its options", cmd.Default, cmd.Name))
		}
		if cmd.Do == "" && cmd.Settings == nil {
			errs = append(errs, fmt.Errorf("turn: the command /%s does nothing", cmd.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func (g *Agent[S]) commands() *Commands {
	if g.Commands == nil {
		return builtin
	}
	return g.Commands
}

// Complete returns the completions of a prefix, sorted: /name without a colon in it, /name:option
// with one.
func (c *Commands) Complete(prefix string) (all []string) {
	word, ok := strings.CutPrefix(prefix, "/")
	if !ok {
		return nil
	}
	name, option, has := strings.Cut(word, ":")
	if has {
		if cmd := c.byName[strings.TrimSuffix(strings.ToLower(name), "!")]; cmd != nil {
			for _, o := range cmd.Options {
				if strings.HasPrefix(o, option) {
					all = append(all, "/"+name+":"+o)
				}
			}
		}
	} else {
		for key, cmd := range c.byName {
			if strings.HasPrefix(key, strings.ToLower(word)) && !cmd.Hidden {
				all = append(all, "/"+key)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Help returns the help text of one command, or of all if name is "".
func (c *Commands) Help(name string) (string, error) {
	if name != "" {
		cmd := c.byName[strings.ToLower(strings.TrimPrefix(name, "/"))]
		if cmd == nil {
			return "", c.unknown("/" + name)
		}
		if cmd.Do == DoConfig {
			return cmd.help() + "\n\n" + settingsHelp(c), nil
		}
		return cmd.help(), nil
	}
	var lines []string
	for _, cmd := range c.all {
		if !cmd.Hidden {
			lines = append(lines, cmd.help())
		}
	}
	return strings.Join(lines, "\n"), nil
}

func (c *Command) help() string {
	text := "/" + c.Name
	if c.Settings != nil {
		text += "[!]"
	}
	if len(c.Options) > 0 {
		text += "[:" + strings.Join(c.Options, "|") + "]"
	}
	text += " " + c.Help
	if len(c.Aliases) > 0 {
		text += " (also /" + strings.Join(c.Aliases, ", /") + ")"
	}
	return text
}

func (c *Commands) unknown(word string) error {
	e := &CommandError{Name: word, Why: `there is no such command; to send it as text, put "-- " before it`}
	var names []string
	for key := range c.byName {
		names = append(names, key)
	}
	slices.Sort(names)
	name, _, _ := strings.Cut(strings.Trim(word, "/"), ":")
	if near := suggest.Nearest(strings.TrimSuffix(name, "!"), names); near != "" {
		e.Suggest = "/" + near
	}
	return e
}
