package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// realTime returns a configuration with the clock of synctest.
func realTime(t testing.TB) turn.Config {
	c := config(t)
	c.Manager.Clock = nil
	return c
}

// Requirement: a failed preparation loops
func TestPreparation_RetriesEndAfterItsAttempts(t *testing.T) {
	down := errors.New("down")
	for node, prepare := range map[string]func(c *turn.Config, fails func() error){
		agent.ToExtraction: func(c *turn.Config, fails func() error) {
			c.Extract = func(context.Context, turn.ExtractRequest) (turn.Task, error) { return turn.Task{Text: "x"}, fails() }
		},
		agent.ToOrchestrator: func(c *turn.Config, fails func() error) {
			c.Plan = func(ctx context.Context, r turn.PlanRequest) (agent.Plan, error) {
				p, _ := turn.Chain(ctx, r)
				return p, fails()
			}
		},
	} {
		for failures := range 4 {
			synctest.Test(t, func(t *testing.T) {
				c, n := realTime(t), 0
				c.Retry = map[string]graph.Retry{node: {Attempts: 3, Initial: time.Second}}
				prepare(&c, func() error {
					if n++; n <= failures {
						return agent.Failed(agent.Retriable, down)
					}
					return nil
				})
				began := time.Now()
				res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "draw")
				what := fmt.Sprint(node, " after ", failures)
				same(t, what, n, min(failures+1, 3))
				same(t, what+": waited", time.Since(began), []time.Duration{0, time.Second, 3 * time.Second, 3 * time.Second}[failures])
				if text := answer(t, res.State); failures < 3 {
					contains(t, text, "PICTURE.plot")
				} else {
					contains(t, text, "down", "3 times of 3")
				}
			})
		}
	}
}

// Requirement: a killed turn and an unregistered step crash
func TestError_ReportsKilledTurnsAndUnknownSteps(t *testing.T) {
	c := config(t)
	c.Capabilities = registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "d"}, func(_ context.Context, c *capabilities.Call) error {
		c.State.Control.Kill("the user left")
		return nil
	}))
	g := compile(t, c, &checkpoint.Memory{})
	contains(t, answer(t, say(t, g, "t1", "find").State), "the user left")

	store := &checkpoint.Memory{} // a plan whose capability is gone in the next version of the program
	q := paused(t, say(t, compile(t, planning(t), store), "t1", "draw"), 1)[0]
	without := planning(t)
	without.Capabilities = registry(t, find())
	res := resume(t, compile(t, without, store), graph.Answer(q.ID, approve))
	contains(t, answer(t, res.State), `"plot", which is not registered`)
}

func TestTurn_PlainInputOnAnOldThread(t *testing.T) {
	store := &checkpoint.Memory{}
	g := compile(t, config(t), store)
	for n, text := range []string{"draw the rain", "and again", "and once more"} {
		res := say(t, g, "t1", text)
		contains(t, answer(t, res.State), "PICTURE.plot")
		task, _ := res.State.Task.Current.Lookup()
		same(t, "task", task, text)
		same(t, "messages", res.State.Messages.Len(), 2*n+2)
		same(t, "steps in the turn", len(ran(t, store, "t1")), 13)
	}
}

func TestStep_FailureAfterStoreLeavesNoContext(t *testing.T) {
	c := config(t)
	c.Capabilities = registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "d", Provides: []string{"RAIN"}}, func(_ context.Context, c *capabilities.Call) error {
		must(t, c.Store(Rain{}))
		return errors.New("boom")
	}))
	res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "find")
	same(t, "contexts", res.State.Context.Len(), 0)
	contains(t, answer(t, res.State), "boom")
}

func TestPlan_HardConstraintNeedsInputs(t *testing.T) {
	problems(t, plans(agent.Step{Capability: "plot", ContextKey: "p"}), "inputs of the step lack a type", "RAIN")
}

// problems returns the same plan in each attempt, and checks the problems in the last request.
func problems(t *testing.T, p agent.Plan, want ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, previous := realTime(t), ""
		c.Plan = func(_ context.Context, r turn.PlanRequest) (agent.Plan, error) {
			previous = r.Previous
			return p, nil
		}
		res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "draw")
		contains(t, previous, want...)
		contains(t, answer(t, res.State), want...)
		same(t, "steps done", res.State.Execution.StepResults.Len(), 0)
	})
}

