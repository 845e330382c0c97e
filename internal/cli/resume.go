package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

func (a *app) resumeVerb() *cobra.Command {
	var thread string
	var answers []string
	cmd := &cobra.Command{
		Use:   "resume [FILE]",
		Short: "Go on with a thread, with answers to its questions",
		Long: `Resume goes on with a thread: after a question with the answer, after a failure or a
crash without one. The thread knows its workflow; name the FILE if it was moved.
An answer that the thread has already had is no mistake, so the same command can
be given again after a crash. Where several questions are open, answers name theirs:
ID=VALUE, where the beginning of the ID is enough.`,
		Args: a.arguments("FILE", 0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.needThread(cmd); err != nil {
				return err
			}
			if err := checkpoint.CheckThread(thread); err != nil {
				return err
			}
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				s := &session{app: a, store: store, thread: thread}
				return s.resume(cmd.Context(), first(args), answers)
			})
		},
	}
	cmd.Flags().StringVar(&thread, "thread", "", "the thread's name")
	cmd.Flags().StringArrayVar(&answers, "answer", nil, "VALUE, or ID=VALUE where several questions are open; repeatable")
	return cmd
}

func (s *session) resume(ctx context.Context, file string, flags []string) error {
	p, err := s.mustInspect(ctx)
	if err != nil {
		return err
	}
	if err := s.find("resume", file, p); err != nil {
		return err
	}
	if p.Status != graph.Done {
		s.warnChanged(p)
	}
	r := answerer{open: p.Interrupts, had: p.Answered}
	err = s.answer(ctx, r, flags)
	if errors.Is(err, errUnseen) {
		s.note("this turn has had an answer, and nobody has been shown this question yet; answer again")
		return s.waits(ctx, p.Interrupts)
	}
	if errors.Is(err, graph.ErrUnknownQuestion) {
		// A repeated answer whose question is closed: its type is no longer known, so
		// what looks like JSON may have been text. Nothing ran in the first attempt.
		r.asText = true
		if again := s.answer(ctx, r, flags); !errors.Is(again, graph.ErrUnknownQuestion) {
			return again
		}
		if len(p.Interrupts) == 0 {
			return usage(s.command("resume", "--thread", s.thread)+" goes on without an answer",
				"thread %q has no open question, and this turn has not had that answer", s.thread)
		}
	}
	return err
}

func (s *session) answer(ctx context.Context, r answerer, flags []string) error {
	answers, err := r.answers(flags)
	if err != nil {
		return err
	}
	return s.watch(ctx, s.graph.StreamResume(ctx, answers, s.options()))
}
