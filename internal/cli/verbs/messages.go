package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/internal/cli/reports"
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

// These are the sources that a thread may have messages in.
var messagePlaces = []string{"conversation", "state"}

func (a *app) threadsMessagesVerb() *cobra.Command {
	var f messagesFlags
	cmd := &cobra.Command{
		Use:   "messages THREAD",
		Short: "Print what was said in a thread, oldest first",
		Long: `Messages prints the conversation of a thread, which an application keeps with package
conversation; where there is none, the field messages in the state of the thread's
graph, as it is at the newest checkpoint. --from selects one of them.

With --json each message has a cursor, which is its place in the thread: --before takes
it, and so a thread is read page by page. Messages of one Add may have one time; no two
have one cursor.`,
		Args: a.arguments("THREAD", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			return a.onTalk(cmd.Context(), args[0], func(t *talk, k records) error { return t.messages(cmd.Context(), k, f.from, o) })
		},
	}
	cmd.Flags().IntVar(&f.limit, "limit", 0, "only the newest so many (0 means all)")
	cmd.Flags().StringArrayVar(&f.roles, "role", nil, "only messages of this role: system, user, assistant or tool; repeatable")
	cmd.Flags().StringVar(&f.before, "before", "", "only messages before this time, such as 2026-01-31T12:00:00Z, or cursor")
	cmd.Flags().StringVar(&f.after, "after", "", "only messages after this time or cursor; after a cursor, --limit takes the oldest")
	cmd.Flags().StringVar(&f.from, "from", "", "conversation or state (default the first that has messages)")
	return cmd
}

func (f messagesFlags) options() (o conversation.Options, err error) {
	if f.limit < 0 {
		return o, reports.Usage("give a number from 0 on", "the limit must not be negative (got %d)", f.limit)
	}
	if f.limit > 0 {
		o.Limit = &f.limit
	}
	if f.from != "" && !slices.Contains(messagePlaces, f.from) {
		return o, reports.Usage("use one of "+strings.Join(messagePlaces, ", "), "a thread has no messages in %q", f.from)
	}
	for _, name := range f.roles {
		role, err := msg.ParseRole(name)
		if err != nil {
			return o, reports.Usage("use one of system, user, assistant, tool", "there is no role %q", name)
		}
		o.Roles = append(o.Roles, role)
	}
	if o.Before, o.OlderThan, err = parseBound(f.before); err == nil {
		o.After, o.NewerThan, err = parseBound(f.after)
	}
	if err == nil && o.OlderThan != nil && o.NewerThan != nil {
		err = reports.Usage("give a time for one of them", "--before and --after take one cursor, not two")
	}
	return o, err
}

// parseBound reads a time or a cursor. Both results are nil for "".
func parseBound(text string) (*time.Time, *conversation.Cursor, error) {
	if !strings.Contains(text, "#") {
		at, err := parseTime(text)
		return at, nil, err
	}
	c, err := conversation.ParseCursor(text)
	if err != nil {
		return nil, nil, reports.Usage("take it from the output with --json, as it is", "%q is no cursor", text)
	}
	return nil, &c, nil
}

// parseTime reads a time. The result is nil for "".
func parseTime(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, reports.Usage("write it as 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00", "%q is no time", text)
	}
	return &at, nil
}

func (t *talk) messages(ctx context.Context, k records, from string, o conversation.Options) (err error) {
	var p conversation.Page
	if from == "state" || from == "" && k.Last == nil && k.Graph != nil {
		var ms []msg.Message
		ms, err = t.logged(ctx, k)
		p = narrow(ms, o)
	} else {
		p, err = t.conversationPage(ctx, o)
	}
	if err != nil {
		return err
	}
	for i, m := range p.Messages {
		if t.JSON {
			m = placed(m, p.Cursors[i])
		}
		if err := t.printMessage(m); err != nil {
			return err
		}
	}
	if o.Limit != nil && *o.Limit > 0 && len(p.Messages) == *o.Limit {
		if o.NewerThan == nil {
			t.Note("older messages: --before %s", p.Cursors[0])
		} else {
			t.Note("newer messages: --after %s", p.Cursors[len(p.Cursors)-1])
		}
	}
	return nil
}

// placed returns a message whose JSON includes its cursor.
func placed(m msg.Message, c conversation.Cursor) msg.Message {
	m.Extra = maps.Clone(m.Extra)
	if m.Extra == nil {
		m.Extra = map[string]json.RawMessage{}
	}
	m.Extra["cursor"], _ = json.Marshal(c) // a string never fails
	return m
}

func (a *app) printMessage(m msg.Message) error {
	if a.JSON {
		return a.PrintJSON(m)
	}
	at := ""
	if !m.Created.IsZero() {
		at = reports.Cell(m.Created) + " "
	}
	_, err := fmt.Fprintf(a.Stdout, "%s%s: %s\n", at, m.Role, said(m))
	return err
}

// narrow selects messages of a log as a repository selects messages of a conversation. The number
// of a cursor is the position in the log, from 1.
func narrow(ms []msg.Message, o conversation.Options) (p conversation.Page) {
	for i, m := range ms {
		n := uint64(i) + 1
		if o.Before != nil && !m.Created.Before(*o.Before) || o.After != nil && !m.Created.After(*o.After) ||
			o.OlderThan != nil && n >= o.OlderThan.Seq || o.NewerThan != nil && n <= o.NewerThan.Seq ||
			len(o.Roles) > 0 && !slices.Contains(o.Roles, m.Role) {
			continue
		}
		p.Messages = append(p.Messages, m)
		p.Cursors = append(p.Cursors, conversation.Cursor{Created: m.Created, Seq: n})
	}
	if o.Limit == nil || *o.Limit >= len(p.Messages) {
		return p
	}
	first := len(p.Messages) - *o.Limit
	if o.NewerThan != nil {
		first = 0
	}
	return conversation.Page{Messages: p.Messages[first:][:*o.Limit], Cursors: p.Cursors[first:][:*o.Limit]}
}

// These are the types that the field messages of a state may have.
type (
	logState struct {
		Messages msg.Log `json:"messages"`
	}
	listState struct {
		Messages state.List[json.RawMessage] `json:"messages"`
	}
)

// logged returns the field messages of the state at the newest checkpoint. The field is a
// message.Log, or a list of objects that decode as messages. No other field is decoded, so logged
// needs neither the program nor the workflow of the thread.
func (t *talk) logged(ctx context.Context, k records) ([]msg.Message, error) {
	if k.Graph == nil {
		return nil, reports.Usage(t.Command("threads", "show", t.thread)+" shows what there is", "thread %q has no graph, and so no state", t.thread)
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
	return nil, &reports.Failure{Code: reports.ExitFailed, Err: fmt.Errorf("the field messages in the state of thread %q is no list of messages: %s", t.thread, why),
		Next: t.Command("state", "--thread", t.thread) + " shows it"}
}

// restored decodes the fields of S from a commit.
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

// listed decodes objects as messages.
func listed(items []json.RawMessage) ([]msg.Message, error) {
	ms := make([]msg.Message, len(items))
	for i, item := range items {
		if err := json.Unmarshal(item, &ms[i]); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return ms, nil
}
