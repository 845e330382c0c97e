package verbs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// historyFlags are the flags of history.
type historyFlags struct {
	before uint64
	limit  int
	where  []string
	html   bool
	moment
}

func (a *app) historyVerb() *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history THREAD",
		Short: "List the checkpoints of a thread, newest first",
		Long: `History lists the checkpoints of a thread, newest first. FROM is the checkpoint that
one goes on from, where that is not the one before it: there a branch begins, and
BRANCH is the checkpoint that began it.

The decisions about the thread follow, each with its author and interface. They include
decisions of pruned checkpoints. With --json each is an object {"decision":…}. The name
of the author is that of --by, and no proof.

` + whereHelp + `

--namespace lists the checkpoints of a subgraph and what was decided in it; one that is not
there lists the namespaces.

--html prints a page for a browser with a picture of the newest turn, its steps and the list. It
needs no other file and no network.`,
		Args: a.arguments("THREAD", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.limit < 0 {
				return reports.Usage("give a number from 0 on", "the limit must not be negative (got %d)", f.limit)
			}
			if f.html && a.JSON {
				return reports.Usage("leave one of them out", "--json and --html are two forms of the history")
			}
			where, err := threadTerms.parse(f.where)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				s := &session{app: a, store: store, thread: args[0]}
				if err := s.lengthen(cmd.Context()); err != nil {
					return err
				}
				return s.history(cmd.Context(), f, where)
			})
		},
	}
	cmd.Flags().IntVar(&f.limit, "limit", 0, "at most so many (0 means all)")
	cmd.Flags().BoolVar(&f.html, "html", false, "print a page for a browser")
	cmd.Flags().Uint64Var(&f.before, "before", 0, "only checkpoints with a smaller number")
	f.subgraph(cmd, "the namespace of a subgraph whose checkpoints to list")
	cmd.Flags().StringArrayVar(&f.where, "where", nil, "KEY=VALUE, only checkpoints that fit; repeatable")
	return cmd
}

func (s *session) history(ctx context.Context, f historyFlags, where []condition) error {
	t := s.Table("CHECKPOINT", "FROM", "BRANCH", "TURN", "STEP", "SOURCE", "RAN", "NEXT", "STATUS", "TIME")
	q := checkpoint.Query{Before: f.before}
	var whole bool
	if q.Where, whole = labelsOf(where); whole && f.limit > 0 {
		q.Limit = f.limit + 1 // one more shows whether the list is complete
	}
	last, n := uint64(0), 0
	var listed []graph.CommitInfo // for a page
	for p, err := range graph.History(ctx, s.store, checkpoint.Key{Thread: s.thread, Namespace: f.namespace}, q) {
		if errors.Is(err, graph.ErrUnknownThread) && f.namespace != "" {
			return f.unknown(ctx, s, err)
		}
		if errors.Is(err, graph.ErrUnknownThread) {
			return s.unknownThread()
		}
		if err != nil {
			return err
		}
		if !fits(p, where) {
			continue
		}
		if n++; f.limit > 0 && n > f.limit {
			break
		}
		last = p.Checkpoint
		if f.html {
			listed = append(listed, p)
			continue
		}
		if err := t.Add(p, p.Checkpoint, orBlank(p.Parent), orBlank(p.Branch), p.Turn, p.Step, p.Source, names(p.Nodes()), names(p.Next), p.Status, p.Time); err != nil {
			return err
		}
	}
	if f.html {
		return s.historyPage(ctx, f, listed, f.limit > 0 && n > f.limit)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if f.before == 0 && len(where) == 0 {
		if err := s.decided(ctx, f.limit, f.namespace); err != nil {
			return err
		}
	}
	if f.limit > 0 && n > f.limit {
		s.Note("there are older ones: add --before %d", last)
	}
	return nil
}

// decided lists the decisions about the thread, or about one of its subgraphs, newest first. It
// lists at most limit of them; 0 means all.
func (s *session) decided(ctx context.Context, limit int, namespace string) error {
	all, err := s.decisions(ctx)
	if err != nil {
		return err
	}
	heading := "DECISIONS, each beside its checkpoint"
	if namespace != "" {
		all = slices.DeleteFunc(all, func(d graph.DecisionRecord) bool { return d.Namespace != namespace })
		heading = "DECISIONS in the subgraph; answers name checkpoints of the thread"
	}
	slices.Reverse(all)
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	if len(all) > 0 && !s.JSON {
		fmt.Fprintln(s.Stdout, "\n"+heading)
	}
	for _, d := range all {
		if s.JSON {
			err = s.PrintJSON(struct {
				Decision graph.DecisionRecord `json:"decision"`
			}{d})
		} else {
			_, err = fmt.Fprintf(s.Stdout, "%d  %s\n", d.Checkpoint, decisionText(d))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// orBlank returns a number as text, or "" for 0.
func orBlank(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// names lists nodes. A node with several tasks appears once, with their number.
func names(nodes []string) string {
	var words []string
	count := map[string]int{}
	for _, n := range nodes {
		if count[n]++; count[n] == 1 {
			words = append(words, n)
		}
	}
	for i, n := range words {
		if count[n] > 1 {
			words[i] = reports.Count(n, count[n])
		}
	}
	return strings.Join(words, ",")
}
