package react

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// act runs one call and adds its result to the conversation.
func (a *agent) act(ctx context.Context, s *State, c message.Call) error {
	done, err := a.result(ctx, c)
	if err != nil {
		return err
	}
	if done.Call.Edited != nil { // the log must show the call that ran
		now := done.Call
		now.Edited = nil
		graph.Relabel(ctx, now)
		if err := s.Messages.ReplaceCall(done.Call); err != nil && !gone(err) {
			return err
		}
	}
	m := message.Tool(done.Result)
	m.ID = c.ID + "-result"
	m.Created, err = graph.Once(ctx, "created", func(ctx context.Context) (time.Time, error) { return graph.Now(ctx), nil })
	if err != nil {
		return err
	}
	return s.Messages.Add(m)
}

// gone reports whether the edited call is no longer in the log.
func gone(err error) bool {
	var unknown *message.UnknownError
	return errors.As(err, &unknown)
}

// CallResult is a call of a tool with its result.
type CallResult struct {
	// Call is the call that ran. Its Edited is set if a person changed it.
	Call   message.Call
	Result message.Result
	// Rejected is true if a person did not permit the call, so that it did not run.
	Rejected bool
}

// result runs a call once, or asks a person for its result.
func (a *agent) result(ctx context.Context, c message.Call) (CallResult, error) {
	if err := a.Tools.Load(ctx); err != nil {
		return CallResult{}, err
	}
	need, ok := a.Tools.Needs(ctx, c)
	switch {
	case ok && need.Mode == tool.Answer:
		r, err := a.answer(ctx, c, need)
		return CallResult{Call: c, Result: r}, err
	case ok:
		permitted, no, run, err := a.permit(ctx, c, need)
		if err != nil || !run {
			return CallResult{c, no, err == nil}, err
		}
		c = permitted
	}
	if info, known := a.Tools.Info(c.Name); !ok && known && info.Mode != tool.Free {
		return CallResult{Call: c, Result: a.unasked(ctx, c)}, nil
	}
	r, err := a.once(ctx, c)
	return CallResult{Call: c, Result: r}, err
}

// unasked returns the result of a call that needs a person but raised no question. The call does
// not run, even if it could run by now.
func (a *agent) unasked(ctx context.Context, c message.Call) message.Result {
	_, _, err := a.Tools.Check(ctx, c)
	if err == nil {
		err = fmt.Errorf("it was not run: %q could not be used when a person had to be asked", c.Name)
	}
	return message.Failed(c.ID, err.Error())
}

// once runs a call. After a crash, a stored call does not run again.
func (a *agent) once(ctx context.Context, c message.Call) (message.Result, error) {
	return graph.Once(ctx, "run", func(ctx context.Context) (message.Result, error) { return a.run(ctx, c) })
}

// run runs a call, through Config.Around. The end of the run is not a result of the tool.
func (a *agent) run(ctx context.Context, c message.Call) (message.Result, error) {
	do := func(ctx context.Context, c message.Call) (message.Result, error) {
		return a.Tools.Try(ctx, c, graph.ExecutionID(ctx), a.Limits)
	}
	var r message.Result
	var err error
	if a.Around != nil {
		r, err = a.Around(ctx, c, do)
	} else {
		r, err = do(ctx, c)
	}
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case errors.Is(err, graph.ErrInterrupted):
		return r, err
	case err != nil:
		r = message.Failed(c.ID, err.Error())
	}
	r.CallID = c.ID
	return r, nil
}

// permit asks a person whether a call may run, until the answer is valid. A question that is
// declined or expires does not permit the call.
func (a *agent) permit(ctx context.Context, c message.Call, need tool.Needed) (_ message.Call, no message.Result, run bool, err error) {
	info, _ := a.Tools.Info(c.Name)
	q := a.question(need, 0, nil)
	q.Schema = info.Schema
	_, d, err := graph.Approve(ctx, graph.Approval[json.RawMessage]{
		Question: q, Action: c.Name, Args: need.Call.Arguments,
		Check: func(args json.RawMessage) error {
			_, _, _, err := a.Tools.Apply(ctx, c, graph.Decision{Type: graph.DecisionEdit, Args: args})
			return err
		},
	})
	if refused(err) {
		return c, tool.Rejected(c.ID, err.Error()), false, nil
	}
	if err != nil {
		return c, no, false, err
	}
	return a.Tools.Apply(ctx, c, d)
}

// anything is the schema of every answer; an answer that the tool refuses is asked for again.
var anything = json.RawMessage("true")

// answer asks a person for the result of a call, until it is valid.
func (a *agent) answer(ctx context.Context, c message.Call, need tool.Needed) (message.Result, error) {
	var wrong error
	for n := 0; ; n++ {
		q := a.question(need, n, wrong)
		q.Schema = anything
		data, err := graph.Ask[json.RawMessage](ctx, q) // raw, because a float64 cannot represent every number
		if refused(err) {
			return message.Failed(c.ID, "A person did not answer: "+err.Error()), nil
		}
		if err != nil {
			return message.Result{}, err
		}
		r, err := a.Tools.Answered(c, data)
		if err == nil {
			return r, nil
		}
		wrong = err
	}
}

// refused reports whether a question was closed without an answer.
func refused(err error) bool {
	return errors.Is(err, graph.ErrDeclined) || errors.Is(err, graph.ErrExpired)
}

func (a *agent) question(need tool.Needed, n int, wrong error) graph.Question {
	info, _ := a.Tools.Info(need.Call.Name)
	var args bytes.Buffer
	if json.Indent(&args, need.Call.Arguments, "", "  ") != nil {
		args.Write(need.Call.Arguments)
	}
	q := graph.Question{
		Prompt: need.Prompt, Detail: need.Call.Name + " " + args.String(), Data: need,
		Key: fmt.Sprintf("%s/%d", need.Call.ID, n), Timeout: info.Within,
	}
	if wrong != nil {
		q.Detail = fmt.Sprintf("The last answer is not valid: %v\n\n%s", wrong, q.Detail)
	}
	return q
}

// direct returns the results of direct tools as the final answer. All calls of the last answer must
// be of direct tools, without a failure, and the result must have the form of an answer.
func (a *agent) direct(s *State) (string, bool) {
	last, ok := s.Messages.Last()
	if !ok || last.Role != message.RoleTool || a.Tools == nil {
		return "", false
	}
	ms := s.Messages.Slice()
	said := len(ms) - 1
	for said > 0 && ms[said].Role == message.RoleTool {
		said--
	}
	var texts []string
	for _, p := range message.Pairs(ms[said:]) {
		info, ok := a.Tools.Info(p.Call.Name)
		if !ok || !info.Direct || !p.Answered() || p.Result.IsError {
			return "", false
		}
		texts = append(texts, p.Result.Text())
	}
	text := strings.Join(texts, "\n")
	if a.form != nil {
		data, err := a.form.Read(text)
		return string(data), err == nil
	}
	return text, len(texts) > 0
}

// Call runs one call of a tool in a node of any graph, as an agent does. It asks a person if the
// tool's mode requires it. After a crash, a stored call does not run again. err is a failure of the
// run; a failure of the tool is a result.
func Call(ctx context.Context, set *tool.Set, c message.Call, l tool.Limits) (CallResult, error) {
	a := &agent{Config: Config{Tools: set, Limits: l}}
	return a.result(ctx, c)
}
