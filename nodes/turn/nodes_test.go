package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

func TestSteps_IndependentOnesRunInParallel(t *testing.T) {
	gate := make(chan string, 3)
	all := make(chan struct{})
	slow := capabilities.Func(capabilities.Info{Name: "find", Description: "d", Provides: []string{"RAIN"}}, func(_ context.Context, c *capabilities.Call) error {
		gate <- c.Step.ContextKey
		<-all // none continues before all have begun
		return c.Store(Rain{c.Step.ContextKey})
	})
	c := turn.Config{Manager: manager(t), Capabilities: registry(t, slow, plot())}
	in := agent.InputList{{Type: "RAIN", Key: "c"}, {Type: "RAIN", Key: "a"}, {Type: "RAIN", Key: "b"}}
	c.Plan = script[turn.PlanRequest](t, gives(plans(
		agent.Step{Capability: "find", ContextKey: "a"}, agent.Step{Capability: "find", ContextKey: "b"}, agent.Step{Capability: "find", ContextKey: "c"},
		agent.Step{Capability: "plot", ContextKey: "p", Inputs: in, DependsOn: []string{"a", "b", "c"}},
	)))
	store := &checkpoint.Memory{}
	go func() {
		for range 3 {
			<-gate
		}
		close(all)
	}()
	res := say(t, compile(t, c, store), "t1", "draw all")
	contains(t, answer(t, res.State), `{"of":["c","a","b"]}`)
	same(t, "index", res.State.Planning.CurrentStepIndex.Get(), 5)
	contains(t, strings.Join(ran(t, store, "t1"), ""), "[find find find][router][plot][router][respond]")
	var status []string
	for _, u := range res.State.StatusUpdates.All() {
		status = append(status, u.Message)
	}
	contains(t, strings.Join(status, "|"), "Executing find…|Executing find…|Executing find…|Executing plot…")
}

func TestSteps_FailureNextToASuccessIsStoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		runs := map[string]int{}
		work := capabilities.Func(capabilities.Info{Name: "work", Description: "d", Retry: graph.Retry{Attempts: 3, Initial: time.Second}}, func(_ context.Context, c *capabilities.Call) error {
			mu.Lock()
			runs[c.Step.ContextKey]++
			mu.Unlock()
			if c.Step.ContextKey == "a" && c.Attempt < 3 {
				return agent.Failed(agent.Retriable, errors.New("busy"))
			}
			return nil
		})
		c := turn.Config{Manager: manager(t), Capabilities: registry(t, work)}
		c.Manager.Clock = nil
		c.Plan = script[turn.PlanRequest](t, gives(plans(
			agent.Step{Capability: "work", ContextKey: "a"}, agent.Step{Capability: "work", ContextKey: "b"}, agent.Step{Capability: agent.ToRespond, DependsOn: []string{"b"}},
		)))
		began := time.Now()
		res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "work")
		same(t, "status", res.Status, graph.Done)
		same(t, "runs", fmt.Sprint(runs), "map[a:3 b:1]")
		same(t, "waited", time.Since(began), 3*time.Second)
		same(t, "error", res.State.Control.HasError.Get(), false)
	})
}

func TestRetryWait_ContinuesInAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := realTime(t)
		c.Extract = func(context.Context, turn.ExtractRequest) (turn.Task, error) {
			if n++; n == 1 {
				return turn.Task{}, agent.Failed(agent.Retriable, errors.New("busy"))
			}
			return turn.Task{Text: "x"}, nil
		}
		c.Retry = map[string]graph.Retry{agent.ToExtraction: {Attempts: 2, Initial: time.Minute}}
		store := &checkpoint.Memory{}
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		began := time.Now()
		_, err := compile(t, c, store).Invoke(ctx, agent.State{Messages: message.LogOf(message.User("x"))}, graph.RunOptions{Thread: "t1"})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want the end of the context: the wait does not listen to it", err)
		}
		res := resume(t, compile(t, c, store), graph.Answers{})
		same(t, "status", res.Status, graph.Done)
		same(t, "waited", time.Since(began), time.Minute)
	})
}

