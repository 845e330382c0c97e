package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// resumeFlags are the flags of resume.
type resumeFlags struct {
	file    string
	thread  string
	replies replies
	moment
	howToRun
	bulk bulkFlags
}

func (a *app) resumeVerb() *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume THREAD [FILE] | --where KEY=VALUE [FILE]",
		Short: "Go on with a thread, with answers to its questions, or with many",
		Long: `Resume goes on with a thread: after a question with the answer, after a failure or a
crash without one. The thread knows its workflow; name the FILE if it was moved.
An answer is text, yes or no, or JSON, as the question takes it. One that the thread
has already had is no mistake, so the same command can be given again after a crash.
Where several questions are open, answers name theirs: ID=VALUE, where the beginning
of the ID is enough. A question that is declined has no answer: its node gets an
error with the reason.

With --at the thread goes back to an earlier checkpoint first, as a new branch: questions
from then on are asked again, so they are answered by the next resume. With --namespace the
checkpoint is one of a subgraph: the thread goes back to the step that runs it, and the
subgraph goes on from there. weft fork goes back and runs nothing.

Ctrl-C once lets the step finish and stops, twice stops at once.

` + bulkHelp + `
Threads that are done, or wait for answers alone, are skipped.`,
		Args: f.bulk.arguments(a, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.bulk.check(cmd, "answer", "decline", "reason", "at", "namespace", "trace"); err != nil {
				return err
			}
			if f.bulk.on() {
				return a.resumeMany(cmd.Context(), first(args), f)
			}
			f.thread, f.file = args[0], first(args[1:])
			if err := checkpoint.CheckThread(f.thread); err != nil {
				return err
			}
			if cmd.Flags().Changed("reason") && len(f.replies.declined) == 0 {
				return reports.Usage("name the question with --decline ID", "--reason needs a declined question, and there is none")
			}
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				s := &session{app: a, store: store, thread: f.thread}
				return s.resume(cmd.Context(), f)
			})
		},
	}
	cmd.Flags().StringArrayVar(&f.replies.answers, "answer", nil, "VALUE, or ID=VALUE where several questions are open; repeatable")
	cmd.Flags().StringArrayVar(&f.replies.declined, "decline", nil, "the ID of a question that gets no answer; repeatable")
	cmd.Flags().StringVar(&f.replies.reason, "reason", "", "why the questions are declined")
	f.moment.flags(cmd, "the number of a checkpoint to go back to (default the newest)")
	f.howToRun.flags(cmd)
	f.bulk.flags(cmd)
	return cmd
}

// resumeMany goes on with the threads that fit.
func (a *app) resumeMany(ctx context.Context, file string, f resumeFlags) error {
	f.bulk.drain = new(graph.Drain)
	return a.onSelected(ctx, a.openToRead, "resume", f.bulk, func(ctx context.Context, s *session, p graph.CommitInfo) (bulkOutcome, error) {
		o, err := s.options(f.howToRun)
		switch {
		case err != nil:
			return bulkOutcome{}, err
		case p.Status == graph.Done:
			return did(outcomeSkipped, "it is done"), nil
		case p.Status == graph.Interrupted && onlyWaits(p):
			return did(outcomeSkipped, "it waits for %s", counted(len(p.Interrupts), "answer")), nil
		}
		if err := s.find(ctx, "resume", file, p); err != nil {
			return bulkOutcome{}, err
		}
		if f.bulk.dryRun {
			return did(outcomePlanned, "it is %s before %s", p.Status, names(p.Next)), nil
		}
		if err := s.graph.checkEnv(); err != nil {
			return bulkOutcome{}, err
		}
		o.Hold, o.Drain, o.If, o.Metadata = false, f.bulk.drain, &p.Checkpoint, s.metadata()
		res, err := s.graph.Resume(ctx, graph.Answers{}, o)
		switch {
		case err != nil:
			return bulkOutcome{}, err
		case res.Drained != "":
			out := did(outcomeStopped, "at the end of a step")
			out.Code = terminal.ExitSignal
			return out, nil
		case res.Status == graph.Interrupted:
			out := did(outcomeWaiting, "%s", waitsFor(res.Interrupts))
			out.Code = reports.ErrWaiting.Code
			return out, nil
		}
		return did(outcomeDone, "at checkpoint %d", res.Checkpoint), nil
	})
}

