package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

func (a *app) diffVerb() *cobra.Command {
	var in moment
	cmd := &cobra.Command{
		Use:   "diff THREAD A B [FILE]",
		Short: "Show what differs between two checkpoints, who wrote it, and why",
		Long: `Diff compares the state of a thread at the checkpoints A and B, in either order and on
any branches: each field that differs, before and after, with those who wrote it,
and where the decisions on the way to B went. The thread knows its workflow; name
the FILE if it was moved.

With --namespace A and B are checkpoints of a subgraph, whose values are compared as they
are stored, without defaults, so no FILE is needed.`,
		Args: a.arguments("THREAD and two checkpoints", 3, 4),
		RunE: func(cmd *cobra.Command, args []string) error {
			var at [2]uint64
			for i, text := range args[1:3] {
				n, err := strconv.ParseUint(text, 10, 64)
				if err != nil || n == 0 {
					return reports.Usage(a.Command("history", "--thread", args[0])+" lists its checkpoints", "%q is not the number of a checkpoint", text)
				}
				at[i] = n
			}
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error {
				return s.diff(cmd.Context(), at[0], at[1], first(args[3:]), in)
			})
		},
	}
	in.subgraph(cmd, "the namespace of a subgraph whose checkpoints they are")
	return cmd
}

func (s *session) diff(ctx context.Context, from, to uint64, file string, in moment) error {
	p, err := s.mustInspect(ctx)
	if err != nil {
		return err
	}
	why, err := s.whyStored(ctx, "diff", file, p, in, s.thread, fmt.Sprint(from), fmt.Sprint(to))
	if err != nil {
		return err
	}
	for _, at := range []uint64{from, to} { // reports which of the two is missing
		if _, _, err := s.stored().State(ctx, checkpoint.Key{Thread: s.thread, Namespace: in.namespace}, at); err != nil {
			return moment{at, in.namespace}.unknown(ctx, s, err)
		}
	}
	var d graph.Difference
	if why == nil {
		d, err = s.graph.Thread(s.thread).Diff(ctx, from, to)
		if errors.Is(err, checkpoint.ErrSchema) && file == "" {
			why = err
		}
	}
	if why != nil {
		s.noteStored(p, why)
		d, err = s.stored().Diff(ctx, checkpoint.Key{Thread: s.thread, Namespace: in.namespace}, from, to)
	}
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(d)
	}
	_, err = fmt.Fprint(s.Stdout, diffText(s.thread, in.namespace, d))
	return err
}

// diffText is a difference as text.
func diffText(thread, namespace string, d graph.Difference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "thread %s, %scheckpoint %d to %d", reports.Cell(thread), inSubgraph(namespace), d.From, d.To)
	if d.Base != d.From && d.Base != d.To {
		fmt.Fprintf(&b, ", which go on from %d", d.Base)
	}
	b.WriteString("\n\n")
	if len(d.Changes) == 0 {
		b.WriteString("no field differs\n")
	}
	for _, c := range d.Changes {
		changeText(&b, c)
	}
	if len(d.Path) > 0 {
		b.WriteString("\nthe way there:\n")
	}
	for _, p := range d.Path {
		pathText(&b, p)
	}
	if len(d.Decisions) > 0 {
		b.WriteString("\nthe decisions on the way:\n")
	}
	for _, one := range d.Decisions {
		fmt.Fprintf(&b, "  %d  %s\n", one.Checkpoint, decisionText(one))
	}
	return b.String()
}

// changeText prints a field as before → after on one line if both are short.
func changeText(b *strings.Builder, c graph.Change) {
	before, after := valueText(c.Before), valueText(c.After)
	if short := before + " → " + after; !strings.Contains(short, "\n") && terminal.Width(short) <= 100 {
		fmt.Fprintf(b, "%s: %s\n", c.Field, short)
	} else {
		fmt.Fprintf(b, "%s:\n%s%s", c.Field, marked("- ", before), marked("+ ", after))
	}
	for _, w := range c.Writers {
		fmt.Fprintf(b, "    by %s, checkpoint %d\n", writerText(w), w.Checkpoint)
	}
	if len(c.Writers) == 0 {
		b.WriteString("    by no node on the way: a new turn reset it, or the other branch wrote it\n")
	}
}

func valueText(data []byte) string {
	if data == nil {
		return "nothing"
	}
	return reports.JSONText(data)
}

// marked returns the lines of a text, each after a mark.
func marked(mark, text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString(mark + line + "\n")
	}
	return b.String()
}

func writerText(w graph.Writer) string {
	switch {
	case w.Node != "":
		return fmt.Sprintf("%s in step %d", reports.NodeName(w.Node), w.Step)
	case w.Source == checkpoint.Input:
		return "the input"
	}
	return "an edit by hand"
}

// pathText prints which nodes ran in a step, and where each node went and why.
func pathText(b *strings.Builder, p graph.CommitInfo) {
	what := cmp.Or(names(p.Nodes()), string(p.Source))
	fmt.Fprintf(b, "  %d  turn %d, step %d: %s\n", p.Checkpoint, p.Turn, p.Step, what)
	for _, r := range p.Ran {
		for _, w := range r.Ways {
			fmt.Fprintf(b, "       %s\n", wayText(r.Node, w))
		}
	}
}

// wayText describes where a node went, which branch decided it, and why.
func wayText(node string, w checkpoint.Way) string {
	text := fmt.Sprintf("%s → %s", cmp.Or(reports.NodeName(node), "(edit)"), reports.NodeName(w.To))
	if w.Send {
		text += ", as a task of its own"
	}
	if w.Branch > 0 {
		text += fmt.Sprintf(", by branch %d", w.Branch)
	}
	if w.Why != "" {
		text += ": " + reports.OneLine(w.Why)
	}
	return text
}
