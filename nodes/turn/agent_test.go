package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// newAgent returns an agent and the tasks of its turns.
func newAgent(t testing.TB, c turn.Config, store checkpoint.Store) (*turn.Agent[agent.State], *[]string) {
	t.Helper()
	var tasks []string
	c.Extract = func(_ context.Context, r turn.ExtractRequest) (turn.Task, error) {
		tasks = append(tasks, r.Query)
		return turn.Task{Text: r.Query}, nil
	}
	return turn.NewAgent(compile(t, c, store), c.Manager), &tasks
}

func send(t testing.TB, g *turn.Agent[agent.State], text string) turn.Reply[agent.State] {
	t.Helper()
	r, err := g.Say(t.Context(), "t1", text)
	must(t, err)
	return r
}

func refuses(t testing.TB, g *turn.Agent[agent.State], text string, want ...string) {
	t.Helper()
	_, err := g.Say(t.Context(), "t1", text)
	var c *turn.CommandError
	if !errors.As(err, &c) {
		t.Errorf("%s: got %v, want a *CommandError", text, err)
		return
	}
	contains(t, err.Error(), want...)
}

// Requirement: a message with only commands becomes a task
func TestCommandsAlone_RunNothingAndKeepSettings(t *testing.T) {
	store := &checkpoint.Memory{}
	g, tasks := newAgent(t, config(t), store)
	for _, text := range []string{"/help", "/planning!:on", "/task!:off /caps!:off", "/status", "", "  ", "/exit"} {
		r := send(t, g, text)
		same(t, text+": kind", r.Kind, turn.NoRun)
		same(t, text+": status", r.Status, "")
	}
	same(t, "turns", len(*tasks), 0)
	refuses(t, g, "/planning:on", "/planning:on", `with "!"`)
	refuses(t, g, "/planing:on draw", "/planing:on", "no such command", "did you mean /planning?")
	refuses(t, g, "/planning:maybe /nonsense draw", "on, off", "/nonsense")
	refuses(t, g, "/help! x", "must follow a command that changes settings")
	refuses(t, g, "/status:now", "takes no option")
	refuses(t, g, "/approve", "no question is open")
	same(t, "turns", len(*tasks), 0)

	g, tasks = newAgent(t, config(t), &checkpoint.Memory{})
	for text, want := range map[string]string{
		"/etc/hosts is missing":       "/etc/hosts is missing",
		"what is  in\n/etc/hosts?":    "what is  in\n/etc/hosts?",
		"-- /planning:on is a word":   "/planning:on is a word",
		"/approval:off -- /help me":   "/help me",
		"/approval:off  draw  it":     "draw  it",
		"-- a dash":                   "-- a dash",
		"/ 2":                         "/ 2",
		"a /planning:on in the midst": "a /planning:on in the midst",
	} {
		*tasks = nil
		send(t, g, text)
		sameList(t, text, *tasks, []string{want})
	}

	r := send(t, g, "/planning!:on") // using one command does not reset others
	contains(t, r.Text, "/planning:on is set for this conversation")
	r = send(t, g, "/approval:off draw")
	same(t, "status", r.Status, graph.Interrupted)
	set := g.Manager.Settings(&r.State)
	same(t, "planning", *set.PlanningMode, true)
	same(t, "approval", *set.ApprovalMode, agent.ApproveNothing)
	same(t, "memory", *set.MemoryApproval, true)
	send(t, g, "yes")
	set = g.Manager.Settings(new(send(t, g, "and again").State))
	same(t, "planning in the next turn", *set.PlanningMode, true)
	same(t, "approval in the next turn", *set.ApprovalMode, agent.ApproveSelected)
}

func TestCommands_SettingBeforeTheFirstMessage(t *testing.T) {
	g, tasks := newAgent(t, config(t), &checkpoint.Memory{})
	send(t, g, "/planning!")
	contains(t, send(t, g, "/config").Text, `"planning_mode_enabled": true`)
	r := send(t, g, "draw")
	same(t, "status", r.Status, graph.Interrupted)
	contains(t, r.Text, "Carry out this plan?", "1. find", "Answer yes, or no and why")
	send(t, g, "/planning!:off") // while a question is open
	r = send(t, g, "yes")
	same(t, "status", r.Status, graph.Done)
	same(t, "status", send(t, g, "again").Status, graph.Done)
	same(t, "turns", len(*tasks), 2)
}

