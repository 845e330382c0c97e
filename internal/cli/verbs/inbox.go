package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

func (a *app) inboxVerb() *cobra.Command {
	var q checkpoint.ThreadQuery
	var v decision
	cmd := &cobra.Command{
		Use:   "inbox [show|approve|edit|reject|respond ID|THREAD]",
		Short: "List the open questions of all threads, show one, or decide it",
		Long: `Inbox lists the questions that wait for a person, in all threads of the store. With
show it prints one whole, with the command that answers it, or all of a thread; the
beginning of the ID, or of the thread's name, is enough. Approve, edit, reject and
respond decide a question that takes this decision, and the run goes on. With the name of
a thread they decide its only question. Edit takes what is approved instead with --args,
reject the reason and respond the answer with --message.`,
		Args: func(cmd *cobra.Command, args []string) error {
			verb, named := first(args), cmd.Flags().Changed("thread")
			switch {
			case len(args) == 0 && !named:
				return nil
			case (len(args) == 2) == !named && 0 < len(args) && len(args) < 3 && (verb == "show" || slices.Contains(decisionWords, verb)):
				return nil
			}
			return reports.Usage(a.Command("inbox")+" lists the questions, "+a.Command("inbox", "show", cmp.Or(v.thread, "ID"))+" shows one",
				"inbox does not take the arguments %q", strings.Join(args, " "))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Limit < 0 {
				return reports.Usage("give a number from 0 on", "the limit must not be negative (got %d)", q.Limit)
			}
			for _, name := range []string{"limit", "after"} {
				if len(args) > 0 && cmd.Flags().Changed(name) {
					return reports.Usage("leave it out", "--%s is for the list, and not for %s", name, args[0])
				}
			}
			if v.word = first(args); slices.Contains(decisionWords, v.word) {
				return a.decide(cmd, args[1:], v)
			}
			if err := v.unused(cmd); err != nil {
				return err
			}
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				i := inbox{app: a, store: store, now: time.Now}
				if len(args) > 0 {
					return i.showAll(cmd.Context(), v.thread, args[1:])
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

// inbox lists the open questions of all threads.
type inbox struct {
	*app
	store checkpoint.Store
	now   func() time.Time
}

// letter is one open question, with its origin.
type letter struct {
	graph.Interrupt
	Thread   string    `json:"thread"`
	Workflow string    `json:"workflow"`
	Since    time.Time `json:"since"` // the time of the checkpoint with the question
	Next     string    `json:"next"`  // how to answer: a command, or for a graph in Go the call

	here bool // this program can run the graph, so resume answers the question
}

// each calls fn with every open question.
func (i inbox) each(ctx context.Context, q checkpoint.ThreadQuery, fn func(letter) error) error {
	for p, err := range graph.Threads(ctx, i.store, q) {
		if err != nil {
			return err
		}
		s := &session{app: i.app, store: i.store, thread: p.Thread}
		for _, l := range s.letters(p) {
			if err := fn(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// letters returns the open questions of the thread.
func (s *session) letters(p graph.CommitInfo) (all []letter) {
	for _, in := range p.Interrupts {
		all = append(all, letter{in, p.Thread, p.Graph, p.Time, s.answers(p, in), s.runs(p)})
	}
	return all
}

// runs reports whether this program can run the graph of a thread: from a file, in Go, or of an
// agent.
func (a *app) runs(p graph.CommitInfo) bool { return p.Metadata[metaPath] != "" || a.has(p.Graph) }

// answers returns how to answer a question of a thread. It is a command if this program can run the
// graph of the thread, else a call in the program that declares the graph.
func (s *session) answers(p graph.CommitInfo, in graph.Interrupt) string {
	switch {
	case s.runs(p) && choices(in) != "":
		return s.Command("inbox", "approve", in.ID)
	case s.runs(p) && in.IsQuestion():
		return s.Command("resume", "--thread", p.Thread, "--answer", in.ID+"="+sample(in.Schema))
	case s.runs(p):
		return s.Command("resume", "--thread", p.Thread)
	}
	return fmt.Sprintf("g.Resume(ctx, graph.Answer(%q, …), graph.RunOptions{Thread: %q}), where g is the graph %q", in.ID, p.Thread, p.Graph)
}

func (i inbox) list(ctx context.Context, q checkpoint.ThreadQuery) error {
	t := i.Table("ID", "THREAD", "NODE", "QUESTION", "AGE", "EXPIRES")
	err := i.each(ctx, q, func(l letter) error {
		return t.Add(l, l.ID[:min(8, len(l.ID))], l.Thread, reports.TaskTitle(l.Namespace, l.Node, ""), terminal.Cut(reports.OneLine(l.Prompt), 60), age(i.now().Sub(l.Since)), i.expires(l))
	})
	if err != nil {
		return err
	}
	return t.Flush()
}

// expires returns when a question expires, or "" if it never does.
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

// age returns a duration in one unit, since it may be long.
func age(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
	return reports.Duration(max(d, 0))
}

// showAll shows one question, or the questions of one thread.
func (i inbox) showAll(ctx context.Context, thread string, names []string) error {
	letters, err := i.named(ctx, thread, names)
	if err != nil {
		return err
	}
	for n, l := range letters {
		if n > 0 && !i.JSON {
			fmt.Fprintln(i.Stdout)
		}
		if err := i.show(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (i inbox) show(ctx context.Context, l letter) (err error) {
	if i.JSON {
		return i.PrintJSON(l)
	}
	s := &session{app: i.app, store: i.store, thread: l.Thread}
	defer i.noteForeign(ctx, s, l)
	fmt.Fprintf(i.Stdout, "thread %s, workflow %s, asked %s ago", reports.Cell(l.Thread), reports.Cell(l.Workflow), age(i.now().Sub(l.Since)))
	if when := i.expires(l); when != "" {
		fmt.Fprintf(i.Stdout, ", expires %s", when)
	}
	if what := reports.JSONText(l.Data); what != "" && what != "null" {
		fmt.Fprintf(i.Stdout, "\n\nIt is about:\n%s", strings.TrimSuffix(what, "\n"))
	}
	if !l.here {
		_, err = fmt.Fprintf(i.Stdout, "\n\n%s", s.question(l.Interrupt, l.Next))
		return err
	}
	_, err = fmt.Fprintf(i.Stdout, "\n\n%sOr decline it with:\n  %s\n", s.question(l.Interrupt, l.Next),
		s.Command("resume", "--thread", l.Thread, "--decline", l.ID, "--reason", "TEXT"))
	return err
}

// noteForeign notes that another program must run the commands for a question, if this program
// cannot run the graph of the thread.
func (i inbox) noteForeign(ctx context.Context, s *session, l letter) {
	p, found, err := s.inspect(ctx)
	if err != nil || !found || !l.here {
		return
	}
	if why, err := s.findToRead(ctx, "resume", "", p); err == nil && why != nil {
		i.Note("this program cannot go on with thread %q, since %s; give the command to the program that began it",
			l.Thread, s.whyForeign(p, why))
	}
}

// named returns the question whose id begins with name, or else the questions of the thread with
// that name. It returns an error if both exist.
func (i inbox) named(ctx context.Context, thread string, names []string) (found []letter, err error) {
	if len(names) == 0 {
		return i.ofThread(ctx, thread)
	}
	name := names[0]
	all, err := i.all(ctx)
	for _, l := range all {
		if strings.HasPrefix(l.ID, name) {
			found = append(found, l)
		}
		if l.Thread == name {
			thread = name
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(found) > 0 && thread != "":
		return nil, reports.Usage("name the thread with --thread "+reports.Quote(name)+", or write more of the id", "%q is a thread, and the beginning of the id of a question", name)
	case len(found) > 1:
		var ids []string
		for _, l := range found {
			ids = append(ids, fmt.Sprintf("%s (%s)", l.ID, l.Thread))
		}
		return nil, reports.Usage("write more of the id", "%d questions have an id that begins with %q: %s", len(found), name, candidates(ids))
	case len(found) == 0:
		return i.ofThread(ctx, name)
	}
	return found, nil
}

// ofThread returns the open questions of a thread, at least one. A unique prefix of the thread's
// name is enough.
func (i inbox) ofThread(ctx context.Context, name string) (found []letter, err error) {
	s := &session{app: i.app, store: i.store, thread: name}
	if err := s.lengthen(ctx); err != nil {
		return nil, err
	}
	p, known, err := s.inspect(ctx)
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, reports.Usage(i.Command("inbox")+" lists the open questions", "no open question has an id that begins with %q, and no thread has that name", name)
	case len(p.Interrupts) == 0:
		return nil, reports.Usage(i.Command("inbox")+" lists the open questions", "thread %q has no open question", s.thread)
	}
	return s.letters(p), nil
}

// one returns the question with the name, if there is exactly one.
func (i inbox) one(ctx context.Context, thread string, names []string) (letter, error) {
	found, err := i.named(ctx, thread, names)
	if err != nil {
		return letter{}, err
	}
	if len(found) > 1 {
		return letter{}, reports.Usage(i.Command("inbox", "show", found[0].Thread)+" shows them with their ids", "thread %q has %d open questions, not one", found[0].Thread, len(found))
	}
	return found[0], nil
}

func (i inbox) all(ctx context.Context) (all []letter, err error) {
	err = i.each(ctx, checkpoint.ThreadQuery{}, func(l letter) error {
		all = append(all, l)
		return nil
	})
	return all, err
}
