package verbs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	sessions "github.com/weftrun/weft/conversation/session"
	msg "github.com/weftrun/weft/state/message"
)

func (a *app) sessionsShowVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "show SESSION",
		Short: "Show one session, with what was said in it",
		Long: `Show prints the lines that ls has of a session, and the messages of the one that goes on.
Of its name the beginning is enough where only one begins so.`,
		Args: a.arguments("SESSION", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSessions(cmd.Context(), noOffload{}, func(m *sessions.Manager) error {
				return a.showSession(cmd.Context(), m, args[0])
			})
		},
	}
}

func (a *app) showSession(ctx context.Context, m *sessions.Manager, start string) error {
	all := map[string]sessions.Listed{}
	var names []string
	for l, err := range m.List(ctx) {
		if err != nil {
			return err
		}
		all[l.ID], names = l, append(names, l.ID)
	}
	name, err := a.begun("session", start, names, a.Command("sessions", "ls"))
	if err != nil {
		return err
	}
	said, err := m.Log(ctx, name)
	if err != nil && !errors.Is(err, sessions.ErrEnded) && !errors.Is(err, sessions.ErrNotFound) {
		return err
	}
	return a.printSession(all[name], said)
}

func (a *app) printSession(l sessions.Listed, said []msg.Message) error {
	if a.JSON {
		return a.PrintJSON(struct {
			Session  string        `json:"session"`
			Lives    []life        `json:"lives"`
			Messages []msg.Message `json:"messages,omitempty"`
		}{l.ID, livesOf(l), said})
	}
	t := a.Table(lifeHead...)
	for _, s := range livesOf(l) {
		if err := s.row(t); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil || len(said) == 0 {
		return err
	}
	fmt.Fprintln(a.Stdout)
	for _, m := range said {
		if err := a.printMessage(m); err != nil {
			return err
		}
	}
	return nil
}