// A turn keeps its settings when another process with another configuration resumes it.
func TestTurn_KeepsItsSettingsInANewConfiguration(t *testing.T) {
	asks := capabilities.Func(capabilities.Info{Name: "write", Description: "writes", Approval: capabilities.AlwaysApproval},
		func(context.Context, *capabilities.Call) error { return nil })
	with := func(set agent.Settings) turn.Config {
		c := turn.Config{Manager: manager(t), Capabilities: registry(t, asks)}
		c.Manager.Config = func() (agent.Settings, error) { return set, nil }
		return c
	}
	own := map[string]json.RawMessage{"theme": json.RawMessage(`"dark"`)}
	before := agent.Settings{PlanningMode: new(true), MaxExecutionSeconds: new(900), ApprovalMode: new(agent.ApproveAll), Own: own}
	after := agent.Settings{PlanningMode: new(false), MaxExecutionSeconds: new(60), ApprovalMode: new(agent.ApproveNothing), MaxStepRetries: new(5)}
	begins := map[string]func(c turn.Config, store checkpoint.Store) graph.Status{
		"agent": func(c turn.Config, store checkpoint.Store) graph.Status {
			g, _ := newAgent(t, c, store)
			a, err := g.Read(t.Context(), "t1", "write it")
			must(t, err)
			same(t, "stored with the input", *a.Input.AgentControl.Get().MaxExecutionSeconds, 900)
			return send(t, g, "write it").Status
		},
		"graph": func(c turn.Config, store checkpoint.Store) graph.Status {
			return say(t, compile(t, c, store), "t1", "write it").Status
		},
	}
	for name, begin := range begins {
		store := &checkpoint.Memory{}
		same(t, name+": the plan is shown", begin(with(before), store), graph.Interrupted)
		g, _ := newAgent(t, with(after), store)
		r := send(t, g, "yes") // to the plan
		same(t, name+": the capability is approved", r.Status, graph.Interrupted)
		set := g.Manager.Settings(&r.State)
		same(t, name+": planning", *set.PlanningMode, true)
		same(t, name+": seconds", *set.MaxExecutionSeconds, 900)
		same(t, name+": step retries", *set.MaxStepRetries, 0)
		same(t, name+": own", string(set.Own["theme"]), `"dark"`)
		same(t, name+": end", send(t, g, "yes").Status, graph.Done)
		r = send(t, g, "write it")
		same(t, name+": the next turn", r.Status, graph.Done)
		same(t, name+": seconds of the next turn", *g.Manager.Settings(&r.State).MaxExecutionSeconds, 60)
	}
}

// A reply reports whether a turn ended because of a failure.
func TestReply_HasTheFailureOfTheTurn(t *testing.T) {
	broken := func(severity agent.Severity) turn.Config {
		c := config(t)
		c.Capabilities = registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "finds"},
			func(context.Context, *capabilities.Call) error {
				return agent.Failed(severity, errors.New("the line is cut"))
			}))
		return c
	}
	mute := config(t)
	mute.Answer = func(context.Context, turn.AnswerRequest) (string, error) {
		return "", agent.Failed(agent.Critical, errors.New("the model is dead"))
	}
	noTask := config(t)
	noTask.Extract = func(context.Context, turn.ExtractRequest) (turn.Task, error) {
		return turn.Task{}, agent.Failed(agent.Critical, errors.New("the model is dead"))
	}
	for why, c := range map[string]turn.Config{"the line is cut": broken(agent.Critical), "no answer could be made: the model is dead": mute, "the model is dead": noTask} {
		g, _ := newAgent(t, c, &checkpoint.Memory{})
		if why == "the model is dead" {
			g = turn.NewAgent(compile(t, c, &checkpoint.Memory{}), c.Manager) // without the Extract of newAgent
		}
		r := send(t, g, "find it")
		same(t, why+": status of the run", r.Status, graph.Done)
		if r.Failure == nil {
			t.Errorf("%s: the reply %q has no failure", why, r.Text)
			continue
		}
		contains(t, r.Failure.Error, why)
		plain, err := g.Untyped().Say(t.Context(), "t2", "find it", nil)
		must(t, err)
		same(t, why+": plain", plain.Failure != nil, true)
	}
	g, _ := newAgent(t, config(t), &checkpoint.Memory{})
	if r := send(t, g, "find it"); r.Failure != nil {
		t.Errorf("got the failure %+v of a turn that went well", r.Failure)
	}
	runs := 0
	g, _ = newAgent(t, approving(t, "", &runs), &checkpoint.Memory{})
	send(t, g, "write it")
	if r := send(t, g, "no"); r.Status != graph.Done || r.Failure != nil {
		t.Errorf("got %s and the failure %+v of a turn that a person ended", r.Status, r.Failure)
	}
}