// Requirement: an answer without inputs gets no summaries
func TestAnswer_OfNoInputsIsNotOneOfAllContexts(t *testing.T) {
	c := config(t)
	var asked []turn.AnswerRequest
	c.Answer = func(_ context.Context, r turn.AnswerRequest) (string, error) {
		asked = append(asked, r)
		return "done", nil
	}
	talk := plans(agent.Step{Capability: agent.ToRespond})
	some := plans(agent.Step{Capability: "find", ContextKey: "k"}, agent.Step{Capability: agent.ToRespond})
	gone := plans(agent.Step{Capability: agent.ToRespond, Inputs: agent.InputList{{Type: "RAIN", Key: "k"}}})
	c.Plan = script[turn.PlanRequest](t, gives(some), gives(talk), gives(gone))
	g := compile(t, c, &checkpoint.Memory{})
	for range 3 {
		say(t, g, "t1", "go")
	}
	for i, want := range []struct {
		mode  turn.Mode
		found int
	}{{turn.General, 1}, {turn.Conversational, 0}, {turn.Specific, 1}} {
		same(t, "mode", asked[i].Mode, want.mode)
		same(t, "found", len(asked[i].Found), want.found)
	}
}

func TestOrchestrator_ReportsAllProblemsAtOnce(t *testing.T) {
	problems(t, plans(
		agent.Step{Capability: "router", ContextKey: "k"}, agent.Step{Capability: "RESPOND"}, agent.Step{Capability: "find", ContextKey: "k"},
		agent.Step{Capability: "plot", ContextKey: "p", Inputs: agent.InputList{{Type: "RAIN", Key: "nowhere"}}, DependsOn: []string{"ghost"}},
		agent.Step{Capability: "find", ExpectedOutput: "PICTURE"},
	), `"router" is a node of the agent itself`, `"respond" ends the turn, and steps follow`, `"k" is that of step 1`,
		"RAIN.nowhere neither exists", `it depends on "ghost"`, `"find" does not make a PICTURE`, "has no context key")
}

// Requirement: limits of steps and of time are not enforced
func TestTimeout_OfATurnEndsANodeThatHangs(t *testing.T) {
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, change := range map[string]func(c *turn.Config){
		"extraction": func(c *turn.Config) {
			c.Extract = func(ctx context.Context, _ turn.ExtractRequest) (turn.Task, error) { return turn.Task{}, hangs(ctx) }
		},
		"matching": func(c *turn.Config) {
			c.Match = func(ctx context.Context, _ turn.MatchRequest) (bool, error) { return false, hangs(ctx) }
		},
		"planning": func(c *turn.Config) {
			c.Plan = func(ctx context.Context, _ turn.PlanRequest) (agent.Plan, error) { return agent.Plan{}, hangs(ctx) }
		},
		"a step": func(c *turn.Config) {
			c.Capabilities, _ = capabilities.NewRegistry(capabilities.Func(capabilities.Info{Name: "find", Description: "d"},
				func(ctx context.Context, _ *capabilities.Call) error { return hangs(ctx) }))
		},
		"the answer": func(c *turn.Config) {
			c.Answer = func(ctx context.Context, _ turn.AnswerRequest) (string, error) { return "", hangs(ctx) }
		},
		"what never comes further": func(c *turn.Config) {
			c.Capabilities, _ = capabilities.NewRegistry(capabilities.Func(capabilities.Info{Name: "find", Description: "d", Retry: graph.Retry{Attempts: 1e9, Initial: time.Second, Multiplier: 1}},
				func(context.Context, *capabilities.Call) error {
					return agent.Failed(agent.Retriable, errors.New("busy"))
				}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := realTime(t)
				c.Manager.Config = func() (agent.Settings, error) { return agent.Settings{MaxExecutionSeconds: new(20)}, nil }
				change(&c)
				began := time.Now()
				res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "find")
				took, why := 20*time.Second, "limit"
				if name == "what never comes further" {
					took, why = 19*time.Second, "too late" // the next attempt would begin when the time is over
				}
				same(t, "took", time.Since(began), took)
				contains(t, answer(t, res.State), why)
			})
		})
	}
}

// Requirement: a classifier without a task loops
func TestTurn_PlansAndReclassificationsAreCounted(t *testing.T) {
	for severity, want := range map[agent.Severity]string{agent.Replanning: "3 of 3 plans", agent.Reclassification: "1 of 1 reclassifications"} {
		c := config(t)
		c.Manager.Config = func() (agent.Settings, error) { return agent.Settings{MaxPlanningAttempts: new(3)}, nil }
		c.Capabilities = registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "d"}, func(context.Context, *capabilities.Call) error {
			return agent.Failed(severity, errors.New("not this"))
		}))
		var previous []string
		c.Match = func(_ context.Context, r turn.MatchRequest) (bool, error) {
			previous = append(previous, r.Previous)
			return true, nil
		}
		res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "find")
		contains(t, answer(t, res.State), want, "not this")
		if severity == agent.Reclassification {
			contains(t, strings.Join(previous, "|"), `|capability "find": not this`)
		}
	}
}