func TestMatches_AreBoundedAndAFailureIsANo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []capabilities.Capability
		for n := range 7 {
			all = append(all, capabilities.Func(capabilities.Info{Name: fmt.Sprint("c", n), Description: "d", AlwaysActive: n == 6}, func(context.Context, *capabilities.Call) error { return nil }))
		}
		c := turn.Config{Manager: manager(t), Capabilities: registry(t, all...)}
		c.Manager.Clock = nil
		c.Manager.Config = func() (agent.Settings, error) { return agent.Settings{MaxConcurrentClassifications: new(2)}, nil }
		c.Match = func(_ context.Context, r turn.MatchRequest) (bool, error) {
			time.Sleep(time.Second)
			switch r.Capability.Name {
			case "c1":
				return true, errors.New("who knows")
			case "c3":
				panic("ouch")
			case "c6":
				t.Error("a capability that is always active is asked about")
			}
			return r.Capability.Name != "c2", nil
		}
		began := time.Now()
		res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "go")
		same(t, "took", time.Since(began), 3*time.Second) // six questions, two at once
		sameList(t, "active", res.State.Planning.ActiveCapabilities.Slice(), []string{"respond", "clarify", "c6", "c0", "c4", "c5"})
	})
}

func TestBypasses_UseAllMessagesAndCapabilities(t *testing.T) {
	c := config(t)
	c.Manager.Config = func() (agent.Settings, error) {
		return agent.Settings{TaskExtractionBypass: new(true), CapabilitySelectionBypass: new(true)}, nil
	}
	never := func() { t.Error("what is bypassed was called") }
	c.Extract = func(context.Context, turn.ExtractRequest) (turn.Task, error) { never(); return turn.Task{}, nil }
	c.Match = func(context.Context, turn.MatchRequest) (bool, error) { never(); return false, nil }
	c.Sources = []turn.Source{{Name: "news", Retrieve: func(context.Context, turn.ExtractRequest) (string, error) { return "it rains", nil }}}
	res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "draw")
	contains(t, res.State.Task.Current.Get(), "news:\nit rains", "1. USER (12:00:00): draw")
	same(t, "depends on history", res.State.Task.DependsOnChatHistory.Get(), true)
	sameList(t, "active", res.State.Planning.ActiveCapabilities.Slice(), []string{"respond", "clarify", "find", "plot"})
}

func TestAnswer_FailureIsAnApologyWithTheResults(t *testing.T) {
	for name, give := range map[string]func() (string, error){
		"fails": fails[string](agent.Critical, "no words"), "is empty": gives(" \n"), "is no text": gives("\xff"),
	} {
		c := config(t)
		c.Answer = script[turn.AnswerRequest](t, give)
		res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "draw")
		same(t, name, res.Status, graph.Done)
		if text := answer(t, res.State); name == "is no text" {
			same(t, name, text, "�")
		} else {
			contains(t, text, "I am sorry", "PICTURE.plot")
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c := realTime(t)
		c.Answer = script[turn.AnswerRequest](t, fails[string](agent.Retriable, "busy"), gives("there"))
		same(t, "tried again", answer(t, say(t, compile(t, c, &checkpoint.Memory{}), "t1", "draw").State), "there")
	})
}

func TestClarify_AsksOneToFourQuestions(t *testing.T) {
	c := config(t)
	c.Plan = script[turn.PlanRequest](t, gives(plans(agent.Step{Capability: " Clarify "})))
	same(t, "by rule", answer(t, say(t, compile(t, c, &checkpoint.Memory{}), "t1", "that one").State), `1. What exactly do you mean by "that one"?`)
	c.Clarify = script[turn.AnswerRequest](t, gives(turn.Clarification{Reason: "Which?", Questions: []string{"a", "", "b", "c", "d", "e"}}))
	same(t, "bounded", answer(t, say(t, compile(t, c, &checkpoint.Memory{}), "t1", "x").State), "Which?\n\n1. a\n2. b\n3. c\n4. d")
}

func TestReport_ListsStepsAndIsExplained(t *testing.T) {
	for name, explain := range map[string]func(context.Context, turn.Report) (string, error){
		"explained": func(_ context.Context, r turn.Report) (string, error) { return "Look at " + r.Node + ".", nil },
		"silent":    func(context.Context, turn.Report) (string, error) { return "nothing", errors.New("down") },
		"panics":    func(context.Context, turn.Report) (string, error) { panic("ouch") },
	} {
		c := config(t)
		c.Explain = explain
		c.Capabilities = registry(t, find(), capabilities.Func(capabilities.Info{Name: "plot", Description: "draws"}, func(context.Context, *capabilities.Call) error {
			return errors.New("no paper")
		}))
		text := answer(t, say(t, compile(t, c, &checkpoint.Memory{}), "t1", "draw").State)
		contains(t, text, "**Task**: draw", "**Where**: plot", "no paper", "**Done**: Step 1: finds rain", "**Not done**: Step 2: draws")
		same(t, name, strings.HasSuffix(text, "\n\nLook at plot."), name == "explained")
	}
}

