package nodes

import (
	"context"
	"slices"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// recordable reports whether a test can record what an agent does: its capabilities and functions,
// but no work of another kind and no documents of an application.
func recordable(c turn.Config) bool { return c.Work == nil && c.Services == nil }

// recorded returns an agent whose calls a test can record. Times and ids are no part of requests.
func recorded(c turn.Config) (turn.Config, error) {
	var err error
	c.Capabilities, err = recording.Capabilities(c.Capabilities)
	c.Extract = recordedFunc(c.Extract, func(r turn.ExtractRequest) (string, any) {
		return "extract", extraction{said(r.Messages), textsOf(r.Retrieved), r.Previous}
	})
	c.Match = recordedFunc(c.Match, func(r turn.MatchRequest) (string, any) {
		return "match " + r.Capability.Name, matching{r.Task, r.Previous}
	})
	c.Plan = recordedFunc(c.Plan, func(r turn.PlanRequest) (string, any) {
		return "plan", planning{r.Task, said(r.Messages), namesOf(r.Capabilities), r.Known, r.Previous}
	})
	c.Answer = recordedFunc(c.Answer, func(r turn.AnswerRequest) (string, any) { return "answer", answeringOf(r) })
	c.Clarify = recordedFunc(c.Clarify, func(r turn.AnswerRequest) (string, any) { return "clarify", answeringOf(r) })
	c.Explain = recordedFunc(c.Explain, func(r turn.Report) (string, any) {
		return "explain", explaining{r.Rejected, r.Task, r.Node, r.Message, r.Reason, r.Done, r.Left}
	})
	c.Sources = slices.Clone(c.Sources)
	for i, s := range c.Sources {
		c.Sources[i].Retrieve = recordedFunc(s.Retrieve, func(r turn.ExtractRequest) (string, any) {
			return "source " + s.Name, extraction{said(r.Messages), nil, r.Previous}
		})
	}
	return c, err
}

// recordedFunc returns a function of an agent whose calls a test can record; nil for nil.
func recordedFunc[R, Out any](call func(context.Context, R) (Out, error), request func(R) (name string, request any)) func(context.Context, R) (Out, error) {
	if call == nil {
		return nil
	}
	return func(ctx context.Context, r R) (Out, error) {
		name, v := request(r)
		return recording.Function(ctx, name, v, func(ctx context.Context) (Out, error) { return call(ctx, r) })
	}
}

// The requests of the functions of an agent, as they are recorded.
type (
	extraction struct {
		Messages  []message.Message `json:"messages"`
		Retrieved map[string]string `json:"retrieved,omitempty"` // texts by source
		Previous  string            `json:"previous,omitempty"`
	}
	matching struct {
		Task     string `json:"task"`
		Previous string `json:"previous,omitempty"`
	}
	planning struct {
		Task         turn.Task         `json:"task"`
		Messages     []message.Message `json:"messages"`
		Capabilities []string          `json:"capabilities"`
		Known        string            `json:"known"`
		Previous     string            `json:"previous,omitempty"`
	}
	answering struct {
		Mode     turn.Mode         `json:"mode"`
		Task     string            `json:"task"`
		Messages []message.Message `json:"messages"`
		Step     agent.Step        `json:"step"`
		Found    []agent.Summary   `json:"found,omitempty"`
		Missing  []string          `json:"missing,omitempty"`
		Done     []string          `json:"done,omitempty"`
		Figures  []string          `json:"figures,omitempty"`  // their paths
		Commands []string          `json:"commands,omitempty"` // their URIs
	}
	explaining struct {
		Rejected bool     `json:"rejected,omitempty"`
		Task     string   `json:"task"`
		Node     string   `json:"node"`
		Message  string   `json:"message"`
		Reason   string   `json:"reason,omitempty"`
		Done     []string `json:"done,omitempty"`
		Left     []string `json:"left,omitempty"`
	}
)

func answeringOf(r turn.AnswerRequest) answering {
	a := answering{Mode: r.Mode, Task: r.Task, Messages: said(r.Messages), Step: r.Step, Found: r.Found, Missing: r.Missing, Done: r.Done}
	for _, f := range r.Figures {
		a.Figures = append(a.Figures, f.Path)
	}
	for _, c := range r.Commands {
		a.Commands = append(a.Commands, c.URI)
	}
	return a
}

// said returns messages without what differs from run to run.
func said(all []message.Message) []message.Message {
	all = slices.Clone(all)
	for i, m := range all {
		m = m.Clone()
		m.ID, m.Usage, m.Metadata, m.Created = "", nil, nil, time.Time{}
		all[i] = m
	}
	return all
}

func textsOf(all []turn.Retrieved) map[string]string {
	texts := map[string]string{}
	for _, r := range all {
		texts[r.Source] = r.Text
	}
	return texts
}

func namesOf(all []capabilities.Info) (names []string) {
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}
