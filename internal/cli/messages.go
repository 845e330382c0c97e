package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/conversation"
	"github.com/weftrun/weft/state"
	msg "github.com/weftrun/weft/state/message"
)

// messagesFlags are the flags of threads messages.
type messagesFlags struct {
	limit         int
	roles         []string
	before, after string
	from          string
}

// The places in which a thread may have messages.
var messagePlaces = []string{"conversation", "state"}

func (a *app) threadsMessagesVerb() *cobra.Command {
	var f messagesFlags
	cmd := &cobra.Command{
		Use:   "messages THREAD",
		Short: "Print what was said in a thread, oldest first",
		Long: `Messages prints the conversation of a thread, which an application keeps with package
conversation; where there is none, the field messages in the state of the thread's
graph, as it is at the newest checkpoint. --from says which of them.`,
		Args: a.arguments("THREAD", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			return a.onTalk(cmd.Context(), args[0], func(t *talk, k kept) error { return t.messages(cmd.Context(), k, f.from, o) })
		},
	}
	cmd.Flags().IntVar(&f.limit, "limit", 0, "only the newest so many (0 means all)")
	cmd.Flags().StringArrayVar(&f.roles, "role", nil, "only messages of this role: system, user, assistant or tool; repeatable")
	cmd.Flags().StringVar(&f.before, "before", "", "only messages before this time, such as 2026-01-31T12:00:00Z")
	cmd.Flags().StringVar(&f.after, "after", "", "only messages after this time")
	cmd.Flags().StringVar(&f.from, "from", "", "conversation or state (default the first that has messages)")
	return cmd
}

func (f messagesFlags) options() (o conversation.Options, err error) {
	if f.limit < 0 {
		return o, usage("give a number from 0 on", "a limit of %d is less than nothing", f.limit)
	}
	if f.limit > 0 {
		o.Limit = &f.limit
	}
	if f.from != "" && !slices.Contains(messagePlaces, f.from) {
		return o, usage("use one of "+strings.Join(messagePlaces, ", "), "a thread has no messages in %q", f.from)
	}
	for _, name := range f.roles {
		role, err := msg.ParseRole(name)
		if err != nil {
			return o, usage("use one of system, user, assistant, tool", "there is no role %q", name)
		}
		o.Roles = append(o.Roles, role)
	}
	if o.Before, err = parseTime(f.before); err == nil {
		o.After, err = parseTime(f.after)
	}
	return o, err
}

// parseTime reads a time, nil of "".
func parseTime(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, usage("write it as 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00", "%q is no time", text)
	}
	return &at, nil
}

func (t *talk) messages(ctx context.Context, k kept, from string, o conversation.Options) (err error) {
	var ms []msg.Message
	if from == "state" || from == "" && k.Last == nil && k.Graph != nil {
		ms, err = t.logged(ctx, k)
		ms = narrow(ms, o)
	} else {
		ms, err = t.conversation(ctx, o)
	}
	if err != nil {
		return err
	}
	for _, m := range ms {
		if err := t.printMessage(m); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printMessage(m msg.Message) error {
	if a.json {
		return a.printJSON(m)
	}
	at := ""
	if !m.Created.IsZero() {
		at = cell(m.Created) + " "
	}
	_, err := fmt.Fprintf(a.Stdout, "%s%s: %s\n", at, m.Role, said(m))
	return err
}

// narrow does to messages of a log what a repository does to those of a conversation.
func narrow(ms []msg.Message, o conversation.Options) []msg.Message {
	ms = slices.DeleteFunc(ms, func(m msg.Message) bool {
		return o.Before != nil && !m.Created.Before(*o.Before) ||
			o.After != nil && !m.Created.After(*o.After) ||
			len(o.Roles) > 0 && !slices.Contains(o.Roles, m.Role)
	})
	if o.Limit != nil {
		ms = ms[max(0, len(ms)-*o.Limit):]
	}
	return ms
}

// What the state of a graph may have under the name messages.
type (
	logState struct {
		Messages msg.Log `json:"messages"`
	}
	listState struct {
		Messages state.List[json.RawMessage] `json:"messages"`
	}
)

// logged returns the field messages of the state at the newest checkpoint: a message.Log, or
// a list of objects that read as messages. No other field is decoded, so it needs neither the
// program nor the workflow of the thread.
func (t *talk) logged(ctx context.Context, k kept) ([]msg.Message, error) {
	if k.Graph == nil {
		return nil, usage(t.command("threads", "show", t.thread)+" shows what there is", "thread %q has no graph, and so no state", t.thread)
	}
	snap, err := t.store.Load(ctx, checkpoint.Key{Thread: t.thread}, 0)
	if err != nil {
		return nil, err
	}
	log, err := restored[logState](snap)
	if err == nil {
		return log.Messages.Slice(), nil
	}
	if !errors.Is(err, checkpoint.ErrSchema) {
		return nil, err
	}
	why := "it is something else"
	if list, err := restored[listState](snap); err == nil {
		ms, err := listed(list.Messages.Slice())
		if err == nil {
			return ms, nil
		}
		why = err.Error()
	}
	return nil, &failure{exitFailed, fmt.Errorf("the field messages in the state of thread %q is no list of messages: %s", t.thread, why),
		t.command("state", "--thread", t.thread) + " shows it"}
}

// restored decodes of a commit what S has.
func restored[S any](snap checkpoint.Snapshot) (s S, err error) {
	schema, err := state.SchemaOf[S]()
	if err != nil {
		return s, err
	}
	_, v, err := checkpoint.Restore(snap, schema)
	if err != nil {
		return s, err
	}
	return *v.State.(*S), nil
}

// listed reads objects as messages.
func listed(items []json.RawMessage) ([]msg.Message, error) {
	ms := make([]msg.Message, len(items))
	for i, item := range items {
		if err := json.Unmarshal(item, &ms[i]); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return ms, nil
}
