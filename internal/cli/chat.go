package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
)

// Chat opens an agent over a store.
type Chat = func(ctx context.Context, store checkpoint.Store) (turn.Untyped, error)

// chatFlags are the flags of chat.
type chatFlags struct {
	thread  string
	named   bool // --thread was given
	says    []string
	last    int
	newTurn bool
}

func (a *app) chatVerb() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat [NAME]",
		Short: "Talk with an agent",
		Long: `Chat talks with an agent of this program on a thread, which it remembers: the same
command again shows what was said last and goes on, with a turn that was cut off too.
On a terminal answers are written as they come, Tab completes what begins with /, and
/help lists the commands. A plain yes or no answers a question; /edit and Tab offer
what is to be approved, to be changed.

Elsewhere each line of the input is a message; --say gives messages instead. The first
one that fails ends the chat with exit code 1, also where the answer explains the
failure. The exit code is 4 if a question is open at the end.

Ctrl-C stops the turn; twice, or at an empty line twice, it leaves. What was said is
kept, and the next chat goes on with the turn.`,
		Args: a.arguments("NAME", 0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.named = cmd.Flags().Changed("thread")
			return a.chat(cmd.Context(), first(args), f)
		},
	}
	cmd.ValidArgs = slices.Sorted(maps.Keys(a.Chats))
	cmd.Flags().StringVar(&f.thread, "thread", "", "the conversation's thread (default a new one)")
	cmd.Flags().StringArrayVar(&f.says, "say", nil, "a message, in place of the input; repeatable")
	cmd.Flags().IntVar(&f.last, "last", 6, "how many messages of the conversation are shown at the beginning")
	cmd.Flags().BoolVar(&f.newTurn, "new-turn", false, "do not go on with a turn that was cut off")
	return cmd
}

func (a *app) chat(ctx context.Context, name string, f chatFlags) error {
	name, open, err := a.agent(name)
	if err != nil {
		return err
	}
	if f.last < 0 {
		return usage("give a number from 0 on", "%d messages are less than none", f.last)
	}
	if !f.named {
		f.thread = uuid.NewString()
	}
	if err := checkpoint.CheckThread(f.thread); err != nil {
		return err
	}
	return withStore(ctx, a.open, func(store checkpoint.Store) error {
		agent, err := open(ctx, store)
		if err != nil {
			return usage(nextUnopened, "the agent %q cannot be used: %w", name, err)
		}
		c := &dialogue{app: a, agent: agent, name: name, thread: f.thread}
		c.lines = a.linesOf(f.says, c.complete)
		c.show = a.chatView()
		if err := c.ofThisAgent(ctx, store); err != nil {
			return err
		}
		if !f.named {
			a.note("this is thread %s", f.thread)
		}
		return c.run(ctx, f)
	})
}

// agent returns the agent with a name, or the only one.
func (a *app) agent(name string) (string, Chat, error) {
	names := slices.Sorted(maps.Keys(a.Chats))
	switch {
	case len(names) == 0:
		return "", nil, usage("a program of your own names its agents in weftcli.Config.Chats", "this program has no agent to talk with")
	case name == "" && len(names) == 1:
		name = names[0]
	case name == "":
		return "", nil, usage("name one of them: "+a.command("chat", "NAME"), "there are several agents: %s", strings.Join(names, ", "))
	case a.Chats[name] == nil:
		return "", nil, usage("use one of "+strings.Join(names, ", "), "there is no agent %q", name)
	}
	return name, a.Chats[name], nil
}

// dialogue is a chat with an agent on a thread.
type dialogue struct {
	*app
	agent  turn.Untyped
	name   string
	thread string
	lines  lines
	show   chatView
	open   []graph.Interrupt
}

// ofThisAgent refuses a thread of another graph.
func (c *dialogue) ofThisAgent(ctx context.Context, store checkpoint.Store) error {
	p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: c.thread})
	switch {
	case errors.Is(err, graph.ErrUnknownThread):
		return nil
	case err != nil:
		return err
	case p.Graph != c.agent.Name():
		return usage("name another thread with --thread", "thread %q belongs to %q, not to the agent %q", c.thread, p.Graph, c.name)
	}
	return nil
}