func TestAnswer_UnclearIsNoDecision(t *testing.T) {
	runs := 0
	g, tasks := newAgent(t, approving(t, "", &runs), &checkpoint.Memory{})
	send(t, g, "write it")
	for _, text := range []string{"hm", "yes but change the value", "maybe", "no problem, go ahead", "what would it do?", "yes and no", "no, yes"} {
		r := send(t, g, text)
		same(t, text+": kind", r.Kind, turn.NoRun)
		contains(t, r.Text, "no clear answer", `Approve "write"`)
	}
	g.Decide = func(_ context.Context, q graph.Interrupt, text string) (graph.Decision, bool, error) {
		switch text {
		case "do as you like":
			return graph.Decision{Type: graph.DecisionApprove}, true, nil
		case "fails":
			return graph.Decision{Type: graph.DecisionApprove}, true, errors.New("down")
		}
		return graph.Decision{Type: graph.DecisionApprove}, false, nil
	}
	for text, want := range map[string]turn.Kind{"fails": turn.NoRun, "hm": turn.NoRun} {
		same(t, text, send(t, g, text).Kind, want)
	}
	same(t, "runs", runs, 0)
	same(t, "a model reads it", send(t, g, "do as you like").Status, graph.Interrupted) // the second question
	same(t, "a rule reads it", send(t, g, "Yes, please!").Status, graph.Done)
	same(t, "runs", runs, 1)
	sameList(t, "turns", *tasks, []string{"write it"})
}

func TestAnswer_PlainIsReadByRules(t *testing.T) {
	for text, want := range map[string]string{
		"yes": "approve", "Y": "approve", " OK. ": "approve", "go ahead": "approve", "yes, go ahead": "approve", "Yes please": "approve", "👍": "approve",
		"no": "reject", "No!": "reject", "nope, too slow": "reject too slow", "no because I said so": "reject because i said so", "no as": "", "no - wait": "", "No: use b instead; it is newer": "reject use b instead; it is newer",
		"don’t": "reject", "yes, but not b": "", "yesterday": "", "": "", "nothing": "", "yes\nno": "", "ok computer": "", "approve": "approve", "stop": "reject",
	} {
		d, clear := turn.ParseDecision(text)
		got := strings.TrimSpace(string(d.Type) + " " + d.Message)
		if !clear {
			got = ""
		}
		same(t, fmt.Sprintf("%q", text), got, want)
	}
}

func FuzzParseDecision(f *testing.F) {
	for _, text := range []string{"yes", "no, because", "yes, no", "ok, thanks", "👍!"} {
		f.Add(text)
	}
	harmless := strings.Fields("y yes yep yeah ok okay sure approve approved accept accepted confirm confirmed go ahead on do it proceed ja 👍 please thanks thank you bitte danke")
	f.Fuzz(func(t *testing.T, text string) {
		d, clear := turn.ParseDecision(text)
		if !clear || d.Type != graph.DecisionApprove {
			return
		}
		words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return strings.ContainsRune(",.;:!?–— \t\n\r\v\f\u0085\u00a0", r) || r == ' ' || r > 0x1fff && r < 0x2070 || r == 0x1680 || r == 0x3000
		})
		for _, w := range words {
			if !slices.Contains(harmless, w) {
				t.Errorf("%q counts as a yes, and holds %q", text, w)
			}
		}
	})
}