// Requirement: the error of a node is lost
func TestFailure_FatalFailsTheRun(t *testing.T) {
	for _, change := range []func(c *turn.Config){
		func(c *turn.Config) {
			c.Extract = script[turn.ExtractRequest](t, fails[turn.Task](agent.Fatal, "broken"))
		},
		func(c *turn.Config) {
			c.Capabilities = registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "d"}, func(context.Context, *capabilities.Call) error {
				return agent.Failed(agent.Fatal, errors.New("broken"))
			}))
		},
	} {
		c := config(t)
		change(&c)
		_, err := compile(t, c, &checkpoint.Memory{}).Invoke(t.Context(), agent.State{Messages: message.LogOf(message.User("x"))}, graph.RunOptions{Thread: "t1"})
		if err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("got %v", err)
		}
	}
}

func TestTask_EmptyEndsTheTurn(t *testing.T) {
	c := config(t)
	c.Extract = script[turn.ExtractRequest](t, gives(turn.Task{Text: " "}))
	contains(t, answer(t, say(t, compile(t, c, &checkpoint.Memory{}), "t1", "x").State), "there is no task")
	res, err := compile(t, config(t), nil).Invoke(t.Context(), agent.State{}, graph.RunOptions{}) // no message at all
	must(t, err)
	contains(t, answer(t, res.State), "there is no task")
}

// Shop is a state of the user.
type Shop struct {
	agent.State
	Station state.Value[string] `json:"station"`
}

func TestNode_ConnectsATurnByHand(t *testing.T) {
	tn, err := turn.New(config(t))
	must(t, err)
	at := func(s *Shop) *agent.State { return &s.State }
	b := graph.New[Shop]("agent")
	turn.Add(b, tn, at)
	b.Node("sign", graph.Func(func(_ context.Context, s *Shop) error { s.Station.Set("Seattle"); return nil }))
	b.Edge(graph.Start, "sign")
	b.Edge("sign", graph.End)
	g, err := b.Compile(graph.Config{})
	must(t, err)
	in := Shop{}
	in.Messages = message.LogOf(message.User("draw"))
	res, err := g.Invoke(t.Context(), in, graph.RunOptions{})
	must(t, err)
	contains(t, answer(t, res.State.State), "PICTURE.plot")
	same(t, "station", res.State.Station.Get(), "Seattle")

	hand := graph.New[Shop]("by hand") // two nodes alone
	hand.Node("task", turn.Node(at, tn.Extraction))
	hand.Node("say", turn.Node(at, tn.Respond))
	hand.Edge(graph.Start, "task")
	hand.Edge("task", "say")
	hand.Edge("say", graph.End)
	h, err := hand.Compile(graph.Config{})
	must(t, err)
	res, err = h.Invoke(t.Context(), in, graph.RunOptions{})
	must(t, err)
	contains(t, answer(t, res.State.State), "I found nothing about this: draw")
}

func TestConfig_EveryMistakeIsReported(t *testing.T) {
	_, err := turn.New(turn.Config{
		Manager:      manager(t),
		Capabilities: registry(t, capabilities.Func(capabilities.Info{Name: "router", Description: "d", Provides: []string{"SNOW"}}, func(context.Context, *capabilities.Call) error { return nil })),
		Sources:      []turn.Source{{}}, SourcesWithin: -1, ApprovalWithin: -1, ExplainWithin: -1,
		Retry:          map[string]graph.Retry{"find": {}, agent.ToError: {Attempts: -1}},
		OnRejectedPlan: "sulk",
	})
	if err == nil {
		t.Fatal("it is accepted")
	}
	contains(t, err.Error(), `"router" is the name of a node`, `"SNOW"`, "source 1", "SourcesWithin", "ApprovalWithin", "ExplainWithin", `(got "find")`, `policy of "error"`, `"sulk"`)
	if _, err := turn.Graph("agent", turn.Config{SourcesWithin: -1}, graph.Config{}); err == nil {
		t.Error("Graph accepts it")
	}
}

func TestEvents_ReportTheProgress(t *testing.T) {
	g := compile(t, config(t), nil)
	var got []string
	for ev, err := range g.Stream(t.Context(), agent.State{Messages: message.LogOf(message.User("draw"))}, graph.RunOptions{Modes: graph.Custom}) {
		must(t, err)
		if u, ok := ev.Payload.(agent.StatusUpdate); ok {
			got = append(got, u.Metadata["phase"]+u.Metadata["step"]+" "+u.Message)
		}
	}
	sameList(t, "status", got, []string{"Task Preparation1 Extracting the task…", "Task Preparation2 Choosing capabilities…", "Task Preparation3 Planning…",
		"Execution1 Executing find…", "Execution2 Executing plot…", " Writing the answer…"})
}