// run shows what was said, goes on with what was cut off, and answers each message.
func (c *dialogue) run(ctx context.Context, f chatFlags) error {
	if err := c.begin(ctx, f); err != nil {
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

func (c *dialogue) begin(ctx context.Context, f chatFlags) error {
	past, err := c.agent.History(ctx, c.thread, max(f.last, remembered))
	if err != nil {
		return err
	}
	c.open = past.Questions
	c.lines.remember(past)
	if len(f.says) == 0 {
		past.Messages = past.Messages[max(0, len(past.Messages)-f.last):]
		c.show.past(past)
	}
	switch {
	case past.Status == graph.Pending && !f.newTurn:
		c.note("the last turn was cut off; it goes on")
		_, err = c.do(ctx, func(ctx context.Context, watch func(graph.Event)) (reply, error) {
			return c.agent.Continue(ctx, c.thread, watch)
		})
		if err != nil {
			return c.failed(err)
		}
	case past.Status == graph.Failed:
		c.note("the last turn failed; /continue tries it again")
	}
	return nil
}

// say has a message answered; leave reports that the user wants to go.
func (c *dialogue) say(ctx context.Context, text string) (leave bool, err error) {
	if c.lines.interactive() && strings.TrimSpace(text) == "" {
		return false, nil
	}
	return c.do(ctx, func(ctx context.Context, watch func(graph.Event)) (reply, error) {
		return c.agent.Say(ctx, c.thread, text, watch)
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
		c.note("the turn is stopped; /continue goes on with it")
		return false, nil
	case err != nil && ctx.Err() == nil && c.lines.interactive():
		c.report(c.failed(err))
		return false, nil
	case err != nil:
		return false, err
	}
	if r.Status != "" {
		c.open = r.Questions
	}
	if err := c.show.reply(c.thread, r); err != nil {
		return false, err
	}
	if r.Failure != nil && !c.lines.interactive() {
		return false, &failure{code: exitFailed, err: fmt.Errorf("the turn failed: %s", cmp.Or(r.Failure.UserMessage, r.Failure.Error, r.Failure.Node)),
			next: "the answer says more; say it again with " + c.command("chat", c.name, "--thread", c.thread, "--say", "MESSAGE")}
	}
	return slices.Contains(r.UI, "exit"), nil
}

// stoppable carries out act for a person: Ctrl-C stops it, and another one leaves it behind, as it may be deaf; the
// process ends then, and nothing more is shown of it.
func (c *dialogue) stoppable(ctx context.Context, stop context.CancelCauseFunc, act func(func(graph.Event)) (reply, error)) (reply, error) {
	var mu sync.Mutex // what is shown comes from several goroutines
	var left bool
	defer c.signals.first(func() {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(c.Stderr) // behind the ^C
		c.note("stopping the turn; Ctrl-C again leaves at once")
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
		return errWaits
	}
	return nil
}

// failed adds to an error how to go on.
func (c *dialogue) failed(err error) *failure {
	f := *c.classify(err)
	var bad *turn.CommandError
	switch {
	case errors.As(err, &bad):
		f.code, f.next = exitUsage, "/help lists the commands"
		if len(c.open) > 0 {
			f.next = "/pending shows what is asked, " + f.next
		}
	case f.code == exitBusy:
		f.next = "end the other process first; nothing was written"
	case c.forgets():
		f.next = "the thread is gone with the process; keep threads with --store sqlite:PATH"
	case f.next == "" && c.lines.interactive() && !errors.Is(err, errSignal):
		f.next = "/continue tries it again"
	case f.next == "" && !errors.Is(err, context.Canceled) && !errors.Is(err, errSignal):
		f.next = "try it again with " + c.command("chat", c.name, "--thread", c.thread, "--say", "/continue")
	case f.next == "":
		f.next = "what was said is kept; go on with " + c.command("chat", c.name, "--thread", c.thread)
	}
	return &f
}