func TestAnswers_ByTheNumbersOfTheirQuestions(t *testing.T) {
	runs := 0
	c := approving(t, "", &runs)
	c.Plan = script[turn.PlanRequest](t, gives(plans(
		agent.Step{Capability: "write", ContextKey: "a"}, agent.Step{Capability: "write", ContextKey: "b"}, agent.Step{Capability: agent.ToRespond, DependsOn: []string{"a"}},
	)))
	g, _ := newAgent(t, c, &checkpoint.Memory{})
	r := send(t, g, "write both")
	same(t, "questions", len(r.Questions), 2)
	contains(t, r.Text, "1. Approve", "2. Approve", "/approve:all")
	same(t, "to whom?", send(t, g, "yes").Kind, turn.NoRun)
	same(t, "there is no third", send(t, g, "3 yes").Kind, turn.NoRun)
	refuses(t, g, "/approve", "2 questions are open")
	refuses(t, g, "/approve:3", "there is no question")
	refuses(t, g, "/approve:all and more", "takes no text")
	same(t, "one is left", len(send(t, g, "2: yes").Questions), 1)
	r = send(t, g, "/approve") // the last of the first two; both then ask for their values
	same(t, "both ask again", len(r.Questions), 2)
	contains(t, send(t, g, "/pending").Text, "1. Approve", "2. Approve")
	refuses(t, g, "/edit:1 {", "JSON")
	same(t, "one is left", len(send(t, g, `/edit:1 "nine"`).Questions), 1)
	r = send(t, g, "/approve:all")
	same(t, "status", r.Status, graph.Done)
	contains(t, r.Text, `RAIN.a: rain in "nine"`, `RAIN.b: rain in "7"`)
	same(t, "runs", runs, 2)
}

// Requirement: a message during a question changes its plan
func TestAgent_WaitingTurnIsAnsweredOrDropped(t *testing.T) {
	for text, want := range map[string][]string{
		"/reject too dangerous": {"too dangerous"}, "no, too dangerous": {"too dangerous"}, "/cancel I must go": {"the turn was ended instead of deciding about writes a value (write): I must go"},
	} {
		runs := 0
		g, _ := newAgent(t, approving(t, "", &runs), &checkpoint.Memory{})
		send(t, g, "write it")
		r := send(t, g, text)
		same(t, text, r.Status, graph.Done)
		contains(t, r.Text, want...)
		same(t, text+": runs", runs, 0)
	}
	runs := 0
	g, tasks := newAgent(t, approving(t, "", &runs), &checkpoint.Memory{})
	send(t, g, "write it")
	refuses(t, g, "/new", "a message must follow it")
	refuses(t, g, "/planning:on yes", "a turn waits")
	same(t, "another turn", send(t, g, "/planning:off /new something else").Status, graph.Interrupted)
	sameList(t, "turns", *tasks, []string{"write it", "something else"})
}

func TestRead_ChangesNothing(t *testing.T) {
	g, tasks := newAgent(t, config(t), &checkpoint.Memory{})
	a, err := g.Read(t.Context(), "t1", "/approval:off draw")
	must(t, err)
	same(t, "kind", a.Kind, turn.Begin)
	query, _ := a.Input.UserQuery()
	same(t, "message", query, "draw")
	same(t, "approval", *a.Input.AgentControl.Get().ApprovalMode, agent.ApproveNothing)
	same(t, "turns", len(*tasks), 0)
	r, err := g.Apply(t.Context(), a)
	must(t, err)
	contains(t, r.Text, "/approval:off is set for this turn", "PICTURE.plot")
	a, err = g.Read(t.Context(), "t1", "/clear /exit")
	must(t, err)
	sameList(t, "for the user interface", a.UI, []string{"clear", "exit"})
}

