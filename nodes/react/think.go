package react

import (
	"context"
	"errors"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// storedAnswer is an answer of the model with its cost, as it is stored.
type storedAnswer struct {
	Response model.Response
	Spent    model.Spend
	Asked    time.Time // the time of the request
}

// think calls the model once and goes to the next node.
func (a *agent) think(ctx context.Context, s *State) (graph.Command, error) {
	if text, ok := a.direct(s); ok {
		s.Answer.Set(text)
		return graph.Goto(a.Next).WithReason("the result of a direct tool is the answer"), nil
	}
	if n := s.Turns.Get(); n >= a.MaxTurns {
		return graph.Command{}, graph.Permanent(&TurnsError{n})
	}
	r, err := a.request(ctx, s)
	if err != nil {
		return graph.Command{}, graph.Permanent(err)
	}
	spent := s.Spent.Get()
	k, err := graph.Call(ctx, "model", func(ctx context.Context) (storedAnswer, error) { return a.ask(ctx, r, spent) })
	if err != nil {
		return graph.Command{}, failed(err)
	}
	if a.After != nil {
		if err := a.After(ctx, &k.Response); err != nil {
			return graph.Command{}, err
		}
	}
	if err := stampMessages(s, k.Asked); err != nil {
		return graph.Command{}, err
	}
	return a.applyAnswer(s, k)
}

// applyAnswer stores an answer and goes to its calls, or ends.
func (a *agent) applyAnswer(s *State, k storedAnswer) (cmd graph.Command, err error) {
	said := k.Response.Message
	s.Turns.Add(1)
	s.Spent.add(k.Spent)
	if err := s.Messages.Add(said); err != nil {
		return cmd, err
	}
	if len(said.Calls) > 0 {
		for _, c := range said.Calls {
			cmd = cmd.Send(ToolNode, c)
		}
		return cmd, nil
	}
	text := said.Text()
	if a.form != nil {
		data, err := a.form.Read(text)
		if err != nil {
			return cmd, &model.OutputError{Raw: text, Err: err}
		}
		text = string(data)
	}
	s.Answer.Set(text)
	return graph.Goto(a.Next), nil
}

// stampMessages sets the time of the user's messages that have none to the time at which they were
// first sent to the model.
func stampMessages(s *State, at time.Time) error {
	for _, m := range s.Messages.Slice() {
		if m.Role != message.RoleUser || !m.Created.IsZero() || at.IsZero() {
			continue
		}
		m.Created = at
		if err := s.Messages.Add(m); err != nil {
			return err
		}
	}
	return nil
}

// request returns the request for the model.
func (a *agent) request(ctx context.Context, s *State) (model.Request, error) {
	r := a.Request
	r.ID = messageID(ctx)
	r.Output = a.Output
	var all []message.Message
	if a.System != "" {
		all = append(all, message.System(a.System))
	}
	fit, err := a.Window.Fit(append(append(all, r.Messages...), withMissingResults(s.Messages.Slice())...))
	if err != nil {
		return r, err
	}
	r.Messages = fit.Messages
	if a.Tools != nil {
		if err := a.Tools.Load(ctx); err != nil {
			return r, err
		}
		r.Tools = a.Tools.Specs(ctx)
	}
	if a.Before != nil {
		err = a.Before(ctx, &r)
	}
	return r, err
}

// messageID returns the ID of the running task's answer, the same in every attempt.
func messageID(ctx context.Context) string {
	id := graph.ExecutionID(ctx)
	if id == "" {
		return ""
	}
	return "m" + id[:min(len(id), 20)]
}

// withMissingResults returns a conversation in which every call has a result. A call of a discarded
// turn gets the result that it was not run.
func withMissingResults(ms []message.Message) []message.Message {
	missing := map[int][]message.Result{}
	for _, p := range message.Pairs(ms) {
		if !p.Answered() {
			missing[p.At] = append(missing[p.At], message.Failed(p.Call.ID, "it was not run: the turn was discarded"))
		}
	}
	if len(missing) == 0 {
		return ms
	}
	var out []message.Message
	for i, m := range ms {
		out = append(out, m)
		if results := missing[i]; results != nil {
			out = append(out, message.Tool(results...))
		}
	}
	return out
}

// ask calls the model, and once more if the final answer does not have its form.
func (a *agent) ask(ctx context.Context, r model.Request, before model.Spend) (k storedAnswer, err error) {
	meter := &model.Meter{Budget: a.Budget, Prices: a.Prices, Counter: a.Window.Counter}
	meter.Add(before)
	m := model.Limited(a.Model, meter)
	k.Asked = graph.Now(ctx)
	k.Response, err = stream(ctx, m, r)
	if wrong := a.checkForm(k.Response); err == nil && wrong != nil {
		if k.Response, err = stream(ctx, m, model.Repair(r, k.Response, wrong)); err == nil {
			err = a.checkRepaired(k.Response)
		}
	}
	if err == nil {
		err = a.checkComplete(k.Response)
	}
	k.Spent = minus(meter.Spent(), before)
	k.Response.Message.Created = graph.Now(ctx)
	return k, err
}

// checkForm returns an error for a final answer that does not have its form.
func (a *agent) checkForm(said model.Response) error {
	if a.form == nil || len(said.Message.Calls) > 0 {
		return nil
	}
	_, err := a.form.Read(said.Message.Text())
	return err
}

// checkRepaired is checkForm for the second answer, whose failure is a *model.OutputError.
func (a *agent) checkRepaired(said model.Response) error {
	if err := a.checkForm(said); err != nil {
		return &model.OutputError{Raw: said.Message.Text(), Err: err}
	}
	return nil
}

// checkComplete returns an error for an answer that cannot be used.
func (a *agent) checkComplete(said model.Response) error {
	switch calls := len(said.Message.Calls); {
	case calls > 0 && a.Tools == nil:
		return &model.Error{Kind: model.BadAnswer, Model: said.Model, Message: "the answer calls tools, but there are none"}
	case calls == 0 && said.Stop == model.StopLength:
		return &model.Error{Kind: model.Truncated, Model: said.Model, Message: "the answer was cut off at the limit of tokens"}
	}
	return nil
}

func minus(a, b model.Spend) model.Spend {
	return model.Spend{Calls: a.Calls - b.Calls, Input: a.Input - b.Input, Output: a.Output - b.Output, Money: a.Money - b.Money, Time: a.Time - b.Time}
}

// stream calls the model and emits its text, its reasoning and its calls.
func stream(ctx context.Context, m model.Model, r model.Request) (model.Response, error) {
	f := model.Fold{Request: r}
	tok := graph.Token{ID: r.ID, Role: string(message.RoleAssistant)}
	begun := false
	for c, err := range m.Stream(ctx, r) {
		if err == nil {
			err = f.Add(c)
		}
		if err == nil && r.ID != "" && (c.Text != "" || c.Reasoning != "" || c.Call != nil) {
			graph.Heartbeat(ctx)
			begun = true
			piece := tok
			piece.Delta, piece.Reasoning = c.Text, c.Reasoning
			if c.Call != nil {
				place, id := f.Grown()
				piece.Call = &graph.TokenCall{Index: place, ID: id, Name: c.Call.Name, Arguments: c.Call.Arguments}
			}
			err = graph.EmitMessage(ctx, piece)
		}
		if err != nil {
			return model.Response{}, err
		}
	}
	said, err := f.Response()
	if err == nil && begun {
		tok.Final = true
		err = graph.EmitMessage(ctx, tok)
	}
	return said, err
}

// retriable reports whether another attempt may succeed.
func retriable(err error) bool {
	var out *model.OutputError
	return model.Retriable(err) || errors.As(err, &out)
}

// failed returns a failure for the node's policy. A failure that no attempt can repair is
// permanent.
func failed(err error) error {
	var e *model.Error
	var budget *model.BudgetError
	if errors.As(err, &budget) || errors.Is(err, model.ErrNoPrice) || errors.As(err, &e) && !e.Temporary() {
		return graph.Permanent(err)
	}
	return err
}