func TestAnswer_WrongRepeatedOrLateChangesNothing(t *testing.T) {
	runs := 0
	g := compile(t, approving(t, "", &runs), &checkpoint.Memory{})
	q := paused(t, say(t, g, "t1", "write it"), 1)[0]
	wrong := func(a graph.Answers, want error) {
		t.Helper()
		if _, err := g.Resume(t.Context(), a, graph.RunOptions{Thread: "t1"}); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	wrong(graph.Answer("no such id", approve), graph.ErrUnknownQuestion)
	wrong(graph.Answer(q.ID, approve).Answer(q.ID, reject), graph.ErrAnswer)
	second := paused(t, resume(t, g, graph.Answer(q.ID, approve)), 1)[0]
	wrong(graph.Answer(q.ID, reject), graph.ErrUnknownQuestion)                                // it was answered otherwise
	same(t, "again", paused(t, resume(t, g, graph.Answer(q.ID, approve)), 1)[0].ID, second.ID) // the same command twice
	same(t, "status", resume(t, g, graph.Answer(second.ID, approve)).Status, graph.Done)
	same(t, "runs", runs, 1)
	_, _ = g.Resume(t.Context(), graph.Answer(second.ID, approve), graph.RunOptions{Thread: "t1"})
	wrong(graph.Answer(second.ID, reject), graph.ErrUnknownQuestion)
	same(t, "runs", runs, 1)
}

func TestMessages_OfOneMillisecondKeepTheirOrder(t *testing.T) {
	g := compile(t, config(t), &checkpoint.Memory{}) // its clock does not move
	var last agent.State
	for n := range 4 {
		last = say(t, g, "t1", fmt.Sprint("message ", n)).State
	}
	for i, m := range last.Messages.All() {
		want := message.RoleUser
		if i%2 == 1 {
			want = message.RoleAssistant
		}
		same(t, fmt.Sprint("role of message ", i), m.Role, want)
		if want == message.RoleUser {
			same(t, "text", m.Text(), fmt.Sprint("message ", i/2))
		}
	}
}

// Odd is a context that cannot be converted to JSON.
type Odd struct{ F float64 }

func (Odd) ContextType() string { return "ODD" }

func TestStep_ValueThatCannotBeStoredIsItsFailure(t *testing.T) {
	types, err := agent.NewTypes(agent.TypeOf[Odd]())
	must(t, err)
	zero := 0.0
	c := turn.Config{Manager: agent.StateManager{Types: types}, Capabilities: registry(t,
		capabilities.Func(capabilities.Info{Name: "odd", Description: "d", Provides: []string{"ODD"}}, func(_ context.Context, c *capabilities.Call) error {
			return c.Store(Odd{1 / zero})
		}))}
	res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "go")
	same(t, "status", res.Status, graph.Done)
	same(t, "where", res.State.Control.ErrorInfo.Get().Node, "odd")
	contains(t, answer(t, res.State), "ODD.odd cannot be stored")
}

// Requirement: partial results are lost at a deadline
func TestSources_ResultsBeforeTheDeadlineAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := realTime(t)
		late := make(chan struct{})
		var asked atomic.Int32
		source := func(name string, do func(ctx context.Context) (string, error)) turn.Source {
			return turn.Source{Name: name, Retrieve: func(ctx context.Context, _ turn.ExtractRequest) (string, error) {
				asked.Add(1)
				return do(ctx)
			}}
		}
		c.Sources = []turn.Source{
			source("ignoring", func(context.Context) (string, error) { <-late; return "too late", nil }),
			source("slow", func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }),
			source("quick", func(context.Context) (string, error) { return "it rains", nil }),
			source("broken", func(context.Context) (string, error) { return "", errors.New("no route") }),
			source("panics", func(context.Context) (string, error) { panic("ouch") }),
			source("steady", func(ctx context.Context) (string, error) { time.Sleep(4 * time.Second); return "it pours", nil }),
		}
		c.Sources = append(c.Sources, turn.Source{Name: "unwanted", Wanted: func(turn.ExtractRequest) bool { return false }, Retrieve: c.Sources[0].Retrieve})
		c.SourcesWithin = 5 * time.Second
		var got []string
		c.Extract = func(_ context.Context, r turn.ExtractRequest) (turn.Task, error) {
			for _, s := range r.Retrieved {
				got = append(got, s.Source+": "+s.Text)
			}
			return turn.Task{Text: r.Query}, nil
		}
		began := time.Now()
		res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "draw")
		same(t, "took", time.Since(began), 5*time.Second)
		sameList(t, "retrieved", got, []string{"quick: it rains", "steady: it pours"})
		same(t, "asked", asked.Load(), 6)
		said := ""
		for _, u := range res.State.StatusUpdates.All() {
			said += u.Message + "\n"
		}
		contains(t, said, `"ignoring"`, `"slow"`, "no route", "ouch")
		contains(t, answer(t, res.State), "PICTURE.plot")
		close(late)
	})
}
