package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// places returns the functions of an agent that can fail. Each calls do first.
func places(t testing.TB, c *turn.Config, do func() error) map[string]func() {
	return map[string]func(){
		agent.ToExtraction: func() {
			c.Extract = func(_ context.Context, r turn.ExtractRequest) (turn.Task, error) {
				return turn.Task{Text: r.Query}, do()
			}
		},
		agent.ToOrchestrator: func() {
			c.Plan = func(ctx context.Context, r turn.PlanRequest) (agent.Plan, error) {
				p, _ := turn.Chain(ctx, r)
				return p, do()
			}
		},
		"find": func() {
			c.Capabilities = registry(t, capabilities.Func(find().Info(), func(ctx context.Context, c *capabilities.Call) error {
				must(t, find().Run(ctx, c))
				return do()
			}))
		},
		agent.ToRespond: func() {
			c.Answer = func(context.Context, turn.AnswerRequest) (string, error) { return "RAIN", do() }
		},
	}
}

func TestRetry_TurnWaitsAsLongAsAFailureAsks(t *testing.T) {
	for _, c := range []struct {
		asks, took time.Duration
		ok         bool
	}{
		{20 * time.Second, 20 * time.Second, true},
		{299 * time.Second, 299 * time.Second, true},
		{5 * time.Minute, 0, false}, // nothing is left of the turn then: why wait?
		{time.Hour, 0, false},
	} {
		for place := range places(t, nil, nil) {
			t.Run(fmt.Sprint(place, " asks for ", c.asks), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg, n := realTime(t), 0
					places(t, &cfg, func() error {
						if n++; n == 1 {
							return &model.Error{Kind: model.RateLimited, Wait: c.asks}
						}
						return nil
					})[place]()
					began := time.Now()
					res := say(t, compile(t, cfg, &checkpoint.Memory{}), "t1", "draw")
					same(t, "took", time.Since(began), c.took)
					same(t, "answered", !strings.Contains(answer(t, res.State), "rate limited"), c.ok)
					same(t, "tried", n, map[bool]int{true: 2, false: 1}[c.ok])
				})
			})
		}
	}
}

func TestRetryWait_IsAtMostAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wait, tries := range map[time.Duration]int{time.Hour: 2, time.Hour + time.Second: 1} {
			for _, place := range []string{"find", agent.ToRespond} {
				c, n := realTime(t), 0
				c.Manager.Config = func() (agent.Settings, error) { return agent.Settings{MaxExecutionSeconds: new(0)}, nil }
				places(t, &c, func() error {
					if n++; n == 1 {
						return &model.Error{Kind: model.RateLimited, Wait: wait}
					}
					return nil
				})[place]()
				say(t, compile(t, c, &checkpoint.Memory{}), "t1", "draw")
				same(t, fmt.Sprint(place, " tries after ", wait), n, tries)
			}
		}
	})
}

// Requirement: the error of a node is lost
func TestPanic_AnywhereEndsTheTurnWithAReport(t *testing.T) {
	for place := range places(t, nil, nil) {
		for _, value := range []any{"ouch", agent.Failed(agent.Fatal, errors.New("ouch")), agent.Failed(agent.Retriable, errors.New("ouch")), graph.ErrInterrupted} {
			c, n := config(t), 0
			places(t, &c, func() error {
				if n++; n == 1 {
					panic(value)
				}
				return nil
			})[place]()
			g := compile(t, c, &checkpoint.Memory{})
			res := say(t, g, "t1", "draw")
			same(t, place+": status", res.Status, graph.Done)
			same(t, place+": tries", n, 1)
			contains(t, answer(t, res.State), "panic: "+fmt.Sprint(value))
			if place != agent.ToRespond {
				same(t, place+": contexts", res.State.Context.Len(), 0)
				f := res.State.Control.ErrorInfo.Get()
				same(t, place+": node", f.Node, place)
				same(t, place+": severity", f.Severity, agent.Critical)
				contains(t, f.Error, "at failure_test.go:")
			}
			contains(t, answer(t, say(t, g, "t1", "again").State), "RAIN")
		}
	}
}