// onlyWaits reports whether all that is due has a question, so that nothing runs without an answer.
func onlyWaits(p graph.CommitInfo) bool {
	asked := map[string]bool{}
	for _, in := range p.Interrupts {
		if !in.IsQuestion() || in.Namespace != "" || !in.Expires.IsZero() && !in.Expires.After(time.Now()) {
			return false // an interrupt to pass, a subgraph that may have other work, or no answer came in time
		}
		asked[in.Task] = true
	}
	for _, t := range p.Finished {
		asked[t.Task] = true
	}
	for _, t := range p.Due {
		if !asked[t.Task] {
			return false
		}
	}
	return true
}

// waitsFor describes in one line why a thread waits.
func waitsFor(open []graph.Interrupt) string {
	questions := 0
	for _, in := range open {
		if in.IsQuestion() {
			questions++
		}
	}
	switch {
	case questions == 1 && len(open) == 1:
		return fmt.Sprintf("%q asks: %s", open[0].Node, reports.OneLine(open[0].Prompt))
	case questions > 0:
		return "it waits for " + counted(questions, "answer")
	}
	return fmt.Sprintf("it pauses %s the node %q", open[0].Kind, reports.NodeName(open[0].Node))
}

func (s *session) resume(ctx context.Context, f resumeFlags) error {
	p, err := s.mustInspect(ctx)
	if err != nil {
		return err
	}
	if err := s.find(ctx, "resume", f.file, p); err != nil {
		return err
	}
	o, err := s.options(f.howToRun)
	if err != nil {
		return err
	}
	o.At, o.Namespace = f.at, f.namespace
	if p.Status != graph.Done || f.isPast() {
		s.warnChanged(p)
		if err := s.graph.checkEnv(); err != nil {
			return err
		}
	}
	if len(f.replies.answers)+len(f.replies.declined) > 0 && (len(p.Interrupts) > 0 || f.isPast()) {
		if err := s.checkBlobs(ctx, f.moment, p); err != nil {
			return err
		}
	}
	r := answerer{open: p.Interrupts, had: p.Answered}
	err = s.reply(ctx, r, f.replies, o)
	if errors.Is(err, errUnseen) {
		s.Note("this turn has had an answer, but this question was not shown yet; answer again")
		return s.waits(ctx, p.Interrupts)
	}
	if f.isPast() && errors.Is(err, graph.ErrUnknownQuestion) {
		return reports.Usage("leave the answer out, and give it when the question is asked again", "at %s nothing is asked yet", f.moment)
	}
	if f.isPast() && errors.Is(err, graph.ErrUnknownThread) {
		return f.unknown(ctx, s, err)
	}
	if errors.Is(err, graph.ErrUnknownQuestion) {
		// The answer may repeat an answer to a question that is now closed. The schema of that
		// question is no longer known, so try each form. The first attempt ran nothing.
		for _, r.as = range []reading{asText, asYesNo, asDecision} {
			if again := s.reply(ctx, r, f.replies, o); !errors.Is(again, graph.ErrUnknownQuestion) {
				return again
			}
		}
		if len(p.Interrupts) == 0 {
			return reports.Usage(s.Command("resume", "--thread", s.thread)+" goes on without an answer",
				"thread %q has no open question, and this turn has not had that answer", s.thread)
		}
	}
	return s.answerable(err, p.Interrupts)
}

// answerable adds the commands to type instead to the error of an answer that does not fit.
func (s *session) answerable(err error, open []graph.Interrupt) error {
	var f *reports.Failure
	if !errors.As(err, &f) || !errors.Is(err, graph.ErrAnswer) && !errors.Is(err, graph.ErrAmbiguous) && !errors.Is(err, graph.ErrUnknownQuestion) {
		return err
	}
	var ways []string
	for i, command := range s.commands(open) {
		ways = append(ways, fmt.Sprintf("%s (%s)", command, cmp.Or(choices(open[i]), wanted(open[i].Schema))))
	}
	if len(ways) == 0 {
		return err
	}
	return &reports.Failure{Code: f.Code, Err: f.Err, Next: "answer with " + strings.Join(ways, ", or ")}
}

func (s *session) reply(ctx context.Context, r answerer, given replies, o graph.RunOptions) error {
	answers, err := r.replies(given)
	if err != nil {
		return err
	}
	return s.watch(ctx, s.graph.StartResume(ctx, answers, o))
}
