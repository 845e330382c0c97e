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

// Command is a slash command: /name, /name:option, or with /name! for the thread instead of the turn.
type Command struct {
	Name    string // a letter or _, then letters, digits, _ and -
	Aliases []string
	Help    string // one line
	// Options are the valid ones; nil takes none. Default is the option where none is given; "" asks
	// for one, unless Options has "".
	Options []string
	Default string
	// AnyOption takes every option, and none.
	AnyOption bool
	// Text says that the command takes the rest of the message: a reason, a message, JSON.
	Text bool
	// Capability says that the option names a capability of the graph: others are refused, and it is completed.
	Capability bool
	// Hidden ones are neither in the help nor completed.
	Hidden bool
	// Settings are what an option sets, for the turn or with "!" for the thread; nil sets none, and then "!" is an error.
	Settings func(option string) agent.Settings
	// Do names what the gateway or the user interface is to do: see the constants. Both are handed on in Act.UI
	// where the gateway does not know them.
	Do string
}

// What the gateway does for a command. Other words are for the user interface.
const (
	DoHelp    = "help"
	DoConfig  = "config"  // shows the settings in force
	DoStatus  = "status"  // shows where the thread stands
	DoPending = "pending" // shows the open questions
	DoApprove = "approve"
	DoReject  = "reject"
	DoEdit    = "edit"
	DoCancel  = "cancel" // declines all open questions
	DoNew     = "new"    // begins a turn although questions are open
	// DoContinue goes on with a turn that was cut off or failed: see [Gateway.GoOn].
	DoContinue = "continue"
)

// CommandError is returned for a command that cannot be carried out. Nothing was done. Its text is for the user.
type CommandError struct {
	Name    string
	Why     string
	Suggest string // a command that may have been meant; "" is none
}

func (e *CommandError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Name, e.Why)
	if e.Suggest != "" {
		text += fmt.Sprintf("; did you mean %s?", e.Suggest)
	}
	return text
}

// BuiltinCommands returns the commands that every gateway has unless it is given others.
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
		{Name: "config", Help: "shows the settings in force; /help config says what they are", Do: DoConfig},
		{Name: "status", Help: "shows where the conversation stands", Do: DoStatus},
		{Name: "pending", Help: "shows the open questions", Do: DoPending},
		{Name: "approve", Help: "says yes to the open question: " + which, AnyOption: true, Do: DoApprove},
		{Name: "reject", Help: "says no to the open question, with a reason behind it: " + which, AnyOption: true, Text: true, Do: DoReject},
		{Name: "edit", Help: "says yes to what the JSON behind it makes of the open question", AnyOption: true, Text: true, Do: DoEdit},
		{Name: "cancel", Help: "ends the turn that waits, with a reason behind it", Text: true, Do: DoCancel},
		{Name: "new", Help: "begins with the message behind it, and drops the turn that waits", Text: true, Do: DoNew},
		{Name: "continue", Help: "goes on with a turn that was cut off or failed", Do: DoContinue},
		{Name: "planning", Help: "shows each plan before it is carried out", Options: onOff, Default: "on",
			Settings: flag(func(s *agent.Settings, v *bool) { s.PlanningMode = v }, "on")},
		{Name: "approval", Help: "says what needs approval", Options: []string{"on", "off", "selective"}, Default: "on", Settings: approvalMode},
		{Name: "task", Help: "extracts a task of the conversation, or takes it whole", Options: onOff, Default: "on",
			Settings: flag(func(s *agent.Settings, v *bool) { s.TaskExtractionBypass = v }, "off")},
		{Name: "caps", Aliases: []string{"capabilities"}, Help: "chooses capabilities, or takes all", Options: onOff, Default: "on",
			Settings: flag(func(s *agent.Settings, v *bool) { s.CapabilitySelectionBypass = v }, "off")},
		{Name: "pin", Help: "leaves one capability to choose, named behind a colon; without a name all are there again", AnyOption: true, Capability: true,
			Settings: func(option string) agent.Settings { return agent.Settings{PinnedCapability: &option} }},
		{Name: "clear", Aliases: []string{"cls", "c"}, Help: "clears the screen", Do: "clear"},
		{Name: "exit", Aliases: []string{"quit", "bye", "q"}, Help: "leaves", Do: "exit"},
	}
}

func approvalMode(option string) agent.Settings {
	mode := map[string]string{"on": agent.ApproveAll, "off": agent.ApproveNothing, "selective": agent.ApproveSelected}[option]
	return agent.Settings{ApprovalMode: &mode}
}

// Commands are slash commands by name. They do not change.
type Commands struct {
	all    []Command
	byName map[string]*Command // and by alias
}

var builtin = func() *Commands {
	c, err := NewCommands(BuiltinCommands()...)
	if err != nil {
		panic(err) // a test holds that it cannot be
	}
	return c
}()

var commandName = regexp.MustCompile(`^(\?|[A-Za-z_][A-Za-z0-9_-]*)$`)

// NewCommands returns commands, or an error that joins every mistake: a name that is taken or none, a default that is
// no option, a command that does nothing.
func NewCommands(all ...Command) (*Commands, error) {
	c := &Commands{slices.Clone(all), map[string]*Command{}}
	var errs []error
	for i := range c.all {
		cmd := &c.all[i]
		for _, name := range append([]string{cmd.Name}, cmd.Aliases...) {
			key := strings.ToLower(name)
			if !commandName.MatchString(name) {
				errs = append(errs, fmt.Errorf("turn: command %d: %q is no name for a command", i+1, name))
			} else if c.byName[key] != nil {
				errs = append(errs, fmt.Errorf("turn: the command /%s is there twice", name))
			}
			c.byName[key] = cmd
		}
		if cmd.Default != "" && !slices.Contains(cmd.Options, cmd.Default) {
			errs = append(errs, fmt.Errorf("turn: the default %q of /%s is none of its options", cmd.Default, cmd.Name))
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

func (g *Gateway[S]) commands() *Commands {
	if g.Commands == nil {
		return builtin
	}
	return g.Commands
}

// Complete returns what a prefix can become, sorted: /name for one without a colon, /name:option for one with.
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

// Help says what the commands do; of one, if it is named.
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
	if text += " " + c.Help; len(c.Aliases) > 0 {
		text += " (also /" + strings.Join(c.Aliases, ", /") + ")"
	}
	return text
}

func (c *Commands) unknown(word string) error {
	e := &CommandError{Name: word, Why: `there is no such command; "-- " before it makes it text`}
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
