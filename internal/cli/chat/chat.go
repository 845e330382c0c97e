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
	Agent   string   // its name
	Thread  string   // of the conversation
	Says    []string // messages in place of the input
	Last    int      // how many messages are shown at the beginning
	NewTurn bool     // an interrupted turn is not resumed
	Forgets bool     // the store ends with the process
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

// New returns a conversation with an agent.
func New(out *reports.Output, signals *terminal.Signals, stdin io.Reader, agent turn.Untyped, o Options) *dialogue {
	c := &dialogue{Output: out, Options: o, signals: signals, agent: agent, show: newChatView(out)}
	c.lines = linesOf(out, stdin, o.Says, c.complete)
	return c
}

// CheckThread refuses a thread of another graph.
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

// Run shows what was said, goes on with what was cut off, and answers each message.
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

// remembered is how many messages the line editor offers again.
const remembered = 200

func (c *dialogue) begin(ctx context.Context) error {
	past, err := c.agent.History(ctx, c.Thread, max(c.Last, remembered))
	if err != nil {
		return err
	}
	c.open = past.Questions
	c.lines.remember(past)
	if len(c.Says) == 0 {
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

// say has a message answered; leave reports that the user wants to go.
func (c *dialogue) say(ctx context.Context, text string) (leave bool, err error) {
	if c.lines.interactive() && strings.TrimSpace(text) == "" {
		return false, nil
	}
	return c.do(ctx, func(ctx context.Context, watch func(graph.Event)) (reply, error) {
		return c.agent.Say(ctx, c.Thread, text, watch)
	})
}

// do carries out one exchange and shows it. A person sees an error and goes on; a script ends with it.
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
			Next: "the answer says more; say it again with " + c.Command("chat", c.Agent, "--thread", c.Thread, "--say", "MESSAGE")}
	}
	return slices.Contains(r.UI, "exit"), nil
}

// stoppable carries out act for a person: Ctrl-C stops it, and another one leaves it behind, as it may be deaf; the
// process ends then, and nothing more is shown of it.
func (c *dialogue) stoppable(ctx context.Context, stop context.CancelCauseFunc, act func(func(graph.Event)) (reply, error)) (reply, error) {
	var mu sync.Mutex // what is shown comes from several goroutines
	var left bool
	defer c.signals.OnFirst(func() {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(c.Stderr) // behind the ^C
		c.Note("stopping the turn; Ctrl-C again leaves at once")
		stop(errStopped)
	})()
	r, err := await(ctx, func() (reply, error) {
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

// end says how the thread is left.
func (c *dialogue) end() error {
	if len(c.open) > 0 {
		return reports.ErrWaiting
	}
	return nil
}

// failed adds to an error how to go on.
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
		f.Next = "what was said is kept; go on with " + c.Command("chat", c.Agent, "--thread", c.Thread)
	}
	return &f
}
