package verbs

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/cli/chat"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/nodes/turn"
)

// Chat opens an agent over a store.
type Chat = func(ctx context.Context, store checkpoint.Store) (turn.Untyped, error)

// chatFlags are the flags of chat.
type chatFlags struct {
	chat.Options
	named bool // --thread was given
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

Ctrl-C stops the turn; twice, or at an empty line twice, it leaves. The conversation is
stored, and the next chat goes on with the turn.`,
		Args: a.arguments("NAME", 0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.named = cmd.Flags().Changed("thread")
			return a.chat(cmd.Context(), first(args), f)
		},
	}
	cmd.ValidArgs = slices.Sorted(maps.Keys(a.config.Chats))
	cmd.Flags().StringVar(&f.Thread, "thread", "", "the conversation's thread (default a new one)")
	cmd.Flags().StringArrayVar(&f.Messages, "say", nil, "a message, in place of the input; repeatable")
	cmd.Flags().IntVar(&f.Last, "last", 6, "how many messages of the conversation are shown at the beginning")
	cmd.Flags().BoolVar(&f.NewTurn, "new-turn", false, "do not go on with a turn that was cut off")
	return cmd
}

func (a *app) chat(ctx context.Context, name string, f chatFlags) error {
	name, open, err := a.agent(name)
	if err != nil {
		return err
	}
	if f.Last < 0 {
		return reports.Usage("give a number from 0 on", "%d messages are less than none", f.Last)
	}
	if !f.named {
		f.Thread = uuid.NewString()
	}
	if err := checkpoint.CheckThread(f.Thread); err != nil {
		return err
	}
	f.Agent, f.Forgets = name, a.inMemory()
	if chat.Interactive(a.Output, a.config.Stdin, f.Messages) {
		a.cancelTimeout = 0 // the next message needs the thread of a turn that was stopped
	}
	return withStore(ctx, a.open, func(store checkpoint.Store) error {
		agent, err := open(ctx, store)
		if err != nil {
			return reports.Usage(nextUnopened, "the agent %q cannot be used: %w", name, err)
		}
		d, err := a.observed(ctx, declared{Untyped: agent.Graph(), agent: agent})
		if err != nil {
			return err
		}
		d, err = a.onEngine(ctx, store, name, d)
		if err != nil {
			return err
		}
		agent = d.agent
		c := chat.New(a.Output, a.signals, a.config.Stdin, agent, f.Options)
		if err := c.CheckThread(ctx, store); err != nil {
			return err
		}
		if !f.named {
			a.Note("this is thread %s", f.Thread)
		}
		return c.Run(ctx)
	})
}

// agent returns the agent with a name, or the only one.
func (a *app) agent(name string) (string, Chat, error) {
	names := slices.Sorted(maps.Keys(a.config.Chats))
	switch {
	case len(names) == 0:
		return "", nil, reports.Usage("a program of your own names its agents in weftcli.Config.Chats", "this program has no agent to talk with")
	case name == "" && len(names) == 1:
		name = names[0]
	case name == "":
		return "", nil, reports.Usage("name one of them: "+a.Command("chat", "NAME"), "there are several agents: %s", strings.Join(names, ", "))
	case a.config.Chats[name] == nil:
		return "", nil, reports.Usage("use one of "+strings.Join(names, ", "), "there is no agent %q", name)
	}
	return name, a.config.Chats[name], nil
}