func TestAnswers_ToOtherQuestionsAreReadByTheirSchemas(t *testing.T) {
	for _, tt := range []struct {
		ask  func(context.Context) (any, error)
		text string
		want string
	}{
		{asks[bool], "Yes!", "true"}, {asks[bool], "no", "false"}, {asks[bool], "hm", ""},
		{asks[string], "yes, all", "yes, all"}, {asks[int], "7", "7"}, {asks[int], "seven", ""},
		{asks[[]string], `["a"]`, "[a]"},
	} {
		b := graph.New[agent.State]("asks")
		b.Node("ask", graph.Func(func(ctx context.Context, s *agent.State) error {
			v, err := tt.ask(ctx)
			if err == nil {
				err = s.Messages.Add(messageOf(v))
			}
			return err
		}))
		b.Edge(graph.Start, "ask")
		b.Edge("ask", graph.End)
		g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}})
		must(t, err)
		d := turn.NewAgent(g, manager(t))
		send(t, d, "go")
		r := send(t, d, tt.text)
		if tt.want == "" {
			same(t, tt.text, r.Kind, turn.NoRun)
			continue
		}
		same(t, tt.text, r.Text, tt.want)
	}
}

func TestCommands_MistakesAreReportedTogether(t *testing.T) {
	_, err := turn.NewCommands(turn.Command{Name: "a b", Do: "x"}, turn.Command{Name: "x", Aliases: []string{"x"}, Do: "x"},
		turn.Command{Name: "y"}, turn.Command{Name: "z", Default: "on", Do: "z"})
	if err == nil {
		t.Fatal("they are accepted")
	}
	contains(t, err.Error(), `"a b"`, "/x is defined twice", "/y does nothing", `"on" of /z`)
	own, err := turn.NewCommands(append(turn.BuiltinCommands(), turn.Command{Name: "logs", Help: "shows logs", Do: "logs"})...)
	must(t, err)
	sameList(t, "names", own.Complete("/c"), []string{"/c", "/cancel", "/capabilities", "/caps", "/clear", "/cls", "/config", "/continue"})
	sameList(t, "options", own.Complete("/planning!:o"), []string{"/planning!:off", "/planning!:on"})
	sameList(t, "a word", own.Complete("c"), nil)
	sameList(t, "unknown", own.Complete("/ghost:"), nil)
	g, _ := newAgent(t, config(t), &checkpoint.Memory{})
	g.Commands = own
	sameList(t, "of one's own", send(t, g, "/logs").UI, []string{"logs"})
	contains(t, send(t, g, "/help").Text, "/logs shows logs", "/planning[!][:on|off]", "(also /h, /?)")
	contains(t, send(t, g, "/?:planning").Text, "shows each plan")
	refuses(t, g, "/help:ghost", "no such command")
	g.PassUnknown = true
	ghost := send(t, g, "/ghost draw").State
	contains(t, ghost.Task.Current.Get(), "/ghost draw")
}

// A conversation with each turn in another process, on both stores. Contexts stay, and questions
// wait.
func TestConversation_ContinuesInOtherProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weft.db")
	memory := &checkpoint.Memory{}
	for name, open := range map[string]func() checkpoint.Store{
		"memory": func() checkpoint.Store { return memory },
		"sqlite": func() checkpoint.Store {
			s, err := sqlite.Open(t.Context(), path)
			must(t, err)
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			var last turn.Reply[agent.State]
			for _, text := range []string{"/planning!:on", "find the rain", "yes", "/planning!:off draw those", "/config", "and again"} {
				store := open()
				g, _ := newAgent(t, config(t), store)
				last = send(t, g, text)
				if store != checkpoint.Store(memory) {
					closes(store)
				}
			}
			same(t, "status", last.Status, graph.Done)
			same(t, "messages", last.State.Messages.Len(), 6)
			rain, err := agent.Get[Rain](manager(t).LoadContexts(&last.State), "find")
			must(t, err)
			same(t, "rain", rain.Column, "column find")
		})
	}
}

func TestAgent_WorksWithoutAStore(t *testing.T) {
	c := config(t)
	g := turn.NewAgent(compile(t, c, nil), c.Manager)
	r, err := g.Say(t.Context(), "", "draw")
	must(t, err)
	contains(t, r.Text, "PICTURE.plot")
	contains(t, func() string { r, err := g.Say(t.Context(), "", "/status"); must(t, err); return r.Text }(), "There are no messages yet")
	if _, err := g.Say(t.Context(), "", "/planning!:on"); !errors.Is(err, graph.ErrNoStore) {
		t.Errorf("got %v for a setting that cannot be stored", err)
	}
}
