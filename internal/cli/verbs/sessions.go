package verbs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	sessions "github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/internal/cli/reports"
)

func (a *app) sessionsVerb() *cobra.Command {
	cmd := a.sessionsLsVerb()
	cmd.Use, cmd.Short = "sessions", "List, show, end and offload the sessions of the store"
	cmd.Long = `Sessions looks after what applications keep with package session: conversations that end
after a while, and go to a long-term memory then. Alone it lists them, as ls does.`
	cmd.AddCommand(a.sessionsLsVerb(), a.sessionsShowVerb(), a.sessionsEndVerb(), a.sessionsOffloadVerb())
	return cmd
}

func (a *app) sessionsLsVerb() *cobra.Command {
	var user string
	var limit int
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the sessions that go on, and those that wait to be offloaded",
		Long: `Ls lists sessions, those first that need a sweeper first. The status is live, over when
the time of a session has run out and no sweeper has ended it yet, or ended when what was
said in it has still to be offloaded or removed. A session that was begun anew under its
name may have several lines.`,
		Args: a.arguments("", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return reports.Usage("give a number from 0 on", "the limit must not be negative (got %d)", limit)
			}
			return a.withSessions(cmd.Context(), noOffload{}, func(m *sessions.Manager) error {
				return a.listSessions(cmd.Context(), m, user, limit)
			})
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "only sessions of this user")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most so many (0 means all)")
	return cmd
}

// withSessions runs fn with the sessions of the store.
func (a *app) withSessions(ctx context.Context, e sessions.Engine, fn func(*sessions.Manager) error) error {
	return a.withDocuments(ctx, func(_ checkpoint.Store, docs document.Store) error {
		m, err := sessions.New(sessions.Config{Store: docs, Engine: e})
		if err != nil {
			return err
		}
		return fn(m)
	})
}

// noOffload is an engine that accepts nothing, so ended sessions stay in the store.
type noOffload struct{}

var errNoOffload = errors.New("this command offloads nothing")

func (noOffload) Offload(context.Context, sessions.Ended) error { return errNoOffload }

func (noOffload) Bootstrap(context.Context, string) (string, error) { return "", nil }

// life is one row of sessions ls.
type life struct {
	Session  string          `json:"session"`
	User     string          `json:"user,omitempty"`
	Status   string          `json:"status"`
	Messages int             `json:"messages"`
	Created  time.Time       `json:"created"`
	Deadline time.Time       `json:"deadline,omitzero"`
	Ended    time.Time       `json:"ended,omitzero"`
	Reason   sessions.Reason `json:"reason,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
	Key      string          `json:"key,omitempty"`
}

func livesOf(l sessions.Listed) (all []life) {
	for _, w := range l.Waiting {
		all = append(all, life{Session: l.ID, User: w.User, Status: "ended", Messages: w.Messages, Created: w.Created, Ended: w.Ended, Reason: w.Reason, Attempts: w.Attempts, Key: w.Key})
	}
	if s := l.Live; s != nil {
		status := "live"
		if l.Over {
			status = "over"
		}
		all = append(all, life{Session: l.ID, User: s.User, Status: status, Messages: s.Messages, Created: s.Created, Deadline: s.Deadline})
	}
	return all
}

var lifeHead = []string{"SESSION", "USER", "STATUS", "MESSAGES", "BEGUN", "ENDS", "WHY"}

func (s life) row(t *reports.Table) error {
	ends := s.Deadline
	if s.Status == "ended" {
		ends = s.Ended
	}
	return t.Add(s, s.Session, s.User, s.Status, s.Messages, s.Created, ends, s.Reason)
}

func (a *app) listSessions(ctx context.Context, m *sessions.Manager, user string, limit int) error {
	t, n := a.Table(lifeHead...), 0
	for l, err := range m.List(ctx) {
		if err != nil {
			return err
		}
		for _, s := range livesOf(l) {
			if user != "" && s.User != user {
				continue
			}
			if n++; limit > 0 && n > limit {
				return t.Flush()
			}
			if err := s.row(t); err != nil {
				return err
			}
		}
	}
	return t.Flush()
}

func (a *app) sessionsEndVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "end SESSION",
		Short: "End a session",
		Long: `End ends a session at once, as a user who leaves does. What was said in it stays until a
sweeper of its application, or sessions offload, gives it to the long-term memory. To
end one that has ended is no mistake.`,
		Args: a.arguments("SESSION", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSessions(cmd.Context(), noOffload{}, func(m *sessions.Manager) error {
				return a.endSession(cmd.Context(), m, args[0])
			})
		},
	}
}

func (a *app) endSession(ctx context.Context, m *sessions.Manager, id string) error {
	_, err := m.Get(ctx, id)
	was := err == nil
	switch {
	case errors.Is(err, checkpoint.ErrThreadID):
		return reports.Usage("name it; "+a.Command("sessions", "ls")+" lists the sessions", "%q cannot be the name of a session", id)
	case errors.Is(err, sessions.ErrEnded):
	case errors.Is(err, sessions.ErrNotFound):
		return reports.Usage(a.Command("sessions", "ls")+" lists the sessions of the store", "there is no session %q", id)
	case err != nil:
		return err
	}
	if err := m.End(ctx, id); err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"session": id, "ended": was})
	}
	text := "session %s has ended\n"
	if !was {
		text = "session %s had ended before\n"
	}
	_, err = fmt.Fprintf(a.Stdout, text, reports.Cell(id))
	return err
}
