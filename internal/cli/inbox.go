package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

func (a *app) inboxVerb() *cobra.Command {
	var q checkpoint.ThreadQuery
	var v ruling
	cmd := &cobra.Command{
		Use:   "inbox [show|approve|edit|reject ID]",
		Short: "List the open questions of all threads, show one, or decide it",
		Long: `Inbox lists the questions that wait for a person, in all threads of the store. With
show it prints one whole, with the command that answers it; the beginning of the ID
is enough. Approve, edit and reject decide a question that can be decided so, and the
run goes on: edit takes what is approved instead with --args, reject a word about it with
--message. In place of the ID, --thread NAME means the only question of a thread.`,
		Args: func(cmd *cobra.Command, args []string) error {
			verb, named := first(args), cmd.Flags().Changed("thread")
			switch {
			case len(args) == 0 && !named, len(args) == 2 && !named && (verb == "show" || slices.Contains(rulings, verb)):
				return nil
			case len(args) == 1 && named && slices.Contains(rulings, verb):
				return nil
			}
			return usage(a.command("inbox")+" lists the questions, "+a.command("inbox", "show", "ID")+" shows one",
				"inbox does not take the arguments %q", strings.Join(args, " "))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Limit < 0 {
				return usage("give a number from 0 on", "a limit of %d is less than nothing", q.Limit)
			}
			if v.word = first(args); slices.Contains(rulings, v.word) {
				return a.decide(cmd, args[1:], v)
			}
			if err := v.unused(cmd); err != nil {
				return err
			}
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				i := inbox{app: a, store: store, now: time.Now}
				if len(args) == 2 {
					return i.show(cmd.Context(), args[1])
				}
				return i.list(cmd.Context(), q)
			})
		},
	}
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "of at most so many threads (0 means all)")
	cmd.Flags().StringVar(&q.After, "after", "", "only of threads that come after this one by name")
	v.flags(cmd)
	return cmd
}

// inbox is all that waits for a person.
type inbox struct {
	*app
	store checkpoint.Store
	now   func() time.Time
}

// letter is one open question, with where it comes from.
type letter struct {
	graph.Interrupt
	Thread   string    `json:"thread"`
	Workflow string    `json:"workflow"`
	Since    time.Time `json:"since"` // of the checkpoint beside which it is asked
	Next     string    `json:"next"`  // what answers it: a command, or for a graph in Go the call

	here bool // this program can run the graph, so resume answers it
}

// each calls fn with every open question.
func (i inbox) each(ctx context.Context, q checkpoint.ThreadQuery, fn func(letter) error) error {
	for p, err := range graph.Threads(ctx, i.store, q) {
		if err != nil {
			return err
		}
		s := &session{app: i.app, store: i.store, thread: p.Thread}
		for _, in := range p.Interrupts {
			if err := fn(letter{in, p.Thread, p.Graph, p.Time, s.answers(p, in), s.runs(p)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// runs reports whether this program can run the graph of a thread: one in a file, one in Go or
// an agent's.
func (a *app) runs(p graph.Point) bool { return p.Metadata[metaPath] != "" || a.has(p.Graph) }

// answers tells how to answer a question of a thread: by a command, if this program can run its
// graph; else by a call in the program that declares the graph.
func (s *session) answers(p graph.Point, in graph.Interrupt) string {
	switch {
	case s.runs(p) && choices(in) != "":
		return s.command("inbox", "approve", in.ID)
	case s.runs(p) && in.Kind == "question":
		return s.command("resume", "--thread", p.Thread, "--answer", in.ID+"="+sample(in.Schema))
	case s.runs(p):
		return s.command("resume", "--thread", p.Thread)
	}
	return fmt.Sprintf("g.Resume(ctx, graph.Answer(%q, …), graph.Run{Thread: %q}), where g is the graph %q", in.ID, p.Thread, p.Graph)
}

func (i inbox) list(ctx context.Context, q checkpoint.ThreadQuery) error {
	t := i.table("ID", "THREAD", "NODE", "QUESTION", "AGE", "EXPIRES")
	err := i.each(ctx, q, func(l letter) error {
		return t.add(l, l.ID[:min(8, len(l.ID))], l.Thread, title(l.Namespace, l.Node, ""), cut(oneLine(l.Prompt), 60), age(i.now().Sub(l.Since)), i.expires(l))
	})
	if err != nil {
		return err
	}
	return t.flush()
}

// expires says when a question expires, "" for never.
func (i inbox) expires(l letter) string {
	switch left := l.Expires.Sub(i.now()); {
	case l.Expires.IsZero():
		return ""
	case left <= 0:
		return "expired"
	default:
		return "in " + age(left)
	}
}

// age is brief for times that may be long.
func age(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
	return brief(max(d, 0))
}

func (i inbox) show(ctx context.Context, start string) error {
	l, err := i.find(ctx, start)
	if err != nil {
		return err
	}
	if i.json {
		return i.printJSON(l)
	}
	s := &session{app: i.app, store: i.store, thread: l.Thread}
	fmt.Fprintf(i.Stdout, "thread %s, workflow %s, asked %s ago", cell(l.Thread), cell(l.Workflow), age(i.now().Sub(l.Since)))
	if when := i.expires(l); when != "" {
		fmt.Fprintf(i.Stdout, ", expires %s", when)
	}
	if what := jsonText(l.Data); what != "" && what != "null" {
		fmt.Fprintf(i.Stdout, "\n\nIt is about:\n%s", strings.TrimSuffix(what, "\n"))
	}
	if !l.here {
		_, err = fmt.Fprintf(i.Stdout, "\n\n%s", s.question(l.Interrupt, l.Next))
		return err
	}
	_, err = fmt.Fprintf(i.Stdout, "\n\n%sOr decline it with:\n  %s\n", s.question(l.Interrupt, l.Next),
		s.command("resume", "--thread", l.Thread, "--decline", l.ID, "--reason", "TEXT"))
	return err
}

// find returns the open question whose id begins so.
func (i inbox) find(ctx context.Context, start string) (letter, error) {
	var found []letter
	err := i.each(ctx, checkpoint.ThreadQuery{}, func(l letter) error {
		if strings.HasPrefix(l.ID, start) {
			found = append(found, l)
		}
		return nil
	})
	switch {
	case err != nil:
		return letter{}, err
	case len(found) == 0:
		return letter{}, usage(i.command("inbox")+" lists the open questions", "no open question has an id that begins with %q", start)
	case len(found) > 1:
		var ids []string
		for _, l := range found {
			ids = append(ids, fmt.Sprintf("%s (%s)", l.ID, l.Thread))
		}
		return letter{}, usage("write more of the id", "%d questions have an id that begins with %q: %s", len(found), start, candidates(ids))
	}
	return found[0], nil
}
