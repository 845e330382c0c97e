package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	msg "github.com/weftrun/weft/state/message"
)

// talk is one command on everything stored under a name: a record, a conversation and a graph. Each
// of them may be missing.
type talk struct {
	*session
	docs document.Store
}

// records are the stored parts of a thread.
type records struct {
	Thread string            `json:"thread"`
	Graph  *graph.CommitInfo `json:"graph,omitempty"`
	Config json.RawMessage   `json:"config,omitempty"`
	State  json.RawMessage   `json:"state,omitempty"`
	Last   *msg.Message      `json:"last_message,omitempty"`
}

func (a *app) threadsShowVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "show THREAD",
		Short: "Show everything stored under a name",
		Long: `Show prints the newest checkpoint of a thread's graph and the newest message of its
conversation. It also prints the configuration and the state of the agent, which an
application stores with package thread.`,
		Args: a.arguments("THREAD", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTalk(cmd.Context(), args[0], func(t *talk, k records) error { return t.show(k) })
		},
	}
}

func (a *app) threadsConfigVerb() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "config THREAD",
		Short: "Show the configuration of a thread",
		Long: `Config prints the configuration that an application has set for a thread with package
thread.`,
		Args: a.arguments("THREAD", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTalk(cmd.Context(), args[0], func(t *talk, k records) error { return t.config(k, path) })
		},
	}
	cmd.Flags().StringVar(&path, "path", "", "only what is at this path, such as historyLimit or enabledTools.0")
	return cmd
}

// onTalk runs fn with the stored parts of a thread. For a thread with a graph, a unique prefix of
// its name is enough.
func (a *app) onTalk(ctx context.Context, name string, fn func(*talk, records) error) error {
	return a.withDocuments(ctx, func(store checkpoint.Store, docs document.Store) error {
		t := &talk{&session{app: a, store: store, thread: name}, docs}
		k, found, err := t.gather(ctx)
		if err == nil && !found {
			if err = t.lengthen(ctx); err == nil && t.thread != name {
				k, found, err = t.gather(ctx)
			}
		}
		if err != nil {
			return err
		}
		if !found {
			return t.unknownThread()
		}
		return fn(t, k)
	})
}

// gather reads the parts stored under the exact name.
func (t *talk) gather(ctx context.Context) (k records, found bool, err error) {
	k.Thread = t.thread
	p, found, err := t.inspect(ctx)
	if err != nil {
		return k, false, err
	}
	if found {
		k.Graph = &p
	}
	rec, err := thread.NewRepository[json.RawMessage](t.docs).Thread(ctx, t.thread)
	switch {
	case errors.Is(err, thread.ErrThreadNotFound):
	case err != nil:
		return k, false, err
	default:
		found = true
		if k.Config, err = json.Marshal(rec.Config); err != nil {
			return k, false, err
		}
		if rec.State != nil {
			if k.State, err = json.Marshal(rec.State); err != nil {
				return k, false, err
			}
		}
	}
	last, err := t.conversationPage(ctx, conversation.Options{Limit: new(1)})
	if err != nil || len(last.Messages) == 0 {
		return k, found, err
	}
	k.Last = &last.Messages[0]
	return k, true, nil
}

func (t *talk) conversationPage(ctx context.Context, o conversation.Options) (conversation.Page, error) {
	repo, err := conversation.NewRepository(t.docs)
	if err != nil {
		return conversation.Page{}, err
	}
	return repo.Page(ctx, t.thread, o)
}

func (t *talk) show(k records) error {
	if t.JSON {
		return t.PrintJSON(k)
	}
	fmt.Fprintf(t.Stdout, "thread %s\n", reports.Cell(k.Thread))
	if k.Graph == nil {
		fmt.Fprint(t.Stdout, "\nno graph has run on it: it is what an application keeps under this name\n")
	}
	if p := k.Graph; p != nil {
		fmt.Fprintf(t.Stdout, "\ngraph %s: checkpoint %d, turn %d, step %d, %s, %s\n", reports.Cell(p.Graph), p.Checkpoint, p.Turn, p.Step, p.Status, reports.Cell(p.Time))
	}
	for _, part := range []struct {
		name string
		data json.RawMessage
	}{{"config", k.Config}, {"state", k.State}} {
		if part.data == nil {
			continue
		}
		fmt.Fprintf(t.Stdout, "\n%s:\n", part.name)
		if err := t.printMembers(part.data); err != nil {
			return err
		}
	}
	if k.Last != nil {
		fmt.Fprintf(t.Stdout, "\nlast message, of %s:\n%s: %s\n", reports.Cell(k.Last.Created), k.Last.Role, said(*k.Last))
	}
	return nil
}

// printMembers prints the members of an object, each under its name.
func (t *talk) printMembers(data json.RawMessage) error {
	values, err := members(data)
	if err == nil {
		err = reports.PrintValues(t.Stdout, values)
	}
	return err
}

func (t *talk) config(k records, path string) error {
	if k.Config == nil {
		return reports.Usage(t.Command("threads", "show", t.thread)+" shows what there is", "thread %q has no configuration: no application has set one", t.thread)
	}
	if path == "" && t.JSON {
		return t.PrintJSON(k.Config)
	}
	if path == "" {
		return t.printMembers(k.Config)
	}
	found := gjson.GetBytes(k.Config, path)
	switch {
	case !found.Exists():
		return reports.Usage(t.Command("threads", "config", t.thread)+" shows all of it", "the configuration has nothing at %q", path)
	case t.JSON:
		return t.PrintJSON(json.RawMessage(found.Raw))
	}
	return reports.PrintValues(t.Stdout, workflow.Values{{Name: path, Value: json.RawMessage(found.Raw)}})
}

// said returns the text of a message, and its tool calls.
func said(m msg.Message) string {
	var parts []string
	if text := m.Text(); text != "" {
		parts = append(parts, text)
	}
	for _, c := range m.Calls {
		parts = append(parts, fmt.Sprintf("calls %s(%s)", c.Name, c.Arguments))
	}
	return strings.Join(parts, " ")
}
