package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
	"github.com/weftrun/weft/nodes/turn"
)

// Options are the settings of a conversation.
type Options struct {
	Agent    string   // the name of the agent
	Thread   string   // of the conversation
	Messages []string // messages in place of the input
	Last     int      // number of messages shown at the beginning
	NewTurn  bool     // an interrupted turn is not resumed
	Forgets  bool     // the store does not outlive the process
}

// dialogue is a conversation with an agent on a thread.
type dialogue struct {
	*reports.Output
	Options
	signals *terminal.Signals
	agent   turn.Untyped
	lines   lines
	show    chatView
	open    []graph.Interrupt
}

// New returns a conversation with an agent over stdin and out.
func New(out *reports.Output, signals *terminal.Signals, stdin io.Reader, agent turn.Untyped, o Options) *dialogue {
	c := &dialogue{Output: out, Options: o, signals: signals, agent: agent, show: newChatView(out)}
	c.lines = linesOf(out, stdin, o.Messages, c.complete)
	return c
}

// CheckThread returns an error if the thread belongs to another graph.
func (c *dialogue) CheckThread(ctx context.Context, store checkpoint.Store) error {
	p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: c.Thread})
	switch {
	case errors.Is(err, graph.ErrUnknownThread):
		return nil
	case err != nil:
		return err
	case p.Graph != c.agent.Name():
		return reports.Usage("name another thread with --thread", "thread %q belongs to %q, not to the agent %q", c.Thread, p.Graph, c.Agent)
	}
	return nil
}

// Run shows the latest messages, resumes an interrupted turn, and answers each message.
func (c *dialogue) Run(ctx context.Context) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	for {
		text, err := c.lines.next(ctx, turn.AnswerHint(c.open))
		switch {
		case errors.Is(err, io.EOF):
			return c.end()
		case err != nil:
			return c.failed(err)
		}
		leave, err := c.say(ctx, text)
		if err != nil {
			return c.failed(err)
		}
		if leave {
			return c.end()
		}
	}
}

// remembered is the number of messages in the history of the line editor.
const remembered = 200

func (c *dialogue) begin(ctx context.Context) error {
	past, err := c.agent.History(ctx, c.Thread, max(c.Last, remembered))
	if err != nil {
		return err
	}
	c.open = past.Questions
	c.lines.remember(past)
	if len(c.Messages) == 0 {
		past.Messages = past.Messages[max(0, len(past.Messages)-c.Last):]
		c.show.past(past)
	}
	switch {
	case past.Status == graph.Pending && !c.NewTurn:
		c.Note("the last turn was cut off; it goes on")
		_, err = c.do(ctx, func(ctx context.Context, watch func(graph.Event)) (reply, error) {
			return c.agent.Continue(ctx, c.Thread, watch)
		})
		if err != nil {
			return c.failed(err)
		}
	case past.Status == graph.Failed:
		c.Note("the last turn failed; /continue tries it again")
	}
	return nil
}

// say sends a message to the agent. It reports whether the conversation ends.
func (c *dialogue) say(ctx context.Context, text string) (leave bool, err error) {
	if c.lines.interactive() && strings.TrimSpace(text) == "" {
		return false, nil
	}
	return c.do(ctx, func(ctx context.Context, watch func(graph.Event)) (reply, error) {
		return c.agent.Say(ctx, c.Thread, text, watch)
	})
}

// do makes one request and shows the reply. An error ends the conversation unless it is
// interactive.
func (c *dialogue) do(ctx context.Context, act func(context.Context, func(graph.Event)) (reply, error)) (leave bool, err error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var r reply
	if c.lines.interactive() {
		r, err = c.stoppable(ctx, cancel, func(watch func(graph.Event)) (reply, error) { return act(inner, watch) })
	} else {
		r, err = act(inner, c.show.event)
	}
	c.show.close()
	switch {
	case err != nil && ctx.Err() == nil && errors.Is(context.Cause(inner), errStopped):
		c.Note("the turn is stopped; /continue goes on with it")
		return false, nil
	case err != nil && ctx.Err() == nil && c.lines.interactive():
		c.Report(c.failed(err))
		return false, nil
	case err != nil:
		return false, err
	}
	if r.Status != "" {
		c.open = r.Questions
	}
	if err := c.show.reply(c.Thread, r); err != nil {
		return false, err
	}
	if r.Failure != nil && !c.lines.interactive() {
		return false, &reports.Failure{Code: reports.ExitFailed, Err: fmt.Errorf("the turn failed: %s", cmp.Or(r.Failure.UserMessage, r.Failure.Error, r.Failure.Node)),
			Next: "the answer has the details; send the message again with " + c.Command("chat", c.Agent, "--thread", c.Thread, "--say", "MESSAGE")}
	}
	return slices.Contains(r.UI, "exit"), nil
}

// stoppable calls act so that Ctrl-C cancels it. A second Ctrl-C makes stoppable return at once,
// since act may be unresponsive. The process ends then, and no more events are shown.
func (c *dialogue) stoppable(ctx context.Context, stop context.CancelCauseFunc, act func(func(graph.Event)) (reply, error)) (reply, error) {
	var mu sync.Mutex // several goroutines show events
	var left bool
	defer c.signals.OnFirst(func() {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(c.Stderr) // ends the line of ^C
		c.Note("stopping the turn; Ctrl-C again leaves at once")
		stop(errStopped)
	})()
	r, err := terminal.Await(ctx, func() (reply, error) {
		return act(func(ev graph.Event) {
			mu.Lock()
			defer mu.Unlock()
			if !left {
				c.show.event(ev)
			}
		})
	})
	mu.Lock()
	defer mu.Unlock()
	left = true
	return r, err
}

var errStopped = errors.New("stopped by the user")

// end returns ErrWaiting if a question is open.
func (c *dialogue) end() error {
	if len(c.open) > 0 {
		return reports.ErrWaiting
	}
	return nil
}

// failed returns the failure of an error, with a hint.
func (c *dialogue) failed(err error) *reports.Failure {
	f := *c.Classify(err)
	var bad *turn.CommandError
	switch {
	case errors.As(err, &bad):
		f.Code, f.Next = reports.ExitUsage, "/help lists the commands"
		if len(c.open) > 0 {
			f.Next = "/pending shows what is asked, " + f.Next
		}
	case f.Code == reports.ExitBusy:
		f.Next = "end the other process first; nothing was written"
	case c.Forgets:
		f.Next = "the thread is gone with the process; keep threads with --store sqlite:PATH"
	case f.Next == "" && c.lines.interactive() && !errors.Is(err, terminal.ErrSignal):
		f.Next = "/continue tries it again"
	case f.Next == "" && !errors.Is(err, context.Canceled) && !errors.Is(err, terminal.ErrSignal):
		f.Next = "try it again with " + c.Command("chat", c.Agent, "--thread", c.Thread, "--say", "/continue")
	case f.Next == "":
		f.Next = "the conversation is stored; go on with " + c.Command("chat", c.Agent, "--thread", c.Thread)
	}
	return &f
}
